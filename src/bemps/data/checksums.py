"""Checksums of files: beside each file is a small file with the digest of its content.

A file whose digest is missing or differs was cut, changed, or never finished. Its writer writes it again.
"""

import hashlib
from pathlib import Path

from bemps._utils.files import drafted

ENDING = ".blake2b"
DIGEST_BYTES = 16


def digest_of_file(path: Path) -> str:
    """The BLAKE2 digest of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=DIGEST_BYTES)).hexdigest()


def write_checksum(path: Path) -> None:
    """Write the digest of a file beside it."""
    with drafted(_checksum_of(path)) as draft:
        draft.write_text(digest_of_file(path) + "\n", encoding="ascii")


def is_intact(path: Path) -> bool:
    """Whether a file has the bytes that were written."""
    try:
        return _checksum_of(path).read_text(encoding="ascii").strip() == digest_of_file(path)
    except (OSError, ValueError):
        return False


def remove_with_checksum(path: Path) -> None:
    """Delete a file and its digest, where they exist."""
    path.unlink(missing_ok=True)
    _checksum_of(path).unlink(missing_ok=True)


def _checksum_of(path: Path) -> Path:
    return path.with_name(path.name + ENDING)
