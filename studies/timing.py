"""The table of seconds in docs/appendices, like the paper's: python studies/timing.py, on a quiet machine.

    bemps run studies/timing/timing.toml --jobs 1      # training and choosing with 526 labels, five members
    python studies/timing.py [runs/timing]

Training (T) and choosing (Q) for each strategy and dataset, from the run; then, at the size of each dataset, what the
scores alone take against the broadcast form that materialises everything, from the same probabilities. One thread.
"""

import sys
from collections.abc import Callable
from functools import partial

import numpy as np

from bemps import core_log, core_mse
from bemps.acquisition.baselines import wmocu_gain
from bemps.limits import library_threads, limits
from bemps.results import costs, read_run
from bemps.types import Array
from benchmarks import broadcast_forms
from benchmarks.measuring import ensemble, seconds

MEMBERS, POINTS = 5, 1_000
ROWS = 500  # candidates at a time in the broadcast form, which would not fit into memory whole
Form = Callable[[Array, Array], Array]


def _wmocu(c: float) -> Form:
    even = np.full(MEMBERS, 1 / MEMBERS)
    return lambda p, x: wmocu_gain(p, x, even, np.full(x.shape[1], 1 / x.shape[1]), c=c).scores


FORMS: dict[str, tuple[Form, Form]] = {
    "CoreMSE": (lambda p, x: core_mse(p, x).scores, broadcast_forms.core_mse),
    "CoreLog": (lambda p, x: core_log(p, x).scores, broadcast_forms.core_log),
    "MOCU": (_wmocu(0.0), lambda p, x: broadcast_forms.wmocu(p, x, 0.0)),
    "WMOCU": (_wmocu(1.0), broadcast_forms.wmocu),
}


def measured(run: str) -> str:
    folder = read_run(run)
    found = {place.dataset: by for place, by in costs(folder.tables["timings"], folder.axes).items()}
    lines = ["| T / Q, seconds | " + " | ".join(found) + " |", "|---|" + "---|" * len(found)]
    for name in next(iter(found.values())):
        cells = [f"{by[name].train_seconds:.2f} / {by[name].query_seconds:.2f}" for by in found.values()]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def against_broadcast(run: str) -> str:
    data = read_run(run).config["data"]
    sizes = {name: (one["pool"], len(one["classes"])) for name, one in data.items()}
    heads = [f"{name} ({N:,} x {POINTS:,}, K = {K})" for name, (N, K) in sizes.items()]
    lines = ["| ours / broadcast, seconds | " + " | ".join(heads) + " |", "|---|" + "---|" * len(sizes)]
    for form, (ours, plain) in FORMS.items():
        cells = []
        for N, K in sizes.values():
            probs, points = ensemble(MEMBERS, N, K), ensemble(MEMBERS, POINTS, K, seed=1)
            fast = seconds(partial(ours, probs, points))
            parts = np.split(probs, range(ROWS, N, ROWS), axis=1)
            slow = sum(seconds(partial(plain, part, points), 1) for part in parts)
            cells.append(f"{fast:.3g} / {slow:.3g}: {slow / fast:,.0f} times")
        lines.append(f"| {form} scores | {' | '.join(cells)} |")
    return "\n".join(lines)


def main(run: str = "runs/timing") -> None:
    with library_threads(1), limits(threads=1):
        sys.stdout.write(f"{measured(run)}\n\n{against_broadcast(run)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
