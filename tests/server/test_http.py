"""A real server on a real file, asked as the page asks."""

import contextlib
import os
import re
import shutil
import signal
import sys
import threading
import time
import traceback
import uuid
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
import uvicorn
from serving import CLASSES, Here, Server, eventually, write_tickets

from bemps.server.http.http_server import _Server
from bemps.store import open_store
from bemps.store.sql.database import Database


def stored(server, name="tickets.bemps"):
    store = open_store(server.folder / name)
    try:
        return {item: (answer.label or answer.kind, answer.annotator) for item, answer in store.current().items()}
    finally:
        store.close()


def test_label_skip_unsure_note_undo_redo_and_change(server):
    with server.person() as ann:
        first, second, third = ann.next(3)
        assert ann.answer(first["id"], "bug").json()["labels"] == 1
        assert ann.answer(second["id"], kind="skip").json()["labels"] == 1
        assert ann.answer(third["id"], kind="unsure", note="two topics").json()["saved"]
        assert ann.answer(first["id"], "feature").json()["labels"] == 1  # an old label changes
        assert stored(server)[first["id"]] == ("feature", "ann")
        assert ann.step("undo")["was"] == {"kind": "label", "label": "feature"}
        assert stored(server)[first["id"]] == ("bug", "ann")
        undone = ann.step("undo")
        assert (undone["was"]["kind"], undone["item"]["id"]) == ("unsure", third["id"])
        assert ann.step("undo")["was"] == {"kind": "skip", "label": None}
        assert ann.step("undo")["was"]["label"] == "bug"
        assert stored(server) == {}
        assert ann.step("undo")["item"] is None
        assert [ann.step("redo")["was"]["kind"] for _ in range(3)] == ["label", "skip", "unsure"]
        assert stored(server)[third["id"]] == ("unsure", "ann")
        assert '<b dir="auto">skipped</b> by' in ann.panel("labelled")


def test_undo_says_what_it_took_back_and_what_holds_now(server):
    with server.person() as ann, server.person("bob") as bob:
        (item,) = ann.next()
        ann.answer(item["id"], "bug")
        ann.answer(item["id"], kind="note", note="ask Eve")
        undone = ann.step("undo")
        assert (undone["was"], undone["answer"]["label"]) == ({"kind": "note", "label": None}, "bug")
        ann.answer(item["id"], "feature")
        ann.post("class/rename", old="feature", new="wish").raise_for_status()
        undone = ann.step("undo")
        assert (undone["was"], undone["answer"]["label"]) == ({"kind": "label", "label": "wish"}, "bug")
        for person, label in ((bob, "wish"), (ann, "bug")):
            shown = {"item": item["id"], "label": label, "instead_of": decision_number(server, item["id"])}
            person.post("adjudicate", **shown, request=uuid.uuid4().hex).raise_for_status()
        undone = ann.step("undo")
        assert undone["was"] == {"kind": "adjudicate", "label": "bug"}
        assert (undone["answer"]["label"], undone["decision"]["label"]) == ("bug", "wish")
        assert ann.step("redo")["was"] == {"kind": "adjudicate", "label": "bug"}


def test_a_resent_answer_is_recorded_once(server):
    with server.person() as ann:
        (item,) = ann.next()
        request = uuid.uuid4().hex
        seqs = {ann.answer(item["id"], "bug", request=request).json()["seq"] for _ in range(3)}
        assert len(seqs) == 1
        assert ann.state()["labels"] == 1


def test_items_in_the_browser_come_again_after_a_reload_and_not_while_it_has_them(server):
    with server.person() as ann:
        had = [item["id"] for item in ann.next(3)]
        assert [item["id"] for item in ann.next(3)] == had
        more = ann.next(3, have=had)
        assert len(more) == 3
        assert not {item["id"] for item in more} & set(had)


def test_nothing_is_served_twice_to_many_people_at_once(server):
    def work(number):
        with server.person(f"person {number}") as one:
            mine = []
            for _ in range(12):
                (item,) = one.next(1)
                one.answer(item["id"], CLASSES[number % 3]).raise_for_status()
                mine.append(item["id"])
            return mine

    with ThreadPoolExecutor(8) as pool:
        lists = list(pool.map(work, range(8)))
    every = [item for mine in lists for item in mine]
    assert len(set(every)) == len(every) == 96
    assert len(stored(server)) == 96


def test_nobody_goes_without_while_items_lie_on_other_shelves(tmp_path):
    write_tickets(tmp_path / "tickets.csv", [(f"text {number}", "bug") for number in range(30)])
    with Here(tmp_path) as server, server.person("quick") as quick, server.person("late") as late:
        for _ in range(12):
            (item,) = quick.next(1)
            quick.answer(item["id"], "bug").raise_for_status()
        for _ in range(18):
            (item,) = late.next(1)
            late.answer(item["id"], "bug").raise_for_status()
        assert len(stored(server)) == 30


