"""Items for some people only, by a column of the file: leases enforce it."""

import pytest

from bemps import InputError
from bemps.store import Item
from bemps.store.item_rows import packed
from bemps.store.reservation.assignment import check_assignment, value_text

REGIONS = ("north", "south", "Ann", "", None, "north")


@pytest.fixture
def store(opened):
    store = opened(create=True)
    store.add_class("bug", "ann")
    store.add_items(
        Item(f"t{i}", f"text {i}", others=packed({"region": region}, f"text {i}")) for i, region in enumerate(REGIONS)
    )
    store.set_all({"assign_by": "region", "assigned_to": {"north": ["bob", "Cem Öz"], "south": []}})
    return store


def leased(store, who):
    return store.lease(who, [f"t{i}" for i in range(len(REGIONS))], 10, 60)


def test_people_get_the_items_of_their_share_and_those_of_nobody(store, opened):
    assert leased(store, "cem öz") == ["t0", "t1", "t3", "t4", "t5"]  # upper and lower case alike
    store.release("cem öz")
    assert leased(opened(), "ann") == ["t1", "t2", "t3", "t4"]  # a value that is not mapped is a name
    store.release("ann")
    assert leased(store, "eve") == ["t1", "t3", "t4"]
    store.release("eve")
    store.set("assigned_to", {"north": ["eve"], "Ann": []})
    assert leased(opened(), "eve") == ["t0", "t2", "t3", "t4", "t5"]
    store.release("eve")
    store.set("assign_by", "")
    assert len(leased(store, "eve")) == len(REGIONS)


def test_items_that_come_later_have_their_shares_too(store, opened):
    assert leased(store, "bob")
    store.release("bob")
    opened().add_items([Item("t9", "new", others=packed({"region": "south "}, "new"))])
    opened().set("assigned_to", {"south": ["dan"]})
    assert store.lease("bob", ["t9"], 1, 60) == []
    assert store.lease("dan", ["t9", "t1"], 2, 60) == ["t9", "t1"]


def test_where_a_share_has_too_few_people_others_answer_the_items_of_several_people(store):
    store.set("answers_per_item", 3)
    store.mark_overlap(["t0", "t2"])  # of the north, which has two people, and of Ann
    assert store.lease("eve", ["t0", "t2", "t5"], 3, 60) == ["t0", "t2"]
    assert store.lease("dan", ["t0", "t2"], 2, 60) == ["t2"]  # the other two are for bob and Cem Öz
    assert store.lease("fay", ["t0", "t2"], 2, 60) == []
    for who, items in (("bob", ["t0"]), ("CEM ÖZ", ["t0"]), ("ann", ["t2"])):
        assert store.lease(who, ["t0", "t2"], 2, 60) == items
    assert store.lease("eve", ["t0", "t2"], 2, 60) == ["t0", "t2"]  # renewed


def test_anybody_may_answer_what_they_open_themselves(store):
    store.answer("eve", "t0", "label", "bug")
    assert store.current()["t0"].annotator == "eve"


def test_a_column_must_exist_and_have_few_values(store):
    with pytest.raises(InputError, match="one of body, region"):
        check_assignment("regoin", ["body", "region"], [])
    with pytest.raises(InputError, match="at most 200 different values"):
        check_assignment("body", ["body"], (f"text {i}" for i in range(300)))
    for wrong in (["ann"], {"north": "ann"}, {"north": [1]}, {str(i): ["ann"] for i in range(1_001)}):
        with pytest.raises(InputError, match="names of people, by at most 1,000 values"):
            store.set("assigned_to", wrong)


def test_a_value_is_named_as_the_page_shows_it():
    assert [value_text(value) for value in (True, 1, 1.5, " a  b\n", None)] == ["true", "1", "1.5", "a b", ""]
