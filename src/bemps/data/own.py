"""A dataset from a user's own labelled data, with a test file or a stratified hold-out."""

from types import MappingProxyType

from bemps.checks import generator
from bemps.data.identity import hashes_of
from bemps.data.loading import rows_outside_test
from bemps.data.sampling import stratified_holdout
from bemps.data.table import Dataset, Table
from bemps.data.table_building import natural_order
from bemps.errors import InputError, parameter

HOLD_OUT = 3


def dataset_of(
    table: Table, test: Table | None = None, *, name: str = "own data", share: float = 0.2, seed: int = 0
) -> Dataset:
    """Make a dataset from one's own labelled data.

    Parameters
    ----------
    table : Table
        The rows. Those without a label are left out, because an experiment uses the labels as answers.
    test : Table, optional
        The test set. None: a stratified share of the table is held out.
    name : str
        The name of the dataset.
    share : float
        The share of the table that is held out.
    seed : int
        The seed of that draw.

    Returns
    -------
    Dataset
        The pool and the test set. Rows of the pool whose content is in the test set are left out. `notes` say how many
        rows were left out.
    """
    classes = table.classes if test is None else _joined(table, test)
    table, notes = _labelled(table, "pool" if test is not None else "rows")
    if test is not None:
        test, more = _labelled(test, "test")
        notes += more
    else:
        assert table.labels is not None
        pool_rows, test_rows = stratified_holdout(table.labels, share, generator(seed, HOLD_OUT))
        table, test = table[pool_rows], table[test_rows]
    rows, gone = rows_outside_test(hashes_of(table.items), set(hashes_of(test.items)))
    notes += (f"pool: {gone.rows:,} rows also in the test set, left out",) if gone.rows else ()
    pool = table[rows].recoded(classes)
    return Dataset(name, pool, test.recoded(classes), None, MappingProxyType({"pool": gone}), "own data", notes)


def _joined(table: Table, test: Table) -> tuple[str, ...]:
    """The pool's classes when they contain the test's, else both together in natural order."""
    both = set(table.classes) | set(test.classes)
    return table.classes if both == set(table.classes) else natural_order(both)


def _labelled(table: Table, part: str) -> tuple[Table, tuple[str, ...]]:
    """The rows with a label, and a note that counts the others."""
    rows = table.labelled()
    if not len(rows):
        raise InputError(
            f"labels ({part})",
            expected="rows with a label",
            got=f"none in {len(table):,} rows",
            fix=f"Name the label column ({parameter('label', '...') or 'label'}), or label some rows first.",
        )
    missing = len(table) - len(rows)
    return (table[rows], (f"{part}: {missing:,} without a label, left out",)) if missing else (table, ())
