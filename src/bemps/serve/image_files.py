"""Image files of a project, read without following a link out of the data folder, also not one put there meanwhile."""

import os
import stat
from contextlib import ExitStack
from io import BytesIO
from mimetypes import guess_type
from pathlib import Path
from typing import Any

from bemps.data.reading import IMAGES
from bemps.errors import InputError
from bemps.store import Item

CONVERTED = (".tif", ".tiff")  # what browsers do not show
HAS_FOLDER_DESCRIPTORS = os.open in os.supports_dir_fd  # not on Windows, where links need rights of an administrator


def image_of(settings: dict[str, Any], item: Item) -> tuple[bytes, str]:
    """The bytes that a browser can show, and their media type."""
    path = image_path(settings, item)
    try:
        content = read_inside(Path(str(settings["folder"])).resolve(), path)
    except OSError as error:
        got = f"{error.strerror or error} at {item.content}"
        raise InputError("item", expected="its image file", got=got, fix="Put it back.") from error
    if path.suffix.lower() in CONVERTED:
        return _as_png(path, content), "image/png"
    return content, guess_type(path.name)[0] or "application/octet-stream"


def image_path(settings: dict[str, Any], item: Item) -> Path:
    """The file of an item: an image, inside the project's data folder, whatever the item says."""
    folder = Path(str(settings.get("folder", "")))
    try:
        folder = folder.resolve()
        path = (folder / item.content).resolve()
    except (OSError, RuntimeError, ValueError) as error:  # links in a circle, a name that no system knows
        raise InputError("item", expected="an image file", got=str(error)[:200], fix="Put it back.") from error
    if settings.get("kind") != "image" or not path.is_relative_to(folder) or path.suffix.lower() not in IMAGES:
        raise InputError("item", expected="an image of this project", got=item.id, fix="Only those are shown.")
    return path


def read_inside(folder: Path, path: Path) -> bytes:
    """The bytes of a file below a folder. Every part is opened by itself and none may be a link.

    The path was resolved, so a link in it was put there after that.
    """
    if not HAS_FOLDER_DESCRIPTORS:
        return path.read_bytes()
    *folders, name = path.relative_to(folder).parts
    with ExitStack() as stack:
        step = _opened(stack, str(folder), os.O_DIRECTORY, None)
        for part in folders:
            step = _opened(stack, part, os.O_DIRECTORY | os.O_NOFOLLOW, step)
        file = _opened(stack, name, os.O_NOFOLLOW | os.O_NONBLOCK, step)  # a pipe without a writer would wait for ever
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise FileNotFoundError(None, "no plain file")
        with os.fdopen(os.dup(file), "rb") as stream:
            return stream.read()


def _opened(stack: ExitStack, name: str, flags: int, inside: int | None) -> int:
    descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC | flags, dir_fd=inside)
    stack.callback(os.close, descriptor)
    return descriptor


def _as_png(path: Path, content: bytes) -> bytes:
    from bemps.data.images import decoded, pillow

    out = BytesIO()
    pillow().fromarray(decoded(str(path), "RGB", content)).save(out, format="PNG")
    return out.getvalue()
