"""Taking over labels: how items are found, what is refused, what other tools have changed."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest
from moments import WHEN

from bemps import InputError
from bemps.errors import unknown_id
from bemps.formats.entries import PredictedItem
from bemps.formats.format_registry import FORMATS
from bemps.project.exporting import export_labels, export_predictions
from bemps.project.importing import import_labels
from bemps.store import Item, NewAnswer, open_store


def said(store):
    return {(a.item, a.annotator): a.label or a.kind for a in store.answers()}


def test_a_csv_of_ids_and_labels_is_enough(store, tmp_path):
    (tmp_path / "l.csv").write_text("id,label\nt0,bug\nt1,\nt2,wish\n")
    done = import_labels(store, tmp_path / "l.csv", annotator="expert")
    assert (done.new, done.same) == (2, 0)
    assert said(store) == {("t0", "expert"): "bug", ("t2", "expert"): "wish"}
    assert str(import_labels(store, tmp_path / "l.csv", annotator="expert")) == (
        "0 answers taken over, 2 were there already"
    )


def test_items_are_found_by_their_text_where_ids_are_another_tools(store, tmp_path):
    store.add_items([Item("twin", "text 1")])
    rows = [{"id": 1, "text": "text 1", "label": ["bug"]}, {"id": "t2", "text": "text 3", "label": ["wish"]}]
    (tmp_path / "d.jsonl").write_text("\n".join(map(json.dumps, rows)))
    import_labels(store, tmp_path / "d.jsonl")
    assert said(store) == {("t1", "import"): "bug", ("twin", "import"): "bug", ("t3", "import"): "wish"}


def test_unknown_items_and_classes_are_refused_unless_asked_for(store, tmp_path):
    (tmp_path / "l.csv").write_text("id,text,label\nnew,something new,bug\nt0,text 0,question\n")
    with pytest.raises(InputError, match=r"label in .*question.*--add-classes"):
        import_labels(store, tmp_path / "l.csv")
    with pytest.raises(InputError, match=r"1 others, first 'new'.*--add-items"):
        import_labels(store, tmp_path / "l.csv", add_classes=True)
    assert store.answers() == []
    assert len(store.classes()) == 2
    done = import_labels(store, tmp_path / "l.csv", add_classes=True, add_items=True)
    assert (done.new, done.items, done.classes) == (2, 1, 1)
    assert store.item("new").content == "something new"
    assert "1 items added, 1 classes added" in str(done)


def test_unknown_items_do_not_fill_the_message(store, tmp_path):
    (tmp_path / "l.csv").write_text("id,label\n" + "".join(f"{i}{'x' * 490},bug\n" for i in range(300)))
    with pytest.raises(InputError, match="300 others, first '0xxx") as error:
        import_labels(store, tmp_path / "l.csv")
    assert len(str(error.value)) < 700 + len(str(tmp_path))
    assert len(str(unknown_id("t" * 500, [f"{i}{'y' * 490}" for i in range(9)]))) < 450


def test_items_without_a_text_cannot_be_added(store, tmp_path):
    (tmp_path / "l.csv").write_text("id,label\nnew,bug\n")
    with pytest.raises(InputError, match="'new'"):
        import_labels(store, tmp_path / "l.csv", add_items=True)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", "id,answer\n1,x\n", "expected label, and id or text; got id, answer"),
        ("a.csv", "name,label\n1,x\n", "expected label, and id or text; got name, label"),
        ("a.csv", "", "a.csv"),
        ("a.csv", "id,label,kind\nt0,bug,like\n", "line 2"),
        ("a.csv", "id,label,kind\nt0,,label\n", "line 2"),
        ("a.csv", "id,label,time\nt0,bug,yesterday\n", r"time at .*line 2.*yesterday"),
        ("a.jsonl", '{"id": "t0", "label": "bug"}\nnonsense\n', "line 2"),
        ("a.jsonl", "[1]\n", "an object"),
        ("a.jsonl", '{"id": "t0", "label": {"a": 1}}\n', "label"),
        ("a.jsonl", '{"text": "text 0", "label": ["bug", "wish"]}\n', "one class"),
        ("a.json", "{", "JSON"),
        ("a.json", '[{"id": 1}]', "Label Studio"),
        ("a.parquet", "no parquet", "Parquet"),
        ("a.docx", "x", "--format"),
        ("a", "x", "format"),
    ],
)
def test_files_that_are_something_else(store, tmp_path, name, content, words):
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=words):
        import_labels(store, tmp_path / name)
    assert store.answers() == []


@pytest.mark.parametrize("format", [None, "csv-spreadsheet"])
def test_an_export_for_spreadsheets_comes_back_and_an_edited_label_with_it(store, tmp_path, format):
    store.add_items([Item("-7", "=1+1"), Item("t9", "'@x")])
    store.add_class("+1", "lead")
    store.record([NewAnswer("ann", id, "label", "+1") for id in ("-7", "t9")])
    out = tmp_path / "safe.csv"
    export_labels(store, out, "csv-spreadsheet")
    taken = import_labels(store, out, format)
    assert (taken.new, taken.same, taken.items) == (0, 2, 0)
    out.write_bytes(out.read_bytes().replace(b"'+1", b"bug"))
    assert import_labels(store, out, format).new == 2
    assert {answer.label for answer in store.answers()} == {"bug"}


def test_what_cannot_be_imported_says_so(store, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="does not exist"):
        import_labels(store, tmp_path / "y.csv")
    with pytest.raises(InputError, match="Parquet files"):
        import_labels(store, tmp_path / "empty")


def test_a_label_changed_in_label_studio_wins(answered, tmp_path):
    path = tmp_path / "tasks.json"
    export_labels(answered, path, "label-studio")
    tasks = json.loads(path.read_text())
    wish = {"from_name": "label", "to_name": "text", "type": "choices", "value": {"choices": ["wish"]}}
    eve = {"completed_by": {"email": "eve@example.org"}, "created_at": "2026-11-17T00:00:00Z"}
    tasks[1]["annotations"] = [{"result": [wish]} | eve]
    tasks[2]["annotations"].append({"result": [wish], "completed_by": 3, "was_cancelled": False})
    path.write_text(json.dumps(tasks))
    assert import_labels(answered, path).new == 2
    assert said(answered) == {
        ("t0", "ann"): "bug", ("t0", "bob"): "wish", ("t0", "lead"): "bug", ("t1", "ann"): "skip",
        ("t1", "eve@example.org"): "wish", ("t2", "ann"): "unsure", ("t2", "3"): "wish",
    }  # fmt: skip


def test_a_response_changed_in_argilla_wins(answered, tmp_path):
    path = tmp_path / "records.json"
    export_labels(answered, path, "argilla")
    records = json.loads(path.read_text())
    records[0]["responses"]["label"][0]["value"] = "wish"
    records[1]["responses"]["label"].append({"value": "bug", "user_id": "0c7f", "status": "submitted"})
    records[2]["responses"]["label"].append({"value": "bug", "user_id": "0c7f", "status": "draft"})
    path.write_text(json.dumps(records))
    assert import_labels(answered, path).new == 2
    assert answered.current("ann")["t0"].label == "wish"
    assert answered.current("0c7f")["t1"].label == "bug"


def test_prodigy_answers_of_its_own(store, tmp_path):
    rows = [
        {"text": "text 0", "label": "bug", "answer": "accept", "_annotator_id": "d-eve", "_timestamp": 1700000000},
        {"text": "text 1", "label": "bug", "answer": "reject"},
        {"text": "text 2", "options": [{"id": "bug"}], "accept": ["wish"], "answer": "accept"},
        {"text": "text 3", "accept": [], "answer": "ignore"},
    ]
    (tmp_path / "p.jsonl").write_text("\n".join(map(json.dumps, rows)))
    import_labels(store, tmp_path / "p.jsonl")
    assert said(store) == {("t0", "d-eve"): "bug", ("t2", "import"): "wish", ("t3", "import"): "skip"}
    assert store.current()["t0"].time.timestamp() == 1700000000


def test_an_answer_changed_in_prodigy_or_doccano_wins(answered, tmp_path):
    for format in ("prodigy", "doccano"):
        path = tmp_path / f"{format}.jsonl"
        export_labels(answered, path, format)
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        skipped = next(row for row in rows if row["text"] == "text 1")
        skipped |= {"accept": ["bug"], "answer": "accept"} if format == "prodigy" else {"label": ["wish"]}
        path.write_text("\n".join(map(json.dumps, rows)))
        assert import_labels(answered, path).new == 1
        assert answered.current()["t1"].label == ("bug" if format == "prodigy" else "wish")


@pytest.mark.parametrize("format", ["prodigy", "doccano", "jsonl"])
def test_lines_come_back_also_from_a_file_that_ends_in_json(answered, tmp_path, format):
    export_labels(answered, tmp_path / "labels.json", format)
    taken = import_labels(answered, tmp_path / "labels.json")
    assert taken.new == 0
    assert taken.same == len(answered.answers())


def test_an_object_over_several_lines_is_read_as_a_whole(store, tmp_path):
    task = {"data": {"text": "text 0"}, "annotations": [{"result": [{"value": {"choices": ["bug"]}}]}]}
    (tmp_path / "task.json").write_text(json.dumps(task, indent=1))
    assert import_labels(store, tmp_path / "task.json").new == 1


def test_an_empty_doccano_line_is_no_answer(store, tmp_path):
    (tmp_path / "d.jsonl").write_text('{"text": "text 0", "label": []}\n{"text": "text 1", "labels": ["bug"]}\n')
    assert import_labels(store, tmp_path / "d.jsonl").new == 1


def test_a_parquet_file_of_numbers_and_one_without_classes(store, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    store.add_class("1", "lead")
    parquet.write_table(pyarrow.table({"id": ["t0", "t1"], "label": [1, None]}), tmp_path / "n.parquet")
    assert import_labels(store, tmp_path / "n.parquet").new == 1
    assert store.current()["t0"].label == "1"
    parquet.write_table(pyarrow.table({"name": ["t0"]}), tmp_path / "w.parquet")
    with pytest.raises(InputError, match="expected label, and id or text"):
        import_labels(store, tmp_path / "w.parquet")


def test_times_without_a_zone_are_utc(store, tmp_path):
    (tmp_path / "l.csv").write_text("id,label,time\nt0,bug,2026-11-16T09:30:00.123456\n")
    import_labels(store, tmp_path / "l.csv")
    assert store.current()["t0"].time == WHEN


def test_times_to_come_are_refused(store, tmp_path):
    (tmp_path / "l.csv").write_text("id,label,annotator,time\nt0,bug,ann,2099-01-01T00:00:00+00:00\n")
    with pytest.raises(InputError, match=r"time of 't0'.*at most 20.* UTC; got 2099-01-01"):
        import_labels(store, tmp_path / "l.csv")
    assert store.answers() == []
    soon = (datetime.now(UTC) + timedelta(minutes=2)).isoformat()  # by a clock that is fast
    (tmp_path / "l.csv").write_text(f"id,label,annotator,time\nt0,bug,ann,{soon}\n")
    assert import_labels(store, tmp_path / "l.csv").new == 1


def test_the_name_before_a_renaming_is_understood(answered, tmp_path):
    export_labels(answered, tmp_path / "old.csv")
    before, labels = len(answered.answers()), {id: answer.label for id, answer in answered.current().items()}
    answered.rename_class("bug", "defect", "lead")
    for add_classes in (False, True):
        done = import_labels(answered, tmp_path / "old.csv", add_classes=add_classes)
        assert (done.new, done.same, done.classes) == (0, before, 0)
    assert {known.name for known in answered.classes()} == {"defect", "wish"}
    (tmp_path / "new.csv").write_text("id,label\nt4,bug\n")
    import_labels(answered, tmp_path / "new.csv", annotator="eve")
    assert answered.current("eve")["t4"].label == "defect"
    answered.add_class("bug", "lead")  # from now on the name is that of another class
    import_labels(answered, tmp_path / "new.csv", annotator="joe")
    assert answered.current("joe")["t4"].label == "bug"
    assert "bug" in labels.values()


def test_a_file_of_another_project_is_refused(store, tmp_path):
    store.record([NewAnswer("ann", "t0", "label", "bug")])
    (tmp_path / "l.csv").write_text("id,text,label\nt0,another text,bug\n")
    with pytest.raises(InputError, match="1 others"):
        import_labels(store, tmp_path / "l.csv")


def states(store):
    return (
        [(a.item, a.annotator, a.kind, a.label, a.note, a.time) for a in store.answers()],
        store.ids(),
        [one.name for one in store.classes()],
        store.change_token(),
    )


@pytest.mark.parametrize(
    "rows",
    [
        "id,label\nt0,bug\nt0,wish\n",
        "id,label\nt0,bug\nt0,wish\nt0,bug\n",
        "id,label,annotator,time\nt0,bug,ann,2026-01-02\nt0,wish,ann,2026-01-01\n",
        "id,label,kind,note,annotator\nt0,bug,label,,ann\nt0,,note,look,ann\n",
        "id,label,kind,annotator\nt0,bug,adjudicate,ann\nt0,wish,adjudicate,bob\n",
    ],
)
def test_a_file_with_an_item_twice_changes_nothing_the_second_time(store, tmp_path, rows):
    (tmp_path / "l.csv").write_text(rows)
    import_labels(store, tmp_path / "l.csv")
    before = states(store)
    for _ in range(2):
        assert import_labels(store, tmp_path / "l.csv").new == 0
        assert states(store) == before


def test_of_two_answers_in_a_file_the_later_counts(store, tmp_path):
    (tmp_path / "a.csv").write_text("id,label\nt0,bug\nt0,wish\n")
    (tmp_path / "b.csv").write_text("id,label,time\nt1,bug,2026-01-02\nt1,wish,2026-01-01\n")
    assert str(import_labels(store, tmp_path / "a.csv")) == (
        "1 answers taken over, 0 were there already, 1 left out, as later answers are there"
    )
    import_labels(store, tmp_path / "b.csv")
    assert said(store) == {("t0", "import"): "wish", ("t1", "import"): "bug"}


@pytest.mark.parametrize("format", [name for name in FORMATS if FORMATS[name].read])
def test_an_older_export_never_reverts_a_newer_answer(answered, tmp_path, format):
    path = tmp_path / f"old.{'json' if format in {'argilla', 'label-studio'} else 'out'}"
    export_labels(answered, path, format)
    answered.answer("bob", "t0", "label", "bug")
    answered.answer("ann", "t1", "label", "wish")
    answered.answer("ann", "t2", "clear")
    answered.adjudicate("t0", "wish", "lead")
    before = states(answered)
    done = import_labels(answered, path, format)
    assert states(answered) == before
    assert (done.new, done.older) == (0, 4)
    assert "4 left out, as later answers are there" in str(done)


def test_what_was_taken_back_since_stays_so(store, tmp_path):
    store.answer("ann", "t0", "label", "bug")
    export_labels(store, tmp_path / "l.csv")
    store.undo("ann")
    assert import_labels(store, tmp_path / "l.csv").older == 1
    assert store.answers() == []
    store.redo("ann")
    assert import_labels(store, tmp_path / "l.csv").same == 1


def test_an_answer_without_a_time_is_as_old_as_its_file(store, tmp_path):
    (tmp_path / "l.csv").write_text("id,label\nt0,bug\n")
    import_labels(store, tmp_path / "l.csv", annotator="ann")
    os.utime(tmp_path / "l.csv", (1_700_000_000, 1_700_000_000))
    store.answer("ann", "t0", "label", "wish")
    assert import_labels(store, tmp_path / "l.csv", annotator="ann").older == 1
    assert said(store) == {("t0", "ann"): "wish"}
    os.utime(tmp_path / "l.csv")
    assert import_labels(store, tmp_path / "l.csv", annotator="ann").new == 1


def test_a_label_edited_in_an_export_wins_though_its_time_stayed(answered, tmp_path):
    export_labels(answered, tmp_path / "l.csv")
    text = (tmp_path / "l.csv").read_text()
    (tmp_path / "l.csv").write_text(text.replace("bug,ann", "wish,ann"))
    assert import_labels(answered, tmp_path / "l.csv").new == 1
    assert answered.current("ann")["t0"].label == "wish"


def test_a_refused_import_leaves_nothing_behind(store, tmp_path):
    before = states(store)
    for row in ('n2,new two,bug,"two\nlines"', f"{'x' * 501},long id,bug,ann", "n1,other text,bug,ann"):
        (tmp_path / "l.csv").write_text(f"id,text,label,annotator\nn1,new one,praise,ann\n{row}\n")
        with pytest.raises(InputError):
            import_labels(store, tmp_path / "l.csv", add_classes=True, add_items=True)
        assert states(store) == before


def test_a_killed_import_leaves_all_or_nothing(tmp_path):
    """The process ends while it writes the answers, after items and classes."""
    code = f"""
