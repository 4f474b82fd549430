"""What a page is made of: sections of blocks; a block is shown where the reader's choice matches it."""

from dataclasses import dataclass, field
from zlib import crc32

from bemps.report.figures import Figure
from bemps.report.tables import Table
from bemps.statistics import Setting

DIMENSIONS = {"dataset": "dataset", "model": "model", "batch": "batch size", "metric": "measure"}


@dataclass(frozen=True, eq=False)
class Block:
    """Figures and tables by the name of their file, and where they belong; `folded` tables open on a click."""

    where: dict[str, str]
    figures: dict[str, Figure] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)
    folded: dict[str, Table] = field(default_factory=dict)
    words: str = ""


@dataclass(frozen=True, eq=False)
class Section:
    """A heading, what one sees, and the blocks."""

    title: str
    lead: str
    blocks: tuple[Block, ...]


def where(setting: Setting, metric: str | None = None) -> dict[str, str]:
    """The choice that shows a setting, and a metric."""
    found = {"dataset": setting.dataset, "model": setting.model, "batch": str(setting.batch_size)}
    return found | ({} if metric is None else {"metric": metric})


def stem(*words: object) -> str:
    """A file name from words: letters, digits, dots, underscores and hyphens; others stay apart by a checksum."""
    joined = "-".join(str(word) for word in words)
    clean = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "._-") else "_" for letter in joined)
    return clean if clean == joined else f"{clean}-{crc32(joined.encode()):08x}"


def of(setting: Setting) -> str:
    """A setting as part of a file name."""
    return stem(setting.dataset, setting.model, f"b{setting.batch_size}")
