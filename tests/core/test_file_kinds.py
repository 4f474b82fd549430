"""What a file or folder is, by what is in it and by whether it can be there."""

import pytest
from readers import workbook_bytes

from bemps._utils.existing_paths import path_exists
from bemps._utils.files import file_kind, make_folder
from bemps._utils.protected_files import project_made_from
from bemps.errors import InputError


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"\n <!DOCTYPE html><p>", "HTML"),
        (b"<html><p>", "HTML"),
        (b"PK\x03\x04 that is no zip file", "binary"),
        (workbook_bytes([["a"], ["b"]]), "workbook"),
        (b"", "text"),
    ],
)
def test_the_kind_of_a_file_is_that_of_its_bytes(content, kind, tmp_path):
    (tmp_path / "thing").write_bytes(content)
    assert file_kind(tmp_path / "thing") == kind


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"--folder .*file.inside: expected to make it; got .*Check space and rights"):
        make_folder(tmp_path / "file" / "inside", "--folder")


def test_a_path_that_no_system_has_does_not_exist(tmp_path):
    assert not path_exists(tmp_path / "no\0name")
    assert not path_exists(tmp_path / "gone" / "file")


def test_a_file_beside_a_folder_or_wreck_named_as_a_project_is_nobodys_source(tmp_path):
    (tmp_path / "folder.bemps").mkdir()
    (tmp_path / "wreck.bemps").write_bytes(b"SQLite format 3\0 and no more")
    (tmp_path / "t.csv").touch()
    assert project_made_from(tmp_path / "t.csv", [tmp_path, tmp_path]) is None
