"""Vectors of items that need neither a label nor a model, for the cold start and for clusters of a batch.

Rows of finite numbers of similar scale are used unchanged. In other tables, a column of numbers is centred on its
median and divided by its spread; missing numbers become the median. A column of other values becomes one column for
each of its most common values.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from jaxtyping import Float

from bemps.data import Images
from bemps.errors import InputError
from bemps.models.base import Items, count
from bemps.types import Array

WIDEST_RATIO = 100.0  # of the widest column to the median one; a wider column would decide alone
MOST_VALUES = 20  # values of a column that get a column of their own
DIRECTIONS = 64
THUMBNAIL = (16, 16)


def can_be_vectors(items: Items) -> bool:
    """Whether `unlabelled_vectors` can convert the items. Lists of unknown objects cannot be converted."""
    return not isinstance(items, list) or all(isinstance(item, str) for item in items)


def unlabelled_vectors(items: Items, rng: np.random.Generator) -> Float[Array, "N H"]:
    """Return one row of finite numbers for each item."""
    if isinstance(items, np.ndarray):
        return _of_array(items)
    if hasattr(items, "tocsr"):
        return _of_sparse(items, rng)
    if hasattr(items, "columns"):
        return _of_frame(items)
    if isinstance(items, Images):
        return items.load(size=THUMBNAIL).reshape(len(items), -1) / 255.0
    if can_be_vectors(items):
        from bemps.models.encoders.tfidf import tfidf_vectors

        return tfidf_vectors(cast(list[str], items), dimensions=DIRECTIONS, rng=rng)(items)
    raise InputError(
        "items",
        expected="texts, rows of numbers or images, from which vectors can be made",
        got=f"a list of {type(items[0]).__name__}",
        fix="Use cold_start='random' and a strategy without embeddings, or a model with `embeddings`.",
    )


def _of_frame(items: Any) -> Float[Array, "N H"]:
    columns = [np.asarray(_column(items, i)) for i in range(items.shape[1])]
    if columns and all(column.dtype.kind in "fiub" for column in columns):
        return _of_array(np.column_stack(columns))
    return _of_columns(columns, count(items))


def _column(items: Any, position: int) -> Any:
    """By position: names may stand twice."""
    return items.iloc[:, position] if hasattr(items, "iloc") else items[:, position]


def _of_array(items: Array) -> Float[Array, "N H"]:
    rows = items.reshape(len(items), -1)
    if rows.dtype.kind == "O":
        return _of_columns(list(rows.T), len(rows))
    rows = rows.astype(np.float64, copy=False)
    return rows if np.isfinite(rows).all() and _alike(rows) else _of_columns(list(rows.T), len(rows))


def _alike(rows: Float[Array, "N H"]) -> bool:
    """No column is so much wider than the others that it would decide alone."""
    with np.errstate(over="ignore", invalid="ignore"):
        spread = rows.std(0) if len(rows) else np.zeros(rows.shape[1])
    if not np.isfinite(spread).all():
        return False
    positive = spread[spread > 0]
    return len(positive) == 0 or bool(positive.max() <= WIDEST_RATIO * np.median(positive))


def _of_columns(columns: list[Array], N: int) -> Float[Array, "N H"]:
    parts = [_of_column(column) for column in columns]
    return np.concatenate(parts, axis=1) if parts and N else np.zeros((N, max(len(columns), 1)))


def _of_column(values: Array) -> Float[Array, "N H"]:
    numbers = _numbers(values)
    return _one_of_each(values) if numbers is None else _scaled(numbers)[:, None]


def _numbers(values: Array) -> Float[Array, " N"] | None:
    """A column of numbers, NaN where one is missing; None where it holds something else."""
    if values.dtype.kind in "fiub":
        return values.astype(np.float64)
    number = int | float | np.number | np.bool_
    if not all(value is None or isinstance(value, number) for value in values.tolist()):
        return None
    return np.array([np.nan if value is None else float(value) for value in values.tolist()])


def _scaled(numbers: Float[Array, " N"]) -> Float[Array, " N"]:
    """Centred on the median and divided by the spread of the middle half; outliers are held at ten spreads."""
    known = numbers[np.isfinite(numbers)]
    if len(known) == 0:
        return np.zeros(len(numbers))
    low, median, high = np.percentile(known, [25, 50, 75])
    spread = (high - low) / 1.349 or float(known.std())
    if not (np.isfinite(spread) and spread > 0):
        return np.zeros(len(numbers))
    return np.clip(np.nan_to_num((numbers - median) / spread, nan=0.0, posinf=10.0, neginf=-10.0), -10.0, 10.0)


def _one_of_each(values: Array) -> Float[Array, "N C"]:
    names = [str(value) for value in values.tolist()]
    common = [name for name, _ in sorted(Counter(names).items(), key=lambda pair: (-pair[1], pair[0]))[:MOST_VALUES]]
    return (np.array(names)[:, None] == np.array(common)[None, :]).astype(np.float64)


def _of_sparse(items: Any, rng: np.random.Generator) -> Float[Array, "N H"]:
    if items.shape[1] <= 2 * DIRECTIONS:
        return _of_array(items.toarray())
    from sklearn.decomposition import TruncatedSVD

    reduce: Callable[..., Any] = TruncatedSVD(DIRECTIONS, random_state=int(rng.integers(2**31))).fit_transform
    return np.asarray(reduce(items))