def test_what_others_have_is_not_offered_after_a_restart(folder):
    with Server(folder) as server:
        with server.person("ann") as ann:
            held = [item["id"] for item in ann.next(4)]
        server.kill()
        server.start()
        time.sleep(1.5)  # the server has looked around once
        with server.person("ben") as ben, server.person("ann") as ann:
            assert not {item["id"] for item in ben.next(20)} & set(held)
            assert [item["id"] for item in ann.next(4)][:4] == held


def test_classes_are_added_renamed_and_given_keys(server):
    with server.person() as ann:
        (item,) = ann.next()
        ann.answer(item["id"], "bug")
        added = ann.post("class", name="praise").json()["classes"]["list"]
        assert added[-1].items() >= {"id": 3, "name": "praise", "keys": ["4"]}.items()
        assert ann.post("class", name=" ").status_code == 422
        assert ann.post("class/rename", old="praise", new="thanks ").json()["classes"]["list"][-1]["name"] == "thanks"
        assert ann.post("class", name=" urgent ").json()["classes"]["list"][-1]["name"] == "urgent"
        assert ann.post("class/rename", old="bug", new="defect").status_code == 200
        assert stored(server)[item["id"]] == ("defect", "ann")
        assert ann.post("class/key", name="defect", key="k").json()["classes"]["list"][0]["keys"] == ["k"]
        refused = ann.post("class/key", name="feature", key="u")
        assert refused.status_code == 422
        assert "undo" in refused.json()["error"]
        assert ann.post("class", name="defect").status_code == 422
        assert ann.answer(item["id"], "bug").status_code == 422  # the old name is none any more


def test_search_browse_filter_and_open(server):
    with server.person() as ann:
        items = ann.next(6)
        for item, label in zip(items, CLASSES * 2, strict=True):
            ann.answer(item["id"], label)
        ann.answer(items[0]["id"], kind="note", note="ask <b>Eve</b>")
        page = ann.panel("labelled", label="bug")
        assert "2 found" in page
        assert "&lt;b&gt;Eve" in page
        word = items[1]["text"].split()[-1].strip("?.")
        marked = items[1]["text"].replace("'", "&#39;").replace(word, f"<mark>{word}</mark>")
        assert marked in ann.panel("labelled", q=f" {word.upper()} ")
        assert "Nothing found" in ann.panel("labelled", q="no such words at all")
        told = ann.http.get("api/item", params={"id": items[0]["id"]}).json()
        assert (told["answer"]["label"], told["answer"]["note"]) == ("bug", "ask <b>Eve</b>")
        assert ann.http.get("api/item", params={"id": "nope"}).status_code == 404


def test_overlap_and_adjudication(folder):
    with Here(folder, overlap=1.0) as server, server.person("ann") as ann, server.person("ben") as ben:
        (item,) = ann.next()
        ann.answer(item["id"], "bug")
        assert ben.next(1)[0]["id"] == item["id"]
        ben.answer(item["id"], "feature")
        page = ann.panel("team")
        assert "1 disagreement" in page
        assert "Krippendorff" in page
        assert "on 1 item labelled by two or more people" in page
        assert ann.post("adjudicate", item=item["id"], label="feature", request=uuid.uuid4().hex).status_code == 200
        assert stored(server)[item["id"]][0] == "feature"
        assert "disagreement" not in ann.panel("team")


def differing(ann, ben):
    """An item that ann calls a bug and ben a feature."""
    (item,) = ann.next()
    ann.answer(item["id"], "bug")
    ben.answer(item["id"], "feature")
    return item["id"]


def test_a_decision_that_was_made_meanwhile_is_not_replaced_unseen(folder):
    with Here(folder, overlap=1.0) as server, server.person("ann") as ann, server.person("ben") as ben:
        item, request = differing(ann, ben), uuid.uuid4().hex
        for _ in range(2):  # sent again, it is the first one
            assert ann.post("adjudicate", item=item, label="bug", request=request).status_code == 200
        refused = ben.post("adjudicate", item=item, label="feature", request=uuid.uuid4().hex)
        assert refused.status_code == 422
        assert "'bug', which ann has decided meanwhile" in refused.json()["error"]
        assert stored(server)[item][0] == "bug"
        seen = {"item": item, "label": "feature", "instead_of": decision_number(server, item)}
        ann.post("class/rename", old="bug", new="defect").raise_for_status()  # it is the same decision
        old_name = {"item": item, "label": "bug", "class_id": 0, "request": uuid.uuid4().hex}
        assert ann.post("adjudicate", **old_name).status_code == 200  # once more the same
        seen["instead_of"] = decision_number(server, item)
        assert ben.post("adjudicate", **seen, request=uuid.uuid4().hex).status_code == 200
        assert stored(server)[item][0] == "feature"


