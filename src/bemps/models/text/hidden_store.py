"""Rows for each token of texts (hidden states, token numbers) on disk, memory-mapped, with the content as the key.

A folder holds segments: `NAME.npy`, the rows of some texts one after the other, (tokens, H) or (tokens,), and
`NAME.json`, the keys of these texts, where each ends, and the digest of the rows. The JSON appears last, in one step,
so a segment is complete or absent, and processes that share the folder at worst write the same rows twice.
"""

import hashlib
import json
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Shaped

from bemps._utils.files import make_folder, written_whole
from bemps.data.arrays import save_array
from bemps.data.checksums import digest_of_file
from bemps.data.json_text import parse_object
from bemps.types import Array

SMALL = 2**20  # bytes
OPEN_SEGMENTS = 256  # segments that stay open or in memory


class HiddenStore:
    """Rows by key. Large segments are mapped, small ones read, as each mapped one keeps a file open.

    Without a folder they are in a temporary one, which is removed with the store.
    """

    def __init__(self, folder: Path | str | None = None) -> None:
        if folder is None:
            folder = tempfile.mkdtemp(prefix="bemps-hidden-")
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.folder = Path(folder)
        make_folder(self.folder, "cache")
        self._locations: dict[str, tuple[str, int, int]] = {}
        self._maps: dict[str, Shaped[Array, "tokens *H"]] = {}
        for index in sorted(self.folder.glob("*.json")):
            self._read_index(index.stem)

    def __contains__(self, key: str) -> bool:
        return key in self._locations

    def __getitem__(self, key: str) -> Shaped[Array, "t *H"]:
        """The rows of one text, as a view of the mapped file."""
        name, start, end = self._locations[key]
        return self._segment(name)[start:end]

    def add(self, keys: Sequence[str], rows: Sequence[Shaped[Array, "_ *H"]]) -> None:
        """Save the rows of some texts as a segment."""
        name = hashlib.sha256("".join(keys).encode()).hexdigest()[:32]
        ends = np.cumsum([len(some) for some in rows]).tolist()
        with written_whole(self.folder / f"{name}.npy", "cache") as draft:
            save_array(draft, np.concatenate(rows))
            index = {"keys": list(keys), "ends": ends, "digest": digest_of_file(draft)}
        with written_whole(self.folder / f"{name}.json", "cache") as draft:
            draft.write_text(json.dumps(index), encoding="utf-8")
        self._read_index(name)

    def _segment(self, name: str) -> Shaped[Array, "tokens *H"]:
        if name not in self._maps:
            if len(self._maps) >= OPEN_SEGMENTS:
                del self._maps[next(iter(self._maps))]
            path = self.folder / f"{name}.npy"
            self._maps[name] = np.load(path, mmap_mode="r" if path.stat().st_size > SMALL else None)
        return self._maps[name]

    def _read_index(self, name: str) -> None:
        index = json.loads((self.folder / f"{name}.json").read_text(encoding="utf-8"))
        starts = [0, *index["ends"][:-1]]
        for key, start, end in zip(index["keys"], starts, index["ends"], strict=True):
            self._locations[key] = (name, start, end)


def remove_damaged(folder: Path) -> None:
    """Delete the segments whose rows are not those that were written; they are computed again when needed."""
    for index in folder.glob("*.json"):
        if not _is_intact(index):
            index.unlink()
            index.with_suffix(".npy").unlink(missing_ok=True)


def _is_intact(index: Path) -> bool:
    """Whether an index is complete, and its segment has the bytes that it names."""
    try:
        record = parse_object(index.read_text(encoding="utf-8"), index.name)
        name = hashlib.sha256("".join(record["keys"]).encode()).hexdigest()[:32]
        ends_fit = len(record["ends"]) == len(record["keys"])
        return name == index.stem and ends_fit and record["digest"] == digest_of_file(index.with_suffix(".npy"))
    except (OSError, ValueError, KeyError, TypeError):
        return False
