"""A user's own labelled data as a dataset."""

import numpy as np
import pytest

from bemps.data import Removed, dataset_of, table
from bemps.errors import InputError


def tickets(count: int, *, names: tuple[str, ...] = ("bug", "feature", "question"), start: int = 0):
    return table(
        [f"ticket {n}" for n in range(start, start + count)], labels=[names[n % len(names)] for n in range(count)]
    )


def test_a_stratified_holdout_where_there_is_no_test_file() -> None:
    own = dataset_of(tickets(300), share=0.2, seed=1)
    assert (len(own.pool), len(own.test)) == (240, 60)
    assert np.bincount(own.test.labels).tolist() == [20, 20, 20]
    assert not set(own.pool.ids) & set(own.test.ids)
    assert dataset_of(tickets(300), share=0.2, seed=1).test.ids == own.test.ids
    assert dataset_of(tickets(300), share=0.2, seed=2).test.ids != own.test.ids


def test_a_test_file_and_what_stands_in_both() -> None:
    own = dataset_of(tickets(30), tickets(10, start=25))
    assert (len(own.pool), len(own.test)) == (25, 10)
    assert own.removed["pool"] == Removed(5, 5)
    assert own.notes == ("pool: 5 rows also in the test set, left out",)


def test_duplicates_never_stand_on_both_sides_of_a_holdout() -> None:
    twice = table(["same"] * 50 + [f"t{n}" for n in range(50)], labels=["x"] * 50 + ["y"] * 50)
    own = dataset_of(twice, seed=0)
    assert "same" in own.test.items
    assert "same" not in own.pool.items
    assert own.removed["pool"].contents == 1


def test_codes_agree_when_the_test_file_has_other_classes() -> None:
    own = dataset_of(tickets(10, names=("b", "c")), tickets(10, names=("a", "c"), start=50))
    assert own.classes == own.test.classes == ("a", "b", "c")
    assert [own.classes[code] for code in own.pool.labels[:2]] == ["b", "c"]
    assert [own.classes[code] for code in own.test.labels[:2]] == ["a", "c"]


def test_the_users_order_of_classes_is_kept() -> None:
    ordered = table(["a", "b", "c", "d"], labels=["low", "high"] * 2, classes=["low", "high"])
    assert dataset_of(ordered, tickets(4, names=("high", "low"))).classes == ("low", "high")


def test_rows_without_a_label_are_left_out_and_counted() -> None:
    texts = [f"t{n}" for n in range(20)]
    some = table(texts, labels=["x", "y", ""] * 6 + ["x", "y"])
    own = dataset_of(some, share=0.5)
    assert sorted([*own.pool.items, *own.test.items]) == sorted(t for n, t in enumerate(texts) if n % 3 < 2)
    assert own.notes == ("rows: 6 without a label, left out",)
    apart = dataset_of(tickets(5), some)
    assert (len(apart.pool), len(apart.test), apart.notes) == (5, 14, ("test: 6 without a label, left out",))


@pytest.mark.parametrize("labels", [None, ["", "", ""]])
def test_some_row_needs_a_label(labels) -> None:
    with pytest.raises(InputError, match=r"labels \(rows\): expected rows with a label; got none in 3 rows"):
        dataset_of(table(["a", "b", "c"], labels=labels))
