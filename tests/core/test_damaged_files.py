"""Damaged and hostile files: every reader ends in a sentence or a result, never in a traceback, and in time."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from readers import READERS, image_bytes, try_damaged, valid_files, write_files

from bemps import data
from bemps.data.arrays import read_arrays, save_array
from bemps.errors import BempsError
from bemps.experiments import config_of
from bemps.store import open_store

CASES, SOAK = 22, 10_000  # cases of a reader of weight one; cases of all readers together


def share(name: str, total: int) -> int:
    return round(total * READERS[name].weight / sum(reader.weight for reader in READERS.values()))


def try_all(name: str, cases: range, folder) -> dict[str, int]:
    """What came of every case; the first that is neither read nor refused is raised."""
    outcomes = {"read": 0, "refused": 0}
    for case in cases:
        outcomes[try_damaged(name, case, folder / "case")] += 1
        shutil.rmtree(folder / "case")
    return outcomes


@pytest.mark.parametrize("name", READERS)
def test_a_valid_file_is_read(name, tmp_path):
    write_files(tmp_path, valid_files(name))
    READERS[name].read(tmp_path)


@pytest.mark.parametrize("name", READERS)
def test_damaged_files_end_in_a_sentence(name, tmp_path):
    count = round(CASES * READERS[name].weight)
    outcomes = try_all(name, range(count), tmp_path)
    assert outcomes["refused"] >= count // 10, outcomes  # damage that nobody notices would test nothing


@pytest.mark.soak
@pytest.mark.parametrize("name", READERS)
def test_ten_thousand_damaged_files_end_in_a_sentence(name, tmp_path):
    try_all(name, range(1_000, 1_000 + share(name, SOAK)), tmp_path)


@pytest.mark.parametrize("encoding", ["rot13", "base64", "zlib", "undefined", "idna", "punycode", "no\0name", "x"])
def test_an_encoding_that_makes_no_text_is_refused(encoding, tmp_path):
    write_files(tmp_path, valid_files("csv"))
    with pytest.raises(BempsError, match=r"encod|text"):
        data.read(tmp_path / "items.csv", text="text", encoding=encoding)


@pytest.mark.parametrize("delimiter", [", ", "\n", '"', "ab"])
def test_a_delimiter_of_another_kind_is_refused(delimiter, tmp_path):
    write_files(tmp_path, valid_files("csv"))
    with pytest.raises(BempsError, match="delimiter: expected one character"):
        data.read(tmp_path / "items.csv", text="text", delimiter=delimiter)


def test_links_that_lead_nowhere_are_passed_over(tmp_path):
    write_files(tmp_path, {"a.png": image_bytes("png", 3)})
    (tmp_path / "loop.png").symlink_to("loop.png")
    (tmp_path / "gone.png").symlink_to("nothing.png")
    assert data.read(tmp_path, id="path").ids == ("a.png",)


def test_a_file_name_that_is_not_unicode_is_refused(tmp_path):
    try:
        (Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff.png"))).write_bytes(image_bytes("png", 3))
    except OSError:
        pytest.skip("this file system takes no such name")
    with pytest.raises(BempsError, match=r"file names in UTF-8; got 'bad\\udcff.png'"):
        data.read(tmp_path, id="path")


@pytest.mark.parametrize("address", ["postgresql+psycopg://u@h:port/x", "postgresql://[::1/x", "x y://", "sqlite://"])
def test_an_address_that_is_none_is_refused(address):
    with pytest.raises(BempsError, match="store"):
        open_store(address)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"axes": [1]}, "axes: expected a table"),
        ({"plugin": 3}, "plugin: expected a text"),
        ({"full": "no"}, "full: expected true or false"),
        ({"seeds": 10**12}, "seeds: expected a whole number, 1 to 10,000"),
        ({"budget": 10**30}, "budget: expected a whole number"),
        ({"axes": {"members": [float("nan")]}}, "axis members"),
        ({"dataset": {"path": "items.csv", "label": 3}}, "label of dataset items.csv: expected a text"),
        ({"dataset": {"path": "items.csv", "label": "label", "holdout": "a"}}, "holdout of dataset"),
        ({"dataset": {"path": "items.csv", "label": "label", "text": [1]}}, "text of dataset"),
        ({"dataset": "x" * 5_000}, "dataset: expected one of"),
    ],
)
def test_a_setting_of_another_kind_is_refused(settings, words, tmp_path, monkeypatch):
    write_files(tmp_path, valid_files("csv"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BempsError, match=words):
        config_of({"dataset": "digits"} | settings)


def test_a_header_that_promises_more_than_there_is_is_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros(3))
    forged = (tmp_path / "a.npy").read_bytes().replace(b"(3,), }" + b" " * 14, b"(99999999999999,), }  ")
    (tmp_path / "a.npy").write_bytes(forged)
    with pytest.raises(BempsError, match=r"expected a \.npy or \.npz file"):
        read_arrays(tmp_path / "a.npy", "PROBS")


@pytest.mark.parametrize(
    "array", [np.zeros((0, 3)), np.arange(6.0).reshape(2, 3).T, np.float32([1, 2]), np.ones(3, "u1")]
)
def test_an_array_is_saved_as_numpy_saves_it(array, tmp_path):
    save_array(tmp_path / "ours.npy", array)
    np.save(tmp_path / "theirs.npy", np.ascontiguousarray(array))
    assert (tmp_path / "ours.npy").read_bytes() == (tmp_path / "theirs.npy").read_bytes()


def test_an_array_as_a_dataset_is_told_where_arrays_go(tmp_path):
    np.savez(tmp_path / "vectors.npz", a=np.zeros(3))
    with pytest.raises(BempsError, match=r"got '\.npz'\. Arrays of vectors are for bemps\.ActiveLearner"):
        data.read(tmp_path / "vectors.npz", text="text")
