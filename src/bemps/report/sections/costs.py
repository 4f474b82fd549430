"""The section on time and memory: the paper's T / Q table, and one for each axis that varies."""

from collections.abc import Iterator

import numpy as np

from bemps.report.blocks import Block, Section, file_stem
from bemps.report.formatting import score, seconds
from bemps.report.html_tables import Table
from bemps.report.style import Styles
from bemps.results import METRICS, Cost, RunFolder, Setting, costs

LEAD = "Mean seconds per round to train (T) and to query (Q), over rounds and seeds."
Costs = dict[Setting, dict[str, Cost]]


def section(run: RunFolder, styles: Styles) -> Section | None:
    """Make the section, if anything was timed."""
    if not run.tables.get("timings", {}).get("round"):
        return None
    by_setting = costs(run.tables["timings"], run.axes)
    return Section("Time and memory", LEAD, (*_by_dataset(by_setting), *_by_axis(run, by_setting)))


def _by_dataset(by_setting: Costs) -> Iterator[Block]:
    for size in sorted({setting.batch_size for setting in by_setting}):
        settings = [setting for setting in by_setting if setting.batch_size == size]
        names = dict.fromkeys(name for setting in settings for name in by_setting[setting])
        columns = [f"{setting.dataset}, {setting.model}: T / Q" for setting in settings]
        rows = tuple((name, *(_pair(by_setting[setting].get(name)) for setting in settings)) for name in names)
        raw = tuple(
            (setting.dataset, setting.model, size, name, cost.train_seconds, cost.query_seconds, cost.peak_memory_mb)
            for setting in settings
            for name, cost in by_setting[setting].items()
        )
        headings = ("dataset", "model", "batch_size", "strategy", "train_seconds", "query_seconds", "peak_memory_mb")
        table = Table(("strategy", *columns), rows, headings, raw)
        memory = max(
            (cost.peak_memory_mb for setting in settings for cost in by_setting[setting].values()), default=np.nan
        )
        words = "" if np.isnan(memory) else f"Largest memory of a worker: {memory:.0f} MB."
        yield Block({"batch": str(size)}, {}, {f"times-b{size}": table}, {}, words)


def _pair(cost: Cost | None) -> str:
    return "–" if cost is None else f"{seconds(cost.train_seconds)} / {seconds(cost.query_seconds)}"


def _by_axis(run: RunFolder, by_setting: Costs) -> Iterator[Block]:
    """T / Q / score at the end, strategies against the values of one axis: the paper's ensemble-size table."""
    metric = run.results.metrics[0]
    for setting, curves in run.results.curves.items():
        for axis in dict.fromkeys(name for curve in curves.values() for name, _ in curve.axes):
            values = dict.fromkeys(dict(curve.axes)[axis] for curve in curves.values() if axis in dict(curve.axes))
            rows: dict[str, dict[str, str]] = {}
            for name, curve in curves.items():
                axes = dict(curve.axes)
                if axis not in axes or not curve.has(metric):
                    continue
                rest = " ".join([curve.strategy, *(f"{k}={v}" for k, v in curve.axes if k != axis)])
                final = score(float(curve.values[metric][:, -1].mean()))
                rows.setdefault(rest, {})[axes[axis]] = f"{_pair(by_setting.get(setting, {}).get(name))} / {final}"
            title = f"T / Q / {METRICS[metric].title}"
            table = Table(
                (title, *(f"{axis}={value}" for value in values)),
                tuple((name, *(cells.get(value, "–") for value in values)) for name, cells in rows.items()),
            )
            filters = {"dataset": setting.dataset, "model": setting.model, "batch": str(setting.batch_size)}
            yield Block(filters, {}, {file_stem("axis", axis, *filters.values()): table})
