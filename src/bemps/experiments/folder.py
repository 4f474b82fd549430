"""The folder of a run: one run at a time, and one configuration for good."""

import fcntl
import json
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

from bemps._io import check_output, folder_kind, mark_folder
from bemps.data.json_text import parse_object
from bemps.errors import InputError
from bemps.experiments.config import difference
from bemps.experiments.failures import OtherConfiguration, writing
from bemps.experiments.journal import write_whole

KIND = "run"  # what the marker of a run's folder says
PACKAGES = ("bemps", "numpy", "scipy", "scikit-learn", "pyarrow")
TORCH = ("torch", "transformers")  # only where a model needs vectors: installing them later changes nothing else


def versions(*, torch: bool) -> dict[str, str | None]:
    """What the numbers and the bytes may depend on; None where a package is not installed."""
    names = PACKAGES + (TORCH if torch else ())
    return {"python": platform.python_version()} | {name: _version(name) for name in names}


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


@contextmanager
def held(out: Path) -> Iterator[None]:
    """The folder, made if need be, for this run alone; one that holds something else is refused."""
    if not _of_an_earlier_release(out):
        check_output(out, option=f"--out {out}", folder=KIND, resume=True)
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
        if folder_kind(out) is None:
            mark_folder(out, KIND)
        file = (out / "lock").open("w")
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(
                f"--out {out}",
                expected="a folder that no other run is writing to",
                got="one that is in use",
                fix="Wait for the other run, or choose another folder.",
            ) from error
        yield


def _of_an_earlier_release(out: Path) -> bool:
    """Whether the folder is a run from before folders were marked."""
    try:
        config = parse_object((out / "config.json").read_text(encoding="utf-8"), "config.json")
    except (OSError, ValueError):
        return False
    return {"config", "data", "versions"} <= config.keys()


def settle(out: Path, now: Mapping[str, Any]) -> None:
    """Write config.json, or make sure that the one there says the same."""
    path = out / "config.json"
    # through JSON, as tuples come back as lists
    wanted = json.loads(json.dumps(now))
    if not path.exists():
        write_whole(path, (json.dumps(wanted, indent=1, ensure_ascii=False) + "\n").encode())
        return
    differs = difference(_read(path), wanted)
    if differs:
        raise OtherConfiguration(
            f"--out {out}",
            expected="the configuration of the run that is there",
            got="; ".join(differs),
            fix="Choose another --out, or run with the earlier settings to continue.",
        )


def _read(path: Path) -> dict[str, Any]:
    try:
        before = parse_object(path.read_text(encoding="utf-8"), path.name)
    except (ValueError, OSError) as error:
        raise InputError(
            str(path), expected="the JSON that a run wrote", got=str(error), fix="Restore it, or choose another --out."
        ) from error
    return before
