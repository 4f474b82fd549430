"""The cache of data that were sent to a node: known by its bytes, and nobody else's."""

import os
import shutil

import numpy as np
import pytest

from bemps.data.checksums import write_checksum
from bemps.distributed.grids import data_transfer
from bemps.distributed.grids.data_transfer import cache_of, digest_of, pack_files, unpack_files
from bemps.errors import InputError


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setattr(data_transfer.tempfile, "gettempdir", lambda: str(tmp_path))
    folder = tmp_path / "run" / "digits"
    (folder / "plain").mkdir(parents=True)
    (folder / "meta.json").write_text("{}")
    np.save(folder / "plain" / "pool.npy", np.arange(50))
    for name in ("meta.json", "plain/pool.npy"):
        write_checksum(folder / name)
    return folder


def test_a_prepared_cache_with_other_bytes_of_the_same_size_is_not_taken(data):
    digest, files = digest_of(data, "plain"), pack_files(data, "plain")
    prepared = cache_of(digest)
    prepared.parent.mkdir(mode=0o700)
    shutil.copytree(data, prepared)
    with (prepared / "plain" / "pool.npy").open("r+b") as file:  # the checksums beside it are those of the data
        file.seek(-8, os.SEEK_END)
        file.write(b"\xff" * 8)
    folder = unpack_files(files, digest, "plain")
    np.testing.assert_array_equal(np.load(folder / "plain" / "pool.npy"), np.arange(50))


def test_what_was_sent_is_kept_and_used_again(data):
    digest, files = digest_of(data, "plain"), pack_files(data, "plain")
    first = unpack_files(files, digest, "plain")
    assert digest_of(first, "plain") == digest
    assert unpack_files({}, digest, "plain") == first  # nothing is written again
    np.testing.assert_array_equal(np.load(first / "plain" / "pool.npy"), np.arange(50))


@pytest.mark.parametrize("how", ["writable", "link"])
def test_a_cache_that_others_can_write_to_is_refused(data, tmp_path, how):
    digest = digest_of(data, "plain")
    place = cache_of(digest).parent
    if how == "link":
        (tmp_path / "theirs").mkdir()
        place.symlink_to(tmp_path / "theirs")
    else:
        place.mkdir()
        place.chmod(0o777)
    with pytest.raises(InputError, match="a folder of your own"):
        unpack_files(pack_files(data, "plain"), digest, "plain")


def test_what_is_being_written_does_not_travel(data):
    digest = digest_of(data, "plain")
    (data / "plain" / ".test.npy.abc.part").mkdir()
    (data / "plain" / ".test.npy.abc.part" / "test.npy").write_bytes(b"half")
    assert digest_of(data, "plain") == digest
    assert not [name for name in pack_files(data, "plain") if "part" in name]
