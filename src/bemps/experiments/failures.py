"""What can go wrong with a run as a whole; a cell that fails is a `Failure` of the outcome, not an exception."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from bemps.errors import BempsError, InputError, MissingExtra

_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "files may not grow larger there",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
}


class CannotWrite(BempsError, OSError):
    """The run folder takes no more; every round that was written before is intact."""


class OtherConfiguration(InputError):
    """The run folder holds another experiment."""


class Orphaned(BempsError):
    """A worker whose run has ended: it must not write any more."""


@dataclass(frozen=True)
class Failure:
    """A cell that did not come to its end: its key as a dictionary, and the traceback."""

    key: dict[str, Any]
    traceback: str

    @property
    def cause(self) -> str:
        """The last line of the traceback."""
        return self.traceback.rstrip().rsplit("\n", 1)[-1]


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn a failed write below `path` into `CannotWrite`."""
    try:
        yield
    except CannotWrite:
        raise
    except OSError as error:
        reason = _REASONS.get(error.errno or 0, error.strerror or str(error))
        raise CannotWrite(
            f"{path}: expected a folder with space that can be written to; got: {reason}. Results written so far are "
            "intact: make room or allow writing, then run the same command again; or choose another --out."
        ) from error


def needed(module: str, what: str) -> ModuleType:
    """An optional package of the `experiments` extra."""
    try:
        return import_module(module)
    except ImportError as cause:
        raise MissingExtra(what, "experiments", cause) from cause
