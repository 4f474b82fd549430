"""Constants of the forecast and of the accuracy, from simulated projects, and how often their intervals hold.

    python studies/forecast_fit.py table FOLDER   the rounds of studies/forecasts.py -> forecasts.parquet
    python studies/forecast_fit.py fit            the constants of `bemps.learner.forecast_calibration`
    python studies/forecast_fit.py accuracy       those of `bemps.project.accuracy`
    python studies/forecast_fit.py advice         where the page says stop, and what would still have come

Coverage is always that of sets that were left out of the fit.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.optimize import minimize

from bemps.learner.forecast_calibration import ACCURACY, LEAST_CHANGE, improvement
from bemps.metrics import wilson
from bemps.project.accuracy import SHIFT, SPREAD, Estimate, accuracy_from, estimated_accuracy
from bemps.project.history import AHEAD
from bemps.server.model.measures import STABLE, STOP_BELOW

TABLE = Path(__file__).with_name("forecasts.parquet")
MEASURES = {"rise": ("labels", "changed", "classes"), "fall": ("labels", "classes")}  # and what log mu depends on
SPREAD_OF = {"rise": ("labels", "changed"), "fall": ("labels",)}  # what log sigma depends on
AUDITS = (20, 40, 80, 160)
DRAWS = 1_000
Rows = dict[str, np.ndarray]


def main() -> None:
    what, *folder = sys.argv[1:]
    if what == "table":
        pq.write_table(pa.table(table_of(Path(folder[0]))), TABLE, compression="zstd")
    elif what == "fit":
        for measure in MEASURES:
            report_fit(measure, read())
    elif what == "accuracy":
        report_accuracy(read())
    elif what == "advice":
        report_advice(read())
    else:
        raise SystemExit(__doc__)


def read(path: Path = TABLE) -> Rows:
    table = pq.read_table(path)
    return {name: np.asarray(table[name].to_numpy(zero_copy_only=False)) for name in table.column_names}


# -- the table -------------------------------------------------------------------------------------------------------


def table_of(folder: Path) -> dict[str, Any]:
    """One row for each round that was followed by another."""
    rows: dict[str, list[Any]] = {}
    for path in sorted(folder.glob("*.npz")):
        dataset, model, seed, _ = path.name.split(".")
        saved = np.load(path)
        for at in range(len(saved["labels"]) - 1):
            row = {"dataset": dataset, "model": model, "seed": int(seed), "classes": int(saved["K"])}
            for name, value in (row | _numbers(saved, at)).items():
                rows.setdefault(name, []).append(value)
    return {name: values if isinstance(values[0], str | int) else np.float32(values) for name, values in rows.items()}


def _numbers(saved: Any, at: int) -> dict[str, Any]:
    accuracy, brier = saved["right"].mean(1), saved["brier"].mean(1)
    return {
        "labels": int(saved["labels"][at]),
        "gain": min(saved["gain"][at], saved["remaining"][at]),
        "remaining": saved["remaining"][at],
        "changed": 1 - saved["same"][at],
        "moved": saved["moved"][at],
        "accuracy": accuracy[at],
        "brier": brier[at],
        "rise": accuracy[at + 1] - accuracy[at],
        "fall": brier[at] - brier[at + 1],
        "estimated": _estimated(saved, at),
    }


def _estimated(saved: Any, at: int) -> float:
    """The accuracy as the chosen labels tell it by cross-validation; NaN where that was not done."""
    confidence, right = saved["cross_validated"][at]
    known = ~np.isnan(right)
    if not known.any():
        return np.nan
    return estimated_accuracy(confidence[known], right[known], saved["confidence"][at]).accuracy


# -- the forecast ----------------------------------------------------------------------------------------------------


def report_fit(measure: str, rows: Rows) -> None:
    """Constants from all sets, and coverage of each set by constants from the others."""
    rows = _usable(rows)
    theta = fit(measure, rows)
    _say(f"{measure}: constants {np.round(theta, 3)}, residuals {np.round(bounds(measure, theta, rows), 3)}")
    inside, width = left_out(measure, rows)
    _say(f"  {len(inside)} rounds, 90 % intervals of left-out sets hold {inside.mean():.3f}, width {width.mean():.4f}")
    for by in ("dataset", "model"):
        _say("  " + ", ".join(f"{name} {inside[rows[by] == name].mean():.2f}" for name in np.unique(rows[by])))


def left_out(measure: str, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Whether each round lies in its interval, whose constants come from the other sets; and the width."""
    inside, width = np.zeros(len(rows["labels"]), bool), np.zeros(len(rows["labels"]))
    for dataset in np.unique(rows["dataset"]):
        out = rows["dataset"] == dataset
        rest, own = ({name: column[part] for name, column in rows.items()} for part in (~out, out))
        theta = fit(measure, rest)
        low, high = bounds(measure, theta, rest)
        mean, deviation = _moments(measure, theta, own)
        z = (own[measure] - mean) / deviation
        inside[out], width[out] = (low <= z) & (z <= high), (high - low) * deviation
    return inside, width


