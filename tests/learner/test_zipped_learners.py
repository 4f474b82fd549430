"""A saved learner is read from a zip file as it is; a hostile file is refused, and nothing is left behind."""

import shutil
import stat
import tempfile
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import numpy as np
import pytest

import bemps
from bemps.learner import ActiveLearner
from bemps.models import SpectralLaplace

X = np.random.default_rng(0).normal(size=(40, 4))


@pytest.fixture
def temporary(tmp_path_factory, monkeypatch):
    """The folder of temporary files."""
    folder = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


@pytest.fixture
def saved(tmp_path):
    """A folder with a learner."""
    learner = ActiveLearner(SpectralLaplace(X, members=2), X, classes=["a", "b"])
    learner.tell({str(i): "ab"[i % 2] for i in range(12)})
    learner.save(tmp_path / "tickets-model")
    return tmp_path / "tickets-model"


def zipped(saved, base="."):
    """A zip file with the folder in it, or with what is in the folder."""
    inside = {"root_dir": saved.parent, "base_dir": saved.name} if base == "." else {"root_dir": saved}
    return shutil.make_archive(str(saved.parent / "packed"), "zip", **inside)


@pytest.mark.parametrize("base", [".", "inside"])
def test_a_zip_file_is_loaded_like_its_folder(saved, base, temporary, tmp_path):
    path = zipped(saved, base)
    learner, same = ActiveLearner.load(path), ActiveLearner.load(saved)
    assert np.array_equal(learner.predict(X), same.predict(X))
    assert learner.ask(3).items == same.ask(3).items
    with pytest.raises(bemps.InputError, match="a new folder"):
        learner.save(path, force=True)
    learner.save(tmp_path / "again")
    assert ActiveLearner.load(tmp_path / "again").labels == same.labels


def test_a_zip_file_without_its_ending_is_known_by_its_bytes(saved, temporary, tmp_path):
    path = shutil.move(zipped(saved), tmp_path / "model")
    assert ActiveLearner.load(path).labels == ActiveLearner.load(saved).labels


def test_what_is_damaged_inside_is_told_with_the_name_of_the_zip_file(saved, temporary):
    (saved / "items.json").unlink(missing_ok=True)
    (saved / "items.npy").unlink()
    path = zipped(saved)
    with pytest.raises(bemps.InputError, match="items") as caught:
        ActiveLearner.load(path)
    assert caught.value.what == path
    assert str(temporary) not in str(caught.value)


def link(archive):
    entry = ZipInfo("m/learner.json")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    archive.writestr(entry, "/etc/passwd")


@pytest.mark.parametrize(
    ("fill", "words"),
    [
        (lambda archive: archive.writestr("../learner.json", "{}"), "a name inside the folder"),
        (lambda archive: archive.writestr("/learner.json", "{}"), "a name inside the folder"),
        (lambda archive: archive.writestr("m/items.npy", bytes(5_000_000)), "grow 200 times at most"),
        (link, "files and folders"),
        (lambda archive: archive.writestr("m/model.json", "{}"), "one saved learner in it; got none"),
        (
            lambda archive: [archive.writestr(f"{n}/learner.json", "{}") for n in (1, 2)],
            "one saved learner in it; got 2",
        ),
        (lambda archive: archive.writestr("m/learner.json", "[]"), "a folder written by learner.save"),
    ],
)
def test_other_zip_files_are_refused_and_leave_nothing(fill, words, temporary, tmp_path):
    with ZipFile(tmp_path / "m.zip", "w", ZIP_DEFLATED) as archive:
        fill(archive)
    before = set(tmp_path.rglob("*"))
    with pytest.raises(bemps.InputError, match=words) as caught:
        ActiveLearner.load(tmp_path / "m.zip")
    assert str(temporary) not in str(caught.value)
    assert set(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("content", [b"", b"no zip file", b"PK\x03\x04 cut off"])
def test_a_file_that_only_looks_like_a_zip_file_is_refused(content, temporary, tmp_path):
    (tmp_path / "m.zip").write_bytes(content)
    with pytest.raises(bemps.InputError, match="Is it complete"):
        ActiveLearner.load(tmp_path / "m.zip")
