"""The tables of docs/results.md and docs/appendices from the committed results: python studies/tables.py [name ...]

For each experiment, model and batch size: the mean of the weighted F1 over the curve on each dataset with the paired
difference to random (mean and standard error over seeds), that difference over all datasets, and the wins and losses of
the paper's count; then that count over all settings of the experiment, in F1 and accuracy.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from bemps.experiments.grid import KEY
from bemps.results import METRICS, Curve, Results, Saving, Setting, paired_tests, pairwise_matrix, read_run, saving

RESULTS = Path(__file__).parent / "results"
METRIC = "f1"


def results_of(*names: str) -> Results:
    """The curves of experiments as if they were one run; the same cell twice is refused."""
    tables = [parquet.read_table(RESULTS / f"{name}.parquet") for name in names]
    rows = pa.concat_tables(tables, promote_options="permissive")
    with tempfile.TemporaryDirectory() as folder:
        parquet.write_table(rows.drop_columns(_of_places(rows)), Path(folder) / "results.parquet")
        return read_run(folder).results


def _of_places(rows: pa.Table) -> list[str]:
    """Axes that belong to a dataset and model, and so part no contestants: images have five members, or ten."""
    axes = rows.column_names[len(KEY) : rows.column_names.index("round")]
    places = list(zip(rows["dataset"].to_pylist(), rows["model"].to_pylist(), strict=True))
    return [axis for axis in axes if len({*zip(places, rows[axis].to_pylist(), strict=True)}) == len({*places})]


def only(results: Results, names: str | None, datasets: str | None) -> Results:
    """Of these contestants and datasets alone, given with commas; None is all of them."""
    curves = {
        place: {name: curve for name, curve in curves.items() if names is None or name in names.split(",")}
        for place, curves in results.curves.items()
        if datasets is None or place.dataset in datasets.split(",")
    }
    return replace(results, curves=curves)


def level(curve: Curve, base: Curve | None, metric: str) -> str:
    """Mean over the curve, and the paired difference to random where there is one."""
    mean = f"{curve.values_of(metric).mean():.4f}".removeprefix("0")
    if base is None or base is curve:
        return mean
    return f"{mean} ({with_error(list(gaps(curve, base, metric).values()))})"


def gaps(curve: Curve, base: Curve, metric: str) -> dict[int, float]:
    """How far the mean over the curve is above that of the other, by seed."""
    seeds = sorted(set(curve.seeds) & set(base.seeds))
    found = curve.values_of(metric, seeds).mean(1) - base.values_of(metric, seeds).mean(1)
    return dict(zip(seeds, found.tolist(), strict=True))


def with_error(values: list[float]) -> str:
    """The mean, and its standard error where there are several."""
    error = f" ± {np.std(values, ddof=1) / np.sqrt(len(values)):.4f}" if len(values) > 1 else ""
    return f"{np.mean(values):+.4f}{error}".replace("0.", ".")


def mean_gap(results: Results, settings: Iterable[Setting], name: str, metric: str) -> str:
    """The difference to random averaged over settings, with its error over the seeds that all of them have."""
    places = [results.curves[place] for place in settings]
    found = [gaps(curves[name], curves["random"], metric) for curves in places if {name, "random"} <= curves.keys()]
    if name == "random" or not found:
        return ""
    seeds = sorted(set.intersection(*map(set, found)))
    return with_error([float(np.mean([gap[seed] for gap in found])) for seed in seeds]) if seeds else ""


def until(curve: Curve, goal: int | None) -> Curve:
    """The curve up to so many labels."""
    if goal is None:
        return curve
    before = curve.labels <= goal
    return replace(curve, labels=curve.labels[before], values={name: v[:, before] for name, v in curve.values.items()})


def percent(share: float) -> str:
    return f"{100 * share:.0f} %".replace("-0 %", "0 %") if np.isfinite(share) else "no"


def share_saved(found: Saving) -> str:
    """The share of the baseline's labels that is saved, with its interval."""
    if np.isnan(found.low):
        return percent(found.share)
    low, high = (percent(end).removesuffix(" %") for end in (found.low, found.high))
    return f"{percent(found.share)} ({low} to {high})"


def saved(curve: Curve, base: Curve, goal: int | None = None, metric: str = METRIC) -> str:
    """The share of the baseline's labels that is saved on the way to what it reaches with `goal` labels, or all."""
    found = saving(curve, until(base, goal), metric)
    assert found is not None
    return share_saved(found)


