"""A user who brings a workbook gets a workbook back: every row, nothing calculated, nothing cut."""

import math
from datetime import UTC, date, datetime
from itertools import repeat
from zipfile import ZipFile

import openpyxl
import pytest
from hypothesis import given
from hypothesis.strategies import datetimes

from bemps import data
from bemps._utils.files import check_output, file_kind
from bemps.data.spreadsheets import _text, read_workbook
from bemps.errors import InputError
from bemps.formats import xlsx_format
from bemps.formats.export_tables import ExportTable
from bemps.formats.user_columns import Column, columns_of_values, merged_columns
from bemps.formats.xlsx_format import write_workbook
from bemps.project import open_project
from bemps.project.exporting import export_labels
from bemps.project.importing import import_labels
from bemps.store import Item

ROWS = [
    ["Nr", "Plz", "Price", "Body"],
    [7, "01069", 1.5, "It crashes"],
    [8, "12345", 2, "=1+1"],
    [9, None, None, "Bye"],
]


def workbook(path, rows):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for cell in (cell for row in book.active for cell in row if cell.data_type == "f"):
        cell.data_type = "s"
    book.save(path)
    return path


def cells(path):
    """The values of every row, and the cells themselves by name."""
    sheet = openpyxl.load_workbook(path).active
    return [list(row) for row in sheet.iter_rows(values_only=True)], sheet


def written(tmp_path, *rows, columns=("a",)):
    path = tmp_path / "t.xlsx"
    write_workbook(ExportTable(tuple(map(Column, columns)), iter(rows)), path)
    return path


def test_a_workbook_comes_back_as_a_workbook_with_every_row(tmp_path):
    with open_project(tmp_path / "p.bemps", create=True) as project:
        for name in ("bug", "wish"):
            project.store.add_class(name, "lead")
        project.store.set("model", "tfidf")
        project.store.set("audit_share", 0.0)
        project.add(data.read(workbook(tmp_path / "in.xlsx", ROWS), text="Body"))
        project.tell(dict(zip(project.store.ids(), ("bug", "wish"), strict=False)))
        project.export(tmp_path / "out.xlsx", "predictions")
        rows, sheet = cells(tmp_path / "out.xlsx")
        assert rows[0][:4] == ROWS[0]
        assert [row[:4] for row in rows[1:]] == ROWS[1:]  # numbers are numbers, 01069 and 12345 are texts
        assert [row[rows[0].index("human")] for row in rows[1:]] == ["bug", "wish", None]
        assert isinstance(rows[1][rows[0].index("probability")], float)
        assert sheet["D3"].data_type == "s"


def test_a_workbook_is_read_whatever_its_name_is(tmp_path):
    path = written(tmp_path, ["t0", "bug"], columns=["id", "label"])
    [answer] = xlsx_format.read_answers(path.rename(tmp_path / "labels.export"))
    assert (answer.id, answer.label) == ("t0", "bug")


@pytest.mark.parametrize("text", ["=1+1", "=HYPERLINK(A1)", " =1", "+1", "-2", "@sum", "#N/A", "'=1", "\t=1"])
def test_no_cell_is_calculated(tmp_path, text):
    path = written(tmp_path, [text], columns=[text])
    rows, sheet = cells(path)
    assert rows == [[text], [text]]
    assert [sheet[name].data_type for name in ("A1", "A2")] == ["s", "s"]
    assert sheet["A2"].quotePrefix == (text != "#N/A")  # it stays a text when somebody edits the cell
    assert b"<f>" not in ZipFile(path).read("xl/worksheets/sheet1.xml")


@pytest.mark.parametrize(("text", "length"), [("x" * 32_768, "32,768"), ("👩" * 16_384, "32,768")])
def test_a_text_that_no_cell_holds_is_refused_and_not_cut(tmp_path, text, length):
    with pytest.raises(InputError, match=rf"cell A3 .*at most 32,767 characters.*got {length}.*csv, jsonl or parquet"):
        written(tmp_path, ["short"], [text])


