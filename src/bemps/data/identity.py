"""Stable ids of items: hashes of their content, never row positions.

An id is the first 16 hexadecimal digits of blake2b over the normalised content. Equal content gets `-2`, `-3`, ... in
the order of the rows, so ids are unique, and other orders of the rows have the same set of ids.
"""

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Shaped

from bemps.data.images import ImageArray, ImageFiles, Images
from bemps.errors import InputError

DIGEST_BYTES = 8  # 16 hexadecimal digits; a million different contents collide with probability 3e-8
CHUNK = 1024
Items = list[str] | Images | Shaped[np.ndarray, "_ ..."]


def normalised(text: str) -> str:
    r"""The text in the form in which texts are compared: Unicode NFC, newlines as \n, no white space around it."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.strip()


def is_blank(text: str) -> bool:
    """Whether there is nothing to read: white space, and signs that are not seen (Unicode category Cf), alone."""
    return all(letter.isspace() or unicodedata.category(letter) == "Cf" for letter in text)


def content_hash(content: bytes) -> str:
    """The blake2b hash of bytes, 16 hexadecimal digits."""
    return hashlib.blake2b(content, digest_size=DIGEST_BYTES).hexdigest()


def hashes_of(items: Items) -> list[str]:
    """The content hash of each item.

    Parameters
    ----------
    items : list of str, Images, or array
        Texts, images or feature rows.

    Returns
    -------
    list of str
        Hashes of the normalised texts, of the bytes of image files, or of the bytes of rows.
    """
    if isinstance(items, list):
        return _text_hashes(items)
    if isinstance(items, ImageFiles):
        return [_file_hash(path) for path in items.paths]
    if isinstance(items, ImageArray):
        return [content_hash(image.tobytes()) for stack in items.batches(CHUNK) for image in stack]
    return [content_hash(row.tobytes()) for row in np.ascontiguousarray(items)]


def unique_ids(hashes: Iterable[str]) -> tuple[str, ...]:
    """Make hashes unique: the n-th equal hash (n > 1) gets the suffix `-n`."""
    hashes = tuple(hashes)
    if len(set(hashes)) == len(hashes):
        return hashes
    seen: Counter[str] = Counter()
    ids = []
    for digest in hashes:
        seen[digest] += 1
        ids.append(digest if seen[digest] == 1 else f"{digest}-{seen[digest]}")
    return tuple(ids)


def _text_hashes(texts: Sequence[str]) -> list[str]:
    try:
        return [content_hash(normalised(text).encode()) for text in texts]
    except UnicodeEncodeError:
        raise _broken_text(texts) from None


def _broken_text(texts: Sequence[str]) -> InputError:
    """A lone surrogate (half of a character, from a broken `\\ud83d` escape) cannot be written as UTF-8."""
    row, text = next((i, t) for i, t in enumerate(texts) if any("\ud800" <= c <= "\udfff" for c in t))
    return InputError(
        f"text of item {row}",
        expected="valid Unicode",
        got=f"half of a surrogate pair in {text[:60]!r}",
        fix="Write the file again as UTF-8, or remove the broken escape.",
    )


def _file_hash(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            if not file.read(1):
                raise _unreadable(path, "an empty file")
            file.seek(0)
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=DIGEST_BYTES)).hexdigest()
    except OSError as failure:
        raise _unreadable(path, failure.strerror or str(failure)) from failure


def _unreadable(path: str, got: str) -> InputError:
    return InputError(f"image {path}", expected="a readable file", got=got, fix="Repair or remove it.")
