"""Zip files that come from somewhere: what is unpacked, and what is refused."""

from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from bemps._utils import archives
from bemps._utils.archives import check_archive, is_archive, unpack
from bemps.errors import InputError


def zipped(path, *files):
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for name, content in files:
            archive.writestr(name, content)
    return path


def test_what_is_wanted_is_unpacked_under_names_that_every_system_has(tmp_path):
    files = [("a.png", "1"), ("b.txt", "2"), ("deep/con.png", "3"), (".hidden.png", "4"), ("__MACOSX/c.png", "5")]
    path = zipped(tmp_path / "a.zip", *files)
    assert unpack(path, tmp_path / "out", lambda name: name.endswith(".png")) == 2
    assert {file.relative_to(tmp_path / "out").as_posix() for file in (tmp_path / "out").rglob("*.png")} == {
        "a.png",
        "deep/_con.png",
    }


def test_a_zip_file_is_known_by_its_name_or_its_bytes(tmp_path):
    zipped(tmp_path / "model.learner", ("a", "1"))
    (tmp_path / "empty.zip").touch()
    (tmp_path / "a.txt").write_text("text")
    known = {name for name in ("model.learner", "empty.zip", "a.txt", "gone.zip", ".") if is_archive(tmp_path / name)}
    assert known == {"model.learner", "empty.zip"}


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_files_of_one_name_are_refused(tmp_path):
    path = zipped(tmp_path / "a.zip", ("a.png", "1"), ("a.png", "2"))
    with pytest.raises(InputError, match=r"every name once; got a second 'a\.png'"):
        unpack(path, tmp_path / "out", lambda name: True)


def test_a_file_with_a_password_is_refused(tmp_path):
    path = zipped(tmp_path / "a.zip", ("a.png", "1"))
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\1\2") + 8] |= 1  # the flag in the table of contents
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"a file without a password; got 'a\.png', which needs one"):
        check_archive(path)


@pytest.mark.parametrize(
    ("limit", "value", "message"),
    [
        ("MOST_FILES", 1, "at most 1 files; got 2"),
        ("LARGEST_CONTENT", 100, "unpacked; got"),
        ("SMALL", 100, r"'b\.txt', which grows 1,0\d\d times"),
    ],
)
def test_what_is_too_much_is_refused(limit, value, message, tmp_path, monkeypatch):
    path = zipped(tmp_path / "a.zip", ("a.txt", "1"), ("b.txt", "0" * 2**20))
    assert len(check_archive(path)) == 2
    monkeypatch.setattr(archives, limit, value)
    with pytest.raises(InputError, match=message):
        check_archive(path)
