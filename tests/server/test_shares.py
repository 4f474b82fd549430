"""Each person gets the items of their own share, by a column of the file."""

import csv
from contextlib import ExitStack

import pytest
from browsing import Visitor, browser_of
from serving import Here, eventually, tickets

from bemps import InputError
from bemps.server.project_start import Source, Wishes, prepared

REGIONS = ("north", "south", "")


@pytest.fixture(scope="module")
def browser(chromium):
    with browser_of(chromium) as opened:
        yield opened


@pytest.fixture
def folder(tmp_path):
    """Thirty tickets: a third of the north, a third of the south, a third of nobody."""
    with (tmp_path / "tickets.csv").open("w", newline="", encoding="utf-8") as file:
        rows = [(text, REGIONS[number % 3]) for number, (text, _) in enumerate(tickets(30))]
        csv.writer(file).writerows([("body", "region"), *rows])
    return tmp_path


def regions(server, items):
    return [item.columns["region"] or "" for item in server.store.items(items)]


def everything(person):
    """All that a person is asked, each labelled, until nothing comes any more."""
    asked = []
    while items := person.next():
        person.answer(items[0]["id"], "bug")
        asked.append(items[0]["id"])
    return asked


@pytest.mark.usefixtures("either_store")
def test_a_person_gets_their_share_and_what_is_for_everybody(folder):
    wishes = {"assign_by": "region", "assigned_to": {"north": ["Ann", "ben"], "south": ["cem"]}}
    with Here(folder, audit=0.2, **wishes) as server, server.person("ann") as ann, server.person("cem") as cem:
        with server.person("ben") as ben:
            assert set(regions(server, [item["id"] for item in ben.next(4)])) <= {"north", ""}
            reply = ben.post("next", n=0).json()
            assert (reply["left"], reply["others"]) == (20, 30)
            ben.post("next", n=0, back=[item["id"] for item in ben.next(4)])
        first = everything(ann)
        assert set(regions(server, first)) == {"north", ""}
        assert "Everything of yours is answered" in ann.panel("end")
        assert "left for other people" in ann.panel("end")
        rest = everything(cem)
        assert set(regions(server, rest)) == {"south"}
        assert len({*first, *rest}) + len(server.engine.lending.out()) == 30
        assert ann.post("next", n=1).json()["left"] == 0


@pytest.mark.usefixtures("either_store")
def test_items_for_three_people_get_three_answers_and_people_of_their_share_come_first(folder):
    wishes = {"assign_by": "region", "assigned_to": {"north": ["ann"], "south": ["cem", "dan", "eve"]}}
    with Here(folder, audit=0.0, overlap=1.0, answers=3, **wishes) as server, ExitStack() as stack:
        people = {name: stack.enter_context(server.person(name)) for name in ("ben", "cem", "dan", "eve", "ann")}
        asked = {name: [] for name in people}
        for turn in range(3):
            for name, person in people.items():
                asked[name] += everything(person)
                if turn == 0 and name == "cem":
                    assert "Everything of yours is answered" in person.panel("end")
                    assert "20 items wait for the answer of another person" in person.panel("end")
                if turn == 0 and name != "ann":
                    assert "north" not in regions(server, asked[name])
        by_region = {
            region: {
                tuple(sorted(answer.annotator for answer in server.store.answers_of(item)))
                for item in server.store.ids()
                if regions(server, [item]) == [region]
            }
            for region in REGIONS
        }
        assert by_region["south"] == {("cem", "dan", "eve")}
        assert all("ann" in names and len(names) == 3 for names in by_region["north"])
        assert all(len(names) == 3 for names in by_region[""])
        assert "wait" not in people["ann"].panel("end")
        assert "Everything is answered" in people["ann"].panel("end")


@pytest.mark.usefixtures("either_store")
def test_with_shares_people_do_not_take_each_others_queues(folder):
    wishes = {"assign_by": "region", "assigned_to": {"north": ["ann"], "south": ["cem"]}}
    with Here(folder, audit=0.0, **wishes) as server, server.person("ann") as ann, server.person("cem") as cem:
        assert ann.next()
        assert cem.next()
        everything(ann)
        ready = len(server.engine.queues["cem"].ready)
        assert ready
        assert ann.next() == []
        assert len(server.engine.queues["cem"].ready) == ready


