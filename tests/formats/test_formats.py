"""What each format looks like, to the tools that it is for."""

import csv
import json
import uuid

import pytest
from moments import WHEN

from bemps import InputError
from bemps.formats.entries import PredictedItem
from bemps.formats.format_registry import FORMATS
from bemps.project.exporting import export_events, export_labels, export_predictions
from bemps.store import Item, NewAnswer

TIME = WHEN.isoformat()


def table(path, encoding="utf-8"):
    with path.open(newline="", encoding=encoding) as file:
        return list(csv.reader(file))


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_csv_of_labels_has_five_columns(store, tmp_path):
    store.record(
        [NewAnswer("ann", "t3", "label", "bug", time=WHEN), NewAnswer("ann", "t1", "label", "wish", time=WHEN)]
    )
    assert export_labels(store, tmp_path / "labels.csv") == 2
    rows = table(tmp_path / "labels.csv")
    assert rows == [
        ["id", "text", "label", "annotator", "time"],
        ["t1", "text 1", "wish", "ann", TIME],
        ["t3", "text 3", "bug", "ann", TIME],
    ]


def test_csv_says_more_where_there_is_more_to_say(answered, tmp_path):
    export_labels(answered, tmp_path / "labels.csv")
    assert [
        (id, who, label, kind, note) for id, _, label, who, _, kind, note in table(tmp_path / "labels.csv")[1:]
    ] == [
        ("t0", "ann", "bug", "label", ""),
        ("t0", "bob", "wish", "label", "not sure at all"),
        ("t0", "lead", "bug", "adjudicate", ""),
        ("t1", "ann", "", "skip", ""),
        ("t2", "ann", "", "unsure", ""),
    ]


def test_resolved_is_one_label_for_each_item(answered, tmp_path):
    assert export_labels(answered, tmp_path / "labels.jsonl", resolved=True) == 1
    assert [line["label"] for line in lines(tmp_path / "labels.jsonl")] == ["bug"]


def test_a_spreadsheet_does_not_calculate(store, tmp_path):
    store.add_items([Item("f", '=HYPERLINK("http://evil","x")')])
    store.record([NewAnswer("@ann", "f", "label", "bug", time=WHEN)])
    export_labels(store, tmp_path / "exact.csv")
    export_labels(store, tmp_path / "safe.csv", "csv-spreadsheet")
    exact = table(tmp_path / "exact.csv")[1]
    safe = table(tmp_path / "safe.csv", "utf-8-sig")[1]
    assert exact[1:4] == ['=HYPERLINK("http://evil","x")', "bug", "@ann"]
    assert safe[1:4] == ['\'=HYPERLINK("http://evil","x")', "bug", "'@ann"]


def test_label_studio_tasks(answered, tmp_path):
    export_labels(answered, tmp_path / "tasks.json", "label-studio")
    tasks = json.loads((tmp_path / "tasks.json").read_text(encoding="utf-8"))
    assert tasks[0]["data"] == {"text": "text 0", "id": "t0"}
    choice = {"from_name": "label", "to_name": "text", "type": "choices", "value": {"choices": ["bug"]}}
    assert tasks[0]["annotations"][0] == {
        "result": [choice],
        "was_cancelled": False,
        "ground_truth": False,
        "created_at": TIME,
    }
    assert [task["annotations"][0]["was_cancelled"] for task in tasks] == [False, True, False]
    assert tasks[2]["annotations"][0]["result"] == []


def test_doccano_lines(answered, tmp_path):
    export_labels(answered, tmp_path / "d.jsonl", "doccano")
    first, *_, last = lines(tmp_path / "d.jsonl")
    assert (first["text"], first["label"], first["item"]) == ("text 0", ["bug"], "t0")
    assert last["label"] == []


def test_prodigy_tasks(answered, tmp_path):
    export_labels(answered, tmp_path / "p.jsonl", "prodigy")
    first, *_, last = lines(tmp_path / "p.jsonl")
    assert first["options"] == [{"id": "bug", "text": "bug"}, {"id": "wish", "text": "wish"}]
    assert (first["accept"], first["answer"], first["_annotator_id"]) == (["bug"], "accept", "ann")
    assert first["_timestamp"] == int(WHEN.timestamp())
    assert -(2**31) <= first["_input_hash"] < 2**31
    assert first["_input_hash"] != last["_input_hash"]
    assert (last["accept"], last["answer"]) == ([], "ignore")


def test_argilla_records(answered, tmp_path):
    export_labels(answered, tmp_path / "a.json", "argilla")
    record, skipped, _ = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert (record["id"], record["fields"]) == ("t0", {"text": "text 0"})
    assert [response["value"] for response in record["responses"]["label"]] == ["bug", "wish"]
    assert {response["status"] for response in record["responses"]["label"]} == {"submitted"}
    assert len({uuid.UUID(response["user_id"]) for response in record["responses"]["label"]}) == 2
    assert skipped["responses"]["label"] == []
    assert isinstance(record["metadata"]["bemps"], str)


