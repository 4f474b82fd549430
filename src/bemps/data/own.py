"""A user's own labelled data as a `Dataset`: with a test file, or with a stratified hold-out."""

from types import MappingProxyType

import numpy as np

from bemps.data.building import natural_order
from bemps.data.identity import hashes_of
from bemps.data.loading import apart
from bemps.data.sampling import generator, stratified_holdout
from bemps.data.table import NO_LABEL, Dataset, Table
from bemps.errors import InputError, parameter

HOLD_OUT = 3


def dataset_of(
    table: Table, test: Table | None = None, *, name: str = "own data", share: float = 0.2, seed: int = 0
) -> Dataset:
    """A pool and a test set: `test` where given, else a stratified `share` of the table, drawn at `seed`.

    Every row needs a label, since an experiment plays the annotator with them. Rows of the pool whose content
    stands in the test set are left out and counted, as for the published datasets.
    """
    classes = table.classes if test is None else _joined(table, test)
    for part in (table, *(() if test is None else (test,))):
        _refuse_unlabelled(part)
    if test is None:
        assert table.labels is not None
        kept, held = stratified_holdout(table.labels, share, generator(seed, HOLD_OUT))
        table, test = table[kept], table[held]
    rows, gone = apart(hashes_of(table.items), set(hashes_of(test.items)))
    notes = (f"pool: {gone.rows:,} rows also in the test set, left out",) if gone.rows else ()
    pool = table[rows].recoded(classes)
    return Dataset(name, pool, test.recoded(classes), None, MappingProxyType({"pool": gone}), "own data", notes)


def _joined(table: Table, test: Table) -> tuple[str, ...]:
    """The pool's classes when they hold the test's, else both together in natural order."""
    both = set(table.classes) | set(test.classes)
    return table.classes if both == set(table.classes) else natural_order(both)


def _refuse_unlabelled(table: Table) -> None:
    missing = np.arange(len(table)) if table.labels is None else np.flatnonzero(table.labels == NO_LABEL)
    if len(missing):
        first = ", ".join(table.ids[row] for row in missing[:5].tolist())
        raise InputError(
            "labels",
            expected="one for every row",
            got=f"{len(missing):,} rows without, first {first}",
            fix=f"Name the label column ({parameter('label', '...') or 'label'}) and remove the rows that have none.",
        )
