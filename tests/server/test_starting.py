"""From a file to a project: what is refused, in words that help, and what a second start changes."""

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest
from readers import workbook_bytes
from serving import CLASSES, write_tickets
from typer.testing import CliRunner

from bemps.cli import app
from bemps.errors import InputError, MissingExtra, pip_install, shortened
from bemps.models.encoders import encoder_registry
from bemps.project import Project
from bemps.project.exporting import export_labels
from bemps.server.engine import Engine
from bemps.server.project_start import Source, Wishes, checked_classes, prepared
from bemps.store import NewAnswer, open_store
from bemps.store.project_settings import ProjectSettings

WISHES = Wishes(classes=CLASSES, model="none")


def start(folder, wishes=WISHES, name="tickets.csv", **columns):
    store, notes = prepared(str(folder / "p.bemps"), Source(folder / name, {"text": "body"} | columns), wishes)
    return store, notes


def refused(folder, *arguments):
    """What the command prints when it refuses; it must not leave a project behind."""
    where = ["--project", str(folder / "p.bemps"), "--no-browser"]
    run = CliRunner().invoke(app, ["label", *map(str, arguments), *where], env={"COLUMNS": "500"})
    assert run.exit_code == 2, run.output
    assert not list(folder.glob("p.bemps*"))
    return " ".join(run.output.split())


def test_a_wrong_column_is_refused_with_those_that_exist(folder):
    said = refused(folder, folder / "tickets.csv", "--text", "text", "--classes", "a,b")
    assert "'text'" in said
    assert "body" in said
    assert "topic" in said


def test_no_column_named(folder):
    assert "body" in refused(folder, folder / "tickets.csv", "--classes", "a,b")


def test_an_empty_file(tmp_path):
    (tmp_path / "tickets.csv").write_text("")
    assert "tickets.csv" in refused(tmp_path, tmp_path / "tickets.csv", "--text", "body", "--classes", "a,b")
    (tmp_path / "tickets.csv").write_text("body\n")
    assert "at least one row" in refused(tmp_path, tmp_path / "tickets.csv", "--text", "body", "--classes", "a,b")


def test_a_file_that_is_not_text(tmp_path):
    (tmp_path / "tickets.csv").write_bytes(bytes(range(256)) * 20)
    assert "encoding" in refused(tmp_path, tmp_path / "tickets.csv", "--text", "body", "--classes", "a,b").lower()
    (tmp_path / "tickets.png").write_bytes(b"\x89PNG")
    assert ".csv" in refused(tmp_path, tmp_path / "tickets.png", "--text", "body", "--classes", "a,b")


def test_duplicate_ids_are_named(tmp_path):
    with (tmp_path / "tickets.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["id", "body"], ["7", "one"], ["8", "two"], ["7", "three"]])
    said = refused(tmp_path, tmp_path / "tickets.csv", "--text", "body", "--id", "id", "--classes", "a,b")
    assert "every id once" in said
    assert "'7'" in said


def test_a_label_outside_the_classes_is_named(folder):
    said = refused(folder, folder / "tickets.csv", "--text", "body", "--label", "topic", "--classes", "bug,feature")
    assert "'question'" in said
    assert "bug, feature" in said


@pytest.mark.parametrize(
    ("classes", "words"),
    [
        ("bug,bug", "different names"),
        ("bug,Bug", "'bug' and 'Bug'"),
        ("bug, bug ", "different names"),
        ("bug,,wish", "an empty one"),
        ("bug", "at least two"),
    ],
)
def test_classes_that_clash(folder, classes, words):
    assert words in refused(folder, folder / "tickets.csv", "--text", "body", "--classes", classes)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ('{"id": "half \\ud83d", "body": "one", "topic": "bug"}', "surrogate"),
        ('{"id": "' + "x" * 501 + '", "body": "one", "topic": "bug"}', "1 to 500 characters"),
        ('{"id": "1", "body": "one \\u0000", "topic": "bug"}', "NUL"),
        ('{"id": "1", "body": "one", "topic": "WISH"}', "no other class"),
        ('{"id": "1", "body": "one", "topic": "' + "x" * 501 + '"}', "500 characters"),
    ],
)
def test_what_no_project_can_keep_leaves_no_project(tmp_path, row, words):
    lines = [row, '{"id": "2", "body": "two", "topic": "wish"}', '{"id": "3", "body": "three", "topic": "bug"}']
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    assert words in refused(tmp_path, tmp_path / "t.jsonl", "--text", "body", "--id", "id", "--label", "topic")


