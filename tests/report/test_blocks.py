"""File names from anything."""

from bemps.report.blocks import file_stem


def test_plain_words_stay_readable():
    assert file_stem("data_map", "digits", "b10") == "data_map-digits-b10"


def test_other_letters_cannot_leave_the_folder_nor_clash():
    one, other = file_stem("../a b"), file_stem("../a/b")
    assert "/" not in one + other
    assert one != other
    assert one.startswith(".._a_b-")
