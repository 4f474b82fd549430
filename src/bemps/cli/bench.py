"""`bemps bench`: how fast the core is, as ratios measured in one run."""

import os
import platform
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from bemps.bench import core
from bemps.bench.measuring import Row


def bench(
    out: Annotated[Path | None, typer.Option(help="also write the tables to this Markdown file")] = None,
    quick: Annotated[bool, typer.Option(help="leave out the million candidates and the largest sizes")] = False,
) -> None:
    """Measure the core against the plain broadcast form, NumPy itself and, where installed, other libraries.

    Prints ratios: machines differ, ratios of two things measured in one run hardly. Takes a few minutes.
    """
    console = Console()
    parts = [f"# Benchmarks\n\n{_preface()}"]
    for title, table in _tables(quick):
        text = f"## {title}\n\n{table}\n"
        console.print(text, markup=False, highlight=False)
        parts.append(text)
    if out is not None:
        out.write_text("\n".join(parts), encoding="utf-8")
        console.print(f"written to {out}", highlight=False)


def _tables(quick: bool) -> Iterable[tuple[str, str]]:
    cores = os.cpu_count() or 1
    for threads in sorted({1, cores}):
        rows = [*core.against_logarithm(threads)]
        rows += [] if quick else [*core.against_broadcast(threads), *core.million(threads)]
        yield f"{threads} thread{'s' if threads > 1 else ''}", _rows(rows)
    yield "Growth of cost, one thread", _growth()
    yield "Peers, one thread", _peers()


def _preface() -> str:
    return (
        f"Written by `make bench`: Python {platform.python_version()}, NumPy {np.__version__}, "
        f"{os.cpu_count()} cores. Ratios were measured in one run; above 1 we are faster (or smaller).\n"
    )


def _rows(rows: list[Row]) -> str:
    lines = ["| what | ours | the other | ratio | aim |", "|---|---|---|---|---|"]
    for row in rows:
        lines.append(
            f"| {row.what} | {row.ours:.4g} {row.unit} | {row.theirs:.4g} {row.unit} | {row.ratio:.3g} | {row.goal} |"
        )
    return "\n".join(lines)


def _growth() -> str:
    lines = ["| what | doubled | expected exponent | measured |", "|---|---|---|---|"]
    lines += [f"| {what} | {axis} | {expected:g} | {found:.2f} |" for what, axis, expected, found in core.growth()]
    return "\n".join(lines)