def test_an_image_with_a_name_that_is_not_unicode_leaves_no_project(tmp_path):
    pillow = pytest.importorskip("PIL.Image")
    pillow.new("RGB", (8, 8), "red").save(tmp_path / "a.png")
    os.rename(tmp_path / "a.png", os.fsencode(tmp_path) + b"/bad\xff.png")
    assert "UTF-8" in refused(tmp_path, tmp_path, "--classes", "a,b")


def test_a_refused_file_changes_nothing_in_a_project_that_is_there(folder):
    start(folder)[0].close()
    (folder / "t.jsonl").write_text('{"body": "new", "nr": "a"}\n{"body": "half \\ud83d", "nr": "b"}\n')
    with pytest.raises(InputError, match="surrogate"):
        start(folder, Wishes(classes=(*CLASSES, "praise"), title="Mine"), "t.jsonl", id="nr")
    store, notes = start(folder)
    assert notes == []
    assert (store.count(), len(store.classes()), store.settings["title"]) == (240, len(CLASSES), "tickets")
    store.close()


def test_no_classes_at_all(folder):
    assert "--classes bug,feature,question" in refused(folder, folder / "tickets.csv", "--text", "body")


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--model", "minilmm", "Did you mean 'minilm'"),
        ("--strategy", "coremsee", "Did you mean"),
        ("--guidelines", "nowhere.txt", "a text file"),
        ("--classes", "nowhere.txt", "a text file"),
    ],
)
def test_names_that_do_not_exist(folder, option, value, words):
    usual = [] if option == "--classes" else ["--classes", "a,b"]
    assert words in refused(folder, folder / "tickets.csv", "--text", "body", *usual, option, value)


def test_places_that_do_not_exist(tmp_path):
    assert "does not exist" in refused(tmp_path, tmp_path / "no.csv", "--text", "body", "--classes", "a,b")
    run = CliRunner().invoke(app, ["label", "--project", str(tmp_path / "no.bemps")])
    assert run.exit_code == 2
    assert "Name the file to label" in " ".join(run.output.split())
    (tmp_path / "text.bemps").write_text("not a project at all, only some words")
    run = CliRunner().invoke(app, ["label", str(tmp_path / "text.bemps")], env={"COLUMNS": "500"})
    assert run.exit_code == 2
    assert "Traceback" not in run.output


def test_an_audit_slice_is_set_aside_at_random_before_anything_is_labelled(folder):
    store, notes = start(folder)
    assert len(store.audit()) == 24
    assert "24 items set aside at random" in notes[-1]
    first = store.audit()
    store.close()
    again, notes = start(folder)
    assert again.audit() == first
    assert notes == []
    again.close()
    (folder / "p.bemps").unlink()
    other, _ = start(folder, Wishes(classes=CLASSES, model="none", seed=1))
    assert other.audit() != first
    other.close()


def test_labels_of_the_file_are_there_and_never_audited(folder):
    store, _ = start(folder, label="topic")
    assert len(store.current()) == 240
    assert not store.audit()
    store.close()


def test_resuming_reads_the_file_again_only_when_it_changed(folder):
    store, notes = start(folder)
    item = store.ids()[0]
    store.answer("ann", item, "label", "bug")
    store.close()
    write_tickets(folder / "tickets.csv", [("one more text", "bug"), ("and another", "bug")])
    store, notes = start(folder, Wishes(classes=(*CLASSES, "praise"), title="Mine", model="none"))
    assert notes[0].startswith("2 new items")
    assert (store.count(), store.current()[item].label) == (242, "bug")
    assert [one.name for one in store.classes()][-1] == "praise"
    assert store.settings["title"] == "Mine"
    store.close()
    (folder / "tickets.csv").unlink()
    store, notes = prepared(str(folder / "p.bemps"), None, Wishes())
    assert store.count() == 242
    assert notes == []
    store.close()


def test_labels_that_come_to_rows_later_are_taken_over(tmp_path):
    write_tickets(tmp_path / "tickets.csv", [("one", ""), ("two", ""), ("three", "bug"), ("four", "")])
    wishes = Wishes(classes=("bug", "wish"), model="none", audit=0.0)
    store, _ = start(tmp_path, wishes, label="topic")
    one, two, _, four = store.ids()
    store.answer("ann", two, "label", "bug")
    store.answer("ann", four, "note", note="odd")
    store.close()
    write_tickets(tmp_path / "tickets.csv", [("one", "wish"), ("two", "wish"), ("three", "bug"), ("four", "bug")])
    store, notes = start(tmp_path, wishes, label="topic")
    assert store.current()[one].label == "wish"
    assert store.current("source")[four].label == "bug"
    assert store.current()[two].label == "bug"
    assert notes == [
        "2 rows that were there got their label from the file",
        "1 row has another label in the file, and the project keeps its own. "
        f"For example, row {shortened(two)!r} ('two') has 'wish' in the file and 'bug' in the project.",
    ]
    store.close()


