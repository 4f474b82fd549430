"""Predictions have every row of the user's file: one with nothing to read in it has empty cells."""

import csv
import json

import pytest
from readers import workbook_bytes
from typer.testing import CliRunner

from bemps.cli import app
from bemps.data import read
from bemps.project import open_project
from bemps.project.empty_rows import rows_of_project
from bemps.server.project_start import Source, Wishes, prepared
from bemps.store.sql.sql_tables import ITEMS


@pytest.fixture
def project(tmp_path):
    """Six rows, of which the first, the fourth and the last are empty, and one repeats a text."""
    rows = ["1,,", "2,the app will crash,a", "3,please add my wish,b", "4,  ,", "5,the app will crash,c", "6,,d"]
    (tmp_path / "t.csv").write_text("\n".join(["nr,body,more", *rows, ""]))
    with open_project(tmp_path / "t.bemps", create=True) as made:
        for name in ("bug", "wish"):
            made.store.add_class(name, "ann")
        made.store.set("model", "tfidf")
        made.add(read(tmp_path / "t.csv", text="body"))
        ids = made.store.ids()
        made.tell({ids[0]: "bug", ids[1]: "wish"})
        yield made


def predict(*arguments):
    told = CliRunner().invoke(app, ["predict", *map(str, arguments)])
    assert told.exit_code == 0, told.output
    return told.output


def rows_of(path):
    if path.suffix == ".csv":
        with path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    from pyarrow.parquet import read_table

    return read_table(path).to_pylist()


@pytest.mark.parametrize("name", ["out.csv", "out.jsonl", "out.parquet"])
@pytest.mark.parametrize("way", ["project", "export", "file"])
def test_predictions_have_every_row(project, tmp_path, name, way):
    out = tmp_path / name
    if way == "export":
        project.export(out, "predictions")
    else:
        given = [tmp_path / "t.csv", "--text", "body"] if way == "file" else []
        predict(tmp_path / "t.bemps", *given, "--out", out)
    rows = rows_of(out)
    assert [str(row["nr"]) for row in rows] == list("123456")
    assert [row["more"] for row in rows] == ["", "a", "b", "", "c", "d"]
    assert [bool(row["label"]) for row in rows] == [False, True, True, False, True, False]
    for row in (rows[0], rows[3], rows[5]):
        assert not any(row[column] for column in ("id", "label", "probability", "human", "answered", "final"))
        assert not any(row.get(column) for column in ("p_bug", "probabilities"))


def test_a_file_that_was_read_again_has_its_empty_rows_once_and_where_they_are_now(project, tmp_path):
    text = (tmp_path / "t.csv").read_text().replace("4,  ,", "4,  ,\n7,an idea,e\n8,,")
    (tmp_path / "t.csv").write_text(text)
    project.add(read(tmp_path / "t.csv", text="body"))
    project.export(tmp_path / "out.csv", "predictions")
    numbers = [row["nr"] for row in rows_of(tmp_path / "out.csv")]
    assert sorted(numbers) == list("12345678")
    assert numbers.index("8") == numbers.index("7") + 1  # beside the row that it stood beside


@pytest.mark.parametrize("way", ["project", "file"])
def test_predictions_of_a_folder_have_every_file(tmp_path, way):
    texts = {"a/1.txt": "", "a/2.txt": "the app will crash", "b/3.txt": "please add my wish", "b/4.txt": " \n"}
    for name, text in texts.items():
        (tmp_path / "notes" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "notes" / name).write_text(text)
    with open_project(tmp_path / "n.bemps", create=True) as made:
        made.add_classes(["bug", "wish"])
        made.store.set("model", "tfidf")
        made.add(read(tmp_path / "notes", id="path"))
        made.tell({"a/2.txt": "bug", "b/3.txt": "wish"})
    given = [tmp_path / "notes"] if way == "file" else []
    predict(tmp_path / "n.bemps", *given, "--out", tmp_path / "out.csv")
    rows = rows_of(tmp_path / "out.csv")
    assert [(row["file"], row["folder"]) for row in rows] == [(name, name[0]) for name in texts]
    assert [bool(row["label"]) for row in rows] == [False, True, True, False]


def test_a_folder_that_an_earlier_release_read_gets_its_columns_when_it_is_named_again(tmp_path):
    (tmp_path / "notes").mkdir()
    for number, text in enumerate(["one", "", "two"]):
        (tmp_path / "notes" / f"{number}.txt").write_text(text)
    where, source, wishes = str(tmp_path / "n.bemps"), Source(tmp_path / "notes"), Wishes(classes=["bug", "wish"])
    with prepared(where, source, wishes)[0] as store:
        store.set("columns", [])
        store.set("empty_rows", {})
        with store._database.engine.begin() as connection:
            connection.execute(ITEMS.update().values(other_columns=None))
    with prepared(where, None, wishes)[0] as store:
        assert [item.columns for item in store.items()] == [{}, {}]
    with prepared(where, source, wishes)[0] as store:
        assert [item.columns for item in rows_of_project(store)] == [{"file": f"{number}.txt"} for number in range(3)]


def test_other_tools_get_no_task_for_an_empty_row(project, tmp_path):
    project.export(tmp_path / "tasks.json", "predictions", "label-studio")
    assert len(json.loads((tmp_path / "tasks.json").read_text(encoding="utf-8"))) == 3


def test_the_command_says_what_becomes_of_empty_rows(project, tmp_path):
    output = predict(tmp_path / "t.bemps", tmp_path / "t.csv", "--text", "body", "--out", tmp_path / "out.csv")
    assert "6 rows, 3 of them empty and left out" in output
    assert "The empty rows stand in the predictions without a class" in output


def test_the_command_reads_a_sheet_and_names_the_others(project, tmp_path):
    rows = [["body"], ["the app will crash"], ["please add my wish"]]
    (tmp_path / "new.xlsx").write_bytes(workbook_bytes([["read me"], ["x"]], Items=rows))
    given = [tmp_path / "t.bemps", tmp_path / "new.xlsx", "--sheet", "Items", "--out", tmp_path / "out.csv"]
    assert "2 rows, 0 duplicates (kept), without the sheets 'Sheet'" in predict(*given)
    assert [row["body"] for row in rows_of(tmp_path / "out.csv")] == [body for (body,) in rows[1:]]


def test_the_command_says_that_other_tools_get_no_empty_rows(project, tmp_path):
    arguments = ("--text", "body", "--format", "label-studio", "--out", tmp_path / "tasks.json")
    output = predict(tmp_path / "t.bemps", tmp_path / "t.csv", *arguments)
    assert "The empty rows are left out" in output
    assert len(json.loads((tmp_path / "tasks.json").read_text(encoding="utf-8"))) == 3


def test_labels_are_counted_as_on_the_page_where_copies_do_not_count(project, tmp_path):
    assert "Learnt from 2 labels" in predict(tmp_path / "t.bemps", "--out", tmp_path / "out.csv")
