"""A user's own files: CSV, TSV, JSONL, Parquet. Every refusal says where and what to do."""

import csv
import json
import re
import sys
from datetime import datetime
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from readers import workbook_bytes

from bemps.data import NO_LABEL, content_hash, read
from bemps.data.identity import is_blank
from bemps.data.table import EmptyRow
from bemps.errors import InputError, MissingExtra, pip_install

ROWS = [("a1", "good film", "pos"), ("a2", "bad, really\nbad", "neg"), ("a3", 'so "so"', ""), ("a4", "Käse", "pos")]
HEADER = ("id", "body", "topic")


def written(path: Path) -> Path:
    """ROWS in the format that the suffix says."""
    if path.suffix in (".csv", ".tsv"):
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",").writerows([HEADER, *ROWS])
    elif path.suffix == ".jsonl":
        lines = [json.dumps(dict(zip(HEADER, row, strict=True))) for row in ROWS]
        path.write_text("\n".join(lines) + "\n\n", encoding="utf-8")
    else:
        columns = dict(zip(HEADER, zip(*ROWS, strict=True), strict=True))
        pq.write_table(pa.table({name: list(values) for name, values in columns.items()}), path)
    return path


def lines_of(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.parquet"])
def test_every_format_gives_the_same_table(tmp_path: Path, name: str) -> None:
    found = read(written(tmp_path / name), text="body", label="topic", id="id")
    assert found.ids == ("a1", "a2", "a3", "a4")
    assert found.items == [row[1] for row in ROWS]
    assert found.classes == ("neg", "pos")
    assert found.labels.tolist() == [1, 0, NO_LABEL, 1]
    assert found.findings.duplicates == 0


def test_without_an_id_column_ids_are_content_hashes(tmp_path: Path) -> None:
    found = read(written(tmp_path / "a.csv"), text="body")
    assert found.ids[0] == content_hash(b"good film")
    assert found.labels is None


@given(
    st.lists(
        st.tuples(
            st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).filter(lambda text: not is_blank(text)),
            st.sampled_from(["x", "y"]),
        ),
        min_size=1,
    )
)
def test_what_the_csv_module_writes_is_read_back(tmp_path_factory: pytest.TempPathFactory, rows) -> None:
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), *rows])
    found = read(path, text="text", label="label")
    assert found.items == [text for text, _ in rows]
    assert [found.classes[code] for code in found.labels] == [label for _, label in rows]


