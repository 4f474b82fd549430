"""Classes: added, renamed and given keys, with what was labelled following them."""

import pytest

from bemps import InputError
from bemps.store import Class


def test_classes_are_in_the_order_added(store):
    assert store.classes() == (Class("bug", None, 0), Class("wish", None, 1))
    assert store.add_class("question", "lead", key="q") == Class("question", "q", 2)
    assert store.classes()[2] == Class("question", "q", 2)


def test_renaming_renames_history_while_the_log_keeps_what_was_said(store, opened):
    store.answer("ann", "t1", "label", "bug")
    store.answer("ann", "t1", "label", "wish")
    store.rename_class("bug", "defect", "lead")
    assert [known.name for known in store.classes()] == ["defect", "wish"]
    store.undo("ann")
    again = opened()
    assert again.current()["t1"].label == "defect"
    assert [event.label for event in again.events() if event.kind == "label"] == ["bug", "wish"]
    rename = again.events()[-2]
    assert (rename.kind, rename.previous, rename.label) == ("rename-class", "bug", "defect")
    with pytest.raises(InputError, match="bug"):
        store.answer("ann", "t2", "label", "bug")
    store.answer("ann", "t2", "label", "defect")


def test_a_name_that_became_free_is_another_class(store):
    store.answer("ann", "t1", "label", "bug")
    store.rename_class("bug", "defect", "lead")
    store.add_class("bug", "lead")
    store.answer("ann", "t2", "label", "bug")
    assert {item: answer.label for item, answer in store.current().items()} == {"t1": "defect", "t2": "bug"}


def test_clashing_names_are_refused(store):
    for name in ("bug", "Bug", " bug2", "", "a\tb"):
        with pytest.raises(InputError, match="class"):
            store.add_class(name, "lead")
    with pytest.raises(InputError, match="WISH"):
        store.rename_class("bug", "WISH", "lead")
    with pytest.raises(InputError, match="Did you mean 'bug'"):
        store.rename_class("bugs", "x", "lead")
    assert len(store.classes()) == 2


def test_the_case_of_a_name_can_be_corrected(store):
    assert store.rename_class("bug", "Bug", "lead") == Class("Bug", None, 0)
    before = store.change_token()
    store.rename_class("Bug", "Bug", "lead")
    assert store.change_token() == before


def test_keys_do_not_clash(store):
    store.set_key("bug", "b", "lead")
    store.set_key("bug", "b", "lead")
    with pytest.raises(InputError, match="key of 'bug'"):
        store.set_key("wish", "b", "lead")
    with pytest.raises(InputError, match="key of 'bug'"):
        store.add_class("third", "lead", key="b")
    store.set_key("bug", None, "lead")
    store.set_key("wish", "b", "lead")
    assert [known.key for known in store.classes()] == [None, "b"]


def test_seventy_seven_classes(store):
    for i in range(75):
        store.add_class(f"class {i}", "lead")
    store.answer("ann", "t0", "label", "class 74")
    assert len(store.classes()) == 77
    assert store.current()["t0"].label == "class 74"


def test_keys_are_given_once_and_in_one_step(store):
    store.set_key("bug", "1 b", "lead")
    with pytest.raises(InputError, match="'b', the key of 'bug'"):
        store.set_key("wish", "b", "lead")
    store.give_keys(lambda classes: {known.name: f"{known.position + 1} {known.name[0]}" for known in classes})
    assert [known.key for known in store.classes()] == ["1 b", "2 w"]
    before = store.change_token()
    store.give_keys(lambda classes: {known.name: "9" for known in classes})
    assert store.change_token() == before
