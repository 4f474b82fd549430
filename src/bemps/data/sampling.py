"""Random draws that every method shares: the initial labels, a part of the pool, a hold-out.

N  items    K  classes    L  initial labels
"""

import numpy as np
from jaxtyping import Int

from bemps.checks import generator
from bemps.data.table import NO_LABEL, Dataset, Table
from bemps.errors import InputError

TEXT_LABELS, OTHER_LABELS = 26, 20  # Tables 1 and 2 of the paper: text, images
INITIAL, POOL = 1, 2  # one stream of random numbers per purpose


def initial_labels(
    data: Dataset | Table | Int[np.ndarray, " N"], size: int | None = None, *, seed: int = 0
) -> Int[np.ndarray, " L"]:
    """Draw the items that are labelled before the first round.

    Parameters
    ----------
    data : Dataset, Table, or array (N,) of label codes
        The labelled items. From a Dataset or a Table the draw depends on ids and labels, not on the order of rows.
    size : int, optional
        How many items. None takes the paper's number: 26 for texts, 20 otherwise.
    seed : int
        The seed; every method gets the same items at a seed.

    Returns
    -------
    array (L,) of int
        Positions of the items, sorted.

    Notes
    -----
    The draw is stratified. With `size >= K` classes are in proportion and each occurs at least once. Otherwise there
    are `size` different classes, the frequent ones likelier.
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
    class_sizes = _one_each(counts, size, rng) if size < np.count_nonzero(counts) else _proportional(counts, size)
    return np.sort(rows[_drawn(labels, class_sizes, rng)])


def stratified_holdout(
    labels: Int[np.ndarray, " N"], share: float, rng: np.random.Generator
) -> tuple[Int[np.ndarray, " R"], Int[np.ndarray, " T"]]:
    """Split positions into a rest and a stratified hold-out.

    Parameters
    ----------
    labels : array (N,) of int
        Class codes; NO_LABEL (-1) where an item has none.
    share : float
        About how much of the labelled items is held out.
    rng : numpy Generator
        The source of randomness.

    Returns
    -------
    rest : array (R,) of int
        Positions of the items that remain. A class of one item, and items without a label, are among them.
    held_out : array (T,) of int
        Positions of the hold-out. A class of two or more items is in both parts.
    """
    if not 0 < share < 1:
        raise InputError("share of the hold-out", expected="between 0 and 1", got=str(share), fix="0.2 is usual.")
    rows = np.flatnonzero(labels != NO_LABEL)
    counts = np.bincount(labels[rows])
    class_sizes = np.clip(_apportioned(counts * share), np.minimum(counts - 1, 1).clip(0), (counts - 1).clip(0))
    if not class_sizes.sum():
        raise InputError(
            "labels", expected="a class with two items", got=f"counts {counts.tolist()}", fix="Label more."
        )
    test_rows = np.sort(rows[_drawn(labels[rows], class_sizes, rng)])
    return np.setdiff1d(np.arange(len(labels)), test_rows), test_rows


def sampled_rows(table: Table, size: int | None, *, seed: int) -> Table:
    """Draw rows of a table by id, and return them in the order of the table.

    Parameters
    ----------
    table : Table
        The table.
    size : int or None
        How many rows. All are returned if there are no more, or for None.
    seed : int
        The seed of the draw.

    Returns
    -------
    Table
        The rows.
    """
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
    labels: Int[np.ndarray, " N"], class_sizes: Int[np.ndarray, " K"], rng: np.random.Generator
) -> Int[np.ndarray, " _"]:
    """`class_sizes[k]` positions of each class k."""
    return np.concatenate(
        [rng.permutation(np.flatnonzero(labels == k))[:count] for k, count in enumerate(class_sizes.tolist()) if count]
    )


def _one_each(counts: Int[np.ndarray, " K"], size: int, rng: np.random.Generator) -> Int[np.ndarray, " K"]:
    class_sizes = np.zeros_like(counts)
    class_sizes[rng.choice(len(counts), size, replace=False, p=counts / counts.sum())] = 1
    return class_sizes


def _proportional(counts: Int[np.ndarray, " K"], size: int) -> Int[np.ndarray, " K"]:
    """In proportion to the counts; a class that would get none gets one from the class that got most."""
    class_sizes = _apportioned(counts * (size / counts.sum()))
    for left_out in np.flatnonzero((class_sizes == 0) & (counts > 0)).tolist():
        class_sizes[class_sizes.argmax()] -= 1
        class_sizes[left_out] = 1
    return class_sizes


def _apportioned(quotas: np.ndarray) -> Int[np.ndarray, " K"]:
    """Whole numbers that add up to the rounded sum of the quotas: the largest remainders are rounded up."""
    rounded = np.floor(quotas).astype(np.int64)
    missing = int(np.rint(quotas.sum())) - int(rounded.sum())
    rounded[np.argsort(rounded - quotas, kind="stable")[:missing]] += 1
    return rounded
