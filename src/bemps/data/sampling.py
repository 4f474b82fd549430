"""Draws that every method shares: the initial labels, a part of the pool, a hold-out.

N  items    K  classes    L  initial labels
"""

import numpy as np
from jaxtyping import Int

from bemps.data.table import NO_LABEL, Dataset, Table
from bemps.errors import InputError

TEXT_LABELS, OTHER_LABELS = 26, 20  # Tables 1 and 2 of the paper: text, images
INITIAL, POOL = 1, 2  # one stream of random numbers per purpose


def generator(seed: int, purpose: int) -> np.random.Generator:
    """The random numbers of one purpose at one seed: drawing more for one changes no other."""
    if seed < 0:
        raise InputError("seed", expected="a whole number, 0 or more", got=str(seed), fix="Choose another seed.")
    return np.random.default_rng([seed, purpose])


def initial_labels(
    data: Dataset | Table | Int[np.ndarray, " N"], size: int | None = None, *, seed: int = 0
) -> Int[np.ndarray, " L"]:
    """Positions of the items that are labelled before the first round: the same for every method at a seed.

    Stratified: classes in proportion, and each at least once when size >= K; else `size` different classes,
    the frequent ones likelier. Without `size` the paper's: 26 for texts, 20 otherwise. From a Dataset or a Table
    the draw depends on the ids and labels alone, not on the order of the rows.
    """
    rows, labels, kind = _ranked(data)
    size = size if size is not None else TEXT_LABELS if kind == "text" else OTHER_LABELS
    counts = np.bincount(labels)
    if not 1 <= size <= len(labels):
        raise InputError(
            "number of initial labels",
            expected=f"1 to {len(labels):,}, the labelled items",
            got=str(size),
            fix="Correct size=.",
        )
    rng = generator(seed, INITIAL)
    wanted = _one_each(counts, size, rng) if size < np.count_nonzero(counts) else _proportional(counts, size)
    return np.sort(rows[_drawn(labels, wanted, rng)])


def stratified_holdout(
    labels: Int[np.ndarray, " N"], share: float, rng: np.random.Generator
) -> tuple[Int[np.ndarray, " kept"], Int[np.ndarray, " held"]]:
    """Splits positions into (kept, held), about `share` of the labelled ones held, classes in proportion.

    A class of two or more items stands on both sides; a class of one, and items without a label, are kept.
    """
    if not 0 < share < 1:
        raise InputError("share of the hold-out", expected="between 0 and 1", got=str(share), fix="0.2 is usual.")
    rows = np.flatnonzero(labels != NO_LABEL)
    counts = np.bincount(labels[rows])
    wanted = np.clip(_apportioned(counts * share), np.minimum(counts - 1, 1).clip(0), (counts - 1).clip(0))
    if not wanted.sum():
        raise InputError(
            "labels", expected="a class with two items", got=f"counts {counts.tolist()}", fix="Label more."
        )
    held = np.sort(rows[_drawn(labels[rows], wanted, rng)])
    return np.setdiff1d(np.arange(len(labels)), held), held


def part_of(table: Table, size: int | None, *, seed: int) -> Table:
    """`size` rows, in the order they stand, drawn by id whatever that order; all when there are no more."""
    if size is None or size >= len(table):
        return table
    if size < 1:
        raise InputError("max_pool", expected="1 or more", got=str(size), fix="Leave it out for the whole pool.")
    return table[np.sort(generator(seed, POOL).permutation(table.by_id)[:size])]


def _ranked(
    data: Dataset | Table | Int[np.ndarray, " N"],
) -> tuple[Int[np.ndarray, " L"], Int[np.ndarray, " L"], str]:
    """Labelled positions in an order of their own, their labels, and the kind."""
    if isinstance(data, np.ndarray):
        rows = np.flatnonzero(data != NO_LABEL)
        return rows, data[rows], "array"
    table = data.pool if isinstance(data, Dataset) else data
    if table.labels is None or not len(table.labelled()):
        raise InputError("table", expected="labels", got="none", fix="Name the column: read(..., label='...').")
    rows = table.by_id[table.labels[table.by_id] != NO_LABEL]
    return rows, table.labels[rows], table.kind


def _drawn(
    labels: Int[np.ndarray, " N"], wanted: Int[np.ndarray, " K"], rng: np.random.Generator
) -> Int[np.ndarray, " _"]:
    """`wanted[k]` positions of each class k."""
    return np.concatenate(
        [rng.permutation(np.flatnonzero(labels == k))[:count] for k, count in enumerate(wanted.tolist()) if count]
    )


def _one_each(counts: Int[np.ndarray, " K"], size: int, rng: np.random.Generator) -> Int[np.ndarray, " K"]:
    wanted = np.zeros_like(counts)
    wanted[rng.choice(len(counts), size, replace=False, p=counts / counts.sum())] = 1
    return wanted


def _proportional(counts: Int[np.ndarray, " K"], size: int) -> Int[np.ndarray, " K"]:
    """In proportion to the counts; a class that would get none gets one from the class that got most."""
    wanted = _apportioned(counts * (size / counts.sum()))
    for left_out in np.flatnonzero((wanted == 0) & (counts > 0)).tolist():
        wanted[wanted.argmax()] -= 1
        wanted[left_out] = 1
    return wanted


def _apportioned(quotas: np.ndarray) -> Int[np.ndarray, " K"]:
    """Whole numbers that add up to the rounded sum of the quotas: the largest remainders are rounded up."""
    whole = np.floor(quotas).astype(np.int64)
    missing = int(np.rint(quotas.sum())) - int(whole.sum())
    whole[np.argsort(whole - quotas, kind="stable")[:missing]] += 1
    return whole
