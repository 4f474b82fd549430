"""The columns of the user's file: kept in their order, in every export and prediction, with ours beside them."""

import csv
import json
from datetime import date
from decimal import Decimal

import numpy as np
import pytest
from moments import WHEN
from typer.testing import CliRunner

from bemps import data
from bemps.cli import app
from bemps.formats.entries import GivenAnswers, predicted_items
from bemps.formats.format_registry import FORMATS
from bemps.formats.user_columns import Column, merged_columns, own_columns, own_fields
from bemps.project import open_project
from bemps.project.exporting import export_labels, export_predictions
from bemps.project.importing import import_labels
from bemps.store import Item, NewAnswer, open_store
from bemps.store.item_rows import packed, unpacked

READABLE = [name for name in FORMATS if FORMATS[name].read]
NAMES = {
    "huggingface": "out",
    "argilla": "out.json",
    "label-studio": "out.json",
    "csv": "out.csv",
    "csv-spreadsheet": "out.csv",
    "parquet": "o.parquet",
    "xlsx": "out.xlsx",
}


def written(path, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


def table(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


ROWS = [
    ["nr", "datum", "body", "sender", "empty"],
    ["7", "2026-01-02", "It crashes", 'Müller, "Ann"', ""],
    ["5", "2026-01-03", "Please add", "=1+1", ""],
    ["9", "2026-01-01", "It crashes ", "bob", ""],
]


def project_of(tmp_path, rows, **columns):
    """A project that was made in Python from a file."""
    project = open_project(tmp_path / "p.bemps", create=True)
    for name in ("bug", "wish"):
        project.store.add_class(name, "lead")
    project.add(data.read(written(tmp_path / "in.csv", rows), **columns))
    return project


@pytest.fixture
def project(tmp_path):
    with project_of(tmp_path, ROWS, text="body") as project:
        first, second = project.store.ids()
        project.store.record(
            [NewAnswer("ann", first, "label", "bug", time=WHEN), NewAnswer("ann", second, "label", "wish", time=WHEN)]
        )
        yield project


def test_an_export_has_their_columns_in_order_and_then_ours(project, tmp_path):
    project.export(tmp_path / "out.csv")
    rows = table(tmp_path / "out.csv")
    assert list(rows[0]) == [*ROWS[0], "id", "text", "label", "annotator", "time"]
    assert [list(row.values())[:5] for row in rows] == ROWS[1:]
    assert [(row["label"], row["annotator"], row["time"]) for row in rows] == [
        (label, "ann", WHEN.isoformat()) for label in ("bug", "wish", "bug")
    ]  # the third row is a copy of the first


def test_predictions_have_them_too_and_the_human_label_wins(project, tmp_path):
    other = Item("n", "never seen", others=packed({"nr": "1"}, "never seen"))
    crashes = [item.id for item in project.store.rows() if "crashes" in item.content]
    answer_of = GivenAnswers(project.store.rows, dict.fromkeys(crashes, ("bug", None)))
    probs = np.array([[0.1, 0.9]])
    found = predicted_items(lambda texts: probs.repeat(len(texts), 0), [*project.store.rows(), other], answer_of)
    export_predictions(project.store, found, tmp_path / "p.csv")
    rows = table(tmp_path / "p.csv")
    assert list(rows[0]) == [
        *ROWS[0], "id", "text", "label", "probability", "human", "answered", "final", "p_bug", "p_wish",
    ]  # fmt: skip
    assert [(row["nr"], row["label"], row["human"], row["final"]) for row in rows] == [
        ("7", "wish", "bug", "bug"), ("5", "wish", "", "wish"), ("9", "wish", "bug", "bug"), ("1", "wish", "", "wish"),
    ]  # fmt: skip


def test_the_project_tells_the_human_label_of_every_copy(tmp_path):
    rows = [["body"], *([f"{'crash error' if i % 2 else 'please add'} {i % 12}"] for i in range(36))]
    with project_of(tmp_path, rows, text="body") as project:
        project.store.set("model", "tfidf")
        project.tell(
            {id: "bug" if "crash" in project.store.item(id).content else "wish" for id in project.store.ids()[:8]}
        )
        project.export(tmp_path / "p.csv", "predictions")
        told = table(tmp_path / "p.csv")
        assert len(told) == 36
        assert [row["human"] != "" for row in told] == [i % 12 < 8 for i in range(36)]
        assert all(row["final"] == (row["human"] or row["label"]) for row in told)
        assert len(project.labels()) == 24


@pytest.mark.parametrize("saved", [False, True])
def test_rows_of_one_text_that_are_asked_each_keep_their_own_answers(tmp_path, saved):
    same = [[f"i{i}", "crash please"] for i in range(4)]
    others = [[f"o{i}", f"{'crash error' if i % 2 else 'please add'} {i}"] for i in range(12)]
    with open_project(tmp_path / "p.bemps", create=True) as project:
        project.store.set_all({"duplicates": "ask", "model": "tfidf", "audit_share": 0.0})
        project.add_classes(["bug", "wish"])
        source = written(tmp_path / "in.csv", [["nr", "body"], *same, *others])
        project.add(data.read(source, text="body", id="nr"))
        project.tell({"i0": "bug", "i1": "bug", "i2": "wish", "o1": "bug", "o2": "wish"})
        project.store.answer("ann", "i3", "skip")
        project.export(tmp_path / "model", "model")
    arguments = [tmp_path / ("model" if saved else "p.bemps"), source, "--text", "body", "--id", "nr"]
    for inputs in [arguments] if saved else [arguments[:1], arguments]:
        done = CliRunner().invoke(app, ["predict", *map(str, inputs), "--out", str(tmp_path / "o.csv"), "--force"])
        assert done.exit_code == 0, done.output
        rows = table(tmp_path / "o.csv")[:4]
        assert [row["human"] for row in rows] == ["bug", "bug", "wish", ""]
        assert [row["final"] for row in rows[:3]] == ["bug", "bug", "wish"]
        assert [row["answered"] for row in rows] == ["label"] * 3 + ["" if saved else "skip"]


@pytest.mark.parametrize("name", ["p.csv", "p.jsonl"])
def test_rows_that_people_passed_over_are_told_from_those_nobody_saw(tmp_path, name):
    rows = [["body"], *([f"{'crash error' if i % 2 else 'please add'} {i}"] for i in range(12)), ["please add 9"]]
    with project_of(tmp_path, [*rows, rows[9]], text="body") as project:
        project.store.set("model", "tfidf")
        ids = project.store.ids()
        project.tell({id: "bug" if i % 2 else "wish" for i, id in enumerate(ids[:6])})
        project.store.answer("ann", ids[6], "skip")
        project.store.answer("ann", ids[8], "unsure")
        project.store.answer("ann", ids[9], "note", note="odd")
        project.export(tmp_path / name, "predictions")
        lines = (tmp_path / name).read_text(encoding="utf-8").splitlines()
        told = table(tmp_path / name) if name == "p.csv" else [json.loads(line) for line in lines]
        assert [row["answered"] or "" for row in told[:10]] == ["label"] * 6 + ["skip", "", "unsure", ""]
        assert told[-1]["answered"] == "unsure"  # a copy of the ninth
        assert all(not row["human"] and row["final"] == row["label"] for row in told[6:])


def test_names_that_both_have_are_kept_apart(tmp_path):
    rows = [["id", "text", "label", "time"], ["7", "one", "old", "noon"], ["8", "two", "", "night"]]
    with project_of(tmp_path, rows, text="text", id="id") as project:
        project.tell({"7": "bug"}, annotator="ann")
        project.export(tmp_path / "out.csv")
        assert list(table(tmp_path / "out.csv")[0].items())[:6] == [
            ("id", "7"), ("text", "one"), ("label", "old"), ("time", "noon"), ("bemps_label", "bug"),
            ("bemps_annotator", "ann"),
        ]  # fmt: skip
        assert project.import_labels(tmp_path / "out.csv").same == 1
        project.export(tmp_path / "out.jsonl")
        line = json.loads((tmp_path / "out.jsonl").read_text())
        assert (line["label"], line["bemps_label"]) == ("old", "bug")


def test_ids_and_texts_of_the_same_name_that_are_others_are_kept_apart(tmp_path):
    rows = [["id", "text", "body"], ["7", "a title", "one"], ["8", "another", "two"]]
    with project_of(tmp_path, rows, text="body") as project:
        id = project.store.ids()[0]
        project.tell({id: "bug"}, annotator="ann")
        project.export(tmp_path / "out.csv")
        [row] = table(tmp_path / "out.csv")
        assert [row[name] for name in ("id", "text", "bemps_id", "bemps_text")] == ["7", "a title", id, "one"]
        assert project.import_labels(tmp_path / "out.csv").same == 1


def test_own_names_are_free_ones():
    theirs = [Column("bemps_label"), Column("label"), Column("id", same="id")]
    ours = [Column("id"), Column("label")]
    assert own_columns(ours, theirs) == {"label": Column("bemps_bemps_label")}
    assert own_columns(ours, [Column("note")], ["note"])["id"].name == "bemps_id"
    assert own_fields(["id", "label", "bemps_label", "bemps_bemps_label"]) == {"id": "id", "label": "bemps_bemps_label"}
    assert own_fields(["text", "bemps_image", "bemps_label"]) == {"image": "bemps_image", "label": "bemps_label"}


@pytest.mark.parametrize("rows", [ROWS, [["id", "text", "label"], ["7", "one", "old"], ["8", "two", ""]]])
@pytest.mark.parametrize("format", READABLE)
def test_every_format_brings_labels_and_columns_back(tmp_path, format, rows):
    with project_of(tmp_path, rows, text="text" if "text" in rows[0] else "body") as project:
        project.store.record([NewAnswer("ann", id, "label", "bug", "a note", time=WHEN) for id in project.store.ids()])
        before = project.store.change_token()
        out = tmp_path / NAMES.get(format, "out.jsonl")
        project.export(out, "labels", format)
        assert project.import_labels(out).new == 0
        assert project.store.change_token() == before
        with open_store(tmp_path / "other.bemps", create=True) as other:
            import_labels(other, out, add_items=True, add_classes=True)
            assert {a.label for a in other.answers()} == {"bug"}
            export_labels(other, tmp_path / "again.csv", "csv")
            kept = [name for name in rows[0] if name not in ("id", "text") or "label" in rows[0]]
            again = [[row[name] for name in kept] for row in table(tmp_path / "again.csv")]
            assert again == [[row[rows[0].index(name)] for name in kept] for row in rows[1:]]


@pytest.mark.parametrize(("format", "where"), [("label-studio", "meta"), ("argilla", "metadata"), ("prodigy", "meta")])
def test_other_tools_have_them_as_metadata(project, tmp_path, format, where):
    project.export(tmp_path / "o.json", "labels", format)
    text = (tmp_path / "o.json").read_text()
    record = json.loads(text)[0] if text.startswith("[") else json.loads(text.splitlines()[0])
    columns = record[where]["columns"]
    columns = json.loads(columns) if isinstance(columns, str) else columns
    assert columns == dict(zip(ROWS[0], ROWS[1], strict=True))


def test_types_survive_json_and_parquet(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    lines = [
        {"body": "one", "n": 1, "x": 1.5, "ok": True, "tags": ["a", "b"], "huge": 2**70},
        {"body": "two", "n": None, "x": 2, "ok": False, "more": {"a": None}},
    ]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, lines)))
    with open_project(tmp_path / "p.bemps", create=True) as project:
        project.store.add_class("bug", "lead")
        project.add(data.read(tmp_path / "in.jsonl", text="body"))
        project.tell(dict.fromkeys(project.store.ids(), "bug"))
        for name in ("o.parquet", "o.jsonl", "o.csv"):
            project.export(tmp_path / name)
        first, second = parquet.read_table(tmp_path / "o.parquet").to_pylist()
        assert [first[name] for name in ("n", "x", "ok", "tags")] == [1, 1.5, True, '["a", "b"]']
        assert (second["n"], second["x"], second["huge"], second["more"]) == (None, 2.0, None, '{"a": null}')
        back = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
        assert back[0]["tags"] == ["a", "b"]
        assert back[0]["huge"] == 2**70
        assert table(tmp_path / "o.csv")[0]["ok"] == "true"
        assert project.import_labels(tmp_path / "o.parquet").new == 0


