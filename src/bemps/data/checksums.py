"""Files that are known again by their bytes: beside each lies a small file with the digest of its content.

A file whose digest is missing or differs was cut, changed, or never finished: whoever wrote it writes it anew.
"""

import hashlib
import os
from pathlib import Path

ENDING = ".blake2b"
DIGEST_BYTES = 16


def digest_of_file(path: Path) -> str:
    """BLAKE2 of every byte of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=DIGEST_BYTES)).hexdigest()


def write_checksum(path: Path) -> None:
    """Note the digest of a file that has just been written."""
    draft = path.with_name(f"{path.name}{ENDING}.part")
    draft.write_text(digest_of_file(path) + "\n", encoding="ascii")
    os.replace(draft, _checksum_of(path))


def is_intact(path: Path) -> bool:
    """Whether a file is there with the bytes that were written."""
    try:
        return _checksum_of(path).read_text(encoding="ascii").strip() == digest_of_file(path)
    except (OSError, ValueError):
        return False


def remove_with_checksum(path: Path) -> None:
    """Take a file and its digest away, where they are there."""
    path.unlink(missing_ok=True)
    _checksum_of(path).unlink(missing_ok=True)


def _checksum_of(path: Path) -> Path:
    return path.with_name(path.name + ENDING)
