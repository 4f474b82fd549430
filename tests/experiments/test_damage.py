"""Damage anywhere in the folder of a run is noticed: made good, or refused, never other results."""

import json
import shutil

import numpy as np
import pytest
from running import bytes_of, play

from bemps.data.checksums import is_intact, write_checksum
from bemps.errors import BempsError
from bemps.models.text.hidden_store import HiddenStore, remove_damaged

SETTINGS = {"strategies": ["coremse", "margin"], "seeds": 1, "budget": 20}


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    out = tmp_path_factory.mktemp("reference") / "run"
    play(out, **SETTINGS)
    return out


@pytest.fixture
def copy(reference, tmp_path):
    """A finished run whose journals are gone: the cells have to be played again, from what is in the folder."""
    out = tmp_path / "run"
    shutil.copytree(reference, out)
    shutil.rmtree(out / "journals")
    return out


def reversed_rows(path):
    rows = np.load(path)
    rows[:40] = rows[:40][::-1]
    np.save(path, rows)


def other_labels(path):
    meta = json.loads(path.read_text())
    meta["labels"] = meta["labels"][::-1]
    path.write_text(json.dumps(meta))


def flipped_digit(path):
    text = path.read_text()
    place = next(i for i in range(len(text) - 1, 0, -1) if text[i].isdigit())
    path.write_text(text[:place] + str(9 - int(text[place])) + text[place + 1 :])


def cut_off(path):
    path.write_bytes(path.read_bytes()[:-10])


def garbage(path):
    path.write_bytes(b"\xff\0garbage")


def no_checksum(path):
    path.with_name(path.name + ".blake2b").unlink()


@pytest.mark.parametrize(
    ("file", "damage"),
    [
        ("shared/digits/plain/pool.npy", reversed_rows),
        ("shared/digits/plain/test.npy", reversed_rows),
        ("shared/digits/raw/pool.npy", reversed_rows),
        ("shared/digits/meta.json", other_labels),
        ("shared/digits/meta.json", garbage),
        ("shared/digits/raw/test.npy", cut_off),
        ("shared/digits/plain/pool.npy", cut_off),
        ("shared/digits/plain/pool.npy", garbage),
        ("shared/digits/plain/pool.npy", no_checksum),
        ("full/digits-logistic.json", flipped_digit),
        ("full/digits-logistic.json", garbage),
        ("epochs/digits.json", flipped_digit),
        ("epochs/digits.json", cut_off),
    ],
)
def test_what_was_damaged_is_made_anew(file, damage, copy, reference):
    damage(copy / file)
    play(copy, **SETTINGS)
    assert bytes_of(copy) == bytes_of(reference)
    assert is_intact(copy / file)


def test_a_damaged_configuration_is_refused(copy):
    for text in ("{", "[" * 100_000, "3"):
        (copy / "config.json").write_text(text)
        with pytest.raises(BempsError, match=r"config\.json"):
            play(copy, **SETTINGS)


def test_a_file_is_intact_only_with_the_bytes_that_were_written(tmp_path):
    path = tmp_path / "a.npy"
    path.write_bytes(b"abc")
    assert not is_intact(path)
    write_checksum(path)
    assert is_intact(path)
    path.write_bytes(b"abd")
    assert not is_intact(path)
    path.unlink()
    assert not is_intact(path)


@pytest.mark.parametrize("file", ["*.npy", "*.json"])
def test_damaged_tokens_and_states_are_made_anew(tmp_path, file):
    store = HiddenStore(tmp_path)
    store.add(["a", "b"], [np.arange(3), np.arange(2)])
    store.add(["c"], [np.arange(4)])
    damaged = next(iter(sorted(tmp_path.glob(file))))
    damaged.write_bytes(damaged.read_bytes().replace(b"1", b"2").replace(b"\x01\0\0", b"\x02\0\0"))
    remove_damaged(tmp_path)
    left = HiddenStore(tmp_path)
    assert ("a" in left) + ("b" in left) + ("c" in left) in (1, 2)
    assert all((left["c"] == np.arange(4)).all() for key in "c" if key in left)