def test_a_dataset_folder_with_columns_loads(project, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets")
    project.export(tmp_path / "folder")
    loaded = datasets.load_dataset(str(tmp_path / "folder"), cache_dir=str(tmp_path / "cache"))["train"]
    assert loaded.column_names[:5] == ROWS[0]
    assert loaded.features["label"].int2str(loaded[2]["label"]) == "bug"


def test_rows_are_packed_and_unpacked_exactly():
    row = {"a": "x", "b": 1, "c": None, "d": [1, {"e": "é\0"}], "f": True, "text": "the content", "": "unnamed"}
    assert unpacked(packed(row, "the content"), "the content") == row
    assert packed(row, "the content").count("the content") == 0
    assert unpacked(None, "x") == {}
    odd = {"t": WHEN, "d": date(2026, 1, 2), "m": Decimal("1.10"), "n": float("nan"), "i": float("inf")}
    assert unpacked(packed(odd, ""), "") == {
        "t": WHEN.isoformat(), "d": "2026-01-02", "m": "1.10", "n": None, "i": "inf",
    }  # fmt: skip


def test_columns_of_a_second_file_come_after_those_of_the_first(project, tmp_path):
    project.add(data.read(written(tmp_path / "more.csv", [["body", "extra", "nr"], ["new", "e", "10"]]), text="body"))
    project.tell({project.store.ids()[-1]: "bug"}, annotator="ann")
    project.export(tmp_path / "out.csv")
    rows = table(tmp_path / "out.csv")
    assert list(rows[0])[:6] == [*ROWS[0], "extra"]
    assert [rows[-1][name] for name in ("nr", "body", "extra", "sender")] == ["10", "new", "e", ""]
    assert str(tmp_path / "more.csv") in project.settings["sources"]


def test_types_of_two_files_widen():
    columns = [Column("a", "int64"), Column("b", "text"), Column("id", "text", "id")]
    new = [Column("a", "float64"), Column("b", "bool"), Column("id", "text")]
    assert merged_columns(columns, new) == [Column("a", "float64"), Column("b", "any"), Column("id", "text")]


@pytest.mark.parametrize(
    "text", [" =1", "\xa0=1", "\u3000+1", "\ufeff-1", "\u200b@x", "\t =1", "\uff1d1", " \u200b = 1"]
)
def test_nothing_before_a_formula_hides_it_from_the_spreadsheet_format(store, tmp_path, text):
    store.add_items([Item("f", text), Item("g", "1 = 1")])
    store.record([NewAnswer("ann", id, "label", "bug") for id in ("f", "g")])
    export_labels(store, tmp_path / "safe.csv", "csv-spreadsheet")
    with (tmp_path / "safe.csv").open(newline="", encoding="utf-8-sig") as file:
        assert [row["text"] for row in csv.DictReader(file)] == ["'" + text, "1 = 1"]


@pytest.mark.parametrize("format", ["argilla", "label-studio"])
@pytest.mark.parametrize("name", ["x.jsonl", "x.json", "x.ndjson"])
def test_formats_of_arrays_are_lines_where_the_name_says_so(answered, tmp_path, format, name):
    export_labels(answered, tmp_path / name, format)
    text = (tmp_path / name).read_text()
    assert text.startswith("[") == name.endswith(".json")
    for given in (None, format):
        assert import_labels(answered, tmp_path / name, given).new == 0


def test_an_array_under_the_name_of_lines_is_read_as_earlier_releases_wrote_it(answered, tmp_path):
    export_labels(answered, tmp_path / "a.json", "argilla")
    (tmp_path / "a.json").rename(tmp_path / "a.jsonl")
    assert import_labels(answered, tmp_path / "a.jsonl").same == 5


def test_label_studio_counts_a_note_alone_as_open_and_an_adjudicated_label_as_true(answered, tmp_path):
    answered.answer("ann", "t4", "note", note="look again")
    export_labels(answered, tmp_path / "t.json", "label-studio")
    tasks = {task["data"]["id"]: task for task in json.loads((tmp_path / "t.json").read_text())}
    assert tasks["t4"]["annotations"] == []
    assert [one["ground_truth"] for one in tasks["t0"]["annotations"]] == [False, False, True]
    assert import_labels(answered, tmp_path / "t.json").new == 0
    with open_store(tmp_path / "other.bemps", create=True) as other:
        import_labels(other, tmp_path / "t.json", add_items=True, add_classes=True)
        assert other.current()["t4"].note == "look again"
