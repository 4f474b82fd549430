"""The parts of a page: sections of blocks. A block is shown if the filters of the reader match it."""

from dataclasses import dataclass, field
from zlib import crc32

from bemps.report.figures import Figure
from bemps.report.html_tables import Table
from bemps.results import Setting

DIMENSIONS = {"dataset": "dataset", "model": "model", "batch": "batch size", "metric": "measure"}


@dataclass(frozen=True, eq=False)
class Block:
    """Figures and tables that are shown together.

    Attributes
    ----------
    filters : dict of str to str
        The values of the filters that show the block.
    figures : dict of str to Figure
        Figures by the name of their file.
    tables : dict of str to Table
        Tables by the name of their file.
    folded : dict of str to Table
        Tables that open on a click.
    words : str
        A sentence above them.
    """

    filters: dict[str, str]
    figures: dict[str, Figure] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)
    folded: dict[str, Table] = field(default_factory=dict)
    words: str = ""


@dataclass(frozen=True, eq=False)
class Section:
    """A section of the page.

    Attributes
    ----------
    title : str
        The heading.
    lead : str
        What the reader sees.
    blocks : tuple of Block
        The blocks.
    """

    title: str
    lead: str
    blocks: tuple[Block, ...]


def filters_of(setting: Setting, metric: str | None = None) -> dict[str, str]:
    """The values of the filters that show a setting, and a metric."""
    filters = {"dataset": setting.dataset, "model": setting.model, "batch": str(setting.batch_size)}
    return filters | ({} if metric is None else {"metric": metric})


def file_stem(*words: object) -> str:
    """Make a file name from words: letters, digits, dots, underscores and hyphens. A checksum keeps names unique."""
    joined = "-".join(str(word) for word in words)
    clean = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "._-") else "_" for letter in joined)
    return clean if clean == joined else f"{clean}-{crc32(joined.encode()):08x}"


def setting_stem(setting: Setting) -> str:
    """A setting as part of a file name."""
    return file_stem(setting.dataset, setting.model, f"b{setting.batch_size}")