def test_a_dataset_folder_loads_with_the_datasets_package(answered, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets")
    export_labels(answered, tmp_path / "folder")
    loaded = datasets.load_dataset(str(tmp_path / "folder"), cache_dir=str(tmp_path / "cache"))["train"]
    assert loaded.features["label"].names == ["bug", "wish"]
    assert loaded[0]["text"] == "text 0"
    assert loaded.features["label"].int2str(loaded[1]["label"]) == "wish"
    assert loaded[3]["label"] is None
    assert loaded[0]["time"] == WHEN
    assert (tmp_path / "folder" / "README.md").read_text(encoding="utf-8").startswith("---\nconfigs: ")


PROBS = [(0.75, 0.25), (0.1, 0.9)]


@pytest.fixture
def predicted(store):
    return [PredictedItem(item, probs) for item, probs in zip(store.items(["t0", "t1"]), PROBS, strict=True)]


def test_predictions_as_tables(store, predicted, tmp_path):
    pyarrow = pytest.importorskip("pyarrow.parquet")
    export_predictions(store, predicted, tmp_path / "p.csv")
    rows = table(tmp_path / "p.csv")
    assert rows[0] == ["id", "text", "label", "probability", "human", "answered", "final", "p_bug", "p_wish"]
    assert rows[1] == ["t0", "text 0", "bug", "0.75", "", "", "bug", "0.75", "0.25"]
    export_predictions(store, predicted, tmp_path / "p.parquet")
    found = pyarrow.read_table(tmp_path / "p.parquet").to_pylist()
    assert found[1] == {
        "id": "t1",
        "text": "text 1",
        "label": "wish",
        "probability": 0.9,
        "human": None,
        "answered": None,
        "final": "wish",
        "p_bug": 0.1,
        "p_wish": 0.9,
    }


def test_predictions_for_other_tools(store, predicted, tmp_path):
    for name in ("jsonl", "doccano", "prodigy"):
        export_predictions(store, predicted, tmp_path / name, name)
    assert lines(tmp_path / "jsonl")[1]["probabilities"] == {"bug": 0.1, "wish": 0.9}
    assert lines(tmp_path / "doccano")[0]["label"] == ["bug"]
    assert lines(tmp_path / "prodigy")[0]["meta"]["score"] == 0.75
    assert "answer" not in lines(tmp_path / "prodigy")[0]
    for name in ("label-studio", "argilla"):
        export_predictions(store, predicted, tmp_path / name, name, model="bemps tfidf")
    task = json.loads((tmp_path / "label-studio").read_text())[0]["predictions"][0]
    assert (task["model_version"], task["score"]) == ("bemps tfidf", 0.75)
    assert task["result"][0]["value"] == {"choices": ["bug"]}
    record = json.loads((tmp_path / "argilla").read_text())[1]
    assert record["suggestions"] == {"label": {"value": "wish", "score": 0.9, "agent": "bemps tfidf"}}


@pytest.mark.parametrize("name", ["log.csv", "log.jsonl", "log.parquet", "log.xlsx"])
def test_the_log_as_a_table(answered, tmp_path, name):
    assert export_events(answered, tmp_path / name) == 7
    if name == "log.jsonl":
        assert lines(tmp_path / name)[2] | {"request": None} == {
            "seq": 3, "time": TIME, "annotator": "ann", "kind": "label", "item": "t0", "label": "bug",
            "previous": None, "note": None, "target": None, "request": None, "method": None,
                "action": None,
        }  # fmt: skip


def test_the_log_has_no_place_elsewhere(answered, tmp_path):
    for format in ("huggingface", "doccano"):
        with pytest.raises(InputError, match="csv, jsonl, parquet or xlsx"):
            export_events(answered, tmp_path / "log", format)


def test_an_image_project_speaks_of_images(store, tmp_path):
    store.set("kind", "image")
    store.record([NewAnswer("ann", "t0", "label", "bug", time=WHEN)])
    export_labels(store, tmp_path / "l.csv")
    assert (tmp_path / "l.csv").read_text().splitlines()[0] == "id,image,label,annotator,time"


def test_the_name_tells_the_format(store, tmp_path):
    with pytest.raises(InputError, match="--format"):
        export_labels(store, tmp_path / "x.json")
    with pytest.raises(InputError, match="Did you mean 'doccano'"):
        export_labels(store, tmp_path / "x", "docano")
    with pytest.raises(InputError, match="existing folder"):
        export_labels(store, tmp_path / "nowhere" / "x.csv")


@pytest.mark.parametrize("format", FORMATS)
def test_a_project_without_labels_and_a_second_export(store, tmp_path, format):
    assert export_labels(store, tmp_path / "out", format) == 0
    with pytest.raises(InputError, match="force=True"):
        export_labels(store, tmp_path / "out", format)
    assert export_labels(store, tmp_path / "out", format, force=True) == 0
    assert {path.name for path in tmp_path.iterdir()} <= {
        "out",
        "tickets.bemps",
        "tickets.bemps-wal",
        "tickets.bemps-shm",
    }


def test_an_export_that_fails_leaves_the_earlier_one(store, predicted, tmp_path):
    out = tmp_path / "p.csv"
    export_predictions(store, predicted, out)
    before = out.read_text()

    def broken():
        yield predicted[0]
        raise InputError("model", expected="x", got="y", fix="z")

    with pytest.raises(InputError, match="model"):
        export_predictions(store, broken(), out, force=True)
    assert out.read_text() == before
    assert not list(tmp_path.glob("*.part"))
    assert not list(tmp_path.glob(".*"))