def decision_number(server, item):
    return next((answer.seq for answer in server.store.answers_of(item) if answer.kind == "adjudicate"), None)


def test_a_decision_is_shown_as_one_and_any_class_can_be_decided(folder):
    with Here(folder, overlap=1.0) as server, server.person("ann") as ann, server.person("ben") as ben:
        item = differing(ann, ben)
        assert '<option value="question">' in ann.panel("team").partition("1 disagreement")[2]
        assert ann.post("adjudicate", item=item, label="question", request=uuid.uuid4().hex).status_code == 200
        decided = " ".join(ben.panel("team").partition("1 decided")[2].split())
        assert 'question</b>, decided by <span dir="auto">ann</span>' in decided
        assert f'data-act="decide" data-item="{item}" data-instead="{decision_number(server, item)}"' in decided
        assert ', decided by <span dir="auto">ann</span>' in ben.panel("labelled")
        told = ben.http.get("api/item", params={"id": item}).json()
        assert [told[which]["label"] for which in ("answer", "decision")] == ["feature", "question"]


def test_three_answers_to_every_item_and_what_most_say_counts(folder):
    names = ("ann", "ben", "cem", "dan")
    with Here(folder, overlap=1.0, answers=3) as server, contextlib.ExitStack() as open_people:
        ann, ben, cem, dan = [open_people.enter_context(server.person(name)) for name in names]
        (item,) = ann.next()
        ann.answer(item["id"], "bug")
        assert ben.next()[0]["id"] == item["id"]
        assert cem.next()[0]["id"] == item["id"]  # while ben has it: nobody waits for the second answer
        assert dan.next()[0]["id"] != item["id"]
        ben.answer(item["id"], "feature")
        cem.answer(item["id"], "feature")
        assert stored(server)[item["id"]][0] == "feature"
        page = ann.panel("team")
        assert "1 disagreement" in page
        assert page.count('data-act="adjudicate"') == 2  # one button for each label, not for each person
        assert "feature (2 people)" in page
        assert "ben" in page.partition("Cohen")[0]
        assert page.count("Cohen") == 3
        assert ann.post("settings", values={"answers_per_item": "4"}).status_code == 200
        assert eventually(lambda: item["id"] in [offered["id"] for offered in dan.next(20)])


def test_labels_can_be_downloaded(server):
    with server.person("eve") as eve:
        (item,) = eve.next()
        eve.answer(item["id"], "bug")
        answer = eve.http.get("export", params={"format": "csv"})
        assert "attachment" in answer.headers["content-disposition"]
        header, row = answer.text.splitlines()
        assert header == "body,topic,id,text,label,annotator,time"  # the columns of the file come first
        assert item["id"] in row
        assert ",bug,eve," in row
        assert eve.http.get("export", params={"format": "../x"}).status_code == 422


def test_everything_answered_ends_the_work(tmp_path):
    write_tickets(tmp_path / "tickets.csv", [("one", "bug"), ("two", "bug"), ("three", "bug")])
    with Here(tmp_path) as server, server.person() as ann:
        for _ in range(3):
            (item,) = ann.next()
            ann.answer(item["id"], "bug").raise_for_status()
        told = ann.post("next", n=3, have=[]).json()
        assert (told["items"], told["left"]) == ([], 0)


def test_the_end_is_not_told_before_it_is_there_and_an_empty_name_is_said(server):
    with server.person() as ann:
        page = ann.panel("end")
        assert "Everything is answered" not in page
        assert "240 items are not answered yet" in page
        for path, body in (("class", {"name": ""}), ("name", {"name": ""})):
            told = ann.post(path, **body)
            assert told.status_code == 422
            assert told.json() == {"error": "Name: expected a text; got nothing.", "fix": "Write something."}


def test_a_second_server_on_the_same_file_leads_to_the_page_of_the_first(folder):
    with Server(folder) as first:
        (folder / "second").mkdir()
        second = Server(folder / "second", data="../tickets.bemps", classes=None)
        assert second.url == first.url
        assert second.process.wait(30) == 0
        assert "that server is running already" in second.said
        assert httpx.get(first.base, trust_env=False).status_code == 200
        second.output.close()
    assert "Stopped. Everything is saved in tickets.bemps." in first.said


def test_a_second_server_refuses_and_names_the_first_where_that_does_not_answer(folder):
    with Here(folder) as server, server.store.serving("http://127.0.0.1:9/"):
        words = f"no other server on it; got one that is running: process {os.getpid()}"
        (folder / "second").mkdir()
        with pytest.raises(RuntimeError, match=words):
            Server(folder / "second", data="../tickets.bemps", classes=None)


