"""Learning curves: one for each setting and contestant, over seeds and rounds.

S  seeds      R  rounds (the first is before anything was acquired)

A contestant is a strategy; where a run has further axes (members, T, ...) with several values, each combination is a
contestant of its own: `coremse members=10`.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from bemps.types import Array

Columns = Mapping[str, Sequence[Any]]


@dataclass(frozen=True, order=True)
class Setting:
    """Where contestants are compared with each other."""

    dataset: str
    model: str
    batch_size: int

    def __str__(self) -> str:
        return f"{self.dataset}, {self.model}, batches of {self.batch_size}"


@dataclass(frozen=True, eq=False)
class Mean:
    """The mean over seeds and its confidence interval; low and high are NaN with one seed."""

    labels: Int[Array, " R"]
    mean: Float[Array, " R"]
    low: Float[Array, " R"]
    high: Float[Array, " R"]


@dataclass(frozen=True, eq=False)
class Curve:
    """The measures of one contestant in one setting; only seeds that have every round are in it."""

    name: str
    strategy: str
    axes: tuple[tuple[str, str], ...]
    seeds: tuple[int, ...]
    labels: Int[Array, " R"]
    values: dict[str, Float[Array, "S R"]]

    def has(self, metric: str) -> bool:
        """Whether the metric was measured in every round of every seed."""
        return metric in self.values and bool(np.isfinite(self.values[metric]).all())

    def of(self, metric: str, seeds: Sequence[int] | None = None) -> Float[Array, "S R"]:
        """The metric of these seeds in their order, of all without."""
        rows = range(len(self.seeds)) if seeds is None else [self.seeds.index(seed) for seed in seeds]
        return self.values[metric][list(rows)]

    def mean(self, metric: str, confidence: float = 0.95) -> Mean:
        """mean +- t sd / sqrt(S), with t of S - 1 degrees of freedom, round by round."""
        return Mean(self.labels, *interval(self.values[metric], confidence))

    def mean_with_error(self, metric: str) -> Mean:
        """The mean and one standard error of it to each side, round by round."""
        values = self.values[metric]
        mean = values.mean(0)
        error = values.std(0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.full_like(mean, np.nan)
        return Mean(self.labels, mean, mean - error, mean + error)


@dataclass(frozen=True, eq=False)
class Results:
    """All curves by setting and contestant, the metrics there are, and what was left out and why."""

    curves: dict[Setting, dict[str, Curve]]
    metrics: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def contestants(self) -> tuple[str, ...]:
        """Every name, in the order of the run."""
        return tuple(dict.fromkeys(name for curves in self.curves.values() for name in curves))

    def with_metric(self, setting: Setting, metric: str) -> dict[str, Curve]:
        """The curves of a setting that have the metric."""
        return {name: curve for name, curve in self.curves[setting].items() if curve.has(metric)}


def interval(
    values: Float[Array, "S *rest"], confidence: float = 0.95
) -> tuple[Float[Array, "*rest"], Float[Array, "*rest"], Float[Array, "*rest"]]:
    """Mean over the first axis and the ends of its t interval."""
    from scipy.stats import t

    count, mean = len(values), np.asarray(values.mean(0))
    if count < 2:
        return mean, np.full_like(mean, np.nan), np.full_like(mean, np.nan)
    half = t.ppf((1 + confidence) / 2, count - 1) * values.std(0, ddof=1) / np.sqrt(count)
    return mean, np.asarray(mean - half), np.asarray(mean + half)


def collect(rows: Columns, axes: Sequence[str], metrics: Sequence[str]) -> Results:
    """Curves from one row per round of a cell."""
    shown = varying(rows, axes)
    cells: dict[tuple[Any, ...], dict[int, dict[int, int]]] = defaultdict(lambda: defaultdict(dict))
    for row in range(len(rows["round"])):
        place = Setting(str(rows["dataset"][row]), str(rows["model"][row]), int(rows["batch_size"][row]))
        key = (place, str(rows["strategy"][row]), variant(rows, shown, row))
        cells[key][int(rows["seed"][row])][int(rows["round"][row])] = row
    numbers = {name: np.array([np.nan if v is None else v for v in rows[name]], dtype=float) for name in metrics}
    labels = np.array(rows["labels"])
    notes: list[str] = []
    curves: dict[Setting, dict[str, Curve]] = defaultdict(dict)
    for (place, strategy, values), seeds in cells.items():
        name = contestant(strategy, values)
        curves[place][name] = _curve((strategy, values), seeds, labels, numbers)
        notes += _unfinished(place, name, seeds)
    return Results(dict(sorted(curves.items())), tuple(metrics), (*notes, *_uneven(curves)))


def varying(rows: Columns, axes: Sequence[str]) -> list[str]:
    """The axes with more than one value, not counting that some cells have none."""
    return [axis for axis in axes if len({str(value) for value in rows[axis] if value is not None}) > 1]


def variant(rows: Columns, axes: Sequence[str], row: int) -> tuple[tuple[str, str], ...]:
    """The values of a row on these axes, as far as it has any."""
    return tuple((axis, str(rows[axis][row])) for axis in axes if rows[axis][row] is not None)


def contestant(strategy: str, values: Sequence[tuple[str, str]]) -> str:
    """The name of a strategy under the axes that vary."""
    return " ".join([strategy, *(f"{axis}={value}" for axis, value in values)])


def _curve(
    who: tuple[str, tuple[tuple[str, str], ...]],
    seeds: dict[int, dict[int, int]],
    labels: Int[Array, " rows"],
    numbers: Mapping[str, Float[Array, " rows"]],
) -> Curve:
    """From seed -> round -> row: the seeds that have every round; where none has, the longest."""
    rounds = sorted({number for found in seeds.values() for number in found})
    whole = sorted(seed for seed, found in seeds.items() if len(found) == len(rounds))
    whole = whole or [max(seeds, key=lambda seed: len(seeds[seed]))]
    rounds = sorted(seeds[whole[0]])
    table = np.array([[seeds[seed][number] for number in rounds] for seed in whole])
    counts = labels[table].mean(0).round().astype(np.int64)
    return Curve(contestant(*who), *who, tuple(whole), counts, {name: found[table] for name, found in numbers.items()})


def _unfinished(place: Setting, name: str, seeds: dict[int, dict[int, int]]) -> list[str]:
    longest = max(map(len, seeds.values()))
    short = [f"seed {seed} ({len(found)} of {longest} rounds)" for seed, found in seeds.items() if len(found) < longest]
    return [f"{name} on {place}: left out {', '.join(short)}, not finished."] if short else []


def _uneven(curves: Mapping[Setting, Mapping[str, Curve]]) -> list[str]:
    """Contestants that a setting lacks, or that have other seeds or rounds there than the rest."""
    everyone = dict.fromkeys(name for found in curves.values() for name in found)
    notes = []
    for place, found in curves.items():
        notes += [f"{name} on {place}: no results." for name in everyone if name not in found]
        seeds = {seed for curve in found.values() for seed in curve.seeds}
        rounds = max(len(curve.labels) for curve in found.values())
        for name, curve in found.items():
            lacking = sorted(seeds - set(curve.seeds))
            if lacking:
                notes.append(f"{name} on {place}: no finished seed {', '.join(map(str, lacking))}, which others have.")
            if len(curve.labels) < rounds:
                notes.append(f"{name} on {place}: {len(curve.labels)} of {rounds} rounds; compared up to there.")
    return notes
