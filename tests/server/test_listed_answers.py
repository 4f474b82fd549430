"""Many items labelled at once: what may be in a list, one undo for all of it, and what the page and exports say."""

import csv
import json
import re

import pytest
from serving import Here, write_tickets

from bemps.formats.format_registry import FORMATS
from bemps.project.exporting import export_events
from bemps.store import NewAnswer


def record_list(server, items, label="bug", annotator="ann"):
    """As a notebook beside the page would."""
    answers = [NewAnswer(annotator, item, "label", label, method="listed", action="list1") for item in items]
    return server.store.record(answers)


def labels(server):
    return {item: answer.label for item, answer in server.store.current().items()}


@pytest.mark.usefixtures("either_store")
def test_one_undo_and_one_redo_of_an_action_over_http(server):
    with server.person("ann") as ann, server.person("bob") as bob:
        items = [item["id"] for item in ann.next(3)]
        others = [item["id"] for item in bob.next(2)]
        record_list(server, items)
        bob.answer(others[0], "feature")
        undone = ann.step("undo", "u" * 8)
        assert (undone["item"], undone["was"]["label"], sorted(undone["items"])) == (None, "bug", sorted(items))
        assert labels(server) == {others[0]: "feature"}
        assert ann.step("undo", "u" * 8) == undone
        redone = ann.step("redo")
        assert redone["items"] == items
        assert redone["labels"] == 4
        assert ann.step("redo")["item"] is None
        assert labels(server) == dict.fromkeys(items, "bug") | {others[0]: "feature"}
        assert server.engine.queue_of("ann").pace == 0  # three answers in a moment are not a speed


def send(person, items, label="bug", request="r" * 12):
    return person.post("list", items=items, label=label, request=request)


def listed_in(html):
    return re.findall(r'name="item" value="([^"]+)"', html)


@pytest.mark.usefixtures("either_store")
def test_the_hits_of_a_search_without_what_measures_and_what_others_have(folder):
    with Here(folder, audit=0.2) as server, server.person("ann") as ann, server.person("bob") as bob:
        hits = {item.id for item in server.store.items() if "crashes" in item.content}
        audit = hits & server.store.audit()
        his = hits - audit
        answered, leased = sorted(his)[:2], sorted(his)[2:5]
        for item in answered:
            bob.answer(item, "feature")
        server.store.lease("bob", leased, 3, 60)
        html = ann.panel("list", source="search", q="crashes", state="unanswered")
        assert set(listed_in(html)) == his - {*answered, *leased}
        assert html.count(" checked>") == len(his) - 5
        assert f"{len(hits) - 2} unanswered items with “crashes”." in html
        assert f"Left out: {len(audit)} measure accuracy, 3 are in the hands of somebody else." in html
        every = ann.panel("list", source="search", q="crashes", state="labelled")
        assert "2 were answered by somebody else" in every
        assert listed_in(every) == []


@pytest.mark.usefixtures("either_store")
def test_a_list_is_labelled_once_however_often_it_is_sent(server):
    with server.person("ann") as ann:
        mine = [item["id"] for item in ann.next(4)]
        items = [*mine, *[item for item in server.store.ids() if item not in server.store.audit() | {*mine}][:6]]
        first = send(ann, items).raise_for_status().json()
        assert (first["items"], first["left_out"], first["labels"]) == (items, "", 10)
        again = send(ann, items).raise_for_status().json()
        assert again["items"] == items
        assert server.engine.labels == 10
        assert not {*items} & server.engine.queue_of("ann").out()
        assert {event.method for event in server.store.events() if event.kind == "label"} == {"listed"}
        assert len(ann.step("undo")["items"]) == 10
        assert labels(server) == {}


@pytest.mark.usefixtures("either_store")
def test_items_that_were_taken_meanwhile_are_left_out_and_said(server):
    with server.person("ann") as ann, server.person("bob") as bob:
        free = [item for item in server.store.ids() if item not in server.store.audit()][:5]
        bob.answer(free[0], "feature")
        done = send(ann, free).json()
        assert done["items"] == free[1:]
        assert done["left_out"] == "Left out: 1 was answered by somebody else."
        audit = sorted(server.store.audit())[:2]
        none = send(ann, audit, request="s" * 12).json()
        assert (none["items"], none["left_out"]) == ([], "Left out: 2 measure accuracy.")
        assert not server.store.audit() & server.store.current().keys()


@pytest.mark.usefixtures("either_store")
def test_own_labels_can_be_changed_at_once(server):
    with server.person("ann") as ann:
        items = [item["id"] for item in ann.next(4)]
        items = [item for item in items if item not in server.store.audit()]
        for item in items:
            ann.answer(item, "feature")
        html = ann.panel("list", source="search", state="labelled", label="feature")
        assert set(listed_in(html)) == {*items}
        assert html.count("your answer:") == len(items)
        send(ann, items, "bug")
        assert set(labels(server).values()) == {"bug"}
        assert ann.step("undo")["was"]["label"] == "bug"
        assert set(labels(server).values()) == {"feature"}


