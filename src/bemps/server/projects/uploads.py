"""Files on their way into a new project: streamed to the disk, counted, and gone when no project comes of them.

Every upload has a folder of its own in the folder of projects. A marker in it says that it is not finished; it goes
when the project is there. What a killed server left behind has the marker, and the next server removes it.
"""

import asyncio
import contextlib
import re
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import IO

from bemps._utils.archives import MOST_FILES, ZIP, safe_name, unpack
from bemps._utils.extras import is_installed
from bemps._utils.files import remove
from bemps.data.folders import IMAGES, TEXTS
from bemps.data.reading import FORMATS, PARQUET
from bemps.errors import InputError
from bemps.store.sql.database_errors import NotSaved

UNFINISHED = ".bemps-unfinished"
FILES = "files"  # the folder inside an upload, and later inside the project's folder, that holds what was uploaded
LARGEST_UPLOAD = 512 * 2**20
MOST_UPLOADS = 8  # that wait for somebody to go on; the oldest goes when there are more
PIECE = 2**20
OURS = re.compile(r"\.upload-[0-9a-f]{16}")


def accepted_endings() -> frozenset[str]:
    """The endings of the files that the page takes: those that this installation can read."""
    every = frozenset({*FORMATS, *IMAGES, *TEXTS, ZIP})
    return every if is_installed("pyarrow") else every.difference(PARQUET)


class Uploads:
    """The uploads of one server; `close` removes those that did not become projects."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sizes: dict[str, int] = {}
        self._counts: dict[str, int] = {}
        self._left_out: dict[str, Counter[str]] = {}

    def clear(self) -> None:
        """Remove the uploads of servers that were killed; no other server may use the folder meanwhile."""
        for path in self._folder.iterdir():
            if path.is_dir() and not path.is_symlink() and (OURS.fullmatch(path.name) or (path / UNFINISHED).is_file()):
                remove(path)

    def begin(self, left_out: Mapping[str, int] = MappingProxyType({})) -> str:
        """Make room for an upload; returns its name. `left_out` counts, by ending, the files that are not sent."""
        upload = secrets.token_hex(8)
        try:
            (self.folder_of(upload) / FILES).mkdir(parents=True)
            (self.folder_of(upload) / UNFINISHED).touch()
        except OSError as error:
            raise _not_written(self._folder, error) from error
        self._sizes[upload], self._counts[upload], self._left_out[upload] = 0, 0, Counter(left_out)
        for old in list(self._sizes)[:-MOST_UPLOADS]:
            self.drop(old)
        return upload

    def folder_of(self, upload: str) -> Path:
        """The folder of an upload, by its name."""
        return self._folder / f".upload-{upload}"

    def check(self, upload: str) -> None:
        """Refuse the name of an upload that does not exist, or no longer exists."""
        if upload not in self._sizes:
            got = "one that is not here any more"
            raise InputError("upload", expected="one of this server", got=got, fix="Choose the file again.")

    def left_out(self, upload: str) -> Counter[str]:
        """Return how many files of an upload were not taken, by ending."""
        self.check(upload)
        return self._left_out[upload].copy()

    async def receive(self, upload: str, name: str, pieces: AsyncIterator[bytes]) -> int:
        """Write one file of an upload as it comes, and unpack it if it is a zip file.

        Parameters
        ----------
        upload : str
            The id of the upload.
        name : str
            The name of the file.
        pieces : async iterator of bytes
            The content.

        Returns
        -------
        int
            The bytes of the upload so far.

        Raises
        ------
        InputError
            If the file is refused. Nothing of it remains.
        """
        self.check(upload)
        path = self._path_of(upload, name)
        try:
            await self._write(upload, path, pieces)
            if path.suffix.lower() == ZIP:
                await asyncio.to_thread(self._unpack, upload, path)
        except FileExistsError as error:
            got = f"a second {name!r}"
            raise InputError("file", expected="every name once", got=got, fix="Rename one of them.") from error
        except OSError as error:
            self.drop(upload)
            raise _not_written(self._folder, error) from error
        except BaseException:  # also when the browser went away
            self.drop(upload)
            raise
        return self._sizes[upload]

    def _path_of(self, upload: str, name: str) -> Path:
        relative = safe_name(name)
        suffix = "" if relative is None else relative.suffix.lower()
        if relative is None or suffix not in accepted_endings():
            fix = "Save it as one of these." if suffix else "Choose another file."
            expected = f"one of {', '.join(sorted(accepted_endings()))}"
            raise InputError(f"file {name[:100]}", expected=expected, got=suffix or "another kind", fix=fix)
        self._counts[upload] += 1
        if self._counts[upload] > MOST_FILES:
            self.drop(upload)
            got = "more than that"
            raise InputError("folder", expected=f"at most {MOST_FILES:,} files", got=got, fix="Choose a part of it.")
        return self.folder_of(upload) / FILES / relative

    async def _write(self, upload: str, path: Path, pieces: AsyncIterator[bytes]) -> None:
        await asyncio.to_thread(path.parent.mkdir, parents=True, exist_ok=True)
        with await asyncio.to_thread(path.open, "xb") as file:
            waiting = bytearray()
            async for piece in pieces:
                waiting += piece
                if len(waiting) >= PIECE:
                    await self._save(upload, file, waiting)
                    waiting = bytearray()
            await self._save(upload, file, waiting)

    async def _save(self, upload: str, file: IO[bytes], content: bytearray) -> None:
        self.check(upload)  # it may have been dropped meanwhile
        self._sizes[upload] += len(content)
        if self._sizes[upload] > LARGEST_UPLOAD:
            fix = "Choose a part of it, or start with the command line: bemps label FILE."
            raise InputError("upload", expected=f"at most {LARGEST_UPLOAD // 2**20} MB", got="more", fix=fix)
        await asyncio.to_thread(file.write, content)

    def _unpack(self, upload: str, path: Path) -> None:
        """Unpack a zip file in its place, and count what is left in it."""
        packed = path.rename(self.folder_of(upload) / "packed")
        accepted = accepted_endings() - {ZIP}
        left_out = self._left_out.get(upload, Counter())  # it may have been dropped meanwhile

        def is_wanted(name: str) -> bool:
            ending = PurePath(name).suffix.lower()
            left_out.update([] if ending in accepted else [ending])
            return ending in accepted

        try:
            unpacked = unpack(packed, path.parent, is_wanted)
        except InputError as error:  # in the name that the person knows
            what = error.what.replace(str(packed), f"file {path.name}")
            raise InputError(what, expected=error.expected, got=error.got, fix=error.fix) from error
        if not unpacked:
            fix = "Pack a table, text files or images."
            raise InputError(path.name, expected="something to label in it", got="nothing of the kind", fix=fix)
        remove(packed)

    def finish(self, upload: str) -> None:
        """Forget an upload whose folder has become a project."""
        del self._sizes[upload], self._counts[upload], self._left_out[upload]

    def drop(self, upload: str) -> None:
        """Remove an upload and its files."""
        self._sizes.pop(upload, None)
        self._counts.pop(upload, None)
        self._left_out.pop(upload, None)
        with contextlib.suppress(PermissionError):  # Windows removes no file that is being written: `clear` does later
            remove(self.folder_of(upload))

    def close(self) -> None:
        """Remove the uploads that did not become projects."""
        for upload in list(self._sizes):
            self.drop(upload)


def _not_written(folder: Path, error: OSError) -> NotSaved:
    got = error.strerror or str(error)
    return NotSaved(str(folder), expected="to write the file", got=got, fix="Free some space, and choose it again.")
