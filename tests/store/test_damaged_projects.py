"""Project files that were damaged, by a disk or by somebody: a sentence, never a traceback."""

import random
import shutil
import sqlite3
import traceback
from contextlib import closing

import pytest
from filling import fill

from bemps.errors import BempsError
from bemps.project.exporting import export_labels
from bemps.server.engine import Engine
from bemps.store import Item, open_store

VALUES = (
    None,
    "",
    "x",
    "{",
    "[]",
    "null",
    '"text"',
    "1e999",
    b"\xff\x00",
    b"",
    -1,
    0,
    3,
    2**62,
    -(2**62),
    1.5,
    "label",
)
TABLES = {
    "project": ("name", "value"),
    "settings": ("name", "value"),
    "items": ("position", "id", "content", "label", "other_columns", "copy_of"),
    "events": (
        "seq",
        "time",
        "annotator",
        "kind",
        "item",
        "class_id",
        "label",
        "previous",
        "note",
        "target",
        "request",
    ),
    "leases": ("item", "annotator", "expires"),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A project in which everything was done once."""
    path = tmp_path_factory.mktemp("whole") / "t.bemps"
    with open_store(path, create=True) as store:
        fill(store)
        store.add_items(
            [Item("c0", "Text number 0", None, '{"author": "x"}', "t0"), Item("c1", "other", None, '{"a": 1}')]
        )
        settings = {
            "title": "T",
            "kind": "text",
            "seed": 0,
            "audit_share": 0.1,
            "overlap_share": 0.2,
            "curve": [[1, 0.5]],
        }
        store.set_all(settings | {"id": "abc", "stop_rise": 0.01, "folder": "."})
        for number in range(6):
            store.answer("ann", f"t{number}", "label", "bug", note="n")
            store.answer("bob", f"t{number}", "label", "wish", request=f"request-{number}")
        store.undo("ann")
        store.undo("bob")
        store.redo("bob")
        store.rename_class("wish", "request", "ann")
        store.set_key("bug", "b", "ann")
        store.adjudicate("t1", "bug", "cem")
        store.mark_audit(["t8"])
        store.mark_overlap(["t9"])
        store.lease("ann", ["t7", "t8"], 2, 600)
    return path


def damage_bytes(path, rng):
    content = bytearray(path.read_bytes())
    how = rng.choice(("flip", "cut", "zero", "text", "header"))
    start = rng.randrange(100 if how == "header" else len(content))
    if how == "cut":
        del content[start:]
    elif how == "zero":
        content[start : start + 4096] = bytes(len(content[start : start + 4096]))
    elif how == "text":
        content[start : start + 40] = rng.randbytes(40)
    else:
        for _ in range(rng.choice((1, 1, 4, 30))):
            content[rng.randrange(100 if how == "header" else len(content))] = rng.randrange(256)
    path.write_bytes(content)


def damage_rows(path, rng):
    table = rng.choice(["events"] * 5 + list(TABLES))
    column, value = rng.choice(TABLES[table]), rng.choice(VALUES)
    row = f"rowid = (SELECT rowid FROM {table} ORDER BY random() LIMIT 1)"
    statements = (
        f"UPDATE {table} SET {column} = ? WHERE {row}",
        f"UPDATE {table} SET {column} = ?",
        f"DELETE FROM {table} WHERE {row}",
        f"DROP TABLE {table}",
        f"ALTER TABLE {table} RENAME COLUMN {column} TO other",
        f"DELETE FROM {table}",
    )
    statement = rng.choices(statements, (30, 3, 10, 1, 1, 2))[0]
    with closing(sqlite3.connect(path)) as raw:
        for kind in ("update", "delete"):
            raw.execute(f"DROP TRIGGER IF EXISTS events_no_{kind}")
        raw.execute("PRAGMA writable_schema=ON")  # also what the tables would refuse
        raw.execute("UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', '') WHERE type = 'table'")
        raw.commit()
    with closing(sqlite3.connect(path)) as raw:
        try:
            raw.execute(statement, (value,) if "?" in statement else ())
            raw.commit()
        except sqlite3.Error:
            return


def use(path, out):
    """What people do with a project."""
    with open_store(path) as store:
        settings = store.settings
        store.count(), store.ids(), store.classes(), store.answers(), store.current(), store.annotators()
        list(store.items())
        store.events(), store.leases(), store.disagreements(), store.audit(), store.overlap(), store.change_token()
        store.search("number", state="answered"), store.search(label="bug", order="latest")
        export_labels(store, out / "a.csv", force=True)
        export_labels(store, out / "b.jsonl", resolved=True, force=True)
        Engine(store, str(path)).writer.close()
        store.answer("ann", "t7", "label", "bug")
        store.undo("ann")
        store.lease("eve", ["t6", "t7"], 2, 60)
        return settings


def outcomes(whole, tmp_path, seeds):
    """The tracebacks, by seed."""
    failures = {}
    for seed in seeds:
        path = tmp_path / "t.bemps"
        for old in tmp_path.glob("t.bemps*"):
            old.unlink()
        shutil.copyfile(whole, path)
        rng = random.Random(seed)
        (damage_bytes if seed % 3 == 0 else damage_rows)(path, rng)
        try:
            use(path, tmp_path)
        except BempsError:
            continue
        except Exception:  # noqa: BLE001 -- any other is what is looked for
            failures[seed] = traceback.format_exc()
    return failures


def test_a_project_that_was_not_damaged_works(whole, tmp_path):
    shutil.copyfile(whole, tmp_path / "t.bemps")
    assert use(tmp_path / "t.bemps", tmp_path)["title"] == "T"


def test_a_damaged_project_is_a_sentence(whole, tmp_path):
    failures = outcomes(whole, tmp_path, range(300))
    assert not failures, "\n".join([f"{len(failures)} tracebacks", *list(failures.values())[:3]])


@pytest.mark.soak
def test_many_damaged_projects_are_sentences(whole, tmp_path):
    failures = outcomes(whole, tmp_path, range(1_000, 11_000))
    assert not failures, "\n".join([f"{len(failures)} tracebacks", *list(failures.values())[:3]])