def test_several_text_columns_are_joined(tmp_path: Path) -> None:
    path = lines_of(tmp_path / "a.csv", "title,body", "One,two", ",three", "four,")
    assert read(path, text=["title", "body"]).items == ["One two", "three", "four"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings_are_found(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text\nKäse\n", encoding=encoding)
    assert read(path, text="text").items == ["Käse"]


def test_another_encoding_by_name(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("text\nKäse\n".encode("cp1252"))
    with pytest.raises(InputError, match="got byte 0xe4 at offset 6"):
        read(path, text="text")
    assert read(path, text="text", encoding="cp1252").items == ["Käse"]


def test_a_file_without_a_header(tmp_path: Path) -> None:
    path = lines_of(tmp_path / "a.csv", "pos,good", "neg,bad")
    assert read(path, text="t", label="l", columns=["l", "t"]).items == ["good", "bad"]


def test_a_text_longer_than_the_csv_modules_limit(tmp_path: Path) -> None:
    limit = csv.field_size_limit()
    path = lines_of(tmp_path / "a.csv", "text", "x" * (limit + 1))
    assert len(read(path, text="text").items[0]) == limit + 1
    assert csv.field_size_limit() == limit


def test_tsv_whose_quotes_mean_nothing(tmp_path: Path) -> None:
    path = lines_of(tmp_path / "a.tsv", "text\tlabel", '"Well" he said\tx', '5" disks\ty')
    with pytest.raises(InputError, match=r"line 2: expected fields quoted .* or pass quotes=False"):
        read(path, text="text", label="label")
    assert read(path, text="text", label="label", quotes=False).items == ['"Well" he said', '5" disks']


def test_blank_lines_are_passed_over(tmp_path: Path) -> None:
    path = lines_of(tmp_path / "a.csv", "", "text,label", "", "a,x", "", "b,y", "", "")
    assert read(path, text="text", label="label").items == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "lines", "options", "message"),
    [
        (
            "a.csv",
            ["Text,id", "a,1"],
            {"text": "text"},
            "column 'text' of {path}: expected one of 'Text', 'id'; got 'text'.",
        ),
        (
            "a.csv",
            ["x,y", "a,b"],
            {},
            "columns of {path}: expected text= (or image=) to name one of 'x', 'y'; got neither",
        ),
        ("a.jsonl", ['{"x": "a", "y": "b"}'], {}, "expected text= (or image=) to name one of 'x', 'y'; got neither"),
        ("a.csv", ["x,y", "a,b"], {"text": "x", "image": "y"}, "expected text= or image=; got both"),
        (
            "a.csv",
            ["text,text", "a,b"],
            {"text": "text"},
            "expected a name that stands once in the header; got 2 columns",
        ),
        ("a.csv", ["text;label", "a;b"], {"text": "text"}, "The columns look separated by ';': pass delimiter=';'."),
        (
            "a.csv",
            ["text,label", "a,b", "c,d,e"],
            {"text": "text"},
            "{path}, line 3: expected 2 fields, as in the header; got 3",
        ),
        (
            "a.csv",
            ["text,label", '"a', 'b",x', "c"],
            {"text": "text"},
            "{path}, line 4: expected 2 fields, as in the header; got 1",
        ),
        ("a.csv", ["text", '"never closed', "b"], {"text": "text"}, "line 3: expected fields quoted as"),
        ("a.csv", ["text"], {"text": "text"}, "{path}: expected at least one row; got none"),
        ("a.csv", ["", ""], {"text": "text"}, "{path}: expected a header line and rows; got only blank lines"),
        ("a.csv", [""], {"text": "text"}, "{path}: expected a file with rows; got an empty file"),
        ("a.csv", ["text", *['" "'] * 12], {"text": "text"}, "{path}: expected something to read in some row"),
        (
            "a.csv",
            ["text,id", "a,1", "b,2", "c,1"],
            {"text": "text", "id": "id"},
            "ids: expected every id once; got '1' at {path}, lines 2, 4.",
        ),
        (
            "a.csv",
            ["text,id", "a,1", "b,"],
            {"text": "text", "id": "id"},
            "ids: expected an id in every row; got none at {path}, line 3",
        ),
        (
            "a.csv",
            ["text,y", "a,pos", "b,po"],
            {"text": "text", "label": "y", "classes": ["neg", "pos"]},
            "label at {path}, line 3: expected one of neg, pos; got 'po'. Did you mean 'pos'?",
        ),
        (
            "a.jsonl",
            ['{"text": "a"}', "", '{"text": "b"'],
            {"text": "text"},
            "{path}, line 3: expected one JSON object; got Expecting ',' delimiter at character 13",
        ),
        (
            "a.jsonl",
            ['{"text": "a"}', '["b"]'],
            {"text": "text"},
            "{path}, line 2: expected one JSON object; got a JSON list",
        ),
        (
            "a.jsonl",
            ["[" * 200_000],
            {"text": "text"},
            "line 1: expected one JSON object; got brackets nested too deeply",
        ),
        (
            "a.jsonl",
            ['{"text": "a"}', '{"txt": "b"}'],
            {"text": "text"},
            "column 'text' of {path}, line 2: expected one of 'txt'; got 'text'",
        ),
        (
            "a.jsonl",
            ['{"text": "a"}', '{"text": 3}'],
            {"text": "text"},
            "column 'text' of {path}: expected texts; got 3 at line 2",
        ),
        ("a.jsonl", [" ", ""], {"text": "text"}, "{path}: expected at least one row; got none"),
        ("a.parquet", ["no parquet"], {"text": "text"}, "{path}: expected a Parquet file; got"),
        (
            "a.ods",
            ["?"],
            {"text": "text"},
            "one of .csv, .json, .jsonl, .ndjson, .parquet, .pq, .tsv, .txt, .xlsm, .xlsx; got '.ods'",
        ),
        ("a.csv", ["text", "a"], {"text": "text", "mode": "CMYK"}, "mode: expected one of L, RGB; got 'CMYK'"),
    ],
)
def test_refusals(tmp_path: Path, name: str, lines: list[str], options, message: str) -> None:
    path = lines_of(tmp_path / name, *lines)
    with pytest.raises(InputError) as caught:
        read(path, **options)
    assert message.format(path=path) in str(caught.value)


def test_empty_rows_are_left_out_and_counted(tmp_path: Path) -> None:
    path = lines_of(tmp_path / "a.csv", "title,text,id,y", ",a,1,x", ", ,2,x", "only a title,,3,z", ",,,", ",c,5,z")
    table = read(path, text="text", id="id", label="y")
    assert (table.ids, table.items, table.labels.tolist()) == (("1", "5"), ["a", "c"], [0, 1])
    assert table.columns == {"title": ["", ""], "text": ["a", "c"], "id": ["1", "5"], "y": ["x", "z"]}
    assert str(table.findings) == "5 rows, 3 of them empty and left out, 0 duplicates (kept)"
    assert read(path, text=["title", "text"]).items == ["a", "only a title", "c"]
    path = lines_of(tmp_path / "a.jsonl", '{"text": "a"}', '{"text": null}', '{"text": "c"}')
    assert read(path, text="text").items == ["a", "c"]


def test_all_columns_are_kept_in_their_order(tmp_path: Path) -> None:
    path = lines_of(tmp_path / "a.csv", "b,text,a,b, a ", "1,one,x,2,y", "3,two,,4,z")
    table = read(path, text="text", duplicates="drop")
    assert list(table.columns) == ["b", "text", "a", "b (2)", "a (2)"]
    assert table[1:].columns["b (2)"] == ["4"]
    assert read(path, text="text", others=False).columns == {}
    path = lines_of(
        tmp_path / "a.jsonl", '{"text": "one", "n": 1}', '{"text": "two", "more": [2]}', '{"text": "three"}'
    )
    assert read(path, text="text").columns == {
        "text": ["one", "two", "three"], "n": [1, None, None], "more": [None, [2], None],
    }  # fmt: skip
    pq.write_table(pa.table({"n": [1, 2], "text": ["a", "b"], "raw": [b"x", b"y"]}), tmp_path / "a.parquet")
    table = read(tmp_path / "a.parquet", text="text")
    assert table.columns == {"n": [1, 2], "text": ["a", "b"]}
    assert "without the columns 'raw'" in str(table.findings)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a.xls", "Save it as .xlsx, or as CSV UTF-8, from your spreadsheet."),
        ("a.ods", "Save it as .xlsx, or as CSV UTF-8, from your spreadsheet."),
        ("a.zip", "Unpack it and name the folder"),
        ("a.docx", "Convert the file to one of these."),
    ],
)
def test_the_hint_for_another_format_can_work(tmp_path: Path, name: str, words: str) -> None:
    path = lines_of(tmp_path / name, "x")
    with pytest.raises(InputError) as caught:
        read(path, text="text")
    assert words in str(caught.value)
    assert "Did you mean" not in str(caught.value)