import os
from bemps.project.importing import import_labels
from bemps.store import answer_events, open_store
from pathlib import Path
folder = Path({str(tmp_path)!r})
(folder / "l.csv").write_text("id,text,label\\n" + "".join(f"i{{i}},text {{i}},bug\\n" for i in range(3_000)))
record = answer_events.record
def dying(decision, said, **options):
    record(decision, said[:1_000], **options)
    if said:
        os._exit(9)
answer_events.record = dying
import_labels(open_store(folder / "p.bemps", create=True), folder / "l.csv", add_classes=True, add_items=True)
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 9, done.stderr
    with open_store(tmp_path / "p.bemps") as store:
        assert (store.count(), store.classes(), store.change_token()) == (0, (), 0)
        assert import_labels(store, tmp_path / "l.csv", add_classes=True, add_items=True).new == 3_000


PRELABELLED = ("argilla", "label-studio", "prodigy")  # these tools have a place of their own for guesses


def _predictions(store, folder, name):
    out = folder / f"p{FORMATS[name].usual_ending}"
    export_predictions(store, [PredictedItem(item, (0.9, 0.1)) for item in store.rows()], out, name)
    return out


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in PRELABELLED])
def test_guesses_of_the_model_are_no_answers_of_people(answered, tmp_path, name):
    before = said(answered)
    with pytest.raises(InputError, match=r"predictions of a model.*the columns id and label alone"):
        import_labels(answered, _predictions(answered, tmp_path, name), name)
    assert said(answered) == before


