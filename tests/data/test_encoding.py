"""Encodings: found, or refused with the byte that does not fit."""

import codecs
from pathlib import Path

import pytest

from bemps.data import text_encoding
from bemps.data.text_encoding import encoding_of
from bemps.errors import InputError

TEXT = "id,text\n1,Käse für 3 €\n"


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (TEXT.encode(), "utf-8"),
        (TEXT.encode("utf-8-sig"), "utf-8-sig"),
        (TEXT.encode("utf-16"), "utf-16"),
        (codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), "utf-16"),
        (TEXT.encode("utf-32"), "utf-32"),
        (b"plain", "utf-8"),
    ],
)
def test_found_by_mark_or_utf8(tmp_path: Path, content: bytes, found: str) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(content)
    assert encoding_of(file) == found
    assert file.read_text(encoding=found).replace("\r", "") in (TEXT, "plain")


def test_the_offset_of_a_byte_that_is_not_utf8(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(b"id,text\n1,caf\xe9 au lait\n")
    with pytest.raises(InputError) as caught:
        encoding_of(file)
    assert "expected text in utf-8; got byte 0xe9 at offset 13" in str(caught.value)
    assert "encoding='cp1252'" in str(caught.value)
    assert encoding_of(file, "cp1252") == "cp1252"


@pytest.mark.parametrize("start", range(4))
def test_offsets_count_from_the_start_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: int) -> None:
    """Also when the file is read in pieces that cut a character in two."""
    monkeypatch.setattr(text_encoding, "CHUNK", 4)
    file = tmp_path / "a.txt"
    head = b"x" * start + "€€€".encode()
    file.write_bytes(head + b"\xff rest")
    with pytest.raises(InputError, match=rf"byte 0xff at offset {len(head)} "):
        encoding_of(file)
    file.write_bytes(head + b"\xe2\x82")
    with pytest.raises(InputError, match=rf"byte 0xe2 at offset {len(head)} \(unexpected end of data\)"):
        encoding_of(file)


def test_an_encoding_that_was_asked_for_must_fit(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes("é".encode())
    with pytest.raises(InputError, match="expected text in ascii; got byte 0xc3 at offset 0"):
        encoding_of(file, "ascii")
    with pytest.raises(InputError, match="expected the name of an encoding"):
        encoding_of(file, "utf-9")


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    file = tmp_path / "sheet.csv"
    file.write_bytes(b"PK\x03\x04\x14\x00\x06\x00")
    with pytest.raises(InputError, match="expected a text file; got a zero byte at offset 5"):
        encoding_of(file)


def test_an_empty_file(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.touch()
    with pytest.raises(InputError, match="expected a file with rows; got an empty file"):
        encoding_of(file)
