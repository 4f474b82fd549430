"""The section on calibration: the running average of the error over rounds, and reliability diagrams.

reliability.parquet has for each round the items, summed confidence and right predictions of 20 bins of equal width.
"""

from collections.abc import Iterator

import numpy as np

from bemps.metrics import Reliability, running_average
from bemps.report.blocks import Block, Section, filters_of, setting_stem
from bemps.report.figures import Figure, Lines, Series
from bemps.report.formatting import score
from bemps.report.html_tables import Table
from bemps.report.style import Styles
from bemps.results import RunFolder, Setting
from bemps.results.learning_curves import interval
from bemps.results.run_cells import cells_of

LEAD = (
    "Expected calibration error (ECE): how far the confidence of the classifier is from its accuracy. It is the mean "
    "of all rounds so far, and lower is better."
)


def section(run: RunFolder, styles: Styles) -> Section | None:
    """Make a block for every setting that has the error or the bins."""
    blocks = tuple(_blocks(run, styles))
    return Section("Calibration", LEAD, blocks) if blocks else None


def _blocks(run: RunFolder, styles: Styles) -> Iterator[Block]:
    diagrams = _last_bins(run)
    for setting in run.results.curves:
        figures: dict[str, Figure] = {}
        tables: dict[str, Table] = {}
        if "ece" in run.results.metrics and run.results.with_metric(setting, "ece"):
            figures[f"ece-{setting_stem(setting)}"] = _running(run, setting, styles)
        if setting in diagrams:
            figures[f"reliability-{setting_stem(setting)}"], table = _diagram(run, diagrams[setting], setting, styles)
            tables[f"reliability-{setting_stem(setting)}"] = table
        if figures:
            yield Block(filters_of(setting), figures, {}, tables)


def _running(run: RunFolder, setting: Setting, styles: Styles) -> Lines:
    series = []
    for name, curve in run.results.with_metric(setting, "ece").items():
        mean, low, high = interval(running_average(curve.values["ece"]))
        series.append(Series(name, styles[name], curve.labels, mean, low, high))
    return Lines(str(setting), "labels", "running mean of ECE", tuple(series))


def _last_bins(run: RunFolder) -> dict[Setting, dict[str, list[int]]]:
    """Rows of reliability.parquet in the last round of every contestant of the results, all seeds together."""
    rows_by_setting: dict[Setting, dict[str, list[int]]] = {}
    for (setting, name, _), by_round in cells_of(run, "reliability").items():
        if name in run.results.curves.get(setting, {}):
            rows_by_setting.setdefault(setting, {}).setdefault(name, []).extend(by_round[max(by_round)])
    return rows_by_setting


def _pooled(run: RunFolder, rows: list[int]) -> Reliability:
    """The bins of several seeds added up; empty ones have no rows."""
    table = run.tables["reliability"]
    bins, positions = np.unique([table["bin"][row] for row in rows], return_inverse=True)
    items, confidence, right = (
        np.bincount(positions, [table[name][row] for row in rows], minlength=len(bins))
        for name in ("items", "confidence", "correct")
    )
    return Reliability(confidence / items, right / items, items.astype(np.int64))


def _diagram(run: RunFolder, names: dict[str, list[int]], setting: Setting, styles: Styles) -> tuple[Lines, Table]:
    """Accuracy against confidence, for each contestant; the diagonal is perfect."""
    series, raw = [], []
    for name, rows in names.items():
        reliability = _pooled(run, rows)
        series.append(
            Series(f"{name}, ECE {reliability.error:.3f}", styles[name], reliability.confidence, reliability.accuracy)
        )
        raw += [
            (name, *bin_)
            for bin_ in zip(
                reliability.confidence.tolist(), reliability.accuracy.tolist(), reliability.count.tolist(), strict=True
            )
        ]
    figure = Lines(
        f"Reliability after the last round, {setting.dataset}", "confidence", "accuracy", tuple(series), diagonal=True,
        x_range=(0.0, 1.0), y_range=(0.0, 1.0),
    )  # fmt: skip
    shown_rows = tuple((name, score(c), score(a), str(n)) for name, c, a, n in raw)
    return figure, Table(("strategy", "confidence", "accuracy", "items"), shown_rows, (), tuple(raw))