def test_a_notebook_beside_the_page_is_seen(server):
    store = open_store(server.folder / "tickets.bemps")
    with server.person() as ann:
        (item,) = ann.next()
        other = next(name for name in store.ids() if name != item["id"])
        store.answer("notebook", other, "label", "bug")
        store.close()
        assert eventually(lambda: ann.state()["labels"] == 1)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_however_a_server_is_ended_the_project_is_one_file(tmp_path, name):
    write_tickets(tmp_path / "tickets.csv")
    with Server(tmp_path) as server:
        with server.person() as ann:
            for item in ann.next(5):
                ann.answer(item["id"], "bug").raise_for_status()
        server.process.send_signal(getattr(signal, name))
        server.process.wait(30)
    assert not (tmp_path / "tickets.bemps-wal").exists()
    (tmp_path / "copy").mkdir()
    shutil.copy(tmp_path / "tickets.bemps", tmp_path / "copy" / "tickets.bemps")
    with open_store(tmp_path / "copy" / "tickets.bemps") as store:
        assert len(store.current()) == 5


def test_ctrl_c_pressed_twice_still_closes_the_project():
    server = _Server(uvicorn.Config(app=""), lambda: None)
    for _ in range(2):
        server.handle_exit(signal.SIGINT, None)
    assert server.should_exit
    assert not server.force_exit  # uvicorn would leave the project open, with a traceback


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not rename a file that is open")
def test_an_answer_is_refused_while_the_file_is_away_and_taken_when_it_is_back(server):
    path = server.folder / "tickets.bemps"
    with server.person() as ann:
        item = ann.next()[0]["id"]
        path.rename(path.with_name("away"))
        reply = ann.answer(item, "bug", request="a" * 32)
        assert reply.status_code == 507
        assert "file is gone" in reply.json()["error"]
        path.with_name("away").rename(path)
        assert ann.answer(item, "bug", request="a" * 32).status_code == 200


def newcomer(server):
    return httpx.Client(base_url=server.base, timeout=60, trust_env=False)


def test_a_name_that_somebody_has_is_taken_only_after_a_yes(server):
    with server.person("Ann") as ann, newcomer(server) as other:
        assert other.post("api/name", json={"name": "bob"}).json() == {"name": "bob"}
        ann.answer(ann.next()[0]["id"], "bug").raise_for_status()
        asked = other.post("api/name", json={"name": "ann"})
        assert asked.json()["name"] == "Ann"
        assert asked.json()["question"].startswith("Ann labels here right now. Is that you?")
        assert "set-cookie" not in asked.headers
        confirmed = other.post("api/name", json={"name": "Ann", "is_confirmed": True})
        assert confirmed.json() == {"name": "Ann"}
        assert "bemps_name" in confirmed.headers["set-cookie"]
        assert other.post("api/name", json={"name": "Ann"}).json() == {"name": "Ann"}  # it is theirs now


def test_a_name_of_an_earlier_day_is_asked_about_too(server):
    first, second = server.store.ids()[:2]
    server.store.answer("Ann", first, "label", "bug")
    server.store.lease("eve", [second], 1, 60.0)  # at another server
    with newcomer(server) as other:
        question = other.post("api/name", json={"name": "Ann"}).json()["question"]
        assert question.startswith("Ann has answered 1 item here. Is that you?")
        assert "eve has items in hand here." in other.post("api/name", json={"name": "eve"}).json()["question"]
        assert "question" not in other.post("api/name", json={"name": "Anna"}).json()


def test_no_panel_reads_the_project_on_the_event_loop(server, monkeypatch):
    """Who labels would wait for it."""
    on_loop, reading = [], Database.reading

    def noted(database):
        if threading.current_thread() is server.thread:
            on_loop.append(traceback.format_stack(limit=8))
        return reading(database)

    monkeypatch.setattr(Database, "reading", noted)
    with server.person() as ann:
        (item,) = ann.next()
        ann.answer(item["id"], "bug").raise_for_status()
        panels = re.findall(r'data-panel="([a-z]+)"', ann.http.get("").text)
        assert len(panels) > 8
        for name in {*panels, "end", "errors", "list", "suggestions"}:
            ann.panel(name, item=item["id"])
    assert on_loop == []


def test_a_guess_that_nobody_asked_for_is_not_looked_for(server, monkeypatch):
    looked = []

    async def look(item):
        looked.append(item)
        return {}

    monkeypatch.setattr(server.engine.answers, "look", look)
    server.engine.model_status.ready = True
    with server.person() as ann:
        name = next(item["id"] for item in ann.next(20) if item["id"] not in server.store.audit())
        server.engine.model_status.about[name] = {"near": [], "others": []}
        ann.panel("why", item=name)
        assert looked == []
        ann.panel("why", item=name, guess=name)
        assert looked == [name]
