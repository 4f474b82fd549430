"""Seconds per round to train (T) and to query (Q), and the memory, for the paper's tables."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bemps.results.learning_curves import Setting, axis_values, contestant_name, varying_axes


@dataclass(frozen=True)
class Cost:
    """Times and memory of a contestant. NaN: not measured.

    Attributes
    ----------
    train_seconds, query_seconds : float
        Mean seconds of a round to train and to query, over rounds and seeds.
    peak_memory_mb : float
        The largest memory of a round.
    rounds : int
        Number of rounds.
    """

    train_seconds: float
    query_seconds: float
    peak_memory_mb: float
    rounds: int


def costs(timings: Mapping[str, Sequence[Any]], axes: Sequence[str] = ()) -> dict[Setting, dict[str, Cost]]:
    """The times and memory of each contestant.

    Parameters
    ----------
    timings : mapping of str to sequence
        The columns of `timings.parquet`, with a row for each round.
    axes : sequence of str
        Further columns of the key of the run.

    Returns
    -------
    dict of Setting to dict of str to Cost
        The costs by setting and contestant.
    """
    shown = varying_axes(timings, axes)
    rows: dict[Setting, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for row in range(len(timings["round"])):
        setting = Setting(str(timings["dataset"][row]), str(timings["model"][row]), int(timings["batch_size"][row]))
        rows[setting][contestant_name(str(timings["strategy"][row]), axis_values(timings, shown, row))].append(row)
    return {
        setting: {name: _cost(timings, numbers) for name, numbers in by_name.items()}
        for setting, by_name in sorted(rows.items())
    }


def _cost(timings: Mapping[str, Sequence[Any]], rows: list[int]) -> Cost:
    train, query, memory = (
        np.array([value for row in rows if (value := timings[name][row]) is not None and np.isfinite(value)])
        if name in timings
        else np.empty(0)
        for name in ("train_seconds", "query_seconds", "peak_memory_mb")
    )
    return Cost(
        float(train.mean()) if len(train) else float("nan"),
        float(query.mean()) if len(query) else float("nan"),
        float(memory.max()) if len(memory) else float("nan"),
        len(rows),
    )