def fit(measure: str, rows: Rows) -> np.ndarray:
    """Most likely constants: of log mu, of log sigma, and the log of the spread between projects."""
    projects = _projects(rows)
    sizes = 1 + len(MEASURES[measure]), 1 + len(SPREAD_OF[measure])
    start = np.r_[-4.5, np.zeros(sizes[0] - 1), -4.0, np.zeros(sizes[1] - 1), -0.5]

    def loss(theta: np.ndarray) -> float:
        mu, sigma, between = _parts(measure, theta, rows)
        residual = rows[measure] - mu
        # per project: N(mu, diag(sigma^2) + between^2 mu mu'), by the matrix determinant lemma and Sherman-Morrison
        square, cross, own = (
            np.bincount(projects, values / sigma**2) for values in (residual**2, residual * mu, mu * mu)
        )
        inner = 1 + between**2 * own
        total = np.log(sigma).sum() + 0.5 * np.log(inner).sum() + 0.5 * (square - between**2 * cross**2 / inner).sum()
        return float(total + 1e-3 * theta @ theta)

    return minimize(loss, start, method="BFGS", options={"maxiter": 300}).x


def bounds(measure: str, theta: np.ndarray, rows: Rows) -> tuple[float, float]:
    """The standardised residuals between which 90 % lie."""
    mean, deviation = _moments(measure, theta, rows)
    low, high = np.quantile((rows[measure] - mean) / deviation, (0.05, 0.95))
    return float(low), float(high)