def test_rows_of_one_text_with_different_labels_are_named(tmp_path):
    (tmp_path / "t.csv").write_text("nr,body,topic\na,same,bug\nb,same,wish\nc,same,wish\nd,other,wish\n")
    arguments = ["--text", "body", "--label", "topic", "--id", "nr", "--project", str(tmp_path / "p.bemps")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bemps.server.http.http_server.serve", lambda *_, **__: False)
        run = CliRunner().invoke(app, ["label", str(tmp_path / "t.csv"), *arguments], env={"COLUMNS": "500"})
    assert run.exit_code == 0, run.output
    assert (
        "2 rows have another label in the file, and the project keeps its own. "
        "For example, row 'b' ('same') has 'wish' in the file and 'bug' in the project. "
        "2 of them repeat a text or an image, and the first label of it holds for all its rows. "
        "Correct the file, or make a new project with --duplicates ask." in run.output
    )


def test_another_sheet_does_not_mix_with_the_rows_of_the_first(tmp_path):
    (tmp_path / "w.xlsx").write_bytes(workbook_bytes([["body"], ["one"], ["two"]], Other=[["body"], ["three"]]))
    start(tmp_path, name="w.xlsx")[0].close()
    with pytest.raises(InputError, match=r"expected 'Sheet', whose rows the project has; got 'Other'"):
        start(tmp_path, name="w.xlsx", sheet="Other")
    store, _ = start(tmp_path, name="w.xlsx", sheet="Sheet")
    assert store.count() == 2
    store.close()
    with pytest.raises(InputError, match="got 'Other'"):
        start(tmp_path, name="w.xlsx", sheet="Other")


def test_a_longer_file_may_have_the_names_from_before_a_renaming(tmp_path):
    write_tickets(tmp_path / "tickets.csv", [("one", "bug"), ("two", "wish")])
    wishes = Wishes(classes=("bug", "wish"), model="none")
    start(tmp_path, wishes, label="topic")[0].close()
    with open_store(tmp_path / "p.bemps") as store:
        store.rename_class("bug", "defect", "lead")
    write_tickets(tmp_path / "tickets.csv", [("one", "bug"), ("two", "wish"), ("three", "bug")])
    store, _ = start(tmp_path, wishes, label="topic")
    assert [known.name for known in store.classes()] == ["defect", "wish"]
    assert [answer.label for answer in store.answers()] == ["defect", "wish", "defect"]
    store.close()


def test_a_project_that_was_half_made_is_finished_by_the_next_start(folder):
    store = open_store(folder / "p.bemps", create=True)
    store.close()
    store, _ = start(folder)
    assert store.count() == 240
    assert store.settings["kind"] == "text"
    store.close()


def copies_file(folder, copies=3, different=40):
    rows = [[f"text {i % different}", i] for i in range(copies * different)]
    with (folder / "copies.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["body", "nr"], *rows])


def test_identical_texts_are_asked_once_and_never_stand_in_audit_and_training(tmp_path):
    copies_file(tmp_path)
    store, notes = start(tmp_path, Wishes(classes=CLASSES, model="none", audit=0.5), "copies.csv")
    assert notes[0].startswith("40 new items from")
    assert "80 rows repeat a text: it is asked once, and the answer counts for all of them" in notes
    assert (store.count(), len(store.audit()), len(list(store.rows()))) == (40, 20, 120)
    schedule = Engine(store, str(tmp_path / "p.bemps")).schedule
    asked = {ask.item for ask in schedule.candidates_for("ann", 200, set())}
    assert {content_of(store, id) for id in asked} == {f"text {i}" for i in range(40)}
    assert len(asked) == len(schedule.ids) == 40
    audited, rest = ({content_of(store, id) for id in ids} for ids in (store.audit(), asked - store.audit()))
    assert not audited & rest
    with Project(store) as project:
        learnt = project.learner().pool.ids
        assert not {content_of(store, id) for id in learnt} & audited
    store.close()


def content_of(store, id):
    return store.item(id).content


def test_duplicates_are_asked_where_that_is_wished(tmp_path):
    copies_file(tmp_path)
    store, notes = start(tmp_path, Wishes(classes=CLASSES, model="none", duplicates="ask"), "copies.csv")
    assert notes[0].startswith("120 new items")
    assert (store.count(), store.copies()) == (120, {})
    store.close()
    with pytest.raises(InputError, match=r"--duplicates.*ask, once"):
        start(tmp_path, Wishes(duplicates="drop"), "copies.csv")


def test_a_later_file_adds_copies_of_what_is_answered(tmp_path):
    copies_file(tmp_path, copies=1)
    store, _ = start(tmp_path, name="copies.csv")
    store.record([NewAnswer("ann", id, "label", "bug") for id in store.ids()])
    store.close()
    copies_file(tmp_path, copies=2)
    store, notes = start(tmp_path, name="copies.csv")
    assert "40 rows repeat a text" in notes[1]
    assert store.search(state="unanswered").total == 0
    export_labels(store, tmp_path / "labels.csv")
    with (tmp_path / "labels.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["nr"] for row in rows] == [str(i) for i in range(80)]
    assert {(row["label"], row["annotator"]) for row in rows} == {("bug", "ann")}
    assert len({row["time"] for row in rows}) == 1
    store.close()


def test_empty_rows_are_left_out_and_said(tmp_path):
    (tmp_path / "t.csv").write_text("body,nr\none,1\n,2\n  ,3\ntwo,4\n")
    store, notes = start(tmp_path, name="t.csv")
    assert store.count() == 2
    assert "4 rows, 2 of them empty and left out" in notes[0]
    store.close()


def test_classes_with_room_around_them_are_tidied():
    assert checked_classes([" bug ", "new  wish"]) == ("bug", "new wish")


def test_a_new_file_in_a_subfolder_is_found(tmp_path):
    deep = tmp_path / "notes" / "1923" / "may"
    deep.mkdir(parents=True)
    for number in range(2):
        (deep / f"{number}.txt").write_text(f"text {number}")
    (tmp_path / "notes" / "plan.pdf").touch()
    for new in (2, 1):
        store, notes = prepared(str(tmp_path / "p.bemps"), Source(tmp_path / "notes"), WISHES)
        assert notes[0].startswith(f"{new} new items")
        assert notes[0].endswith("without files of other kinds: 1 .pdf)")
        store.close()
        (deep / "2.txt").write_text("text 2")
        os.utime(deep, (2e9, 2e9))  # some systems count in steps that are longer than this test


def test_images_of_a_folder_are_items_by_their_paths(tmp_path):
    pillow = pytest.importorskip("PIL.Image")
    photos = tmp_path / "photos"
    (photos / "deep").mkdir(parents=True)
    for name, colour in (("a.png", "red"), ("deep/b.png", "blue")):
        pillow.new("RGB", (8, 8), colour).save(photos / name)
    store, _ = prepared(str(tmp_path / "p.bemps"), Source(photos), WISHES)
    assert store.ids() == ("a.png", "deep/b.png")
    assert store.settings["kind"] == "image"
    store.close()
    (tmp_path / "secret.png").write_bytes(b"x")
    (photos / "link.png").symlink_to(tmp_path / "secret.png")
    with pytest.raises(InputError, match="a file inside"):
        prepared(str(tmp_path / "q.bemps"), Source(photos), WISHES)


@pytest.mark.parametrize("package", ["uvicorn", "fastapi", "sqlalchemy", "jinja2"])
def test_a_missing_package_is_said_with_the_extra_that_brings_it(folder, package):
    code = f"import sys; sys.modules[{package!r}] = None; from bemps.cli import app; app(sys.argv[1:])"
    command = [sys.executable, "-c", code, "label", "tickets.csv", "--text", "body", "--classes", "a,b"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=60)
    assert run.returncode == 2
    assert pip_install("label") in " ".join(run.stderr.split())
    assert not list(folder.glob("*.bemps"))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("a,b\n1,2\n", "expected --text (or --image) to name one of 'a', 'b'; got neither"),
        ("a;b\n1;2\n", "pass --delimiter ';'"),
        ("a\ncaf\xe9\n", "for example --encoding cp1252"),
    ],
)
def test_messages_speak_of_the_options_of_the_command(folder, data, words):
    (folder / "own.csv").write_bytes(data.encode("latin-1"))
    said = refused(folder, folder / "own.csv", "--classes", "x,y")
    assert words in said
    assert "='" not in said


def test_the_options_of_a_command_are_known():
    from bemps.cli.command_errors import option_names
    from bemps.cli.label import label
    from bemps.cli.predict import predict

    assert {"text", "image", "label", "id", "encoding", "delimiter", "classes", "browser"} <= {*option_names(label)}
    assert {"text", "id", "out"} <= {*option_names(predict)}
    assert "classes" not in option_names(predict)


def test_an_option_that_the_command_does_not_have_is_not_advised():
    from bemps.errors import COMMAND_OPTIONS, hint, parameter

    assert (parameter("text", "body"), parameter("quotes")) == ("text='body'", "quotes=")
    before = COMMAND_OPTIONS.set(frozenset({"text"}))
    try:
        assert (parameter("text", "my body"), parameter("quotes")) == ("--text 'my body'", "")
        assert hint("Pass {}.", "encoding", "utf-8") == ""
    finally:
        COMMAND_OPTIONS.reset(before)


def test_an_extra_is_installed_from_where_bemps_came_from(monkeypatch, tmp_path):
    from bemps import errors

    class Distribution:
        def __init__(self, origin):
            self.origin = origin

        def read_text(self, name):
            return self.origin if name == "direct_url.json" else None

    origins = {
        None: "pip install 'bemps[text]'",
        f'{{"url": "{tmp_path.as_uri()}"}}': f"pip install '{tmp_path}[text]'",
        '{"url": "https://example.org/bemps.zip"}': "pip install 'bemps[text]'",
    }
    for origin, command in origins.items():
        monkeypatch.setattr(errors, "distribution", lambda _, origin=origin: Distribution(origin))
        assert pip_install("text") == command


def test_an_extra_is_installed_from_the_sources_where_bemps_is_not_installed(monkeypatch):
    from importlib.metadata import PackageNotFoundError

    from bemps import errors

    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(errors, "distribution", missing)
    assert pip_install("text") == f"pip install '{Path(errors.__file__).parents[2]}[text]'"


def test_the_limit_of_an_earlier_release_is_not_taken_for_the_new_one(tmp_path):
    """Until version 0.1 `stop_below` was a gain in the Brier score; it says nothing about a rise of accuracy."""
    DEFAULTS = ProjectSettings().to_json()
    assert "stop_below" not in DEFAULTS
    assert DEFAULTS["stop_rise"] == 0.01


def test_damaged_weights_are_refused_before_a_project_is_made(folder, monkeypatch):
    from bemps.models.encoders.weight_files import DamagedWeights

    files = folder / "weights" / "bge-small"
    files.mkdir(parents=True)
    for name in ("model.onnx", "tokenizer.json"):
        (files / name).write_bytes(b"half")
    monkeypatch.setenv("BEMPS_WEIGHTS", str(folder / "weights"))
    with pytest.raises(DamagedWeights, match="bemps weights bge-small"):
        prepared(str(folder / "t.bemps"), Source(folder / "tickets.csv", {"text": "body"}), Wishes(("a", "b")))
    assert not (folder / "t.bemps").exists()


def test_a_model_without_its_weights_is_refused_before_a_project_is_made(folder, monkeypatch):
    from bemps.models.encoders.weight_files import MissingWeights

    monkeypatch.setenv("BEMPS_WEIGHTS", str(folder / "nothing"))
    with pytest.raises(MissingWeights, match="bemps weights bge-small"):
        prepared(
            str(folder / "t.bemps"),
            Source(folder / "tickets.csv", {"text": "body"}),
            Wishes(("a", "b"), model="bge-words"),
        )
    assert not (folder / "t.bemps").exists()


def test_a_model_without_its_packages_is_refused_with_the_extra_that_has_both(folder, monkeypatch):
    find = encoder_registry.find_spec
    monkeypatch.setattr(encoder_registry, "find_spec", lambda name: None if name == "torch" else find(name))
    monkeypatch.setenv("BEMPS_WEIGHTS", str(folder / "nothing"))
    with pytest.raises(MissingExtra, match=r"EfficientNet-Lite0 vectors: expected the 'vision' extra.*'torch'"):
        prepared(
            str(folder / "t.bemps"),
            Source(folder / "tickets.csv", {"text": "body"}),
            Wishes(("a", "b"), model="efficientnet"),
        )
    assert not (folder / "t.bemps").exists()


def test_a_project_in_postgresql_is_named_as_one_in_a_file_is(tmp_path):
    address = f"postgresql+psycopg://ann:secret@/labels?host={tmp_path}"
    run = CliRunner().invoke(app, ["label", address, "--no-browser"], env={"COLUMNS": "500"})
    said = " ".join(run.output.split())
    assert run.exit_code == 2
    assert "Check that the database is running." in said
    both = CliRunner().invoke(app, ["label", address, "--text", "body"], env={"COLUMNS": "500"})
    assert "expected a project and nothing else" in both.output
    assert "secret" not in said + both.output