def test_the_longest_text_is_whole_also_with_characters_that_xml_cannot_hold(tmp_path):
    text = "\r\n\x01" + "x" * (32_767 - 3)
    [record] = data.read(written(tmp_path, [text], columns=["body"]), text="body").items
    assert record == text


def test_an_export_that_is_refused_leaves_no_file(tmp_path):
    with open_project(tmp_path / "p.bemps", create=True) as project:
        project.store.add_class("bug", "lead")
        project.store.add_items([Item("a", "x" * 40_000)])
        project.tell({"a": "bug"})
        with pytest.raises(InputError, match="32,767"):
            project.export(tmp_path / "out.xlsx")
    assert [path.name for path in tmp_path.iterdir()] == ["p.bemps"]


def test_more_rows_columns_or_bytes_than_excel_opens_are_refused(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="at most 16,384 columns; got 16385"):
        written(tmp_path, columns=map(str, range(16_385)))
    monkeypatch.setattr(xlsx_format, "MOST_ROWS", 3)
    written(tmp_path, ["one"], ["two"])
    with pytest.raises(InputError, match="at most 3 rows; got more than 3"):
        written(tmp_path, ["one"], ["two"], ["three"])
    monkeypatch.setattr(xlsx_format, "MOST_ROWS", 1_048_576)
    monkeypatch.setattr(xlsx_format, "MOST_BYTES", 2_000)
    with pytest.raises(InputError, match="at most 2,000 bytes"):
        written(tmp_path, *repeat(["one"], 100))


def test_values_have_the_type_that_keeps_them(tmp_path):
    moment = datetime(2026, 11, 16, 9, 30, 0, 123456, tzinfo=UTC)
    values = [1, -2.5, 2**70, True, [1, {"a": "é"}], math.inf, math.nan, moment, None, "", 0]
    rows, _ = cells(written(tmp_path, values, columns=map(str, range(len(values)))))
    texts = [str(2**70), True, '[1, {"a": "é"}]', "inf", "nan", moment.isoformat(), None, None, 0]
    assert rows[1] == [1, -2.5, *texts]


def test_columns_after_z_have_two_letters(tmp_path):
    names = [f"c{i}" for i in range(703)]
    rows, sheet = cells(written(tmp_path, list(range(703)), columns=names))
    assert rows == [names, list(range(703))]
    assert [sheet[name].value for name in ("Z1", "AA1", "ZZ1", "AAA1")] == ["c25", "c26", "c701", "c702"]


def test_figures_are_numbers_only_where_every_text_of_the_column_is_one():
    columns = {
        "n": ["1", "-2.5", ""],
        "zip": ["01069", "12345"],
        "price": ["1.50", "2"],
        "long": ["1" * 16],
        "no": [""],
    }
    assert [column.type for column in columns_of_values(columns)] == ["figures", "text", "text", "text", "text"]
    merged = merged_columns([Column("n", "figures")], [Column("n")])
    assert merged == [Column("n", "text")]
    assert merged_columns([Column("n", "figures")], [Column("n", "int64")]) == [Column("n", "any")]


def test_dates_of_a_workbook_come_back_as_dates(tmp_path):
    rows = [
        ["Day", "At", "Due", "Body"],
        [date(2026, 2, 28), datetime(2026, 1, 5, 14, 30, 7), datetime(2026, 1, 5), "It crashes"],
        [date(1999, 12, 31), datetime(2024, 2, 29, 23, 59, 59), None, "Bye"],
        [None, datetime(2026, 7, 1), None, "Hello"],
    ]
    with open_project(tmp_path / "p.bemps", create=True) as project:
        for name in ("bug", "wish"):
            project.store.add_class(name, "lead")
        project.store.set("model", "tfidf")
        project.store.set("audit_share", 0.0)
        project.add(data.read(workbook(tmp_path / "in.xlsx", rows), text="Body"))
        project.tell(dict(zip(project.store.ids(), ("bug", "wish"), strict=False)))
        project.export(tmp_path / "out.xlsx", "predictions")
    back, sheet = cells(tmp_path / "out.xlsx")
    midnight = datetime.min.time()
    expected = [[datetime.combine(row[0], midnight) if row[0] else None, *row[1:]] for row in rows[1:]]
    assert [row[:4] for row in back[1:]] == expected
    assert [sheet[name].number_format for name in ("A2", "B2")] == ["yyyy\\-mm\\-dd", "yyyy\\-mm\\-dd hh:mm:ss"]
    texts = data.read(tmp_path / "out.xlsx", text="Body").columns
    assert texts["At"] == ["2026-01-05 14:30:07", "2024-02-29 23:59:59", "2026-07-01"]


