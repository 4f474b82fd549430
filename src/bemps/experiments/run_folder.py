"""The folder of a run: one run at a time, and one configuration, to which later runs may add."""

import json
import platform
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

from bemps._utils.files import check_output, folder_kind, locked, mark_folder
from bemps.data.json_text import parse_object
from bemps.errors import InputError
from bemps.experiments.config import config_differences, is_extension
from bemps.experiments.journal import write_atomically
from bemps.experiments.run_errors import OtherConfiguration, write_errors

MOST_DIFFERENCES = 4  # that a message names
KIND = "run"  # what the marker of a run's folder says
PACKAGES = ("bemps", "numpy", "scipy", "scikit-learn", "pyarrow")
TORCH = ("torch", "transformers")  # only where a model needs vectors: installing them later changes nothing else


def versions(*, torch: bool) -> dict[str, str | None]:
    """The versions that numbers and bytes may depend on; None if a package is not installed."""
    names = PACKAGES + (TORCH if torch else ())
    return {"python": platform.python_version()} | {name: _version(name) for name in names}


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def check_folder(out: Path) -> None:
    """Refuse a folder with other contents. Nothing is made."""
    if not _of_an_earlier_release(out):
        check_output(out, option=f"--out {out}", folder=KIND, resume=True)


@contextmanager
def locked_folder(out: Path) -> Iterator[None]:
    """Lock the folder of a run, which is made if needed. A folder with other contents or in use is refused."""
    check_folder(out)
    with write_errors(out):
        out.mkdir(parents=True, exist_ok=True)
        if folder_kind(out) is None:
            mark_folder(out, KIND)
    with ExitStack() as stack:
        with write_errors(out):
            try:
                stack.enter_context(locked(out / "lock", wait=False))
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


def check_config(out: Path, now: Mapping[str, Any]) -> None:
    """Write config.json, or check that the existing file has the same configuration or a part of its grid."""
    path = out / "config.json"
    # through JSON, as tuples come back as lists
    config = json.loads(json.dumps(now))
    before = _read(path) if path.exists() else None
    if before == config:
        return
    if before is None or is_extension(before, config):
        write_atomically(path, (json.dumps(config, indent=1, ensure_ascii=False) + "\n").encode())
        return
    raise OtherConfiguration(
        f"--out {out}",
        expected="the configuration of the run that is there, or one that only adds datasets, models, strategies,"
        " batch sizes, seeds or values of an axis",
        got=_summary(config_differences(before, config)),
        fix="Choose another --out, or run with the earlier settings to continue.",
    )


def _summary(differences: list[str]) -> str:
    """The differences, settings before what follows from them; of many only the first."""
    settings = [line for line in differences if line.startswith("config.")]
    lines = settings or differences
    rest = f"; and {len(lines) - MOST_DIFFERENCES} more" if len(lines) > MOST_DIFFERENCES else ""
    return "; ".join(lines[:MOST_DIFFERENCES]) + rest


def _read(path: Path) -> dict[str, Any]:
    try:
        before = parse_object(path.read_text(encoding="utf-8"), path.name)
    except (ValueError, OSError) as error:
        raise InputError(
            str(path), expected="the JSON that a run wrote", got=str(error), fix="Restore it, or choose another --out."
        ) from error
    return before
