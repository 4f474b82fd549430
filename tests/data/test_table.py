"""Tables: slicing, looking up ids, class codes, and building one from what is in memory."""

import numpy as np
import pytest

from bemps.data import NO_LABEL, Dataset, ImageArray, Table, table
from bemps.errors import InputError


@pytest.fixture
def films() -> Table:
    return table(["good", "bad", "so so", "great"], labels=["pos", "neg", "", "pos"], ids=["f1", "f2", "f3", "f4"])


def test_labels_become_codes_into_ordered_classes(films: Table) -> None:
    assert films.classes == ("neg", "pos")
    assert films.labels is not None
    assert films.labels.tolist() == [1, 0, NO_LABEL, 1]
    assert films.labelled().tolist() == [0, 1, 3]
    assert films.kind == "text"


@pytest.mark.parametrize(
    "index",
    [np.array([3, 1]), slice(3, 0, -2), np.array([-1, 1])],
)
def test_a_slice_keeps_ids_contents_and_labels_together(films: Table, index) -> None:
    part = films[index]
    assert part.ids == ("f4", "f2")
    assert part.items == ["great", "bad"]
    assert part.labels is not None
    assert part.labels.tolist() == [1, 0]
    assert part.classes == films.classes


def test_labels_cannot_be_overwritten(films: Table) -> None:
    for part in (films, films[:2]):
        with pytest.raises(ValueError, match="read-only"):
            part.labels[0] = 0


def test_one_position_gives_a_table_of_one_row(films: Table) -> None:
    assert films[-1].items == ["great"]
    with pytest.raises(IndexError):
        films[4]


def test_a_mask_slices_too(films: Table) -> None:
    assert films[np.array([True, False, False, True])].ids == ("f1", "f4")


def test_slicing_images_touches_no_pixel() -> None:
    pixels = np.zeros((5, 4, 4, 3), dtype=np.uint8)
    part = table(pixels)[np.array([4, 0])]
    assert part.kind == "image"
    assert isinstance(part.items, ImageArray)
    assert part.items.pixels is pixels


def test_positions_of_ids(films: Table) -> None:
    assert films.positions(["f3", "f1"]).tolist() == [2, 0]
    with pytest.raises(InputError, match="expected one of the 4 ids of this table; got 'f9'"):
        films.positions(["f1", "f9"])


def test_order_by_id_does_not_depend_on_the_order_of_rows(films: Table) -> None:
    shuffled = films[np.array([2, 0, 3, 1])]
    assert shuffled[shuffled.by_id].ids == films[films.by_id].ids == ("f1", "f2", "f3", "f4")


def test_recoding_to_more_classes(films: Table) -> None:
    wider = films.recoded(("mixed", "pos", "neg"))
    assert wider.labels is not None
    assert wider.labels.tolist() == [1, 2, NO_LABEL, 1]
    with pytest.raises(InputError, match="class: expected one of mixed, pos; got 'neg'"):
        films.recoded(("mixed", "pos"))


def test_lengths_must_agree() -> None:
    with pytest.raises(InputError, match="table: expected one length"):
        Table(("a", "b"), ["one"])


def test_words_for_people(films: Table) -> None:
    assert str(films) == "4 texts, 2 classes, 3 labelled; 4 rows, 0 duplicates (kept)"
    assert str(Dataset("films", films, films[np.array([0])], notes=("small",))) == (
        "films: text, 2 classes, pool 4, test 1; small"
    )


def test_numbers_as_labels_are_ordered_by_value() -> None:
    assert table(["a", "b", "c"], labels=["10", "9", "-1"]).classes == ("-1", "9", "10")
    assert table(["a", "b", "c"], labels=np.array([2.0, np.nan, 0.0])).classes == ("0", "2")
    assert table(["a", "b"], labels=np.array(["x", "y"])).classes == ("x", "y")


def test_classes_without_labels_are_kept_for_the_annotator() -> None:
    unlabelled = table(["a", "b"], classes=["bug", "feature"])
    assert unlabelled.labels is None
    assert unlabelled.classes == ("bug", "feature")
    assert len(unlabelled.labelled()) == 0


def test_duplicates_are_counted_and_kept() -> None:
    kept = table(["a", "b", " a", "a"], labels=["x", "x", "y", ""])
    assert len(kept) == 4
    assert (kept.findings.duplicates, kept.findings.dropped, kept.findings.conflicting) == (2, 0, 1)
    assert str(kept.findings) == "4 rows, 2 duplicates (kept), 1 with more than one label"


def test_dropping_duplicates_keeps_the_first_that_has_a_label() -> None:
    dropped = table(["a", "b", "a", "a"], labels=["", "x", "y", "x"], duplicates="drop")
    assert dropped.items == ["b", "a"]
    assert dropped.labels.tolist() == [0, 1]
    assert not any("-" in name for name in dropped.ids)
    assert (dropped.findings.rows, dropped.findings.duplicates, dropped.findings.dropped) == (4, 2, 2)


def test_dropping_duplicates_keeps_given_ids() -> None:
    assert table(["a", "a", "b"], ids=["1", "2", "3"], duplicates="drop").ids == ("1", "3")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"items": []}, "items: expected at least one; got none"),
        ({"items": ["a", " "]}, "texts: expected something to read in every row; got 1 empty: items 1"),
        ({"items": ["a", 3]}, "got list that holds something else than strings"),
        ({"items": np.zeros((2, 3, 4))}, "an array of shape (2, 3, 4) and type float64"),
        ({"items": np.array([[0.0], [np.nan]])}, "features: expected finite numbers; got NaN or infinity in row 1"),
        ({"items": ["a", "b"], "ids": ["1"]}, "ids: expected 2; got 1"),
        ({"items": ["a", "b"], "ids": ["1", ""]}, "ids: expected an id in every row; got none at items 1"),
        ({"items": ["a", "b"], "ids": ["1", "1"]}, "ids: expected every id once; got '1' at items 0, 1"),
        ({"items": ["a", "b"], "labels": ["x"]}, "labels: expected 2; got 1"),
        ({"items": ["a"], "labels": [0.5]}, "label at items 0: expected a class name or a whole number; got 0.5"),
        ({"items": ["a"], "labels": [["x"]]}, "label at items 0: expected a class name or a whole number"),
        ({"items": ["a"], "labels": ["poz"], "classes": ["neg", "pos"]}, "got 'poz'. Did you mean 'pos'?"),
        ({"items": ["a"], "classes": ["x", "x"]}, "classes: expected at least two different names"),
        ({"items": ["a"], "classes": ["x"]}, "classes: expected at least two different names"),
        ({"items": ["a"], "duplicates": "hide"}, "duplicates: expected one of drop, keep; got 'hide'"),
    ],
)
def test_refusals(arguments, message: str) -> None:
    items = arguments.pop("items")
    with pytest.raises(InputError) as caught:
        table(items, **arguments)
    assert message in str(caught.value)
