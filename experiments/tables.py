"""The tables of docs/results.md from the committed results: python experiments/tables.py [name ...]

For each experiment, model and batch size: the mean of the weighted F1 over the curve on each dataset with the paired
difference to random (mean and standard error over seeds), and the wins and losses of the paper's count; then that
count over all settings of the experiment, in F1 and accuracy. With `--saving` also the share of random's labels that is
saved, with its bootstrap interval over seeds ("no": random's last score is not reached). With `--together` that count
over all the experiments named, as for the four batch sizes: tables.py tiny-batches small-batches main --together
"""

import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np

from bemps.statistics import Curve, Results, Setting, pairwise_matrix, read_run, saving

RESULTS = Path(__file__).parent / "results"
METRIC = "f1"


def results_of(path: Path) -> Results:
    """The curves of a results file; one that lies alone has to look like a run."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(path, Path(folder) / "results.parquet")
        return read_run(Path(folder)).results


def level(curve: Curve, base: Curve | None) -> str:
    """Mean over the curve, and the paired difference to random where there is one."""
    mean = f"{curve.of(METRIC).mean():.4f}".removeprefix("0")
    if base is None or base is curve:
        return mean
    seeds = sorted(set(curve.seeds) & set(base.seeds))
    gaps = curve.of(METRIC, seeds).mean(1) - base.of(METRIC, seeds).mean(1)
    error = f" ± {gaps.std(ddof=1) / np.sqrt(len(gaps)):.4f}" if len(gaps) > 1 else ""
    return f"{mean} ({gaps.mean():+.4f}{error})".replace("0.", ".")


def saved(curve: Curve, base: Curve) -> str:
    found = saving(curve, base, METRIC, np.random.default_rng(0))
    share, low, high = (
        "no" if not np.isfinite(value) else f"{value:.0%}" for value in (found.share, found.low, found.high)
    )
    return f"{share} ({low} to {high})"


def block(results: Results, settings: list[Setting], with_saving: bool) -> str:
    """One table: a row for each contestant, a column for each dataset."""
    datasets = [place.dataset for place in settings]
    count = pairwise_matrix(results, METRIC, settings).ranked()
    lines = ["| strategy | " + " | ".join(datasets) + " | wins | losses |", "|---|" + "---|" * (len(datasets) + 2)]
    for name, wins, losses in zip(count.names, count.totals, count.wins.sum(0), strict=True):
        cells = []
        for place in settings:
            curves = results.curves[place]
            base = curves.get("random")
            cell = level(curves[name], base) if name in curves else ""
            if with_saving and cell and base is not None and name != "random":
                cell += f", {saved(curves[name], base)}"
            cells.append(cell)
        lines.append(f"| {name} | {' | '.join(cells)} | {wins} | {losses} |")
    return "\n".join(lines)


def matrix(results: Results, metric: str) -> str:
    """The paper's matrix, summed over all settings."""
    count = pairwise_matrix(results, metric).ranked()
    lines = [
        f"| {metric} | " + " | ".join(count.names) + " | wins | losses |",
        "|---|" + "---|" * (len(count.names) + 2),
    ]
    for name, row, wins, losses in zip(count.names, count.wins, count.totals, count.wins.sum(0), strict=True):
        lines.append(f"| {name} | {' | '.join(map(str, row))} | {wins} | {losses} |")
    return "\n".join(lines)


def main(names: list[str], with_saving: bool) -> None:
    for name in names:
        results = results_of(RESULTS / f"{name}.parquet")
        groups = sorted({(place.model, place.batch_size) for place in results.curves})
        for model, size in groups:
            places = [place for place in results.curves if (place.model, place.batch_size) == (model, size)]
            seeds = max(len(curve.seeds) for place in places for curve in results.curves[place].values())
            sys.stdout.write(f"\n{name}: {model}, B = {size}, {seeds} seeds\n\n{block(results, places, with_saving)}\n")
        write_matrices(name, results)


def write_matrices(what: str, results: Results) -> None:
    for metric in (METRIC, "accuracy"):
        sys.stdout.write(f"\n{what}: all settings\n\n{matrix(results, metric)}\n")


def joined(names: list[str]) -> Results:
    """The curves of several experiments that have no setting in common."""
    curves: dict[Setting, dict[str, Curve]] = {}
    for name in names:
        found = results_of(RESULTS / f"{name}.parquet")
        if twice := curves.keys() & found.curves.keys():
            sys.exit(f"{name}: expected settings that no other of {names} has, got {sorted(map(str, twice))[0]} again")
        curves |= found.curves
    return Results(curves, found.metrics)


if __name__ == "__main__":
    given = [word for word in sys.argv[1:] if not word.startswith("-")]
    named = given or sorted(path.stem for path in RESULTS.glob("*.parquet"))
    if "--together" in sys.argv:
        write_matrices(" + ".join(named), joined(named))
    else:
        main(named, "--saving" in sys.argv)
