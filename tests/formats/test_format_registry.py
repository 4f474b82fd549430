"""One table of formats: adding one is a module and a row."""

import inspect
import json
import re
import subprocess
import sys

import pytest

import bemps
from bemps.cli.export import export
from bemps.cli.import_ import import_
from bemps.formats.entries import imported_answer
from bemps.formats.format_detection import format_to_read, format_to_write
from bemps.formats.format_registry import FORMATS, Format
from bemps.formats.json_objects import JsonFormat
from bemps.project.exporting import export_labels
from bemps.project.importing import import_labels
from bemps.store import open_store


def _toy_records(labelled, about):
    for answer in labelled.answers:
        yield {"toy": labelled.item.id, "says": answer.label, "who": answer.annotator}


def _toy_prediction(item, about):
    return {"toy": item.item.id}


def _toy_entries(record, where):
    yield imported_answer(record["toy"], None, {"label": record["says"], "annotator": record["who"]}, where, {})


TOY = JsonFormat(True, _toy_records, _toy_prediction, _toy_entries, lambda record, lines: "toy" in record)


@pytest.fixture
def store(tmp_path):
    with open_store(tmp_path / "p.bemps", create=True) as store:
        store.add_items([bemps.store.Item("t0", "crash"), bemps.store.Item("t1", "wish")])
        store.add_class("bug", "ann")
        yield store


def test_a_format_is_added_by_one_module_and_one_row(monkeypatch, store, tmp_path):
    monkeypatch.setitem(FORMATS, "toy", Format("a toy", f"{__name__}:TOY", (".toy",)))
    store.answer("ann", "t0", "label", "bug")
    assert export_labels(store, tmp_path / "labels.toy") == 1
    assert json.loads((tmp_path / "labels.toy").read_text()) == {"toy": "t0", "says": "bug", "who": "ann"}
    (tmp_path / "more.jsonl").write_text(json.dumps({"toy": "t1", "says": "bug", "who": "bob"}) + "\n")
    assert format_to_read(None, tmp_path / "more.jsonl") is FORMATS["toy"]
    import_labels(store, tmp_path / "more.jsonl")
    assert store.current()["t1"].label == "bug"
    with pytest.raises(bemps.InputError, match=r"ends in \.csv, \.jsonl, \.parquet, \.xlsx or \.toy"):
        format_to_write(None, tmp_path / "labels.ods")


def test_every_format_is_written_and_read():
    for name, row in FORMATS.items():
        assert row.help, name
        assert all(map(callable, (row.labels, row.predictions, row.read))), name


@pytest.mark.parametrize("command", [export, import_])
def test_every_format_is_in_the_help_of_its_commands(command):
    text = inspect.signature(command).parameters["format_"].annotation.__metadata__[0].help
    assert re.split(r", |; ", text)[: len(FORMATS)] == list(FORMATS)


RECOGNISED = [
    ('{"fields": {"text": "x"}, "label": ["a"]}\n', "jsonl", "argilla"),
    ('[{"fields": {"text": "x"}}]', "json", "argilla"),
    ('{"data": {"text": "x"}, "annotations": [], "answer": "accept"}\n', "jsonl", "label-studio"),
    ('[{"text": "x", "answer": "accept"}]', "json", "label-studio"),
    ('[{"text": "x", "label": ["a"]}]', "jsonl", "label-studio"),
    ('{"text": "x", "_input_hash": 3, "label": ["a"]}\n', "jsonl", "prodigy"),
    ('{"text": "x", "labels": ["a"]}\n', "jsonl", "doccano"),
    ('{"text": "x", "label": "a"}\n', "ndjson", "jsonl"),
    ("", "jsonl", "jsonl"),
    ("[]", "json", "label-studio"),
]


@pytest.mark.parametrize(("text", "suffix", "name"), RECOGNISED)
def test_json_files_are_recognised_by_the_rows_in_their_order(tmp_path, text, suffix, name):
    path = tmp_path / f"file.{suffix}"
    path.write_text(text)
    assert format_to_read(None, path) is FORMATS[name]


def test_the_help_of_the_command_line_loads_no_module_of_a_format():
    heavy = ("sqlalchemy", "pyarrow", "bemps.formats.csv_format")
    code = f"import sys, bemps.cli; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
