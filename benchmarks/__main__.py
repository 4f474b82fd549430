"""`python -m benchmarks`: how fast the core is, as ratios measured in one run."""

import os
import platform
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from bemps._utils.files import written_whole
from bemps.cli.command_errors import print_errors
from bemps.errors import InputError, unknown_name
from benchmarks import core_speed, encoder_speed, model_quality, peer_speed, round_speed, training_cost
from benchmarks.document_blocks import with_block
from benchmarks.measuring import Row

PARTS = ("core", "peers", "round", "encoders", "members", "quality", "networks", "words")
TEXTS = ("trec6", "sst5", "csabstruct", "ag_news", "imdb", "banking77")
DATASETS = ("sst5", "ag_news", "trec6", "csabstruct", "mnist", "cifar10")


def bench(
    part: Annotated[
        list[str] | None, typer.Option(help=f"{', '.join(PARTS)} (repeatable); the first five if left out")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="also put the tables into this Markdown file")] = None,
    data_dir: Annotated[str | None, typer.Option(help="where the datasets of `quality` are; or BEMPS_DATA")] = None,
    dataset: Annotated[list[str] | None, typer.Option(help="datasets of `quality` (repeatable)")] = None,
    seeds: Annotated[int, typer.Option(min=2, help="repetitions of `quality`")] = 5,
    most: Annotated[int, typer.Option(min=500, help="items of pool and test that `quality` uses at most")] = 8_000,
) -> None:
    """Measure bemps: against the plain broadcast form, NumPy itself and, where installed, other libraries.

    \b
      core     expected gains against the form that materialises everything, and how cost grows (minutes)
      peers    scoring functions of other libraries beside ours
      round    one whole round on 20,000 items, ours and others'
      encoders texts a second of one core, ours beside torch and sentence-transformers
      members  heads, masks, frozen features, fine-tuning
      quality  each family of models with 50 to 500 random labels, against logistic regression
      networks the same for networks that learn from texts and images themselves (hours)
      words    the same for texts with a middle layer and words beside their vectors

    Speed is told in ratios: machines differ, ratios of two things measured in one run hardly.
    """
    with print_errors():
        for name in part or []:
            if name not in PARTS:
                raise unknown_name("--part", name, PARTS)
        if out is not None and (out.suffix != ".md" or out.is_dir()):
            raise InputError("--out", expected="a Markdown file", got=str(out), fix="Name a file that ends in .md.")
        console = Console()
        _write(out, "preface", _preface())
        tables: dict[str, Callable[[], Iterable[tuple[str, str]]]] = {
            "core": _core,
            "peers": lambda: [("Peers, one thread", _peers())],
            "round": lambda: [("One full round", _round())],
            "encoders": lambda: [("Text encoders, one thread", _encoders())],
            "members": lambda: [("Members, one thread", _members())],
            "quality": lambda: [("Quality with few labels", _quality(dataset or [*DATASETS], data_dir, seeds, most))],
            "networks": lambda: [
                (
                    "Networks with few labels",
                    _quality(dataset or [*DATASETS], data_dir, seeds, most, model_quality.networks),
                )
            ],
            "words": lambda: [
                ("Words beside meaning", _quality(dataset or [*TEXTS], data_dir, seeds, most, model_quality.words))
            ],
        }
        for name in part or PARTS[:5]:
            for title, table in tables[name]():
                console.print(f"## {title}\n\n{table}\n", markup=False, highlight=False, soft_wrap=True)
                _write(out, title, f"## {title}\n\n{table}")


def _write(out: Path | None, title: str, content: str) -> None:
    """Put a block into the file, between its markers; the rest of the file stays as it is."""
    if out is None:
        return
    text = out.read_text(encoding="utf-8") if out.exists() else "# Benchmarks\n"
    with written_whole(out) as draft:
        draft.write_text(with_block(text, title, content), encoding="utf-8")


def _core() -> Iterable[tuple[str, str]]:
    cores = os.cpu_count() or 1
    for threads in sorted({1, cores}):
        rows = [
            *core_speed.against_logarithm(threads),
            *core_speed.against_broadcast(threads),
            *core_speed.million(threads),
        ]
        yield f"Core, {threads} thread{'s' if threads > 1 else ''}", _rows(rows)
    yield "Growth of cost, one thread", _growth()


def _round() -> str:
    lines = [
        f"Retrain on {round_speed.LABELS} labels, predict {round_speed.N:,} items of {round_speed.H} features, score, "
        f"select {round_speed.BATCH}; {round_speed.MEMBERS} members (the closed form and the other libraries train one "
        "model).",
        "",
        "| what | seconds | note |",
        "|---|---|---|",
    ]
    for what, seconds, note in round_speed.rounds():
        lines.append(f"| {what} | {'-' if seconds is None else f'{seconds:.2f}'} | {note} |")
    return "\n".join(lines)


def _encoders() -> str:
    rows = encoder_speed.speeds()
    usual = next((speed for name, speed, _ in rows if "`TextEncoder`" in name), None)
    lines = [
        f"{encoder_speed.TEXTS} made-up sentences of 5 to 35 words, CPU time, all encoders in turn in one run.",
        "",
        "| encoder | texts a second | against `TextEncoder` | note |",
        "|---|---|---|---|",
    ]
    for name, speed, note in rows:
        ratio = "-" if speed is None or usual is None else f"{speed / usual:.1f} times"
        lines.append(f"| {name} | {'-' if speed is None else f'{speed:.0f}'} | {ratio} | {note} |")
    return "\n".join(lines)


def _members() -> str:
    lines = ["| what | measured | unit and aim |", "|---|---|---|"]
    lines += [f"| {what} | {value:.3g} | {unit} |" for what, value, unit in training_cost.members()]
    return "\n".join(lines)


def _quality(
    names: list[str],
    data_dir: str | None,
    seeds: int,
    most: int,
    families: Callable[[str], dict[str, model_quality.Family]] = model_quality.families,
) -> str:
    console = Console(stderr=True)

    def report(text: str) -> None:
        console.print(text, highlight=False)

    rows = [
        row
        for name in names
        for row in model_quality.measure(name, data_dir, seeds, most, progress=report, families_of=families)
    ]
    lead = f"Weighted F1 with random labels, {seeds} seeds, at most {most:,} items of pool and test."
    return f"{lead}\n\n{model_quality.as_markdown(rows)}"


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
    lines += [
        f"| {what} | {axis} | {expected:g} | {measured:.2f} |" for what, axis, expected, measured in core_speed.growth()
    ]
    return "\n".join(lines)


def _peers() -> str:
    lines = ["| what | size | theirs | ours | times faster | note |", "|---|---|---|---|---|---|"]
    for row in peer_speed.peer_rows():
        theirs, ours, ratio = (
            "-" if value is None else f"{value:.3g}" for value in (row.seconds_theirs, row.seconds_ours, row.ratio)
        )
        lines.append(f"| {row.what} | {row.size} | {theirs} s | {ours} s | {ratio} | {row.note} |")
    return "\n".join(lines)


if __name__ == "__main__":
    typer.run(bench)