def block(results: Results, settings: list[Setting], metric: str, with_saving: bool, goal: int | None) -> str:
    """One table: a row for each contestant, a column for each dataset."""
    datasets = [place.dataset for place in settings]
    count = pairwise_matrix(results, metric, settings).ranked()
    lines = [
        "| strategy | " + " | ".join([*datasets, "mean", "wins", "losses"]) + " |",
        "|---|" + "---|" * (len(datasets) + 3),
    ]
    for name, wins, losses in zip(count.names, count.totals, count.wins.sum(0), strict=True):
        cells = []
        for place in settings:
            curves = results.curves[place]
            base = curves.get("random")
            cell = level(curves[name], base, metric) if name in curves else ""
            if with_saving and cell and base is not None and name != "random":
                cell += f", {saved(curves[name], base, goal, metric)}"
            cells.append(cell)
        cells.append(mean_gap(results, settings, name, metric))
        lines.append(f"| {name} | {' | '.join(cells)} | {wins} | {losses} |")
    return "\n".join(lines)


def matrix(results: Results, metric: str) -> str:
    """The paper's matrix, summed over all settings."""
    count = pairwise_matrix(results, metric).ranked()
    lines = [
        f"| {metric} | " + " | ".join(count.names) + " | wins | losses | against random |",
        "|---|" + "---|" * (len(count.names) + 3),
    ]
    for name, row, wins, losses in zip(count.names, count.wins, count.totals, count.wins.sum(0), strict=True):
        ahead = mean_gap(results, results.curves, name, metric)
        lines.append(f"| {name} | {' | '.join(map(str, row))} | {wins} | {losses} | {ahead} |")
    return "\n".join(lines)


def paired(results: Results, metric: str) -> str:
    """The test over seeds for every pair, the better one first."""
    lines = ["| ahead | behind | by (95 %) | p | corrected | seeds, settings |", "|---|---|---|---|---|---|"]
    for test in paired_tests(results, metric):
        one, other, sign = (test.first, test.second, 1) if test.difference >= 0 else (test.second, test.first, -1)
        low, high = sorted((sign * test.low, sign * test.high))
        by = f"{sign * test.difference:+.4f} ({low:+.4f} to {high:+.4f})".replace("0.", ".")
        lines.append(
            f"| {one} | {other} | {by} | {test.p:.2g} | {test.corrected:.2g} | {test.seeds}, {test.settings} |"
        )
    return "\n".join(lines)


def write(what: str, results: Results, metric: str, *, with_saving: bool, goal: int | None, with_pairs: bool) -> None:
    groups = sorted({(place.model, place.batch_size) for place in results.curves})
    for model, size in groups:
        places = [place for place in results.curves if (place.model, place.batch_size) == (model, size)]
        seeds = max(len(curve.seeds) for place in places for curve in results.curves[place].values())
        table = block(results, places, metric, with_saving, goal)
        sys.stdout.write(f"\n{what}: {model}, B = {size}, {seeds} seeds\n\n{table}\n")
    for measure in (METRIC, "accuracy") if metric == METRIC else (metric,):
        sys.stdout.write(f"\n{what}: all settings\n\n{matrix(results, measure)}\n")
    if with_pairs:
        sys.stdout.write(f"\n{what}: paired over seeds\n\n{paired(results, metric)}\n")


if __name__ == "__main__":
    there = sorted(path.stem for path in RESULTS.glob("*.parquet"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="*", help=f"of an experiment; all of them if none is given: {', '.join(there)}")
    measures = [metric.name for metric in METRICS.values() if metric.better]
    parser.add_argument("--metric", default=METRIC, choices=measures, help="in place of weighted F1 and accuracy")
    parser.add_argument(
        "--saving",
        action="store_true",
        help="also the share of random's labels that is saved, with its 95 % interval over seeds "
        '("no": random\'s last score is not reached)',
    )
    parser.add_argument("--goal", type=int, help="with --saving: what random reaches with so many labels")
    parser.add_argument(
        "--paired",
        action="store_true",
        help="also how far each is ahead of each, seed by seed, over all settings; p before and after Holm",
    )
    parser.add_argument(
        "--together",
        action="store_true",
        help="the experiments named as one: tiny-batches small-batches main alps have the four batch sizes, "
        "words-ten words-fresh twenty seeds",
    )
    parser.add_argument("--only", help="these strategies alone, with commas: those that were run at every size, say")
    parser.add_argument("--on", help="these datasets alone, with commas")
    given = parser.parse_args()
    if unknown := sorted(set(given.name) - set(there)):
        parser.error(f"no results of {', '.join(unknown)}; there are {', '.join(there)}")
    named = given.name or there
    for some in [named] if given.together else [[name] for name in named]:
        found = only(results_of(*some), given.only, given.on)
        write(
            " + ".join(some),
            found,
            given.metric,
            with_saving=given.saving,
            goal=given.goal,
            with_pairs=given.paired,
        )