def workbook(path: Path, *rows: list[object], sheet: str = "Second") -> Path:
    """A workbook whose first sheet is empty."""
    book = openpyxl.Workbook()
    sheet = book.create_sheet(sheet)
    for row in rows:
        sheet.append(row)
    book.save(path)
    return path


def test_a_workbook_is_read_as_its_csv_would_be(tmp_path: Path) -> None:
    day = datetime(2024, 2, 3)
    rows = [None, None], ["body", " n ", None, "when", "ok"], ["Hello", 3, "x", day, True], [None] * 5, [4.5, 1e6]
    path = workbook(tmp_path / "a.xlsx", *map(list, rows))
    table = read(path, text="body", label="n")
    assert table.items == ["Hello", "4.5"]
    assert table.classes == ("3", "1000000")
    assert table.columns == {
        "body": ["Hello", "4.5"], "n": ["3", "1000000"], "column 3": ["x", ""], "when": ["2024-02-03", ""],
        "ok": ["TRUE", ""],
    }  # fmt: skip
    with pytest.raises(InputError, match="expected one of 'body', 'n', 'column 3', 'when', 'ok'; got 'text'"):
        read(path, text="text")
    assert read(workbook(tmp_path / "one.xlsm", ["body"], ["Hello"])).items == ["Hello"]


def test_columns_of_a_workbook_beyond_the_last_name_are_read(tmp_path: Path) -> None:
    rows = ["body"], ["Hello", None, "far", None], ["Bye", None, None, "farther"], ["Yes"]
    table = read(workbook(tmp_path / "a.xlsx", *map(list, rows)), text="body")
    assert table.columns == {
        "body": ["Hello", "Bye", "Yes"], "column 3": ["far", "", ""], "column 4": ["", "farther", ""],
    }  # fmt: skip


