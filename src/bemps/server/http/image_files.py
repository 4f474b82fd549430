"""Image files of a project, read without following a link out of the data folder, also not one put there meanwhile."""

import os
import stat
import sys
from contextlib import ExitStack
from io import BytesIO
from mimetypes import guess_type
from pathlib import Path

from bemps._utils.files import path_inside
from bemps.data.folders import IMAGES
from bemps.errors import InputError
from bemps.store import Item
from bemps.store.project_settings import ProjectSettings

CONVERTED = (".tif", ".tiff")  # what browsers do not show


def image_of(settings: ProjectSettings, item: Item) -> tuple[bytes, str]:
    """Return bytes that a browser can show, and their media type."""
    return read_image(settings, image_path(settings, item), item.content)


def read_image(settings: ProjectSettings, path: Path, name: str) -> tuple[bytes, str]:
    """Return the bytes of an image file below the project's folder as a browser can show them, and their media type.

    Parameters
    ----------
    settings : ProjectSettings
        The settings of the project, which name its folder.
    path : Path
        The file, with links resolved.
    name : str
        The name of the file in messages.

    Returns
    -------
    tuple of (bytes, str)
        The bytes and the media type.
    """
    try:
        content = read_inside(Path(settings.folder).resolve(), path)
    except OSError as error:
        got = f"{error.strerror or error} at {name}"
        raise InputError("item", expected="its image file", got=got, fix="Put it back.") from error
    if path.suffix.lower() in CONVERTED:
        return _as_png(path, content), "image/png"
    return content, guess_type(path.name)[0] or "application/octet-stream"


def image_path(settings: ProjectSettings, item: Item) -> Path:
    """Return the image file of an item; anything else, or a path outside the project's folder, is refused."""
    folder = Path(settings.folder)
    try:
        folder = folder.resolve()
        path = path_inside(folder, item.content)
    except (OSError, RuntimeError, ValueError) as error:  # links in a circle, a name that no system knows
        raise InputError("item", expected="an image file", got=str(error)[:200], fix="Put it back.") from error
    if settings.kind != "image" or path is None or path.suffix.lower() not in IMAGES:
        raise InputError("item", expected="an image of this project", got=item.id, fix="Only those are shown.")
    return path


def read_inside(folder: Path, path: Path) -> bytes:
    """The bytes of a file below a folder. Every part is opened by itself and none may be a link.

    The path was resolved, so a link in it was put there after that.
    """
    if sys.platform == "win32":  # no folder descriptors there, and links need rights of an administrator
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
    descriptor = os.open(name, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | flags, dir_fd=inside)
    stack.callback(os.close, descriptor)
    return descriptor


def _as_png(path: Path, content: bytes) -> bytes:
    from bemps.data.images import decode_image, pillow

    out = BytesIO()
    pillow().fromarray(decode_image(str(path), "RGB", content)).save(out, format="PNG")
    return out.getvalue()
