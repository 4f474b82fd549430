"""Classes: described, ordered, coloured, hidden, deleted, merged and split off, as events that can be replayed."""

import pytest

from bemps import InputError
from bemps.store import Example, NewAnswer, NewClass


def names(store):
    return [known.name for known in store.classes()]


def labels(store, annotator=None):
    return {item: answer.label for item, answer in store.current(annotator).items()}


def test_descriptions_colours_and_examples_are_events_that_replay(store, opened):
    store.change_class("bug", "lead", description=" It is broken. ", colour="orange")
    store.add_example("bug", "lead", item="t1")
    store.add_example("bug", "lead", text="The app crashes.")
    store.add_example("bug", "lead", text="The app crashes.")  # once is enough
    store.add_example("bug", "lead", text="gone")
    store.remove_example("bug", "lead", text="gone")
    (bug, _), (again, _) = store.classes(), opened().classes()
    assert bug == again
    assert (bug.description, bug.colour) == ("It is broken.", "orange")
    assert bug.examples == (Example("t1"), Example(text="The app crashes."))
    kinds = [event.kind for event in store.events()[2:]]
    assert kinds == ["describe-class", "colour-class", *["add-example"] * 3, "remove-example"]
    before = store.change_token()
    store.change_class("bug", "lead", description="It is broken.", colour="orange", position=0, is_hidden=False)
    assert store.change_token() == before
    assert store.change_class("bug", "lead", description="", colour="").description == ""
    assert store.classes()[0].colour is None


def test_what_cannot_be_is_refused_in_words(store):
    with pytest.raises(InputError, match="Did you mean 'orange'"):
        store.change_class("bug", "lead", colour="orang")
    with pytest.raises(InputError, match="at most 2,000 characters"):
        store.change_class("bug", "lead", description="x" * 2_001)
    with pytest.raises(InputError, match="an item or a text"):
        store.add_example("bug", "lead")
    with pytest.raises(InputError, match="a text"):
        store.add_example("bug", "lead", text="  ")
    with pytest.raises(InputError, match="t99"):
        store.add_example("bug", "lead", item="t99")
    for number in range(20):
        store.add_example("bug", "lead", text=f"line {number}")
    with pytest.raises(InputError, match="at most 20"):
        store.add_example("bug", "lead", text="one more")


def test_the_order_changes_and_numbers_do_not(store, opened):
    store.add_class("question", "lead", key="q")
    store.answer("ann", "t1", "label", "question")
    assert store.change_class("question", "lead", position=0).position == 0
    store.change_class("bug", "lead", position=99)
    again = opened()
    assert names(again) == ["question", "wish", "bug"]
    assert [known.id for known in again.classes()] == [2, 1, 0]
    assert [known.position for known in again.classes()] == [0, 1, 2]
    assert labels(again) == {"t1": "question"}
    again.answer("ann", "t2", "label", "bug")
    assert again.events()[-1].class_id == 0
    assert names(store) == ["question", "wish", "bug"]


def test_hidden_classes_keep_labels_keys_and_their_place(store):
    store.set_key("bug", "b", "lead")
    store.answer("ann", "t1", "label", "bug")
    assert store.change_class("bug", "lead", is_hidden=True).is_hidden
    assert names(store) == ["bug", "wish"]
    assert labels(store) == {"t1": "bug"}
    with pytest.raises(InputError, match="key of 'bug'"):
        store.set_key("wish", "b", "lead")
    assert not store.change_class("bug", "lead", is_hidden=False).is_hidden


def test_a_class_is_deleted_while_nothing_uses_it_and_nothing_could_bring_it_back(store, opened):
    store.answer("ann", "t1", "label", "bug")
    with pytest.raises(InputError, match="Hide it, or merge it"):
        store.delete_class("bug", "lead")
    store.undo("ann")
    with pytest.raises(InputError, match="undo could bring back"):
        store.delete_class("bug", "lead")  # redo would
    store.answer("ann", "t1", "label", "wish")
    assert 0 not in store.used_classes()
    store.delete_class("bug", "lead")
    again = opened()
    assert names(again) == ["wish"]
    assert labels(again) == {"t1": "wish"}
    assert again.redo("ann") is None
    with pytest.raises(InputError, match="bug"):
        again.answer("ann", "t2", "label", "bug")
    assert again.add_class("bug", "lead").id == 2  # another class of the same name
    again.answer("ann", "t2", "label", "bug")
    assert labels(again) == {"t1": "wish", "t2": "bug"}
    with pytest.raises(InputError, match="Did you mean"):
        again.delete_class("wishes", "lead")


def test_an_answer_that_was_changed_later_keeps_its_class(store):
    store.answer("ann", "t1", "label", "bug")
    store.answer("ann", "t1", "label", "wish")
    with pytest.raises(InputError, match="undo could bring back"):
        store.delete_class("bug", "lead")
    store.undo("ann")
    assert labels(store) == {"t1": "bug"}


def test_merged_classes_count_as_one_until_they_are_split(store, opened):
    store.add_class("question", "lead")
    store.answer("ann", "t1", "label", "bug")
    store.answer("bob", "t1", "label", "wish")
    store.answer("ann", "t2", "label", "bug", request="first-request")
    assert [one.item for one in store.disagreements()] == ["t1"]
    store.merge_class("bug", "wish", "lead")
    again = opened()
    assert names(again) == ["wish", "question"]
    assert labels(again) == {"t1": "wish", "t2": "wish"}
    assert again.disagreements() == []
    assert "t1" in again.confirmed()
    assert [answer.label for answer in again.answers_of("t1")] == ["wish", "wish"]
    assert [event.label for event in again.events() if event.kind == "label"] == ["bug", "wish", "bug"]
    assert again.search(label="wish").total == 2
    assert [(gone.name, into.name) for gone, into in again.merged_classes()] == [("bug", "wish")]
    again.split_class("bug", "lead")
    assert labels(again)["t2"] == "bug"
    assert names(store) == ["bug", "wish", "question"]
    assert [one.item for one in store.disagreements()] == ["t1"]


