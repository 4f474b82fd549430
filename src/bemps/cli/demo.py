"""`bemps demo`: a small real grid and its report, in about a minute."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from bemps.cli.command_errors import print_errors
from bemps.cli.run import run_shown
from bemps.results.learning_curves import Curve

STRATEGIES = ["corelog-ties", "coremse", "margin", "random"]


def demo(
    seeds: Annotated[int, typer.Option(min=1, help="repetitions; their mean is shown")] = 5,
    batch: Annotated[int, typer.Option(min=1, help="labels asked for at a time")] = 10,
    budget: Annotated[int, typer.Option(min=1, help="labels asked for in all, beyond the first 20")] = 120,
    out: Annotated[Path, typer.Option(help="folder of the results and of the report")] = Path("runs/demo"),
) -> None:
    """Real active learning on scikit-learn's digits: four strategies, five seeds, and the report.

    After every batch it trains a linear classifier with a Laplace posterior again. It does the same as
    `bemps run --dataset digits --model spectral ...` and `bemps report`. It needs the extra `experiments`, but no
    network.
    """
    settings = {"dataset": "digits", "model": "spectral", "strategies": STRATEGIES, "seeds": seeds}
    console = Console(soft_wrap=True)
    with print_errors():
        run_shown(settings | {"batch_size": batch, "budget": budget, "out": str(out)})
        _conclude(out, console)


def _conclude(out: Path, console: Console) -> None:
    from bemps.report import write_report
    from bemps.results import read_run

    [curves] = read_run(out).results.curves.values()
    console.print(_table(curves))
    console.print(_sentence(curves))
    with console.status("drawing") as status:
        page = write_report(out, progress=status.update)
    console.print(f"Report: [bold]{page}[/]", highlight=False)


def _table(curves: dict[str, Curve]) -> Table:
    table = Table(title="test accuracy, mean over seeds")
    table.add_column("labels", justify="right")
    for name in curves:
        table.add_column(name, justify="right")
    labels = curves["random"].labels
    for position in sorted({*range(0, len(labels), 2), len(labels) - 1}):
        means = (curve.values["accuracy"].mean(0)[position] for curve in curves.values())
        table.add_row(str(labels[position]), *(f"{mean:.3f}" for mean in means))
    return table


def _sentence(curves: dict[str, Curve]) -> str:
    """Labels that each strategy needs for what random reaches at the end."""
    from bemps.results import labels_to_reach

    means = {name: curve.values["accuracy"].mean(0) for name, curve in curves.items()}
    goal = float(means["random"][-1])
    needed = {name: labels_to_reach(curves[name].labels, mean, goal) for name, mean in means.items()}
    counts = ", ".join(
        f"{name} {count:.0f}" if np.isfinite(count) else f"{name} more" for name, count in needed.items()
    )
    return f"Labels to reach the {goal:.1%} that random reaches at the end: {counts}."
