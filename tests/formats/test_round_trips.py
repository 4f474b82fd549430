"""Out of one project and into another: nothing is lost, in any format that can be read."""

import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bemps.formats.format_registry import FORMATS
from bemps.project.exporting import export_labels
from bemps.project.importing import import_labels
from bemps.store import Item, NewAnswer, open_store

MEMORY = Path("/dev/shm")  # no disk to wait for
FILES = {
    "csv": "out.csv",
    "csv-spreadsheet": "safe.csv",
    "jsonl": "out.jsonl",
    "parquet": "out.parquet",
    "xlsx": "out.xlsx",
    "label-studio": "studio.json",
    "doccano": "doccano.jsonl",
    "prodigy": "prodigy.jsonl",
    "argilla": "argilla.json",
    "huggingface": "dataset",
}
NASTY = [
    *("=1+1", "+cmd|' /C calc'!A0", "-2", "@sum", 'say "hi"', "a,b;c\td", "two\nlines", "old\rmac", "dos\r\n"),
    *("مرحبا \u202eabc", "👩\u200d👧", "e\u0301", "\u2028\x85\x0b", "\x01\x1f\x7f", " padded ", "null", "None", "NaN"),
    *("'", "'=1", "''-2", "\\N", "{}", "\ufeffmark", "0", ""),
    *("_x0041_", "_x0041_x0042_", "_x0041\x01", "_x000D_", "_x005F_", "#N/A", "1e5", "007", "\ufffe", "a & <b>"),
]
characters = st.characters(exclude_categories=("Cs",), exclude_characters="\0")
texts = st.sampled_from(NASTY) | st.text(characters, max_size=20)
names = st.text(st.characters(categories=("L", "N", "P", "S")), min_size=1, max_size=8)
times = st.datetimes(datetime(1990, 1, 1), datetime(2026, 1, 1)).map(lambda time: time.replace(tzinfo=UTC))
notes = st.none() | texts.filter(bool)


@st.composite
def projects(draw):
    """Items, classes, and answers of every kind by several people."""
    contents = draw(st.lists(texts, min_size=1, max_size=4))
    ids = draw(st.lists(texts.filter(bool) | names, min_size=len(contents), max_size=len(contents), unique=True))
    classes = draw(st.lists(names, min_size=1, max_size=3, unique_by=str.casefold))
    said = []
    for person in draw(st.lists(names, min_size=1, max_size=2, unique=True)):
        for id in ids:
            kind = draw(st.sampled_from(["label", "label", "skip", "unsure", "note", "adjudicate", None]))
            if kind is not None:
                label = draw(st.sampled_from(classes)) if kind in ("label", "adjudicate") else None
                note = draw(texts.filter(bool)) if kind == "note" else draw(notes)
                said.append(NewAnswer(person, id, kind, label, note, time=draw(times)))
    return [Item(id, content) for id, content in zip(ids, contents, strict=True)], classes, said


def answers(store):
    found = {(a.item, a.annotator, a.kind, a.label, a.note, a.time) for a in store.answers()}
    return {(id, *rest, store.item(id).content) for id, *rest in found}


def plain_project():
    start = datetime(2026, 11, 16, 9, 30, 0, 123456, tzinfo=UTC)
    items = [Item(f"i{n}", text) for n, text in enumerate(NASTY)]
    said = [
        NewAnswer("ann", item.id, "label", "bug", time=start + timedelta(seconds=n)) for n, item in enumerate(items)
    ]
    return items, ["bug", "wish"], said


def round_trip(format, project):
    items, classes, said = project
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        out = Path(folder) / FILES[format]
        first, second = (open_store(f"{folder}/{name}.bemps", create=True) for name in "ab")
        with first as store, second as other:
            store.add_items(items)
            for name in classes:
                store.add_class(name, "lead")
            store.record(said)
            export_labels(store, out, format)
            taken = import_labels(other, out, add_classes=True, add_items=True)  # the format is recognised
            assert answers(other) == answers(store)
            again = import_labels(other, out)
            assert (again.new, again.same) == (0, taken.new)
            assert import_labels(store, out, format).new == 0


def test_every_format_that_can_be_read_is_tested():
    assert set(FILES) == {name for name, known in FORMATS.items() if known.read is not None}


@pytest.mark.parametrize("format", FILES)
def test_a_project_survives_every_format(format):
    round_trip(format, plain_project())


@pytest.mark.parametrize("format", FILES)
def test_a_project_without_answers_survives_every_format(format):
    items, classes, _ = plain_project()
    round_trip(format, (items, classes, []))


@pytest.mark.parametrize("format", FILES)
@settings(max_examples=15, deadline=None)
@given(project=projects())
def test_any_project_survives_every_format(format, project):
    round_trip(format, project)


@pytest.mark.parametrize("format", FILES)
def test_how_an_answer_was_made_survives_where_a_changed_label_can_be_told(format, tmp_path):
    """doccano and Prodigy hand back labels without saying whether they were changed there."""
    methods = {"i0": "suggested", "i1": "listed", "i2": None}
    with open_store(tmp_path / "a.bemps", create=True) as store, open_store(tmp_path / "b.bemps", create=True) as other:
        store.add_items(Item(id, f"text {id}") for id in methods)
        store.add_class("bug", "lead")
        store.record([NewAnswer("ann", id, "label", "bug", method=method) for id, method in methods.items()])
        export_labels(store, tmp_path / FILES[format], format)
        import_labels(other, tmp_path / FILES[format], add_classes=True, add_items=True)
        kept = dict.fromkeys(methods) if format in ("doccano", "prodigy") else methods
        assert {id: answer.method for id, answer in other.current().items()} == kept


def test_a_column_of_the_user_called_method_stays_theirs(tmp_path):
    (tmp_path / "theirs.csv").write_text(
        "id,text,label,method\na,one,bug,post\nb,two,bug,suggested\n", encoding="utf-8"
    )
    with open_store(tmp_path / "a.bemps", create=True) as store:
        import_labels(store, tmp_path / "theirs.csv", "csv", add_classes=True, add_items=True)
        assert {answer.method for answer in store.current().values()} == {None}
        assert [item.columns["method"] for item in store.items()] == ["post", "suggested"]