@pytest.mark.parametrize(
    "body",
    [
        {"items": [], "label": "bug", "request": "r" * 12},
        {"items": ["x"] * 501, "label": "bug", "request": "r" * 12},
        {"items": ["nowhere"], "label": "bug", "request": "r" * 12},
        {"items": ["a"], "label": "", "request": "r" * 12},
        {"items": ["a"], "label": "bug", "request": "r"},
    ],
)
def test_lists_that_cannot_be_are_refused(shared, body):
    with shared.person("ann") as ann:
        answer = ann.post("list", **body)
        assert answer.status_code in (400, 404, 422)
        assert answer.json()["error"]


@pytest.mark.usefixtures("either_store")
def test_the_most_that_a_list_holds_is_said(tmp_path):
    write_tickets(tmp_path / "tickets.csv", [(f"Text number {number}.", "x") for number in range(620)])
    with Here(tmp_path, audit=0.0) as server, server.person("ann") as ann:
        html = ann.panel("list", source="search", state="unanswered")
        assert len(listed_in(html)) == 500
        assert "Left out: 120 more are beyond the size of this list." in html
        send(ann, listed_in(html)).raise_for_status()
        assert server.engine.labels == 500
        assert len(listed_in(ann.panel("list", source="search", state="unanswered"))) == 120


def test_a_project_without_a_model_says_so(shared):
    with shared.person("ann") as ann:
        free = next(item for item in shared.store.ids() if item not in shared.store.audit())
        audited = sorted(shared.store.audit())[0]
        assert "has no model" in ann.panel("list", source="alike", item=free)
        assert "measures accuracy" in ann.panel("list", source="alike", item=audited)
        assert "measures accuracy" in ann.panel("list", source="represented", item=audited)


@pytest.mark.usefixtures("either_store")
def test_exports_say_which_answers_were_listed(server, tmp_path):
    with server.person("ann") as ann:
        first, *rest = [item for item in server.store.ids() if item not in server.store.audit()][:4]
        ann.answer(first, "feature")
        assert "method" not in ann.http.get("export?format=csv").text.splitlines()[0]
        send(ann, rest)
        rows = list(csv.DictReader(ann.http.get("export?format=csv").text.splitlines()))
        assert {row["id"]: row["method"] for row in rows} == {first: ""} | dict.fromkeys(rest, "listed")
        lines = [json.loads(line) for line in ann.http.get("export?format=jsonl").text.splitlines()]
        assert {line["id"]: line["method"] for line in lines} == {first: None} | dict.fromkeys(rest, "listed")
        path = tmp_path / "labels.csv"
        path.write_text(ann.http.get("export?format=csv").text)
        entry = next(iter(FORMATS["csv"].read(path)))
        assert "method" not in entry.columns
        export_events(server.store, tmp_path / "log.csv")
        log = list(csv.DictReader((tmp_path / "log.csv").read_text().splitlines()))
        assert {row["action"] for row in log if row["method"] == "listed"} == {"r" * 12}


@pytest.mark.usefixtures("either_store")
def test_a_hidden_class_is_not_offered_for_a_list_nor_looked_for(server):
    with server.person("ann") as ann:
        free = [item for item in server.store.ids() if item not in server.store.audit()][:4]
        sent = send(ann, free[:2], "bug").json()
        server.store.change_class("bug", "ann", is_hidden=True)
        with server.person("bob") as bob:
            bob.post("class", name="praise")  # the page reads the classes anew
        html = ann.panel("list", source="search", state="unanswered")
        assert 'data-label="feature"' in html
        assert 'data-label="bug"' not in html
        refused = send(ann, free[2:], "bug", request="h" * 12)
        assert refused.status_code == 422
        assert "hidden" in refused.json()["error"]
        assert send(ann, free[:2], "bug").json()["items"] == sent["items"]  # what was saved before
        assert ann.post("class/search", label="bug").status_code == 422


@pytest.mark.usefixtures("either_store")
def test_items_in_the_share_of_somebody_else_are_left_out(tmp_path):
    rows = [["body", "region"], *([f"Text {row}", "north" if row % 3 else "south"] for row in range(12))]
    with (tmp_path / "tickets.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    wishes = {"assign_by": "region", "assigned_to": {"north": ["ann"], "south": ["cem"]}}
    with Here(tmp_path, audit=0.0, **wishes) as server, server.person("ann") as ann:
        html = ann.panel("list", source="search", state="unanswered")
        assert len(listed_in(html)) == 8
        assert "Left out: 4 are in the share of somebody else." in html
