"""Keys: shown, short, and never two meanings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bemps.errors import InputError
from bemps.server.panels.keys import COMMANDS, SINGLES, assign, check_key

names = st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=90, unique=True)


@given(names, st.data())
def test_no_key_means_two_things(classes, data):
    few = data.draw(st.lists(st.sampled_from(SINGLES), unique=True, max_size=min(5, len(classes))))
    chosen = dict(zip(classes, few, strict=False))
    keys = assign(classes, chosen)
    assert list(keys) == classes
    every = [key for own in keys.values() for key in own]
    assert all(keys.values())
    assert len(set(every)) == len(every)
    assert not set(every) & set(COMMANDS)
    singles, firsts = {key for key in every if len(key) == 1}, {key[0] for key in every if len(key) == 2}
    assert not firsts & (singles | set(COMMANDS))
    assert all(keys[name][0] == key for name, key in chosen.items())


def test_few_classes_have_a_digit_and_a_letter_of_their_name():
    assert assign(["bug", "feature", "question"]) == {"bug": ("1", "b"), "feature": ("2", "f"), "question": ("3", "q")}


def test_letters_that_are_commands_are_left_to_them_and_others_are_initials():
    assert assign(["urgent", "spam"]) == {"urgent": ("1",), "spam": ("2",)}
    assert assign(["x", "y"]) == {"x": ("1",), "y": ("2", "y")}
    assert assign(["not fair", "positive", "name change"])["name change"] == ("3", "c")


@pytest.mark.parametrize(
    ("classes", "keys"),
    [
        (["0", "1"], "01"),
        ([str(number) for number in range(10)], "0123456789"),
        (["other", "1", "2"], "312"),
        (["0 none", "1: mild", "2 (bad)"], "012"),
        (["-1", "0", "1"], "201"),
        (["10", "20"], "12"),
        (["2.5", "3D", "1"], "321"),
    ],
)
def test_a_class_named_by_a_digit_has_that_digit(classes, keys):
    assert [own[0] for own in assign(classes).values()] == list(keys)


@given(names, st.integers(1, 90))
def test_a_class_more_changes_no_key_of_another(classes, first):
    before = assign(classes[:first])
    after = assign(classes, {name: " ".join(keys) for name, keys in before.items()})
    assert all(after[name] == keys for name, keys in before.items())
    every = [key for own in after.values() for key in own]
    singles, firsts = {key for key in every if len(key) == 1}, {key[0] for key in every if len(key) == 2}
    assert len(set(every)) == len(every)
    assert not singles & firsts
    assert all(after.values())


def test_two_keys_in_a_row_come_from_the_name():
    keys = assign([*(f"class {number}" for number in range(30)), "loan", "phishing", "name change"])
    assert [keys[name][0] for name in ("loan", "phishing", "name change")] == ["oa", "hi", "ch"]


def test_the_keys_of_classes_made_before_are_those_they_had():
    from bemps.server.panels.class_keys import new_keys, present_keys
    from bemps.store import Class

    classes = [Class("spam", None, 0), Class("Access", None, 1), Class("ham", "m", 2)]
    assert present_keys(classes) == {"spam": "1 a", "Access": "2 c"}
    assert new_keys(classes) == {"spam": "1", "Access": "2 a"}
    assert present_keys([Class("0", None, 0), Class("1", None, 1)]) == {"0": "0", "1": "1"}


@pytest.mark.parametrize("count", [3, 9, 12, 25, 26, 77, 150])
def test_a_class_more_changes_no_key_of_the_first_nine(count):
    classes = [f"class {number}" for number in range(count)]
    before, after = assign(classes), assign([*classes, "one more"])
    assert all(before[name][0] == after[name][0] for name in classes[:9])


def test_seventy_seven_classes_have_at_most_two_keys():
    keys = assign([f"intent number {number}" for number in range(77)])
    assert {len(own) for own in keys.values()} == {1}
    assert max(len(own[0]) for own in keys.values()) == 2


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("u", "got 'u', the key of the page for 'undo'"),
        ("2", "'2', which is 'feature'"),
        ("f", "which is 'feature'"),
        ("ab", "one of"),
    ],
)
def test_a_chosen_key_that_clashes_is_refused(key, words):
    with pytest.raises(InputError, match=words):
        check_key(key, "bug", assign(["bug", "feature"]))


def test_a_chosen_key_may_be_any_that_is_free():
    assert check_key(" M ", "bug", assign(["bug", "feature"])) == "m"
    assert check_key("1", "bug", assign(["bug", "feature"])) == "1"
