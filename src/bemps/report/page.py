"""The HTML page: sections, filters, style and script in one file that opens offline."""

from collections.abc import Callable, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from bemps.report.blocks import DIMENSIONS, Block, Section
from bemps.report.figures import Figure, Lines, Points
from bemps.report.html_tables import Table
from bemps.report.svg.svg_figure import draw, width_of
from bemps.report.svg.svg_points import PER_ROW
from bemps.results import METRICS

Choices = dict[str, list[str]]
SIGNATURE = "<footer>Written by bemps.</footer>"  # by which a report is known
FOLDED = {  # what a folded table is called, by the first word of its file
    "rounds": "Values after every round",
    "pairwise": "The matrix as a table",
    "paired": "Paired tests",
    "reliability": "The bins",
    "acquired": "Shares over the whole run",
    "epochs": "Calibration error after every epoch",
    "tsne": "The projection",
    "notes": "What was left out",
    "configuration": "Configuration",
}


def page(title: str, lead: str, sections: Sequence[Section]) -> str:
    """Build the page, with links to the files of its figures and tables.

    Parameters
    ----------
    title : str
        The title.
    lead : str
        The sentence below it.
    sections : sequence of Section
        The sections.

    Returns
    -------
    str
        The HTML.
    """
    choices = choices_of(sections)
    first = {name: values[0] for name, values in choices.items()}
    body = "".join(_section(section, first) for section in sections)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_file('page.css')}</style></head>\n<body>"
        f'<header><h1>{escape(title)}</h1><p class="lead">{escape(lead)}</p></header>\n'
        f"{_filters(choices)}\n<main>{body}</main>\n"
        f"{SIGNATURE}\n"
        f"<script>{_file('page.js')}</script></body></html>\n"
    )


def choices_of(sections: Sequence[Section]) -> Choices:
    """The values of every filter that some block has: batch sizes by number, metrics in their own order."""
    values_by_name: dict[str, set[str]] = {name: set() for name in DIMENSIONS}
    for section in sections:
        for block in section.blocks:
            for name, value in block.filters.items():
                values_by_name[name].add(value)
    keys: dict[str, Callable[[str], Any]] = {"batch": int, "metric": list(METRICS).index}
    return {name: sorted(values, key=keys.get(name, str)) for name, values in values_by_name.items() if values}


def _file(name: str) -> str:
    return (files("bemps.report") / name).read_text(encoding="utf-8")


def _filters(choices: Choices) -> str:
    """One select for each dimension; hidden until the script can make them work."""
    selects = []
    for name, values in choices.items():
        titles = [METRICS[value].title if name == "metric" else value for value in values]
        options = "".join(
            f'<option value="{escape(value)}">{escape(words)}</option>'
            for value, words in zip(values, titles, strict=True)
        )
        selects.append(f'<label>{DIMENSIONS[name]} <select name="{name}" autocomplete="off">{options}</select></label>')
    return f'<nav class="filters" aria-label="what to show" hidden>{"".join(selects)}</nav>'


def _section(section: Section, first: Mapping[str, str]) -> str:
    blocks = "".join(_block(block, first) for block in section.blocks)
    none = '<p class="none" hidden>Nothing was measured for this choice.</p>'
    lead = f'<p class="lead">{escape(section.lead)}</p>' if section.lead else ""
    return f"<section><h2>{escape(section.title)}</h2>{lead}{none}{blocks}</section>\n"


def _block(block: Block, first: Mapping[str, str]) -> str:
    marks = "".join(f' data-{name}="{escape(value)}"' for name, value in block.filters.items())
    hidden = "" if all(first[name] == value for name, value in block.filters.items()) else " hidden"
    parts = [f'<p class="headline">{escape(block.words)}</p>'] if block.words else []
    many = len(block.figures) > 2
    parts += [_figure(name, figure, small=many) for name, figure in block.figures.items()]
    tables = [_table(name, table) for name, table in block.tables.items()]
    tables += [_folded(name, table) for name, table in block.folded.items()]
    parts += [f'<div class="held">{"".join(tables)}</div>'] if tables else []
    return f'<div class="block"{marks}{hidden}>{"".join(parts)}</div>'


def _figure(name: str, figure: Figure, *, small: bool) -> str:
    least = 15 * min(len(figure.panels), PER_ROW) if isinstance(figure, Points) else 0  # narrower screens scroll
    # units of the drawing per rem: text comes out about as large as the page's
    scale = 16 if small else 11 if isinstance(figure, Lines) else 13
    look = f' style="--wide: {width_of(figure) / scale:.0f}rem; --least: {least}rem"'
    return f"<figure{look}>{draw(figure)}{_link(name, 'svg')}</figure>"


def _table(name: str, table: Table) -> str:
    return table.html() + _link(name, "csv")


def _folded(name: str, table: Table) -> str:
    kind = name.partition("-")[0]
    return f"<details><summary>{escape(FOLDED.get(kind, kind))}</summary>{_table(name, table)}</details>"


def _link(name: str, ending: str) -> str:
    return f'<p class="files"><a href="report/{name}.{ending}">{ending.upper()}</a></p>'
