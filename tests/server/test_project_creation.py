"""A project made in Python and one made on the command line are the same thing."""

import csv

import numpy as np
import pytest
from serving import Here

import bemps
from bemps import InputError, data
from bemps.server.project_start import Source, Wishes, prepared
from bemps.store import Item
from bemps.store.project_settings import ProjectSettings

ROWS = [["nr", "body", "topic"], *([str(i), f"text {i % 45}", ("bug", "wish", "")[i % 3]] for i in range(50))]


@pytest.fixture
def tickets(tmp_path):
    with (tmp_path / "my_tickets.csv").open("w", newline="") as file:
        csv.writer(file).writerows(ROWS)
    return tmp_path / "my_tickets.csv"


def in_python(path, project, **columns):
    with bemps.open_project(project, create=True) as opened:
        opened.add(data.read(path, **columns))


def on_the_command_line(path, project, classes, **columns):
    store, _ = prepared(str(project), Source(path, columns), Wishes(classes=classes))
    store.close()


def everything(project):
    with bemps.open_project(project) as opened:
        store = opened.store
        settings = {name: value for name, value in opened.settings.items() if name != "id"}
        labels = [(answer.item, answer.annotator, answer.label) for answer in store.answers()]
        return settings, list(store.rows()), opened.classes, store.audit(), store.copies(), labels


def test_both_ways_make_the_same_project(tickets, tmp_path):
    columns = {"text": "body", "label": "topic", "id": "nr"}
    in_python(tickets, tmp_path / "a.bemps", **columns)
    on_the_command_line(tickets, tmp_path / "b.bemps", None, **columns)
    ours, theirs = everything(tmp_path / "a.bemps"), everything(tmp_path / "b.bemps")
    assert ours == theirs
    settings, rows, classes, audit, copies, _ = ours
    assert (settings["title"], settings["kind"], classes) == ("my tickets", "text", ("bug", "wish"))
    assert (len(rows), len(copies), len(audit)) == (50, 5, round(0.1 * 15))
    assert rows[0].others
    assert settings["stamp"][0] == settings["sources"][0] == str(tickets)


def test_both_ways_make_the_same_project_of_images(tmp_path):
    image = pytest.importorskip("PIL.Image")
    for name in ("cat/one.png", "dog/two.png", "dog/three.png"):
        (tmp_path / "photos" / name).parent.mkdir(parents=True, exist_ok=True)
        image.fromarray(np.full((8, 8, 3), len(name), np.uint8)).save(tmp_path / "photos" / name)
    in_python(tmp_path / "photos", tmp_path / "a.bemps", label="folder", id="path")
    on_the_command_line(tmp_path / "photos", tmp_path / "b.bemps", None, label="folder")
    ours = everything(tmp_path / "a.bemps")
    assert ours == everything(tmp_path / "b.bemps")
    assert (ours[0]["kind"], ours[0]["folder"]) == ("image", str(tmp_path / "photos"))


def test_a_project_made_in_python_can_be_labelled(tickets, tmp_path):
    in_python(tickets, tmp_path / "tickets.bemps", text="body", label="topic")
    with Here(tmp_path, data=None, classes=None) as server, server.person() as ann:
        assert server.engine.settings.title == "my tickets"
        (item,) = ann.next()
        assert ann.answer(item["id"], label="bug").status_code == 200


def test_a_file_that_python_has_read_is_not_read_again(tickets, tmp_path):
    in_python(tickets, tmp_path / "p.bemps", text="body", label="topic")
    store, notes = prepared(
        str(tmp_path / "p.bemps"), Source(tickets, {"text": "body", "label": "topic"}), Wishes(model="none")
    )
    store.close()
    assert notes == []


def test_a_project_of_an_earlier_release_made_in_python_is_completed(tmp_path):
    with bemps.open_project(tmp_path / "old_one.bemps", create=True) as project:
        for name in ("bug", "wish"):
            project.store.add_class(name, "lead")
        project.store.add_items(Item(f"t{i}", f"text {i}") for i in range(30))
    store, notes = prepared(str(tmp_path / "old_one.bemps"), None, Wishes())
    with store:
        assert (store.read_settings().title, len(store.read_settings().id), len(store.audit())) == ("old one", 32, 3)
    assert "3 items set aside" in notes[0]


