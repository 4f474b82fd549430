"""`bemps demo`: the main job in about a minute."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from bemps.cli.failures import plainly, writable
from bemps.demo import Curves, Setting, learning_curves
from bemps.report import curves_page


def demo(
    seeds: Annotated[int, typer.Option(min=1, help="repetitions; their mean is shown")] = 5,
    batch: Annotated[int, typer.Option(min=1, help="labels asked for at a time")] = 10,
    rounds: Annotated[int, typer.Option(min=1, help="batches asked for")] = 12,
    out: Annotated[Path, typer.Option(help="the page with the learning curves")] = Path("bemps-demo.html"),
) -> None:
    """Real active learning on scikit-learn's digits: CoreMSE against margin and random.

    An ensemble of ten logistic regressions is retrained after every batch. Needs no network and nothing beyond
    what `pip install bemps` brings.
    """
    console = Console()
    setting = Setting(seeds=seeds, batch=batch, rounds=rounds)
    with plainly():
        writable(out)
    with plainly(), _bar(console) as bar:
        task = bar.add_task("starting", total=setting.steps)
        curves = learning_curves(
            setting,
            lambda strategy, seed, labels: bar.update(
                task, advance=1, description=f"{strategy:8} seed {seed} {labels:4} labels"
            ),
        )
    console.print(_table(curves))
    console.print(_sentence(curves))
    out.write_text(
        curves_page(
            "bemps demo: digits",
            _sentence(curves),
            curves.labels,
            curves.accuracy,
            note=f"Mean test accuracy over {seeds} seeds with 95 % bands; ten logistic regressions with "
            f"Bayesian-bootstrap weights; the same initial labels for every strategy at a seed.",
        ),
        encoding="utf-8",
    )
    console.print(f"Learning curves: [bold]{out}[/]", highlight=False)


def _bar(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
    )


def _table(curves: Curves) -> Table:
    table = Table(title="test accuracy, mean over seeds")
    table.add_column("labels", justify="right")
    for name in curves.accuracy:
        table.add_column(name, justify="right")
    last = len(curves.labels) - 1
    for place in [*range(0, last, 2), last]:
        row = [f"{values.mean(0)[place]:.3f}" for values in curves.accuracy.values()]
        table.add_row(str(curves.labels[place]), *row)
    return table


def _sentence(curves: Curves) -> str:
    """Labels that each strategy needs for what random reaches at the end."""
    goal = float(curves.accuracy["random"].mean(0)[-1])
    needed = {name: curves.labels_to_reach(name, goal) for name in curves.accuracy}
    told = ", ".join(f"{name} {count if count is not None else 'more'}" for name, count in needed.items())
    return f"Labels to reach the {goal:.1%} that random reaches at the end: {told}."