@pytest.mark.parametrize("name", PRELABELLED)
def test_tasks_with_guesses_bring_no_answers(answered, tmp_path, name):
    before = said(answered)
    assert import_labels(answered, _predictions(answered, tmp_path, name), name).new == 0
    assert said(answered) == before


def test_guesses_are_known_also_beside_columns_of_the_same_names(store, tmp_path):
    ours = ("id", "label", "probability", "human", "answered", "final")
    (tmp_path / "p.csv").write_text("label," + ",".join(f"bemps_{name}" for name in ours) + "\nx,t0,bug,0.9,,,bug\n")
    with pytest.raises(InputError, match="predictions of a model"):
        import_labels(store, tmp_path / "p.csv")


def test_predictions_that_were_corrected_in_doccano_are_answers(store, tmp_path):
    export_predictions(store, [PredictedItem(next(iter(store.rows())), (0.9, 0.1))], tmp_path / "p.jsonl", "doccano")
    corrected = json.loads((tmp_path / "p.jsonl").read_text()) | {"id": 17, "label": ["wish"]}
    (tmp_path / "p.jsonl").write_text(json.dumps(corrected))
    import_labels(store, tmp_path / "p.jsonl")
    assert said(store) == {("t0", "import"): "wish"}


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_a_csv_with_another_delimiter_is_read(store, tmp_path, delimiter):
    rows = [("\ufeffid", "label", "note"), ("t0", "bug", '"a, b; c\t|"'), ("t1", "wish", "")]
    (tmp_path / "l.csv").write_text("\r\n".join(map(delimiter.join, rows)), encoding="utf-8")
    import_labels(store, tmp_path / "l.csv", annotator="ann")
    assert said(store) == {("t0", "ann"): "bug", ("t1", "ann"): "wish"}
    assert [answer.note for answer in store.answers()] == ["a, b; c\t|", None]


def test_a_file_without_ids_and_texts_says_which_columns_an_import_needs(store, tmp_path):
    (tmp_path / "l.csv").write_text("body,label\ntext 0,bug\n")
    with pytest.raises(InputError, match=r"columns of .*: expected label, and id or text; got body, label.*Rename"):
        import_labels(store, tmp_path / "l.csv")
