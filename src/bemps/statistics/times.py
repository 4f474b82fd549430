"""Seconds per round to train (T) and to query (Q), and the memory: the paper's timing and ensemble-size tables."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bemps.statistics.curves import Setting, contestant, variant, varying


@dataclass(frozen=True)
class Cost:
    """Means over rounds and seeds, the largest memory, and how many rounds that was; NaN where nothing was measured."""

    train_seconds: float
    query_seconds: float
    peak_memory_mb: float
    rounds: int


def costs(timings: Mapping[str, Sequence[Any]], axes: Sequence[str] = ()) -> dict[Setting, dict[str, Cost]]:
    """By setting and contestant, from one row per round; `axes` are the further key columns of the run."""
    shown = varying(timings, axes)
    rows: dict[Setting, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for row in range(len(timings["round"])):
        place = Setting(str(timings["dataset"][row]), str(timings["model"][row]), int(timings["batch_size"][row]))
        rows[place][contestant(str(timings["strategy"][row]), variant(timings, shown, row))].append(row)
    return {
        place: {name: _cost(timings, numbers) for name, numbers in found.items()}
        for place, found in sorted(rows.items())
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