@pytest.mark.parametrize(
    "titles",
    [
        [["Tickets of May"]],
        [["Tickets"], [None, "exported", "today"], []],
        [["Tickets"], [], *[[f"line {i}"] for i in range(15)]],
    ],
)
def test_lines_above_the_table_of_a_workbook_are_not_its_header(tmp_path: Path, titles: list[list[object]]) -> None:
    table = [["id", "body", "topic", "more", "note"], [1, "Hello", "x"], [2, "Bye", "y", 3, "z"], [3, "Yes", "x", 4, 5]]
    path = workbook(tmp_path / "a.xlsx", *titles, *table, *[[i, "text", "x", 4, 5] for i in range(20)])
    found = read(path, text="body")
    assert list(found.columns) == table[0]
    assert found.items[:3] == ["Hello", "Bye", "Yes"]


def test_a_sparse_table_of_a_workbook_keeps_its_header(tmp_path: Path) -> None:
    rows = [["Survey"], ["a", "b", "c", "d"], ["x", "y"], ["x", None, "z"], [None, "y", "z"]]
    assert list(read(workbook(tmp_path / "a.xlsx", *rows), text="a").columns) == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"no workbook", "expected an Excel workbook; got BadZipFile"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "expected an Excel workbook"),  # one with a password
    ],
)
def test_what_is_no_workbook_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "a.xlsx").write_bytes(content)
    with pytest.raises(InputError, match=words):
        read(tmp_path / "a.xlsx", text="body")


def test_a_workbook_with_entities_or_of_too_much_is_refused(tmp_path: Path) -> None:
    workbook(tmp_path / "good.xlsx", ["body"], ["Hello"])
    assert openpyxl.DEFUSEDXML
    evil = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><x>&b;</x>'
    for name, content in (("xl/workbook.xml", evil), ("xl/styles.xml", b" " * 3 * 2**20)):
        with ZipFile(tmp_path / "good.xlsx") as good, ZipFile(tmp_path / "bad.xlsx", "w", ZIP_DEFLATED) as bad:
            for member in good.namelist():
                bad.writestr(member, content if member == name else good.read(member))
        with pytest.raises(InputError, match=r"Unable to read workbook|grow 200 times"):
            read(tmp_path / "bad.xlsx", text="body")


def test_a_json_array_of_objects(tmp_path: Path) -> None:
    path = lines_of(tmp_path / "a.json", '[{"text": "one", "n": 1},', ' {"text": "two", "more": [2]}]')
    assert read(path, text="text").columns == {"text": ["one", "two"], "n": [1, None], "more": [None, [2]]}
    path = lines_of(tmp_path / "lines.json", '{"text": "one"}', '{"text": "two"}')
    assert read(path, text="text").items == ["one", "two"]
    for content, words in (("3", "a JSON array of objects; got a JSON int"), ("[3]", "object 1")):
        with pytest.raises(InputError, match=words):
            read(lines_of(tmp_path / "b.json", content), text="text")
    with pytest.raises(InputError, match=r"b\.json, object 2: expected one of 'body'; got 'text'"):
        read(lines_of(tmp_path / "b.json", '[{"text": "a"}, {"body": "b"}]'), text="text")


def test_a_text_in_each_line(tmp_path: Path) -> None:
    path = lines_of(tmp_path / "a.txt", "one", " ", " two ")
    assert read(path).items == read(path, text="text").items == ["one", "two"]
    with pytest.raises(InputError, match="expected one of 'text'; got 'body'"):
        read(path, text="body")


@pytest.mark.parametrize("cover", [[["Archive"]], [["Archive"], ["of"], ["May"]]])
def test_a_cover_is_not_taken_for_the_table(tmp_path: Path, cover: list[list[object]]) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(workbook_bytes(cover, Items=[["body", "n"], ["one", 1]], Single=[["body"], ["two"]]))
    table = read(path, text="body")
    assert (table.items, table.findings.other_sheets) == (["one"], ("Sheet", "Single"))
    assert read(path, text="body", sheet="Single").items == ["two"]


