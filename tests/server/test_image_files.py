"""Images and downloads: nothing from outside the data folder, nothing left behind."""

import os
import tempfile
import threading

import numpy as np
import pytest
from PIL import Image
from serving import Here, eventually

from bemps.errors import InputError
from bemps.server.http.image_files import image_of, read_inside
from bemps.store import Item
from bemps.store.project_settings import ProjectSettings


@pytest.fixture
def photos(tmp_path):
    folder = tmp_path / "photos"
    (folder / "deep").mkdir(parents=True)
    pixels = np.full((4, 4, 3), 200, np.uint8)
    for number, name in enumerate(("a.png", "b.png", "deep/c.png", "d.tif")):
        Image.fromarray(pixels + np.uint8(number)).save(folder / name)
    (tmp_path / "outside").mkdir()
    Image.fromarray(pixels * 0).save(tmp_path / "outside" / "c.png")
    return folder


def settings(photos):
    return ProjectSettings(kind="image", folder=str(photos))


def test_images_are_served_with_their_type(photos):
    with Here(photos.parent, data="photos", classes=("x", "y")) as server, server.person() as ann:
        got = {name: ann.http.get("image", params={"id": name}) for name in server.store.ids()}
        assert {name: answer.headers["content-type"] for name, answer in got.items()} == dict.fromkeys(got, "image/png")
        assert got["a.png"].content == (photos / "a.png").read_bytes()
        assert len(got) == 4
        for name, label in (("a.png", "x"), ("b.png", "y")):
            server.store.answer("ann", name, "label", label)
        server.store.set_all({"no_model": False, "model": "pixels"})
        server.engine.settings = server.store.read_settings()
        assert "an example that reads image files. It needs NumPy and Pillow, and" in ann.panel("result")


def test_a_link_inside_the_folder_is_shown(photos):
    (photos / "link.png").symlink_to("deep/c.png")
    assert image_of(settings(photos), Item("i", "link.png"))[0] == (photos / "deep" / "c.png").read_bytes()


@pytest.mark.parametrize(
    "content", ["../outside/c.png", "out.png", "away/c.png", "circle.png", "missing.png", "a\0.png"]
)
def test_nothing_outside_the_folder_is_shown(photos, content):
    (photos / "out.png").symlink_to(photos.parent / "outside" / "c.png")
    (photos / "away").symlink_to(photos.parent / "outside")
    (photos / "circle.png").symlink_to("circle.png")
    with pytest.raises(InputError):
        image_of(settings(photos), Item("i", content))


def test_a_link_that_is_put_there_after_the_check_is_not_followed(photos):
    """In the last part, or in any other."""
    (photos / "b.png").unlink()
    (photos / "b.png").symlink_to(photos.parent / "outside" / "c.png")
    (photos / "deep").rename(photos / "moved")
    (photos / "deep").symlink_to(photos.parent / "outside")
    for path in (photos / "b.png", photos / "deep" / "c.png"):
        with pytest.raises(OSError, match=r"symbolic links|Not a directory"):
            read_inside(photos, path)


def test_an_image_that_is_swapped_again_and_again_never_shows_another_file(photos):
    inside, secret = (photos / "a.png").read_bytes(), (photos.parent / "outside" / "c.png").read_bytes()
    spare = photos / "spare.png"
    stop = threading.Event()

    def swap():
        while not stop.is_set():
            spare.symlink_to(photos.parent / "outside" / "c.png")
            os.replace(spare, photos / "a.png")
            spare.write_bytes(inside)
            os.replace(spare, photos / "a.png")

    swapping = threading.Thread(target=swap)
    swapping.start()
    shown = set()
    try:
        for _ in range(1_500):
            try:
                shown.add(image_of(settings(photos), Item("i", "a.png"))[0])
            except InputError:
                shown.add(None)
    finally:
        stop.set()
        swapping.join()
    assert inside in shown
    assert secret not in shown


def test_a_pipe_is_no_image(photos):
    os.mkfifo(photos / "pipe.png")
    with pytest.raises(InputError, match="no plain file"):
        image_of(settings(photos), Item("i", "pipe.png"))


@pytest.mark.parametrize("header", [None, "bytes=abc", "bytes=99999999-", "bytes=0-3", "bytes=5-1"])
def test_a_download_leaves_nothing_behind(server, tmp_path, monkeypatch, header):
    drafts = tmp_path / "drafts"
    drafts.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(drafts))
    with server.person() as ann:
        answer = ann.http.get("export", headers={} if header is None else {"range": header})
    assert answer.status_code in (200, 206, 400, 416)
    assert header is not None or ",id,text,label" in answer.text.splitlines()[0]
    assert eventually(lambda: not list(drafts.iterdir()), 5)  # the answer is here before the server has tidied up


def test_a_download_that_fails_leaves_nothing_behind(server, tmp_path, monkeypatch):
    drafts = tmp_path / "drafts"
    drafts.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(drafts))

    def full(*_):
        raise InputError("file", expected="to write it", got="no space", fix="Free some.")

    monkeypatch.setattr("bemps.project.exporting.export_labels", full)
    with server.person() as ann:
        assert ann.http.get("export").status_code == 422
    assert list(drafts.iterdir()) == []
