"""Projects are deleted on the page of projects, and come back whole."""

import os
import re

import pytest
from browsing import Visitor, browser_of
from serving import ProjectsHere, write_tickets
from test_page import violations

from bemps import InputError
from bemps.server.project_start import Source, Wishes, prepared
from bemps.server.projects.deleted_projects import DeletedProjects
from bemps.server.projects.project_folder import ProjectFolder
from bemps.store import open_store
from bemps.store.sql.server_lock import AlreadyServed


@pytest.fixture(scope="module")
def browser(chromium):
    with browser_of(chromium) as found:
        yield found


@pytest.fixture
def projects(tmp_path):
    folder = tmp_path / "projects"
    folder.mkdir()
    return folder


def make(folder, name):
    """A project with one label, in a folder of its own as the page makes it where the name has one."""
    path = folder / name
    files = path.parent / "files" if path.parent != folder else folder.parent
    files.mkdir(parents=True, exist_ok=True)
    write_tickets(files / "tickets.csv")
    source = Source(files / "tickets.csv", {"text": "body"})
    store, _ = prepared(str(path), source, Wishes(classes=("bug", "wish"), model="none"))
    with store:
        store.answer("ann", store.ids()[0], "label", "bug")
    return path


def everything(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


@pytest.mark.parametrize("name", ["tickets.bemps", "tickets/tickets.bemps", "mine/tickets.bemps"])
def test_a_project_is_moved_with_what_belongs_to_it_and_back(projects, name):
    path = make(projects, name)
    (projects / f"{name}.vectors").mkdir()
    if name.startswith("mine"):
        (path.parent / "report.docx").write_text("my own")
    before, deleted = everything(projects), DeletedProjects(projects)
    gone = deleted.delete(path)
    assert not path.exists()
    assert ProjectFolder(projects).projects() == []
    assert [each.name for each in deleted.listed()] == [name]
    assert (projects / "tickets").exists() is False
    assert (projects / "mine" / "report.docx").exists() is name.startswith("mine")
    assert deleted.restore(gone.id) == path
    assert [each for each in everything(projects) if not each.endswith(".lock")] == sorted([*before, "deleted"])
    with open_store(path) as store:
        assert len(store.answers()) == 1
    assert deleted.listed() == []


def test_a_project_that_a_server_has_open_stays(projects):
    path = make(projects, "tickets/tickets.bemps")
    with open_store(path) as store, store.serving("http://elsewhere/"), pytest.raises(AlreadyServed, match="elsewhere"):
        DeletedProjects(projects).delete(path)
    assert path.exists()
    assert DeletedProjects(projects).listed() == []


def test_an_old_place_that_is_taken_and_names_from_outside_are_refused(projects):
    deleted = DeletedProjects(projects)
    gone = deleted.delete(make(projects, "tickets.bemps"))
    make(projects, "tickets.bemps")
    with pytest.raises(InputError, match="another project at tickets"):
        deleted.restore(gone.id)
    again = deleted.delete(projects / "tickets.bemps")
    assert again.id != gone.id
    for id in ("..", "../tickets", gone.id + "/..", "20261118-130000-none"):
        with pytest.raises(InputError, match="one of the list"):
            deleted.restore(id)
    (projects / "deleted" / "99999999-999999-x").mkdir()
    assert len(deleted.listed()) == 2


def test_a_damaged_file_can_be_deleted_and_nothing_is_half_moved(projects, monkeypatch):
    damaged = projects / "damaged.bemps"
    damaged.write_text("no project")
    assert DeletedProjects(projects).delete(damaged).name == "damaged.bemps"
    path = make(projects, "tickets.bemps")
    (projects / "tickets.bemps.vectors").mkdir()
    import os

    rename = os.rename

    def refuse_the_second(source, target):
        if str(source).endswith(".vectors"):
            raise PermissionError(13, "Permission denied")
        rename(source, target)

    monkeypatch.setattr(os, "rename", refuse_the_second)
    with pytest.raises(InputError, match="Permission denied"):
        DeletedProjects(projects).delete(path)
    assert path.exists()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_deleting_asks_by_name_and_can_be_undone(projects, browser, scheme, width):
    make(projects, "tickets/tickets.bemps")
    options = {"color_scheme": scheme, "viewport": {"width": width, "height": 800}}
    with ProjectsHere(projects) as server, Visitor(browser, server.base, **options) as ann:
        page = ann.page
        page.click("a.project")
        ann.ready()
        ann.label("1")
        ann.saved()
        page.goto(server.base)
        ann.ready()
        page.focus("[data-delete]")
        page.keyboard.press("Enter")
        ann.sees("#confirm-title", "Delete “tickets”?")
        ann.sees("#confirm-words", "Its 2 labels and 240 items (tickets/tickets.bemps) go to the folder “deleted”")
        ann.sees("#confirm-words", "They stay there until you remove them, and you can restore the project here.")
        assert violations(page) == []
        page.keyboard.press("Escape")
        page.wait_for_selector("#confirm", state="hidden")
        assert page.evaluate("document.activeElement.dataset.title") == "tickets"
        page.keyboard.press("Enter")
        page.keyboard.press("Enter")  # the focus is on Keep it
        page.wait_for_selector("#confirm", state="hidden")
        assert page.locator("a.project").count() == 1
        page.click("[data-delete]")
        page.click("#confirm .primary")
        ann.sees("#undo", "“tickets” was deleted.")
        assert page.locator("a.project").count() == 0
        assert not (projects / "tickets").exists()
        page.keyboard.press("Enter")  # Restore it has the focus
        ann.sees("#undo", "tickets/tickets.bemps is back, with all its labels.")
        page.click("[data-delete]")
        page.click("#confirm .primary")
        ann.sees("#undo", "“tickets” was deleted. It is under Deleted projects")
        ann.reload()
        assert page.locator("#undo:visible").count() == 0
        page.click("#deleted summary")
        ann.sees("#deleted", f"{projects}{os.sep}deleted, and stay until you remove them from that folder.")
        assert violations(page) == []
        page.click("[data-restore]")
        ann.sees("#undo", "is back")
        page.click("a.project")
        ann.ready()
        ann.sees("#count", "2")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert not ann.errors


def test_an_answer_to_a_project_that_was_deleted_meanwhile_is_saved_when_it_is_restored(projects, browser):
    path = make(projects, "tickets/tickets.bemps")
    with ProjectsHere(projects) as server, Visitor(browser, server.base) as ann, server.web() as web:
        ann.page.click("a.project")
        ann.page.wait_for_url("**/p/*/")
        ann.ready()
        key = ann.page.url.rstrip("/").rpartition("/")[2]
        gone = web.post("api/projects/delete", json={"key": key}).raise_for_status().json()
        item, _ = ann.label("2")
        ann.sees(
            "#banner",
            "1 answer not saved yet: This project was deleted or moved. Restore it under Deleted projects, "
            "on the page of projects. Kept in this browser",
        )
        web.post("api/projects/restore", json={"id": gone["id"]}).raise_for_status()
        ann.saved("wish · saved")
    with open_store(path) as store:
        assert store.current()[item].label == "wish"


def test_a_project_of_another_server_is_refused_through_the_page(projects):
    path = make(projects, "tickets/tickets.bemps")
    with ProjectsHere(projects) as server, server.web() as web, open_store(path) as store:
        key = ProjectFolder(projects).key_of(path)
        with store.serving("http://127.0.0.1:9/"):
            refused = web.post("api/projects/delete", json={"key": key})
            assert refused.status_code >= 400
            assert "one that is running" in refused.text
        assert web.post("api/projects/delete", json={"key": "0" * 12}).status_code == 410
        store.close()
        assert web.post("api/projects/delete", json={"key": key}).is_success
        gone, never = web.get(f"p/{key}/"), web.get("p/nope/")
        assert (gone.status_code, never.status_code) == (410, 410)  # a browser keeps its answers in both cases
        assert "This project was deleted or moved." in gone.text
        assert "There is no project at this address. Choose one" in " ".join(re.sub("<.*?>", " ", never.text).split())
