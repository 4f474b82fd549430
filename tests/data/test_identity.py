"""Ids: of the content, unique, and the same whatever the order of the rows."""

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bemps.data import ImageArray, content_hash, hashes_of, table
from bemps.data.identity import normalised, unique_ids
from bemps.errors import InputError

readable = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(lambda text: text.strip())


def test_hash_is_blake2b_of_sixteen_digits() -> None:
    assert content_hash(b"good film") == hashlib.blake2b(b"good film", digest_size=8).hexdigest()
    assert len(content_hash(b"good film")) == 16


def test_an_id_never_changes() -> None:
    """Ids stand in users' label files, so a change would orphan them; the value is that of `b2sum -l 64`."""
    assert table(["good film"]).ids == ("01321b0036cc38ea",)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("  good film\n", "good film", id="white space around"),
        pytest.param("good\r\nfilm", "good\nfilm", id="newlines"),
        pytest.param("cafe\u0301", "caf\u00e9", id="composed letters"),
    ],
)
def test_the_same_text_written_differently_has_one_hash(one: str, other: str) -> None:
    assert hashes_of([one]) == hashes_of([other])


@pytest.mark.parametrize("other", ["Good film", "good  film", "good film."])
def test_another_text_has_another_hash(other: str) -> None:
    assert hashes_of(["good film"]) != hashes_of([other])


@given(readable)
def test_normalising_twice_changes_nothing(text: str) -> None:
    assert normalised(normalised(text)) == normalised(text)


def test_repeated_content_is_numbered_in_order() -> None:
    assert unique_ids(["a", "b", "a", "a", "b"]) == ("a", "b", "a-2", "a-3", "b-2")


@given(st.lists(st.sampled_from(["x", "y", "z", "w"]), min_size=1), st.randoms(use_true_random=False))
def test_ids_are_unique_and_reordering_gives_the_same_ones(texts: list[str], random) -> None:
    before = table(texts)
    order = list(range(len(texts)))
    random.shuffle(order)
    after = table([texts[i] for i in order])
    assert len(set(before.ids)) == len(texts)
    assert set(before.ids) == set(after.ids)
    contents = dict(zip(before.ids, texts, strict=True))
    assert all(contents[name] == text for name, text in zip(after.ids, after.items, strict=True))


def test_rows_of_arrays_and_images_are_hashed_by_their_bytes() -> None:
    rows = np.array([[1.0, 2.0], [1.0, 2.5], [1.0, 2.0]], dtype=np.float32)
    assert table(rows).ids == (
        content_hash(rows[0].tobytes()),
        content_hash(rows[1].tobytes()),
        content_hash(rows[0].tobytes()) + "-2",
    )
    pixels = np.arange(24, dtype=np.uint8).reshape(2, 3, 4, 1)
    assert hashes_of(ImageArray.from_array(pixels)) == [
        content_hash(pixels[0].tobytes()),
        content_hash(pixels[1].tobytes()),
    ]
    channels_first = np.ascontiguousarray(pixels.transpose(0, 3, 1, 2))
    assert hashes_of(ImageArray.from_array(channels_first.transpose(0, 2, 3, 1))) == hashes_of(ImageArray.of(pixels))


def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(InputError, match="text of item 1: expected valid Unicode; got half of a surrogate pair"):
        table(["fine", "broken \ud83d"])
