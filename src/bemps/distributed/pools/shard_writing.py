"""`write_shard`: probabilities that a model outside of bemps predicted, as a shard."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from numpy.typing import ArrayLike

from bemps import checks
from bemps.distributed.pools.parquet_columns import PROBS, WRITING, as_column
from bemps.errors import InputError

GROUP_ROWS = 65_536  # small row groups: a few items can be read without the rest


def write_shard(path: str | Path, probs: ArrayLike, ids: Sequence[str] | None = None) -> None:
    """Write probabilities as a Parquet shard for `select`.

    Parameters
    ----------
    path : str or Path
        The file to write.
    probs : array_like (E, n, K)
        Probabilities of E members, n items and K classes.
    ids : sequence of str, optional
        Ids of the items, written as the column `id`.

    Raises
    ------
    InputError
        The probabilities are not valid, or there is not one id for each item.
    """
    checked = checks.probabilities(probs)
    columns = {PROBS: as_column(checked)}
    if ids is not None:
        if len(ids) != checked.shape[1]:
            got = f"{len(ids)} ids of {checked.shape[1]} items"
            raise InputError("ids", expected="one for each item", got=got, fix="Give as many ids as items.")
        columns = {"id": pa.array([str(name) for name in ids])} | columns
    pq.write_table(pa.table(columns), str(path), row_group_size=GROUP_ROWS, **WRITING)
