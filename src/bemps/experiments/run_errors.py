"""Errors of a run. A cell that fails is a `Failure` of the outcome, not an exception."""

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bemps.errors import BempsError, InputError

_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "files may not grow larger there",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
}


class CannotWrite(BempsError, OSError):
    """The run folder cannot be written to. Every round that was written before is intact."""


class OtherConfiguration(InputError):
    """The run folder holds another experiment."""


class Orphaned(BempsError):
    """The error of a worker whose run has ended: it must not write any more."""


@dataclass(frozen=True)
class Failure:
    """A cell that failed.

    Parameters
    ----------
    key : dict
        The key of the cell: dataset, model, strategy and so on by name.
    traceback : str
        The traceback of the exception, as text.
    """

    key: dict[str, Any]
    traceback: str

    @property
    def cause(self) -> str:
        """The last line of the traceback; of what bemps refuses only the message."""
        return self.refusal or self.traceback.rstrip().rsplit("\n", 1)[-1]

    @property
    def refusal(self) -> str:
        """What bemps refuses, in its own words; "" for other errors."""
        last = self.traceback.rstrip().rsplit("\n", 1)[-1]
        match = re.match(r"bemps\.[\w.]+: (?=.*expected)", last)
        return last[match.end() :] if match else ""


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Turn a failed write below `path` into `CannotWrite`."""
    try:
        yield
    except CannotWrite:
        raise
    except OSError as error:
        reason = _REASONS.get(error.errno or 0, error.strerror or str(error))
        raise CannotWrite(
            f"{path}: expected a folder with space that can be written to; got: {reason}. Results written so far are "
            "intact. Make room or allow writing, then run the same command again. Or choose another --out."
        ) from error
