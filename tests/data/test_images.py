"""Images: folders and lists of files that stay on disk, arrays that stay where they are."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bemps.data import NO_LABEL, ImageArray, ImageFiles, content_hash, read, table
from bemps.data import images as images_module
from bemps.errors import InputError, MissingExtra, pip_install


def picture(path: Path, colour: tuple[int, int, int], size: tuple[int, int] = (6, 4)) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, colour).save(path)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    picture(tmp_path / "cat" / "1.png", (255, 0, 0))
    picture(tmp_path / "cat" / "young" / "2.PNG", (250, 0, 0))
    picture(tmp_path / "dog" / "1.png", (0, 0, 255))
    picture(tmp_path / "new.png", (0, 255, 0))
    (tmp_path / "dog" / "notes.txt").write_text("not an image")
    (tmp_path / "dog" / "._1.png").write_bytes(b"what a file browser leaves behind")
    return tmp_path


def test_a_folder_of_images(folder: Path) -> None:
    found = read(folder)
    assert found.kind == "image"
    assert [Path(path).relative_to(folder).as_posix() for path in found.items.paths] == [
        "cat/1.png", "cat/young/2.PNG", "dog/1.png", "new.png",
    ]  # fmt: skip
    assert found.labels is None
    assert dict(found.columns) == {
        "image": ["cat/1.png", "cat/young/2.PNG", "dog/1.png", "new.png"],
        "folder": ["cat", "cat/young", "dog", ""],
    }
    assert found.ids[0] == content_hash((folder / "cat" / "1.png").read_bytes())
    assert found.items[0].shape == (4, 6, 3)
    assert found.items[0][0, 0].tolist() == [255, 0, 0]


def test_a_class_per_subfolder(folder: Path) -> None:
    found = read(folder, label="folder", id="path")
    assert found.classes == ("cat", "dog")
    assert found.labels.tolist() == [0, 0, 1, NO_LABEL]
    assert found.ids == ("cat/1.png", "cat/young/2.PNG", "dog/1.png", "new.png")


def test_ids_survive_a_move(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("moved") / "images"
    before = read(folder).ids
    folder.rename(elsewhere)
    assert read(elsewhere).ids == before
    (elsewhere / "cat" / "1.png").rename(elsewhere / "zebra.png")
    assert set(read(elsewhere).ids) == set(before)


def test_equal_files_are_duplicates(folder: Path) -> None:
    picture(folder / "again.png", (255, 0, 0))
    found = read(folder)
    assert found.findings.duplicates == 1
    assert len(set(found.ids)) == 5
    assert len(read(folder, duplicates="drop")) == 4


def test_reading_decodes_nothing_and_with_ids_opens_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("an image was opened")

    monkeypatch.setattr(images_module, "decode_image", refuse)
    assert len(read(folder)[np.array([0, 2])]) == 2
    monkeypatch.setattr(Path, "open", refuse)
    found = read(folder, label="folder", id="path")
    assert found.findings.duplicates is None
    assert str(found.findings) == "4 rows, without files of other kinds: 1 .txt"


def test_a_list_of_images_in_a_csv(folder: Path) -> None:
    (folder / "list.csv").write_text("file,kind,no\ncat/1.png,cat,7\nnew.png,,8\n")
    found = read(folder / "list.csv", image="file", label="kind", id="no", mode="L")
    assert found.ids == ("7", "8")
    assert found.items[1].shape == (4, 6, 1)
    (folder / "list.csv").write_text("file\ncat/1.png\nlost.png\n\nlost too.png\n")
    with pytest.raises(InputError, match=r"got 2 that do not exist, first .*lost\.png: lines 3, 5"):
        read(folder / "list.csv", image="file")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"text": "body"}, "expected no column names: its files are the items; got text="),
        ({"label": "kind"}, "label of a folder: expected one of folder; got 'kind'"),
        ({"id": "name"}, "id of a folder: expected one of path; got 'name'"),
    ],
)
def test_refusals_of_folders(folder: Path, options, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(folder, **options)
    assert message in str(caught.value)


def test_a_folder_without_images(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"expected image files .*; got no file at all"):
        read(tmp_path)
    (tmp_path / "a.pdf").touch()
    with pytest.raises(InputError, match=r"got only \.pdf"):
        read(tmp_path)


def test_an_empty_image_file_is_refused_when_read(folder: Path) -> None:
    (folder / "empty.jpg").touch()
    with pytest.raises(InputError, match=r"empty\.jpg: expected a readable file; got an empty file"):
        read(folder)


def test_a_broken_image_is_refused_when_looked_at(folder: Path) -> None:
    (folder / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n and no more")
    found = read(folder)
    with pytest.raises(InputError, match=r"broken\.png: expected an image that Pillow can decode"):
        found.items[0]


def test_images_are_turned_upright(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was held sideways
    Image.new("RGB", (6, 4)).save(tmp_path / "a.jpg", exif=exif)
    assert ImageFiles((str(tmp_path / "a.jpg"),))[0].shape == (6, 4, 3)


def test_loading_needs_one_shape_or_a_size(folder: Path) -> None:
    picture(folder / "wide.png", (1, 2, 3), size=(9, 2))
    found = read(folder).items
    with pytest.raises(InputError, match=r"images.load: expected images of one shape; got 2 shapes"):
        found.load()
    assert found.load(size=(5, 7)).shape == (5, 5, 7, 3)
    assert [len(stack) for stack in found.batches(2, size=(5, 7))] == [2, 2, 1]
    with pytest.raises(InputError, match="images: expected at least one; got none"):
        found.take(np.arange(0)).load()


def test_arrays_of_images_slice_without_copies() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (6, 5, 4), dtype=np.uint8)
    whole = ImageArray.from_array(pixels)
    part = whole.take(np.array([4, 1])).take(np.array([1]))
    assert np.shares_memory(part.pixels, pixels)
    assert np.array_equal(part[0][..., 0], pixels[1])
    assert np.array_equal(np.asarray(whole)[..., 0], pixels)
    assert np.asarray(whole, dtype=np.float32).dtype == np.float32
    assert whole.load(size=(10, 8)).shape == (6, 10, 8, 1)
    assert whole.load(size=(5, 4)).shape == (6, 5, 4, 1)


def test_a_memory_mapped_array_stays_on_disk(tmp_path: Path) -> None:
    np.save(tmp_path / "pixels.npy", np.zeros((10, 8, 8, 3), dtype=np.uint8))
    mapped = table(np.load(tmp_path / "pixels.npy", mmap_mode="r"), duplicates="drop")
    assert isinstance(mapped.items.pixels, np.memmap)
    assert len(mapped) == 1


def test_decoding_without_its_package(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(MissingExtra, match=re.escape(pip_install("images"))):
        read(folder).items[0]
