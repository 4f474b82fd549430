"""Ask me later: the item comes again after some others, or at the end, also after a restart."""

import json
import re

import pytest
from browsing import Visitor, browser_of
from serving import Here, eventually, write_tickets

from bemps.server.queue.schedule import POSTPONED_BY


@pytest.fixture(scope="module")
def browser(chromium):
    with browser_of(chromium) as opened:
        yield opened


def labelled(person, count):
    """The ids of the next items, each labelled."""
    items = []
    for _ in range(count):
        (item,) = person.next()
        person.answer(item["id"], "bug")
        items.append(item["id"])
    return items


@pytest.mark.usefixtures("either_store")
def test_an_item_comes_again_after_some_others_for_its_person_also_after_a_restart(folder):
    with Here(folder) as server, server.person("ann") as ann:
        (first,) = ann.next()
        assert ann.answer(first["id"], kind="later").status_code == 200
        assert first["id"] not in labelled(ann, POSTPONED_BY // 2)
    with Here(folder, data=None, classes=None) as server, server.person("ann") as ann:
        assert "items that I put off" in ann.panel("review", kind="later")
        assert first["text"].split()[-1].strip("?.") in ann.panel("review", kind="later")
        rest = labelled(ann, 4 * POSTPONED_BY)  # nobody is as quick as this test: it has many items ahead
        assert rest.index(first["id"]) >= POSTPONED_BY // 2 - 4


@pytest.mark.usefixtures("either_store")
def test_it_may_go_to_somebody_else_and_an_audit_item_stays_asked(folder):
    with Here(folder, audit=0.9) as server, server.person("ann") as ann, server.person("ben") as ben:
        audit = server.store.audit()
        item = next(offered["id"] for offered in ann.next(20) if offered["id"] in audit)
        ann.answer(item, kind="later")
        assert item in server.store.audit()

        def reaches_ben():  # a busy server may have nothing to hand out for a moment
            offered = [each["id"] for each in ben.next(20)]
            for each in offered:
                ben.answer(each, "bug")
            return item in offered

        assert eventually(reaches_ben)
        assert item not in [offered["id"] for offered in ann.next(20)]


@pytest.mark.usefixtures("either_store")
def test_at_the_end_only_those_for_later_are_left_and_undo_says_what_it_took_back(tmp_path):
    write_tickets(tmp_path / "tickets.csv", [("one", "bug"), ("two", "bug")])
    with Here(tmp_path, audit=0.0) as server, server.person("ann") as ann:
        (first,) = ann.next()
        ann.answer(first["id"], kind="later")
        (second,) = ann.next()
        assert second["id"] != first["id"]
        ann.answer(second["id"], "bug")
        (again,) = ann.next()
        assert (again["id"], again["later"]) == (first["id"], True)
        ann.answer(again["id"], kind="later")
        assert ann.step("undo")["was"]["kind"] == "later"
        assert ann.step("redo")["was"]["kind"] == "later"
        assert ann.next()[0]["id"] == first["id"]
        ann.answer(first["id"], "bug")
        assert ann.next() == []
        assert ann.answer(first["id"], kind="later", note="hm").status_code == 422


def test_what_the_page_begins_with_is_what_it_hears_later(folder):
    with Here(folder) as server, server.person("ann") as ann:
        (script,) = re.findall('<script type="application/json" id="project">(.*?)</script>', ann.http.get("").text)
        page, state = json.loads(script), ann.state()
        for part in ("settings", "classes"):  # compared as text, in the order of their names
            assert json.dumps(page[part]) == json.dumps(state[part])


@pytest.mark.parametrize("width", [1280, 390])
def test_later_by_key_and_by_button(folder, browser, width):
    with Here(folder) as server, Visitor(browser, server.base, "ann", viewport={"width": width, "height": 800}) as ann:
        first, _ = ann.label(".")
        ann.saved("later · saved")
        second, _ = ann.item()
        ann.page.click("[data-do=later]")
        ann.page.wait_for_function("id => document.querySelector('#content').dataset.item !== id", arg=second)
        ann.saved()
        ann.press("u")
        ann.page.wait_for_function("id => document.querySelector('#content').dataset.item === id", arg=second)
        ann.saved("Taken back: you put this item off.")
        assert set(server.store.postponed()["ann"]) == {first}
        assert ann.page.evaluate("document.documentElement.scrollWidth") <= width
        seen = [ann.label("1")[0] for _ in range(10)]
        items_again = ann.page.expect_response(lambda response: response.url.endswith("api/items"))
        with items_again, server.person("ben") as ben:  # the item waits in the browser, and is made anew there
            assert ben.post("settings", values={"markdown": "yes"}).status_code == 200
        while ann.item()[0] != first and len(seen) < 60:
            seen.append(ann.label("1")[0])
        assert ann.item()[0] == first  # on the same page, without a reload
        ann.sees("#earlier", "You wanted to be asked this later.")
        assert 15 <= len(seen) <= 45
        ann.label("2")
        ann.saved("feature · saved")
        assert server.store.current()[first].label == "feature"
        assert ann.errors == []
