"""Tables and figure of whole systems side by side from studies/results/systems.jsonl: python studies/systems_table.py

The short table goes into docs/results.md, the long one into docs/appendices/systems.md, the curves into
docs/images/results-systems.png. `--tables` prints both tables and writes nothing.

The goal on a set is the weighted F1 that scikit-activeml reaches with its last random labels on MiniLM. Needed
are the labels at which the mean curve of a system first reaches it; in brackets those of the curves that are one
standard error higher and lower, where there are several seeds. CPU seconds are those of encoding all texts and of the
rounds until the most labels that every system has on the first set.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from table_parts import markdown

from bemps.results import labels_to_reach
from bemps.types import Array

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.document_blocks import with_block  # noqa: E402

RESULTS = Path(__file__).parent / "results" / "systems.jsonl"
SETS = {"trec6": "TREC-6", "sst5": "SST5", "csabstruct": "csabstruct", "ag_news": "AG NEWS"}
COMMON = "skactiveml-random"  # the common choice, which sets the goal
TITLES = {
    "bemps": "bemps",
    "bemps-adapted": "bemps, encoder fine-tuned too",
    "small-text": "small-text, MiniLM fine-tuned",
    "small-text-default": "small-text, MiniLM fine-tuned at 2e-5",
    "small-text-setfit": "small-text, SetFit",
    "skactiveml-bge": "scikit-activeml, margin, bge-small",
    "skactiveml-margin": "scikit-activeml, margin",
    "skactiveml-badge": "scikit-activeml, BADGE",
    "skactiveml-random": "scikit-activeml, random",
}
COLOURS = {
    "bemps": "#d55e00",
    "bemps-adapted": "#e69f00",
    "small-text": "#0072b2",
    "small-text-default": "#56b4e9",
    "small-text-setfit": "#009e73",
    "skactiveml-bge": "#cc79a7",
    "skactiveml-margin": "#000000",
    "skactiveml-badge": "#999999",
    "skactiveml-random": "#cccccc",
}
SHOWN = (26, 76, 126, 276, 526)


@dataclass(frozen=True, eq=False)
class SystemCurve:
    """What one system reached on one set: F1 and CPU seconds by seed and labels, and seconds of encoding."""

    labels: Int[Array, " R"]
    f1: Float[Array, "S R"]
    seconds: Float[Array, "S R"]
    encoding: float

    @property
    def error(self) -> Float[Array, " R"]:
        """One standard error over seeds; no number for one seed."""
        if len(self.f1) < 2:
            return np.full(len(self.labels), np.nan)
        error: Array = self.f1.std(axis=0, ddof=1) / np.sqrt(len(self.f1))
        return error

    def at(self, labels: int) -> int | None:
        """The column of a number of labels."""
        columns = np.flatnonzero(self.labels == labels)
        return int(columns[0]) if len(columns) else None


def curves(path: Path = RESULTS) -> dict[str, dict[str, SystemCurve]]:
    """By set and system; of each curve the labels that all its seeds have."""
    cells: dict[tuple[str, str], dict[int, dict[int, dict[str, Any]]]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        cell = cells.setdefault((row["dataset"], row["system"]), {})
        cell.setdefault(row["seed"], {})[row["labels"]] = row
    return {
        dataset: {name: joined(cells[dataset, name]) for name in TITLES if (dataset, name) in cells} for dataset in SETS
    }


def joined(seeds: dict[int, dict[int, dict[str, Any]]]) -> SystemCurve:
    labels = sorted(set.intersection(*(set(rows) for rows in seeds.values())))
    values = [[[rows[each][key] for each in labels] for _, rows in sorted(seeds.items())] for key in ("f1", "seconds")]
    encoding = next(iter(seeds.values()))[labels[0]]["encoding"]
    return SystemCurve(np.array(labels), np.array(values[0]), np.array(values[1]), encoding)


def goal(systems: dict[str, SystemCurve]) -> float:
    return float(systems[COMMON].f1[:, -1].mean())


def short(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def needed(curve: SystemCurve, reach: float) -> str:
    """Labels for the goal, and those of the curves one standard error higher and lower."""
    mean = curve.f1.mean(0)
    middle, last = labels_to_reach(curve.labels, mean, reach), int(curve.labels[-1])
    if np.isinf(middle):
        return f"more than {last}"
    if np.isnan(curve.error).any():
        return f"{middle:.0f}"
    low, high = (labels_to_reach(curve.labels, mean + side * curve.error, reach) for side in (1, -1))
    return f"{middle:.0f} ({low:.0f} to {f'{high:.0f}' if np.isfinite(high) else f'more than {last}'})"


def f1_at(curve: SystemCurve, labels: int) -> str:
    column = curve.at(labels)
    if column is None:
        return ""
    error = "" if np.isnan(curve.error[column]) else f" ± {short(curve.error[column])}"
    return short(curve.f1[:, column].mean()) + error


def most_shared(systems: dict[str, SystemCurve]) -> int:
    """The most labels that every system was run to."""
    return int(max(set.intersection(*(set(curve.labels.tolist()) for curve in systems.values()))))


def cpu_seconds(curve: SystemCurve, labels: int) -> str:
    """Of encoding and of the rounds until so many labels."""
    column = curve.at(labels)
    return "" if column is None else f"{curve.encoding + curve.seconds[:, column].mean():.0f}"


def short_table() -> str:
    """Labels for the goal on each set, and F1 and CPU seconds with the same labels on the first."""
    found = {dataset: systems for dataset, systems in curves().items() if COMMON in systems}
    first = next(iter(found))
    goals = [f"{SETS[dataset]}, F1 {short(goal(systems))}" for dataset, systems in found.items()]
    same = most_shared(found[first])
    head = ("labels for", *goals, f"{SETS[first]}, F1 with {same} labels", f"CPU seconds to {same}", "seeds by set")
    rows = (
        (
            TITLES[name],
            *(needed(systems[name], goal(systems)) if name in systems else "not run" for systems in found.values()),
            f1_at(found[first][name], same),
            cpu_seconds(found[first][name], same),
            ", ".join(str(len(systems[name].f1)) if name in systems else "0" for systems in found.values()),
        )
        for name in found[first]
    )
    return markdown(head, rows)


def long_table() -> str:
    """F1 after some numbers of labels, labels for the goal and CPU seconds, of every system on every set."""
    found = {dataset: systems for dataset, systems in curves().items() if COMMON in systems}
    same = most_shared(next(iter(found.values())))
    head = ("set, goal", "system", "seeds", *(f"{n} labels" for n in SHOWN), "labels for the goal", f"CPU s to {same}")
    rows = (
        (
            f"{SETS[dataset]}, {short(goal(systems))}",
            TITLES[name],
            str(len(curve.f1)),
            *(f1_at(curve, labels) for labels in SHOWN),
            needed(curve, goal(systems)),
            cpu_seconds(curve, same),
        )
        for dataset, systems in found.items()
        for name, curve in systems.items()
    )
    return markdown(head, rows)


def draw(path: Path) -> None:
    from figures import save
    from matplotlib import pyplot as plt

    found = {dataset: systems for dataset, systems in curves().items() if COMMON in systems}
    figure, axes = plt.subplots(1, len(found), figsize=(3.6 * len(found) + 1, 4.2), layout="constrained", squeeze=False)
    for axis, (dataset, systems) in zip(axes[0], found.items(), strict=True):
        for name, curve in systems.items():
            mean, error = curve.f1.mean(0), np.nan_to_num(curve.error)
            axis.plot(curve.labels, mean, "o-", ms=3, color=COLOURS[name], label=TITLES[name])
            axis.fill_between(curve.labels, mean - error, mean + error, color=COLOURS[name], alpha=0.2, lw=0)
        axis.axhline(goal(systems), color="#666666", lw=0.8, ls=":", zorder=0)
        axis.set(title=SETS[dataset], xlabel="labels")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0][0].set_ylabel("weighted F1")
    handles = {title: line for axis in axes[0] for line, title in zip(*axis.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3, frameon=False)
    save(figure, path)


def main() -> None:
    if "--tables" in sys.argv:
        sys.stdout.write(f"{short_table()}\n\n{long_table()}\n")
        return
    for page, table in (("results.md", short_table()), ("appendices/systems.md", long_table())):
        path = ROOT / "docs" / page
        text = path.read_text(encoding="utf-8")
        path.write_text(with_block(text, "whole systems", table, "generated"), encoding="utf-8")
    draw(ROOT / "docs" / "images" / "results-systems.png")


if __name__ == "__main__":
    main()
