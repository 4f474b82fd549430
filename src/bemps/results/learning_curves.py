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
    """A setting in which contestants are compared with each other.

    Attributes
    ----------
    dataset : str
        Name of the dataset.
    model : str
        Name of the model.
    batch_size : int
        Labels acquired in a round.
    """

    dataset: str
    model: str
    batch_size: int

    def __str__(self) -> str:
        return f"{self.dataset}, {self.model}, batches of {self.batch_size}"


@dataclass(frozen=True, eq=False)
class Mean:
    """The mean of a curve over seeds and its interval.

    Attributes
    ----------
    labels : array of int (R,)
        Number of labels in each round.
    mean : array of float (R,)
        Mean over seeds.
    low, high : array of float (R,)
        Ends of the interval. NaN with a single seed.
    """

    labels: Int[Array, " R"]
    mean: Float[Array, " R"]
    low: Float[Array, " R"]
    high: Float[Array, " R"]


@dataclass(frozen=True, eq=False)
class Curve:
    """The metrics of a contestant in a setting, for the seeds that have every round.

    Attributes
    ----------
    name : str
        The contestant: the strategy, and the values of the axes that vary.
    strategy : str
        The strategy.
    axes : tuple of pairs of str
        Names and values of the axes that vary.
    seeds : tuple of int
        The seeds.
    labels : array of int (R,)
        Number of labels in each round.
    values : dict of str to array of float (S, R)
        Each metric by seed and round.
    """

    name: str
    strategy: str
    axes: tuple[tuple[str, str], ...]
    seeds: tuple[int, ...]
    labels: Int[Array, " R"]
    values: dict[str, Float[Array, "S R"]]

    def has(self, metric: str) -> bool:
        """Whether a metric was measured in every round of every seed.

        Parameters
        ----------
        metric : str
            Name of the metric.

        Returns
        -------
        bool
            True if every value is finite.
        """
        return metric in self.values and bool(np.isfinite(self.values[metric]).all())

    def values_of(self, metric: str, seeds: Sequence[int] | None = None) -> Float[Array, "S R"]:
        """A metric by seed and round.

        Parameters
        ----------
        metric : str
            Name of the metric.
        seeds : sequence of int, optional
            The seeds, in this order. The default is all.

        Returns
        -------
        array of float (S, R)
            The values.
        """
        rows = range(len(self.seeds)) if seeds is None else [self.seeds.index(seed) for seed in seeds]
        return self.values[metric][list(rows)]

    of = values_of  # the name in release 0.1

    def mean(self, metric: str, confidence: float = 0.95) -> Mean:
        """The mean over seeds and its t interval in each round: mean +- t sd / sqrt(S), S - 1 degrees of freedom.

        Parameters
        ----------
        metric : str
            Name of the metric.
        confidence : float
            Confidence of the interval.

        Returns
        -------
        Mean
            The mean and the interval.
        """
        return Mean(self.labels, *interval(self.values[metric], confidence))

    def mean_with_error(self, metric: str) -> Mean:
        """The mean over seeds in each round, with an interval of one standard error to each side.

        Parameters
        ----------
        metric : str
            Name of the metric.

        Returns
        -------
        Mean
            The mean and the interval.
        """
        values = self.values[metric]
        mean = values.mean(0)
        error = values.std(0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.full_like(mean, np.nan)
        return Mean(self.labels, mean, mean - error, mean + error)


@dataclass(frozen=True, eq=False)
class Results:
    """All curves of a run.

    Attributes
    ----------
    curves : dict of Setting to dict of str to Curve
        The curves by setting and contestant.
    metrics : tuple of str
        The metrics that were measured.
    notes : tuple of str
        Results that were left out, and why.
    """

    curves: dict[Setting, dict[str, Curve]]
    metrics: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def contestants(self) -> tuple[str, ...]:
        """The names of all contestants, in the order of the run."""
        return tuple(dict.fromkeys(name for curves in self.curves.values() for name in curves))

    def with_metric(self, setting: Setting, metric: str) -> dict[str, Curve]:
        """The curves of a setting that have a metric.

        Parameters
        ----------
        setting : Setting
            The setting.
        metric : str
            Name of the metric.

        Returns
        -------
        dict of str to Curve
            The curves by contestant.
        """
        return {name: curve for name, curve in self.curves[setting].items() if curve.has(metric)}


def interval(
    values: Float[Array, "S *rest"], confidence: float = 0.95
) -> tuple[Float[Array, "*rest"], Float[Array, "*rest"], Float[Array, "*rest"]]:
    """The mean over the first axis, and the ends of its t interval."""
    from scipy.stats import t

    count, mean = len(values), np.asarray(values.mean(0))
    if count < 2:
        return mean, np.full_like(mean, np.nan), np.full_like(mean, np.nan)
    half = t.ppf((1 + confidence) / 2, count - 1) * values.std(0, ddof=1) / np.sqrt(count)
    return mean, np.asarray(mean - half), np.asarray(mean + half)


def collect_curves(rows: Columns, axes: Sequence[str], metrics: Sequence[str]) -> Results:
    """Make curves from a table with one row for each round of a cell.

    Parameters
    ----------
    rows : mapping of str to sequence
        The columns of the table.
    axes : sequence of str
        Further columns of the key.
    metrics : sequence of str
        The columns that are metrics.

    Returns
    -------
    Results
        The curves.
    """
    shown = varying_axes(rows, axes)
    cells: dict[tuple[Any, ...], dict[int, dict[int, int]]] = defaultdict(lambda: defaultdict(dict))
    for row in range(len(rows["round"])):
        setting = Setting(str(rows["dataset"][row]), str(rows["model"][row]), int(rows["batch_size"][row]))
        key = (setting, str(rows["strategy"][row]), axis_values(rows, shown, row))
        cells[key][int(rows["seed"][row])][int(rows["round"][row])] = row
    numbers = {name: np.array([np.nan if v is None else v for v in rows[name]], dtype=float) for name in metrics}
    labels = np.array(rows["labels"])
    notes: list[str] = []
    curves: dict[Setting, dict[str, Curve]] = defaultdict(dict)
    for (setting, strategy, values), seeds in cells.items():
        name = contestant_name(strategy, values)
        curves[setting][name] = _curve((strategy, values), seeds, labels, numbers)
        notes += _unfinished(setting, name, seeds)
    return Results(dict(sorted(curves.items())), tuple(metrics), (*notes, *_uneven(curves)))


def varying_axes(rows: Columns, axes: Sequence[str]) -> list[str]:
    """The axes with more than one value. Cells without a value do not count."""
    return [axis for axis in axes if len({str(value) for value in rows[axis] if value is not None}) > 1]


def axis_values(rows: Columns, axes: Sequence[str], row: int) -> tuple[tuple[str, str], ...]:
    """The names and values of the axes of a row.

    Parameters
    ----------
    rows : mapping of str to sequence
        The columns of the table.
    axes : sequence of str
        The axes.
    row : int
        The row.

    Returns
    -------
    tuple of pairs of str
        Names and values. An axis without a value is left out.
    """
    return tuple((axis, str(rows[axis][row])) for axis in axes if rows[axis][row] is not None)


def contestant_name(strategy: str, values: Sequence[tuple[str, str]]) -> str:
    """The name of a contestant: the strategy, and the values of the axes that vary."""
    return " ".join([strategy, *(f"{axis}={value}" for axis, value in values)])


def _curve(
    who: tuple[str, tuple[tuple[str, str], ...]],
    seeds: dict[int, dict[int, int]],
    labels: Int[Array, " rows"],
    numbers: Mapping[str, Float[Array, " rows"]],
) -> Curve:
    """The curve of the seeds that have every round, or else of the longest seed. `seeds`: seed -> round -> row."""
    rounds = sorted({number for rows in seeds.values() for number in rows})
    complete = sorted(seed for seed, rows in seeds.items() if len(rows) == len(rounds))
    complete = complete or [max(seeds, key=lambda seed: len(seeds[seed]))]
    rounds = sorted(seeds[complete[0]])
    table = np.array([[seeds[seed][number] for number in rounds] for seed in complete])
    counts = labels[table].mean(0).round().astype(np.int64)
    values = {name: column[table] for name, column in numbers.items()}
    return Curve(contestant_name(*who), *who, tuple(complete), counts, values)


def _unfinished(setting: Setting, name: str, seeds: dict[int, dict[int, int]]) -> list[str]:
    longest = max(map(len, seeds.values()))
    short = [
        f"seed {seed} ({len(rounds)} of {longest} rounds)" for seed, rounds in seeds.items() if len(rounds) < longest
    ]
    return [f"{name} on {setting}: left out {', '.join(short)}, not finished."] if short else []


def _uneven(curves: Mapping[Setting, Mapping[str, Curve]]) -> list[str]:
    """Notes on contestants that are missing in a setting, or have fewer seeds or rounds than others."""
    everyone = dict.fromkeys(name for by_name in curves.values() for name in by_name)
    notes = []
    for setting, by_name in curves.items():
        notes += [f"{name} on {setting}: no results." for name in everyone if name not in by_name]
        seeds = {seed for curve in by_name.values() for seed in curve.seeds}
        rounds = max(len(curve.labels) for curve in by_name.values())
        for name, curve in by_name.items():
            missing = sorted(seeds - set(curve.seeds))
            if missing:
                notes.append(
                    f"{name} on {setting}: no finished seed {', '.join(map(str, missing))}, which others have."
                )
            if len(curve.labels) < rounds:
                notes.append(f"{name} on {setting}: {len(curve.labels)} of {rounds} rounds; compared up to there.")
    return notes
