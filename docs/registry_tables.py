"""Write the tables of strategies, models, encoders and formats into the docs: python docs/registry_tables.py

The tables are those of the code. What people wrote around the blocks stays; a test compares.
"""

import sys
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bemps.acquisition.strategy_registry import ALIASES, STRATEGIES
from bemps.formats.format_registry import FORMATS
from bemps.models.encoders.encoder_registry import ENCODERS, EncoderRow
from bemps.models.model_registry import grid_models, project_kinds, project_models
from benchmarks.document_blocks import with_block

DOCS = Path(__file__).parent
READS = {"plain": "rows, pixels or words", "vectors": "vectors", "text": "texts", "image": "images"}


def markdown(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A table."""
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("|" + "|".join(f" {cell} " if cell else " " for cell in line) + "|" for line in lines)


def options_of(options: dict[str, object]) -> str:
    """Options with their defaults."""
    return ", ".join(f"`{name}`" + ("" if value is None else f" ({value})") for name, value in options.items())


def strategies() -> str:
    """Every strategy: what it chooses, what it needs, whether it runs over shards, its options."""
    rows = [
        (
            f"`{name}`",
            entry.help.replace("|", "\\|"),
            ", ".join(f"`{need}`" for need in entry.needs if need not in ("map", "disagreement")),
            "two or more" if entry.disagreement else "one is enough",
            "yes" if entry.shards else "",
            options_of(entry.options),
        )
        for name, entry in STRATEGIES.items()
    ]
    also = ", ".join(f"`{alias}` is another name of `{name}`" for alias, name in ALIASES.items())
    head = ("name", "chooses by", "uses", "members", "over shards", "options")
    return f"{markdown(head, rows)}\n\n{also}."


def models_of_grids() -> str:
    """The models of `bemps run`."""
    rows = [
        (f"`{name}`", READS[row.reads], row.help, options_of(row.options), "yes" if row.grid_default else "")
        for name, row in grid_models().items()
    ]
    return markdown(("name", "learns from", "what it is", "options (each may be an axis)", "default"), rows)


def needs_of(row: EncoderRow, head: str = "") -> str:
    """What an encoder needs, and a head on it: extras, and the command that brings the weights."""
    extras = [f"`{extra}`" for extra in (row.extra, head) if extra]
    parts = [f"extra {', '.join(extras)}"] if extras else []
    parts += [f"`bemps weights {row.weights}`"] if row.weights and not row.weights_in_extra else []
    return "; ".join(parts) or "nothing more"


def encoders() -> str:
    """The encoders of grids."""
    rows = [
        (
            f"`{name}`",
            READS[row.reads],
            row.help,
            needs_of(row),
            "yes" if row.grid_default else "",
        )
        for name, row in ENCODERS.items()
        if row.in_grids
    ]
    return markdown(("`encoder`", "of", "vectors", "needs", "default"), rows)


def models_of_projects() -> str:
    """The models of `bemps label`."""
    rows = []
    for kind in project_kinds():
        for name, row in project_models(kind).items():
            few, needs = row.strategy_few_classes or row.strategy, needs_of(row.vectors, row.head.extra)
            auto = {"first": "yes", "second": "where the first is not here", None: ""}[row.project_default]
            rows.append((f"`{name}`", READS[kind], row.description, needs, auto, f"`{few}`", f"`{row.strategy}`"))
    few_head, many_head = "strategy, up to ten classes", "strategy, more classes"
    return markdown(("`model`", "of", "what it is", "needs", "`auto`", few_head, many_head), rows)


def formats() -> str:
    """The formats of `bemps export` and `bemps import`."""
    rows = [
        (
            f"`{name}`",
            ", ".join(f"`{suffix}`" for suffix in row.suffixes) or ("no ending" if row.folder else "name"),
            row.help,
        )
        for name, row in FORMATS.items()
    ]
    return markdown(("format", "chosen by", "what it is"), rows)


BLOCKS = (
    ("reference/strategies.md", "strategies", strategies),
    ("reference/experiments.md", "models of grids", models_of_grids),
    ("reference/experiments.md", "encoders", encoders),
    ("reference/projects.md", "models of projects", models_of_projects),
    ("reference/projects.md", "formats", formats),
)


def with_tables(name: str, text: str) -> str:
    """A page with its tables as the code has them."""
    for page, title, table in BLOCKS:
        if page == name:
            text = with_block(text, title, table(), "generated")
    return text


if __name__ == "__main__":
    for name in {page for page, _, _ in BLOCKS}:
        path = DOCS / name
        path.write_text(with_tables(name, path.read_text(encoding="utf-8")), encoding="utf-8")