def test_a_value_is_the_same_in_upper_and_lower_case_and_one_that_no_item_has_is_said(folder):
    wishes = Wishes(
        classes=("bug", "feature"), model="none", assign_by="region", assigned_to={"North": ["ann"], "suoth": ["ben"]}
    )
    store, notes = prepared(str(folder / "p.bemps"), Source(folder / "tickets.csv", {"text": "body"}), wishes)
    assert store.assignment().people("north") == ["ann"]
    assert [note for note in notes if "region" in note] == [
        "No item has 'suoth' in column 'region'. Its values: north, south."
    ]
    store.close()


def test_that_a_share_has_too_few_people_for_the_answers_is_said(folder):
    people = {"north": ["ann"], "south": ["ann", "ben", "cem"]}
    wishes = {"model": "none", "assign_by": "region", "assigned_to": people}
    source = Source(folder / "tickets.csv", {"text": "body"})
    store, notes = prepared(str(folder / "p.bemps"), source, Wishes(classes=("bug", "feature"), **wishes))
    assert not any("others are asked" in note for note in notes)
    store.close()
    store, notes = prepared(str(folder / "p.bemps"), None, Wishes(overlap=0.5, answers=3))
    assert [note for note in notes if "others are asked" in note] == [
        "3 people label some items, and 'north' has fewer in column 'region': others are asked too, after one of its "
        "own people. To ask nobody else, name more: --assign VALUE=NAMES."
    ]
    store.close()


def test_what_cannot_be_assigned_is_refused_before_anything_is_made(folder):
    source = Source(folder / "tickets.csv", {"text": "body"})
    for wishes, words in (
        ({"assign_by": "regoin"}, "one of body, region"),
        ({"assigned_to": {"north": ["ann"]}}, "--assign-by region"),
    ):
        with pytest.raises(InputError, match=words):
            prepared(str(folder / "x.bemps"), source, Wishes(classes=("a", "b"), **wishes))
        assert not (folder / "x.bemps").exists()


def test_shares_that_another_server_saved_just_before_stay(folder, monkeypatch):
    with Here(folder, audit=0.0, assign_by="region") as server, server.person("ann") as ann:
        run = server.engine.writer.run

        async def run_after_others(write):
            server.store.set("assigned_to", {"south": ["cem"]})
            return await run(write)

        monkeypatch.setattr(server.engine.writer, "run", run_after_others)
        ann.post("assignment", people={"north": "ann"}, seen={"people": {"north": "north"}}).raise_for_status()
        monkeypatch.undo()
        assert server.store.read_settings().assigned_to == {"north": ["ann"], "south": ["cem"]}
        refused = ann.post("assignment", people={"south": "ann"}, seen={"people": {"south": "south"}})
        assert refused.status_code == 422
        assert refused.json()["present"] == {"people of south": "cem"}
        refused = ann.post("assignment", column="", seen={"column": "body"})
        assert refused.json()["present"] == {"column": "region"}
        ann.post("assignment", people={"south": "ann"}, seen={"people": {"south": "cem"}}).raise_for_status()
        assert server.store.read_settings().assigned_to == {"north": ["ann"], "south": ["ann"]}


@pytest.mark.parametrize("width", [1280, 390])
def test_shares_are_set_under_team(folder, browser, width):
    with (
        Here(folder, audit=0.0) as server,
        Visitor(browser, server.base, "ann", viewport={"width": width, "height": 800}) as ann,
    ):
        ann.panel("team")
        ann.page.select_option("#assign-column", "region")
        ann.page.click("[data-act=assign-by] button")
        ann.sees("#panel", "10 of 10 left")
        assert ann.page.input_value("#assign-0") == "north"
        ann.page.fill("#assign-0", "ann, ben")
        ann.page.fill("#assign-1", "cem")
        ann.page.press("#assign-1", "Enter")
        ann.sees("#assign-saved", "Saved.")
        assert ann.page.evaluate("document.documentElement.scrollWidth") <= width
        assert server.store.read_settings().assigned_to == {"north": ["ann", "ben"], "south": ["cem"]}
        ann.sees("#panel", "No answer yet: cem")
        ann.page.click("#panel-close")
        with server.person("cem") as cem:
            assert eventually(lambda: set(regions(server, [item["id"] for item in cem.next(9)])) == {"south", ""})
        assert ann.errors == []
