"""The columns of a user's file that are shown beside an item: texts, links and images."""

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import quote, urlsplit

from bemps._utils.files import path_inside
from bemps.data.folders import IMAGES
from bemps.errors import InputError
from bemps.formats.user_columns import columns_from_settings
from bemps.server.http.image_files import read_image
from bemps.store import Item
from bemps.store.item_rows import column_text
from bemps.store.project_settings import ProjectSettings

LONGEST = 2_000  # characters of a value that are shown
LINK = re.compile(r"https?://[^\s<>\"'\\^`{|}\x00-\x20\x7f]+", re.IGNORECASE)


@dataclass(frozen=True)
class ShownValue:
    """The value of a column as the page shows it.

    Attributes
    ----------
    name : str
        The name of the column.
    text : str
        The value.
    link : str or None
        The web address that the value is.
    image : str or None
        The address of the image that the value names: of this server, or of another one if the project allows it.
    """

    name: str
    text: str
    link: str | None = None
    image: str | None = None

    def as_json(self) -> dict[str, str]:
        """Return the value for the browser."""
        parts = {"name": self.name, "text": self.text, "link": self.link, "image": self.image}
        return {name: part for name, part in parts.items() if part is not None}


def shown_values(item: Item, settings: ProjectSettings) -> list[ShownValue]:
    """Return the values that are shown beside an item, in the order of the setting. Empty ones are left out."""
    if not settings.shown_columns:
        return []
    texts = {name: text_in_column(item, settings, name) for name in settings.shown_columns}
    return [_shown(item, name, text, settings) for name, text in texts.items() if text]


def text_in_column(item: Item, settings: ProjectSettings, name: str) -> str:
    """Return the value of a column of an item as text."""
    columns = item.columns
    known = {column.name: column for column in columns_from_settings(settings)}
    value = known[name].value(item, columns) if name in known else columns.get(name)
    return column_text(value).strip()


def _shown(item: Item, name: str, text: str, settings: ProjectSettings) -> ShownValue:
    short = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    if is_link(text):
        is_image = PurePosixPath(urlsplit(text).path).suffix.lower() in IMAGES
        return ShownValue(name, short, text, text if is_image and settings.remote_images else None)
    if text == item.content or column_image_path(settings, text) is None:  # the item itself is on show already
        return ShownValue(name, short)
    address = f"column-image?id={quote(item.id, safe='')}&column={quote(name, safe='')}"
    return ShownValue(name, short, None, address)


def is_link(text: str) -> bool:
    """Return whether a text is the address of a web page, and nothing else."""
    if len(text) > LONGEST or LINK.fullmatch(text) is None:
        return False
    try:
        return bool(urlsplit(text).hostname)
    except ValueError:  # http://[
        return False


def column_image_path(settings: ProjectSettings, text: str) -> Path | None:
    """Return the image file below the project's folder that a text names; None if it names none."""
    if not settings.folder or "\n" in text or PurePosixPath(text).suffix.lower() not in IMAGES:
        return None
    try:
        path = path_inside(Path(settings.folder), text)
    except (OSError, RuntimeError, ValueError):  # links in a circle, a name that no system knows
        return None
    return path if path is not None and path.suffix.lower() in IMAGES and path.is_file() else None


def column_image(settings: ProjectSettings, item: Item, column: str) -> tuple[bytes, str]:
    """Return the image that a shown column of an item names, and its media type.

    Parameters
    ----------
    settings : ProjectSettings
        The settings of the project, which name its folder and the columns that are shown.
    item : Item
        The item.
    column : str
        The name of the column. Columns that are not shown are refused.

    Returns
    -------
    tuple of (bytes, str)
        Bytes that a browser can show, and their media type.
    """
    shown = column in settings.shown_columns
    path = column_image_path(settings, text_in_column(item, settings, column)) if shown else None
    if path is None:
        raise InputError("image", expected="an image of a shown column", got=column[:100], fix="Only those are shown.")
    return read_image(settings, path, column)
