"""Keys: shown, short, and never two meanings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bemps.errors import InputError
from bemps.serve.keys import COMMANDS, SINGLES, assign, check_key

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


def test_letters_that_are_commands_are_left_to_them():
    assert assign(["urgent", "spam"]) == {"urgent": ("1", "e"), "spam": ("2", "a")}
    assert assign(["x", "y"]) == {"x": ("1",), "y": ("2", "y")}


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
    [("u", "is undo"), ("2", "'2', which is 'feature'"), ("f", "which is 'feature'"), ("ab", "one of")],
)
def test_a_chosen_key_that_clashes_is_refused(key, words):
    with pytest.raises(InputError, match=words):
        check_key(key, "bug", assign(["bug", "feature"]))


def test_a_chosen_key_may_be_any_that_is_free():
    assert check_key(" M ", "bug", assign(["bug", "feature"])) == "m"
    assert check_key("1", "bug", assign(["bug", "feature"])) == "1"