def test_an_answer_on_its_way_while_its_class_is_merged_is_kept_and_counts(store):
    first = store.answer("ann", "t1", "label", "bug", request="request-1")
    store.merge_class("bug", "wish", "lead")
    assert store.answer("ann", "t1", "label", "bug", request="request-1") == first  # sent again
    store.answer("ann", "t2", "label", "bug", request="request-2")  # pressed before the page knew
    assert labels(store) == {"t1": "wish", "t2": "wish"}
    assert store.undo("ann").previous == "wish"
    assert store.redo("ann").label == "wish"
    store.split_class("bug", "lead")
    assert labels(store) == {"t1": "bug", "t2": "bug"}


def test_an_answer_on_its_way_while_its_class_is_renamed_has_the_present_name(store):
    said = {"kind": "label", "label": "bug", "class_id": 0}
    first = store.record([NewAnswer("ann", "t1", **said, request="request-1")])
    store.rename_class("bug", 'Lob, "gut"', "lead")
    assert store.record([NewAnswer("ann", "t1", **said, request="request-1")]) == first  # sent again
    store.add_class("bug", "lead")  # the old name means another class now
    (second,) = store.record([NewAnswer("ann", "t2", **said, request="request-2")])
    assert (second.label, second.class_id) == ('Lob, "gut"', 0)
    listed = store.label_list("ann", ["t3", "t4"], "bug", class_id=0, request="request-3")
    assert {event.label for event in listed.events} == {'Lob, "gut"'}
    store.rename_class('Lob, "gut"', "praise", "lead")
    assert store.label_list("ann", ["t3", "t4"], "bug", class_id=0, request="request-3") == listed
    assert labels(store) == dict.fromkeys(("t1", "t2", "t3", "t4"), "praise")
    store.answer("ann", "t1", "label", "bug")
    assert labels(store)["t1"] == "bug"


def test_an_answer_of_a_deleted_class_is_refused_also_where_another_has_its_name(store):
    store.delete_class("bug", "lead")
    store.add_class("bug", "lead")
    with pytest.raises(InputError, match="'bug', which was deleted"):
        store.record([NewAnswer("ann", "t1", "label", "bug", class_id=0)])
    with pytest.raises(InputError, match="which was deleted"):
        store.label_list("ann", ["t1"], "bug", class_id=0, request="request-1")
    with pytest.raises(InputError, match="class"):
        store.record([NewAnswer("ann", "t1", "label", "bug", class_id=9)])
    assert labels(store) == {}


def test_merges_in_a_row_and_majorities(store):
    store.add_class("question", "lead")
    for who, label in (("ann", "bug"), ("bob", "wish"), ("cat", "question"), ("dan", "question")):
        store.answer(who, "t1", "label", label)
    assert labels(store) == {"t1": "question"}
    store.merge_class("bug", "wish", "lead")
    store.answer("eve", "t1", "label", "wish")
    assert labels(store) == {"t1": "wish"}  # three against two
    store.merge_class("wish", "question", "lead")
    assert labels(store) == {"t1": "question"}
    assert store.counted_classes() == (2, 2, 2)
    store.split_class("wish", "lead")
    assert store.counted_classes() == (1, 1, 2)
    with pytest.raises(InputError, match="merged into"):
        store.add_class("Bug", "lead")
    with pytest.raises(InputError, match="another class"):
        store.merge_class("wish", "wish", "lead")
    with pytest.raises(InputError, match="merged class"):
        store.split_class("question", "lead")


def test_the_name_and_the_key_of_a_merged_class(store):
    store.set_key("bug", "b", "lead")
    store.set_key("wish", "w", "lead")
    store.merge_class("bug", "wish", "lead")
    store.add_class("question", "lead")
    store.give_keys(lambda classes: {"question": "b"} if "b" not in {known.key for known in classes} else {})
    assert [known.key for known in store.classes()] == ["w", None]  # not given by itself
    store.set_key("question", "b", "lead")  # a person may
    bug = store.split_class("bug", "lead")
    assert (bug.key, bug.position) == (None, 0)
    store.merge_class("question", "bug", "lead")
    with pytest.raises(InputError, match="which others were merged into"):
        store.delete_class("bug", "lead")


def test_a_class_that_was_merged_can_be_deleted_after_the_split_alone(store):
    store.merge_class("bug", "wish", "lead")
    with pytest.raises(InputError, match="class"):
        store.delete_class("bug", "lead")
    store.split_class("bug", "lead")
    store.delete_class("bug", "lead")
    assert names(store) == ["wish"]


def test_a_class_file_brings_keys_descriptions_and_colours_and_swaps_keys(store):
    store.set_key("bug", "1", "lead")
    store.set_key("wish", "2", "lead")
    with store.changing() as change:
        change.add_class(NewClass("new", "n1", "Nobody knows.", "sky"), "lead")
        change.take_over_classes([NewClass("bug", "2", "Broken."), NewClass("wish", "1", "", "pink")], "lead")
    seen = [(known.key, known.description, known.colour) for known in store.classes()]
    assert seen == [("2", "Broken.", None), ("1", "", "pink"), ("n1", "Nobody knows.", "sky")]


def test_servers_see_each_others_edits(store, opened):
    other = opened()
    store.merge_class("bug", "wish", "lead")
    assert names(other) == ["wish"]
    other.answer("bob", "t3", "label", "bug")
    assert labels(store) == {"t3": "wish"}
