"""Agreement of annotators beyond chance: Cohen's kappa for two, Krippendorff's alpha (nominal) for any number.

Both ignore missing labels (None). Both are 1 for perfect agreement and 0 for agreement by chance. They are NaN if
chance agreement is not defined: nothing was labelled twice, or everybody always gave the same label.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import nan

from bemps.store import Answer
from bemps.store.events import LABEL

Labels = Sequence[Hashable | None]


@dataclass(frozen=True)
class Agreement:
    """How far annotators agree.

    Attributes
    ----------
    items : int
        The number of items that at least two annotators labelled.
    alpha : float
        Krippendorff's alpha over those items.
    kappa : dict
        Cohen's kappa of each pair of annotators, and the number of items that both labelled.
    """

    items: int
    alpha: float
    kappa: dict[tuple[str, str], tuple[float, int]]


def annotator_agreement(answers: Iterable[Answer]) -> Agreement:
    """Return the agreement of annotators over the items that at least two of them have labelled."""
    by_item: dict[str, dict[str, str]] = {}
    for answer in answers:
        if answer.kind == LABEL and answer.label is not None:
            by_item.setdefault(answer.item, {})[answer.annotator] = answer.label
    twice = [labels for labels in by_item.values() if len(labels) > 1]
    people = sorted({who for labels in twice for who in labels})
    kappa = {}
    for first, other in combinations(people, 2):
        both = [(labels[first], labels[other]) for labels in twice if first in labels and other in labels]
        if both:
            kappa[first, other] = cohen_kappa([a for a, _ in both], [b for _, b in both]), len(both)
    return Agreement(len(twice), krippendorff_alpha([list(labels.values()) for labels in twice]), kappa)


def cohen_kappa(first: Labels, second: Labels) -> float:
    """kappa = (p_o - p_e) / (1 - p_e): observed agreement against that of two people who answer independently.

    Cohen 1960. Only items that both have labelled count. p_e follows from each person's shares of the labels.
    """
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    if not pairs:
        return nan
    n = len(pairs)
    observed = sum(a == b for a, b in pairs) / n
    ours, theirs = (Counter(side) for side in zip(*pairs, strict=True))
    expected = sum(ours[label] * theirs[label] for label in ours) / n**2
    return nan if expected == 1 else (observed - expected) / (1 - expected)


def krippendorff_alpha(units: Sequence[Labels]) -> float:
    """alpha = 1 - D_o / D_e for nominal labels. `units[i]` are the labels of item i by all annotators.

    Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability". Over the items with m_i > 1 labels, n labels in
    all, n_c of class c: D_o = sum_i (ordered pairs that differ) / (m_i - 1), D_e = (n^2 - sum_c n_c^2) / (n - 1).
    """
    counts = [Counter(label for label in unit if label is not None) for unit in units]
    counts = [count for count in counts if count.total() > 1]
    observed = sum((count.total() ** 2 - _squares(count)) / (count.total() - 1) for count in counts)
    totals = sum(counts, Counter[Hashable]())
    n = totals.total()
    expected = (n**2 - _squares(totals)) / (n - 1) if n > 1 else 0
    return 1 - observed / expected if expected else nan


def _squares(count: "Counter[Hashable]") -> int:
    return sum(times**2 for times in count.values())