def test_without_two_classes_nothing_is_served(tmp_path):
    with bemps.open_project(tmp_path / "p.bemps", create=True) as project:
        project.add(data.table(["one", "two", "three"]))
    with pytest.raises(InputError, match="at least two"):
        prepared(str(tmp_path / "p.bemps"), None, Wishes())
    store, notes = prepared(str(tmp_path / "p.bemps"), None, Wishes(classes=("a", "b")))
    store.close()
    assert "new classes: a, b" in notes


def test_shares_that_were_set_before_are_kept(tickets, tmp_path):
    with bemps.open_project(tmp_path / "p.bemps", create=True) as project:
        project.store.set_all({"audit_share": 0.0, "title": "Mine", "plugin": {"any": 1}})
        project.add(data.read(tickets, text="body"))
        assert not project.store.audit()
        assert (project.settings["title"], project.settings["plugin"]) == ("Mine", {"any": 1})


def test_items_of_one_text_are_drawn_together_so_that_the_model_never_learns_an_audit_item(tmp_path):
    with bemps.open_project(tmp_path / "p.bemps", create=True) as project:
        project.store.set("duplicates", "ask")
        ids = [f"{letter}{i}" for letter in "ab" for i in range(150)]
        project.add(
            data.table([f"text {i % 150}" for i in range(300)] + ["n/a"] * 100, ids=[*ids, *map(str, range(100))])
        )
        audit = project.store.audit()
        assert len(audit) == 40
        assert {id[1:] for id in audit if id[0] == "a"} == {id[1:] for id in audit if id[0] == "b"}
        assert not audit & set(map(str, range(100)))  # more than the slice has
        project.add(data.table([f" text {i} " for i in range(150)], ids=[f"c{i}" for i in range(150)]))
        audit = project.store.audit()
        assert {id[1:] for id in audit if id[0] == "c"} == {id[1:] for id in audit if id[0] == "a"}
        assert 55 <= len(audit) <= 60


@pytest.mark.parametrize(("labelled", "drawn"), [(900, 5), (500, 45), (950, 0)])
def test_the_audit_slice_is_a_share_of_what_is_still_to_label(tmp_path, labelled, drawn):
    labels = ["bug", "wish"] * (labelled // 2) + [None] * (950 - labelled)
    table = data.table([f"text {i}" for i in range(950)], labels=labels)
    with bemps.open_project(tmp_path / "p.bemps", create=True) as project:
        assert len(project.store.audit()) == 0
        project.add(table)
        assert len(project.store.audit()) == drawn
        project.tell({id: "bug" for id in project.store.ids() if id not in project.labels()})
        project.add(data.table([f"more {i}" for i in range(100)]))
        assert len(project.store.audit()) == round(0.1 * (1050 - labelled))


def test_images_that_moved_are_found_in_their_new_folder(tmp_path):
    image = pytest.importorskip("PIL.Image")
    (tmp_path / "old").mkdir()
    image.fromarray(np.zeros((8, 8, 3), np.uint8)).save(tmp_path / "old" / "one.png")
    on_the_command_line(tmp_path / "old", tmp_path / "p.bemps", ("a", "b"))
    (tmp_path / "old").rename(tmp_path / "new")
    on_the_command_line(tmp_path / "new", tmp_path / "p.bemps", None)
    assert everything(tmp_path / "p.bemps")[0]["folder"] == str(tmp_path / "new")


def test_settings_survive_the_way_to_json_and_back():
    stored = {"title": "T", "seed": 3, "sources": ["a"], "columns": [["body", "text", "content"]], "later": [1]}
    settings = ProjectSettings.from_json(stored)
    assert (settings.seed, settings.audit_share, settings.sources) == (3, 0.1, ("a",))
    assert settings.others == {"later": [1]}
    assert ProjectSettings.from_json(settings.to_json()) == settings
    assert settings.to_json().items() >= stored.items()


@pytest.mark.parametrize(
    ("name", "value"),
    [("seed", "3"), ("seed", True), ("audit_share", 2), ("title", 1), ("duplicates", "twice"), ("sources", [1])],
)
def test_a_setting_of_the_wrong_kind_is_refused_when_it_is_set_and_when_it_is_read(tmp_path, name, value):
    with pytest.raises(InputError, match=name):
        ProjectSettings.from_json({name: value})
    with bemps.open_project(tmp_path / "p.bemps", create=True) as project:
        with pytest.raises(InputError, match=name):
            project.store.set(name, value)
        assert project.settings == {}