def test_dates_are_dates_only_where_every_text_of_the_column_is_one():
    columns = {
        "day": ["2026-01-31", "", "1900-03-01"],
        "at": ["2026-01-31 08:00:01", "2026-01-31"],
        "no such day": ["2026-02-30", "2026-01-31"],
        "midnight": ["2026-01-31 00:00:00", "2026-01-31"],
        "too early": ["1900-02-28", "2026-01-31"],
        "other": ["2026-01-31", "soon"],
        "zone": ["2026-01-31T08:00:00+00:00", "2026-01-31"],
    }
    assert [column.type for column in columns_of_values(columns)] == ["dates", "dates", *["text"] * 5]
    assert merged_columns([Column("n", "dates")], [Column("n", "figures")]) == [Column("n", "text")]
    assert merged_columns([Column("n", "dates")], [Column("n", "int64")]) == [Column("n", "any")]


@given(datetimes(min_value=datetime(1900, 3, 1), max_value=datetime(9999, 12, 31)))
def test_every_second_comes_back_from_a_workbook(tmp_path_factory, moment):
    text = _text(moment)
    path = tmp_path_factory.mktemp("dates") / "t.xlsx"
    write_workbook(ExportTable((Column("a", "dates"),), iter([[text]])), path)
    assert read_workbook(path, ["a"]).columns["a"] == [text]


def test_a_label_that_was_changed_in_excel_comes_back(tmp_path):
    with open_project(tmp_path / "p.bemps", create=True) as project:
        for name in ("bug", "wish"):
            project.store.add_class(name, "lead")
        project.store.add_items([Item("a", "one\r\n_x000D_"), Item("b", "two")])
        project.tell(dict.fromkeys("ab", "bug"), annotator="ann")
        export_labels(project.store, tmp_path / "out.xlsx")
        book = openpyxl.load_workbook(tmp_path / "out.xlsx")
        [changed] = [cell for row in book.active for cell in row if cell.coordinate == "C3"]
        assert changed.value == "bug"
        changed.value = "wish"
        time = next(cell for cell in book.active[3] if str(cell.value).startswith("20"))
        time.value = None
        book.save(tmp_path / "edited.xlsm")
        done = import_labels(project.store, tmp_path / "edited.xlsm", annotator="ann")
        assert (done.new, done.same) == (1, 1)
        assert project.labels() == {"a": "bug", "b": "wish"}


def test_a_workbook_without_labels_is_refused_by_its_columns(tmp_path):
    path = workbook(tmp_path / "in.xlsx", ROWS)
    with open_project(tmp_path / "p.bemps", create=True) as project, pytest.raises(InputError, match="Nr, Plz"):
        project.import_labels(path)


def test_a_workbook_is_replaced_only_by_a_workbook_and_when_asked(tmp_path):
    path = written(tmp_path, ["one"])
    assert file_kind(path) == "workbook"
    check_output(path, file="workbook", force=True)
    with pytest.raises(InputError, match="which exists"):
        check_output(path, file="workbook")
    with pytest.raises(InputError, match="which is a workbook file"):
        check_output(path, force=True)
    for name, content in (("letter.docx", "word/document.xml"), ("a.xlsx", "other.xml")):
        with ZipFile(tmp_path / name, "w") as archive:
            archive.writestr(content, "<x/>")
        with pytest.raises(InputError, match="which is a binary file"):
            check_output(tmp_path / name, file="workbook", force=True)
    (tmp_path / "cut.xlsx").write_bytes(path.read_bytes()[:100])
    assert file_kind(tmp_path / "cut.xlsx") == "binary"
