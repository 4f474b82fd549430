"""Agreement of annotators beyond chance: Cohen's kappa for two, Krippendorff's alpha (nominal) for any number.

Both ignore missing labels (None). Both are 1 for perfect agreement and 0 for agreement by chance. They are NaN if
chance agreement is not defined: nothing was labelled twice, or everybody always gave the same label.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from math import nan

Labels = Sequence[Hashable | None]


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