def _moments(measure: str, theta: np.ndarray, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    mu, sigma, between = _parts(measure, theta, rows)
    return mu, np.sqrt(sigma**2 + (between * mu) ** 2)


def _parts(measure: str, theta: np.ndarray, rows: Rows) -> tuple[np.ndarray, np.ndarray, float]:
    first = 1 + len(MEASURES[measure])
    mu, sigma = theta[:first] @ _inputs(MEASURES[measure], rows), theta[first:-1] @ _inputs(SPREAD_OF[measure], rows)
    return np.exp(mu.clip(-12, 0)), np.exp(sigma.clip(-9, 0)), float(np.exp(theta[-1]))


def _inputs(names: tuple[str, ...], rows: Rows) -> np.ndarray:
    columns: dict[str, Callable[[], np.ndarray]] = {
        "labels": lambda: np.log(rows["labels"] / 100),
        "changed": lambda: np.log(np.maximum(rows["changed"], LEAST_CHANGE) / 0.1),
        "classes": lambda: np.log(rows["classes"] / 6),
        "gain": lambda: np.log(np.maximum(rows["gain"], 1e-5) / 0.02),
    }
    return np.stack([np.ones(len(rows["labels"])), *(columns[name]() for name in names)])


def _projects(rows: Rows) -> np.ndarray:
    names = [f"{d}/{m}/{s}" for d, m, s in zip(rows["dataset"], rows["model"], rows["seed"], strict=True)]
    return np.unique(names, return_inverse=True)[1]


def _usable(rows: Rows) -> Rows:
    """Rounds with a round before them."""
    known = ~np.isnan(rows["changed"])
    return {name: column[known] for name, column in rows.items()}


# -- accuracy --------------------------------------------------------------------------------------------------------


def report_accuracy(rows: Rows) -> None:
    """Shift and spread of the estimate from all sets; coverage and width on left-out sets beside Wilson's."""
    known = ~np.isnan(rows["estimated"])
    rows = {name: column[known] for name, column in rows.items()}
    _say(f"in the package {SHIFT} {SPREAD}; fitted {np.round(shift_of(rows), 3)}; {known.sum()} models")
    for n in AUDITS:
        found = {name: coverage(rows, n, name) for name in ("wilson", "narrowed")}
        for name, (inside, width) in found.items():
            sets = {str(d): round(inside[rows["dataset"] == d].mean(), 3) for d in np.unique(rows["dataset"])}
            _say(f"{n} items, {name}: {inside.mean():.3f}, width {width.mean():.3f}, {sets}")


def shift_of(rows: Rows) -> tuple[float, float]:
    """Mean and spread, in logits, of what the estimate misses; the spread is that for a set that is not among these."""
    miss = _logit(rows["accuracy"]) - _logit(rows["estimated"])
    return float(miss.mean()), float(miss.std() * np.sqrt(1 + 1 / len(np.unique(rows["dataset"]))))


def coverage(rows: Rows, n: int, name: str) -> tuple[np.ndarray, np.ndarray]:
    """For each model: the share of audits of n items whose interval holds its accuracy, and the mean width.

    The spread is one constant: the package widens it where few labels were predicted wrongly, and the table does not
    say how many were.
    """
    rng = np.random.default_rng(n)
    inside, width = np.zeros(len(rows["labels"])), np.zeros(len(rows["labels"]))
    for at, (dataset, truth, guess) in enumerate(
        zip(rows["dataset"], rows["accuracy"], rows["estimated"], strict=True)
    ):
        out = rows["dataset"] == dataset
        shift, spread = shift_of({key: column[~out] for key, column in rows.items()})
        rights, times = np.unique(rng.binomial(n, truth, size=DRAWS), return_counts=True)
        for right, share in zip(rights.tolist(), times / DRAWS, strict=True):
            found = (
                wilson(right, n)
                if name == "wilson"
                else accuracy_from(right, n, Estimate(float(guess), spread), shift=shift)
            )
            inside[at] += share * (found.low <= truth <= found.high)
            width[at] += share * (found.high - found.low)
    return inside, width


# -- advice ----------------------------------------------------------------------------------------------------------


def report_advice(rows: Rows) -> None:
    """Of the page's rule and of what it was before."""
    for name, rule in (("now", says_stop), ("before", said_stop)):
        at, missed = stops(rows, rule)
        _say(
            f"{name}: {len(at)} of {_projects(rows).max() + 1} projects, after {at.mean():.0f} labels; later points "
            f"of accuracy: mean {100 * missed.mean():.1f}, most {100 * missed.max():.1f}, "
            f"below one in {(missed < 0.01).mean():.0%}"
        )


def stops(rows: Rows, rule: Callable[[Rows, int], bool]) -> tuple[np.ndarray, np.ndarray]:
    """Labels at the first advice to stop of each project, and the accuracy that came until 320 labels.

    Accuracies are means of three rounds: one alone is noise.
    """
    at, missed, projects = [], [], _projects(rows)
    for project in range(projects.max() + 1):
        own = {name: column[projects == project] for name, column in rows.items()}
        accuracy = np.append(own["accuracy"], own["accuracy"][-1] + own["rise"][-1])
        for row in range(3, len(own["labels"]) - 2):
            if rule(own, row):
                at.append(own["labels"][row])
                missed.append(accuracy[-3:].mean() - accuracy[row - 1 : row + 2].mean())
                break
    return np.array(at), np.array(missed)


def says_stop(own: Rows, row: int) -> bool:
    """As `bemps.server.model.measures`."""
    changes = own["changed"][row - 2 : row + 1]
    labels, classes = int(own["labels"][row]), int(own["classes"][row])
    rise = improvement(ACCURACY, labels, classes, AHEAD, changed=float(changes.mean())).mean
    return bool(rise < STOP_BELOW or changes.max() <= 1 - STABLE.agreement)


def said_stop(own: Rows, row: int) -> bool:
    """By the members' own account, or three rounds of 99 %."""
    return bool(own["gain"][row] < 0.001 or own["changed"][row - 2 : row + 1].max() <= 0.01)


def _logit(share: np.ndarray) -> np.ndarray:
    clipped = share.clip(0.002, 0.998)
    return np.log(clipped / (1 - clipped))


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
