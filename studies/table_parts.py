"""Parts of the tables in docs/appendices: curves of studies, cells, rows.

A row is a title, the studies that are read as one, the batch size (None: all of them) and the rule.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from tables import METRIC, RESULTS, gaps, only, results_of, saved, with_error

from bemps.results import (
    Curve,
    PairTest,
    Pairwise,
    Results,
    paired_tests,
    pairwise_matrix,
)

SETS = {"ag_news": "AG NEWS", "csabstruct": "csabstruct", "imdb": "IMDB", "sst5": "SST5", "trec6": "TREC-6"}
RULES = {
    "alps": "ALPS",
    "badge": "BADGE",
    "bald": "BALD",
    "bert-km": "BERT-KM",
    "corelog": "CoreLog",
    "coremse": "CoreMSE",
    "coremse-joint": "CoreMSE-joint",
    "mocu": "MOCU",
    "smocu": "SMOCU",
    "wmocu": "WMOCU",
}
LEAST_P = 0.0001
SHORT = {"coremse-joint": "joint", "corelog-laplace-margin": "c-l-margin", "corelog-margin-km": "c-margin-km"}


@dataclass(frozen=True)
class Study:
    """Committed results that are read as one: files, and of these a batch size, a model, some rules or sets alone."""

    names: tuple[str, ...]
    size: int | None = None
    model: str | None = None
    rules: str | None = None  # with commas
    sets: str | None = None

    @property
    def results(self) -> Results:
        found = only(read(*self.names), self.rules, self.sets)
        curves = {
            place: rules
            for place, rules in found.curves.items()
            if self.size in (None, place.batch_size) and self.model in (None, place.model)
        }
        return replace(found, curves=curves)

    @property
    def by_set(self) -> dict[str, dict[str, Curve]]:
        """Curves by set and rule; of one batch size."""
        found = self.results.curves
        curves = {place.dataset: rules for place, rules in found.items()}
        assert len(curves) == len(found), f"{self.names} have several batch sizes: name one"
        return curves


def study(*names: str, **part: Any) -> Study:
    return Study(names, **part)


@cache
def read(*names: str) -> Results:
    return results_of(*names)


def there(*names: str) -> tuple[str, ...]:
    """Those of these studies that have results."""
    return tuple(name for name in names if (RESULTS / f"{name}.parquet").exists())


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head), *rows])


def title_of(rule: str) -> str:
    return RULES.get(rule, rule)


def short_title(rule: str) -> str:
    return SHORT.get(rule, title_of(rule))


def set_title(dataset: str) -> str:
    return SETS.get(dataset, Path(dataset).stem)


def short_number(text: str) -> str:
    """Without the zero before the point."""
    return text.replace("0.", ".")


def level(curve: Curve, metric: str = METRIC) -> str:
    return short_number(f"{curve.values_of(metric).mean():.4f}")


def gap(curve: Curve, base: Curve, metric: str = METRIC) -> str:
    return with_error(list(gaps(curve, base, metric).values()))


def cell(curves: dict[str, Curve], rule: str, parts: Sequence[str], goal: int | None = None) -> str:
    """What a rule is worth on one set: `gap` to random, labels `saved`; of random its level."""
    if rule not in curves:
        return ""
    if rule == "random":
        return level(curves[rule]) if "gap" in parts else ""
    makers = {
        "gap": lambda: gap(curves[rule], curves["random"]),
        "saved": lambda: saved(curves[rule], curves["random"], goal),
    }
    return "; ".join(makers[part]() for part in parts)


def counted(results: Results, metric: str = METRIC) -> Pairwise:
    """The paper's count, the rule with most wins first."""
    return pairwise_matrix(results, metric).ranked()


def wins_and_losses(results: Results, metric: str = METRIC) -> dict[str, tuple[int, int]]:
    """Of each rule; the most wins first, and of these the fewest losses."""
    count = counted(results, metric)
    totals = zip(count.names, count.totals.tolist(), count.wins.sum(0).tolist(), strict=True)
    return {name: (wins, losses) for name, wins, losses in sorted(totals, key=lambda row: (-row[1], row[2]))}


def p_value(p: float) -> str:
    if p < LEAST_P:
        return f"below {short_number(f'{LEAST_P:.4f}')}"
    return np.format_float_positional(float(f"{p:.2g}"), trim="-").removeprefix("0")


def with_interval(value: float, ends: tuple[float, float]) -> str:
    return short_number(f"{value:+.4f} ({min(ends):+.4f} to {max(ends):+.4f})")


def paired_with(results: Results, rule: str, metric: str = METRIC) -> dict[str, PairTest]:
    """The paired tests of one rule over the most seeds, by the other rule."""
    found = [test for test in paired_tests(results, metric) if rule in (test.first, test.second)]
    most = max(test.seeds for test in found)
    return {(test.second if test.first == rule else test.first): test for test in found if test.seeds == most}


def ahead_by(test: PairTest, rule: str) -> tuple[float, tuple[float, float]]:
    """How far the rule is ahead in a test, and the interval."""
    sign = 1 if test.first == rule else -1
    return sign * test.difference, (sign * test.low, sign * test.high)