def test_a_sheet_of_a_workbook(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(
        workbook_bytes([["read me"], ["first"]], Items=[["body"], ["one"], ["two"]], Empty=[], Old=[["x"]])
    )
    first = read(path)
    assert (first.items, first.findings.other_sheets) == (["first"], ("Items", "Old"))
    assert str(first.findings).endswith("without the sheets 'Items', 'Old'")
    table = read(path, sheet="Items")
    assert (table.items, table.findings.other_sheets) == (["one", "two"], ("Sheet", "Old"))
    assert table.read_with == {"sheet": "Items"}
    assert read(path, text="body", sheet="Items").items == ["one", "two"]
    with pytest.raises(InputError, match=r"sheet of .*a\.xlsx: expected one of Items, Old, Sheet; got 'items'"):
        read(path, sheet="items")
    with pytest.raises(
        InputError, match=r"columns of the sheet 'Sheet'; the workbook also has 'Items', 'Old' \(sheet="
    ):
        read(path, text="body")
    (tmp_path / "a.csv").write_text("body\none\n")
    for other in ("a.csv", "."):
        with pytest.raises(InputError, match=r"sheet: expected a workbook \(\.xlsx, \.xlsm\)"):
            read(tmp_path / other, sheet="Items")


def test_a_folder_of_text_files(tmp_path: Path) -> None:
    for name, text in (("good/1.txt", "fine\r\nday"), ("bad/2.txt", "awful"), ("3.txt", "so so"), ("4.txt", " ")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(text.encode())
    (tmp_path / "logo.png").touch()
    (tmp_path / ".hidden.txt").write_text("not this")
    table = read(tmp_path, id="path", label="folder")
    assert (table.kind, table.ids) == ("text", ("3.txt", "bad/2.txt", "good/1.txt"))
    assert table.items == ["so so", "awful", "fine\nday"]
    assert (table.classes, table.labels.tolist(), table.findings.empty) == (("bad", "good"), [NO_LABEL, 0, 1], 1)
    assert dict(table.columns) == {"file": list(table.ids), "folder": ["", "bad", "good"]}
    assert table.empty == (EmptyRow(1, {"file": "4.txt", "folder": ""}),)
    assert str(table.findings).endswith("(kept), without files of other kinds: 1 .png")
    assert (read(tmp_path, others=False).columns, read(tmp_path, others=False).empty) == ({}, ())
    assert list(read(tmp_path / "good").columns) == ["file"]
    (tmp_path / "5.txt").write_bytes(b"caf\xe9")
    with pytest.raises(InputError, match=r"5\.txt: expected text in utf-8"):
        read(tmp_path)
    assert "caf\u00e9" in read(tmp_path, encoding="cp1252").items


def test_refusals_of_parquet_name_columns_and_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["a", None, "c"], "n": [1, 2, 3]}), path)
    with pytest.raises(InputError, match=r"expected one of 'text', 'n'; got 'body'"):
        read(path, text="body")
    assert (len(read(path, text="text")), read(path, text="text").findings.empty) == (2, 1)
    with pytest.raises(InputError, match=r"expected texts; got 1 at rows 1, 2, 3"):
        read(path, text="n")


def test_numeric_labels_with_gaps_in_parquet(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["a", "b", "c"], "y": pa.array([1.0, None, 10.0])}), path)
    found = read(path, text="text", label="y")
    assert found.classes == ("1", "10")
    assert found.labels.tolist() == [0, NO_LABEL, 1]


def test_a_path_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.csv, which does not exist"):
        read(tmp_path / "nowhere.csv", text="text")


def test_duplicates_are_reported_and_dropped_on_request(tmp_path: Path) -> None:
    path = lines_of(tmp_path / "a.csv", "text,y", "a,x", "b,y", "a ,y")
    kept = read(path, text="text", label="y")
    assert kept.ids[2] == f"{kept.ids[0]}-2"
    assert str(kept.findings) == "3 rows, 1 duplicates (kept), 1 with more than one label"
    dropped = read(path, text="text", label="y", duplicates="drop")
    assert dropped.ids == kept.ids[:2]
    assert (dropped.findings.duplicates, dropped.findings.dropped) == (1, 1)


def test_parquet_without_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "a.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingExtra, match=re.escape(pip_install("parquet"))):
        read(path, text="body")


def test_the_only_column_needs_no_name(tmp_path):
    one, two, odd = tmp_path / "one.csv", tmp_path / "two.csv", tmp_path / "odd.csv"
    one.write_text("body\nfirst\nsecond\n", encoding="utf-8")
    two.write_text("id,body\n1,first\n2,second\n", encoding="utf-8")
    odd.write_text("This is a text and no header\nsecond\n", encoding="utf-8")
    assert list(read(one).items) == list(read(two, id="id").items) == ["first", "second"]
    with pytest.raises(InputError, match="to name one of 'id', 'body'"):
        read(two)
    with pytest.raises(InputError, match="to name one of 'This is a text and no header'"):
        read(odd)


def test_the_advice_for_lines_of_text_works(tmp_path):
    (tmp_path / "a.tsv").write_text("text\nOne, two\nIt's here\n", encoding="utf-8")
    assert list(read(tmp_path / "a.tsv").items) == ["One, two", "It's here"]
