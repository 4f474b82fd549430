"""Look for more of a class: probable members come first for a while, audit items still come, and it ends by itself."""

from datetime import UTC, datetime

import numpy as np
import pytest
from browsing import Visitor, browser_of
from serving import Here, eventually, tickets, write_tickets
from test_page import violations

from bemps.server.panels.progress_panel import few_labels
from bemps.server.queue.annotator_queues import LEASE
from bemps.server.queue.class_search import ClassSearch
from bemps.server.queue.schedule import Schedule
from bemps.store.events import LABEL, Answer

NOW = datetime.now(UTC)
KEYS = {"bug": "1", "feature": "2", "question": "3"}


@pytest.fixture(scope="module")
def browser(chromium):
    with browser_of(chromium) as found:
        yield found


@pytest.fixture
def rare(tmp_path):
    """A server with few questions, two of them labelled, and a model that has learnt from 32 labels."""
    rows = tickets(240)
    questions = [row for row in rows if row[1] == "question"]
    truth = write_tickets(tmp_path / "tickets.csv", [row for row in rows if row[1] != "question"] + questions[:20])
    with Here(tmp_path, model="tfidf", audit=0.15) as server:
        server.truth = {item.id: truth[item.content] for item in server.store.items()}
        free = [item for item in server.store.ids() if item not in server.store.audit()]
        asked = [item for item in free if server.truth[item] == "question"][:2]
        asked += [item for item in free if server.truth[item] != "question"][:30]
        for item in asked:
            server.store.answer("bob", item, "label", server.truth[item])
        learnt = lambda: server.engine.model_status.ready and server.engine.model_status.last["labels"] == 32  # noqa: E731
        assert eventually(learnt, 90)
        yield server


def origins(server, person, items):
    return [server.engine.queue_of(person).in_browser[item["id"]].candidate.origin for item in items]


def start(person, label):
    return person.post("class/search", label=label)


def test_the_schedule_asks_probable_members_first_and_audit_items_all_the_same():
    ids = [f"i{row}" for row in range(200)]
    schedule = Schedule(ids, ids[:50], 0.3, 0.0, np.random.default_rng(0))
    schedule.rank(ids[50:90], "model")
    schedule.class_searches["ann"] = ClassSearch("bug", dict.fromkeys(["i120", "i7", *ids[121:150]], 0.5))
    schedule._set_kinds("i121", {"bob": "label"})
    candidates = schedule.candidates_for("ann", 20, {"i122"})
    likely = [candidate.item for candidate in candidates if candidate.origin == "likely"]
    audited = [candidate.item for candidate in candidates if candidate.origin == "audit"]
    assert likely[:3] == ["i120", "i123", "i124"]  # i7 measures accuracy, the others were answered or are out
    assert 5 <= len(audited) <= 20
    assert {candidate.origin for candidate in candidates[-2:]} == {"model"}  # the members are used up
    assert "likely" not in {candidate.origin for candidate in schedule.candidates_for("bob", 20, set())}


def test_the_members_come_before_items_that_wait_for_a_second_answer():
    ids = [f"i{row}" for row in range(40)]
    schedule = Schedule(ids, audit_share=0.0)
    schedule.mark_overlap(ids[:8])
    for item in ids[:8]:
        schedule.set_answers(item, [Answer(item, "bug", LABEL, "bob", NOW, None, 1, None)])
    assert {candidate.origin for candidate in schedule.candidates_for("ann", 5, set())[:5]} == {"overlap"}
    schedule.class_searches["ann"] = ClassSearch("bug", dict.fromkeys(ids[20:23], 0.5))
    origins = [candidate.origin for candidate in schedule.candidates_for("ann", 40, set())]
    assert (origins[:3], origins[-5:]) == (["likely"] * 3, ["overlap"] * 5)


def test_probable_members_come_to_who_asked_for_them_and_it_ends_after_some(rare):
    with rare.person("ann") as ann, rare.person("cem") as cem:
        assert ann.state()["class_search"] is None
        ann.next(3)
        reply = start(ann, "question").raise_for_status().json()
        assert reply["class_search"] == {"label": "question", "asked": 0, "size": 20}
        rare.engine.schedule.class_searches["ann"].size = 4
        assert cem.state()["class_search"] is None
        assert "likely" not in origins(rare, "cem", cem.next(5))
        back = [*rare.engine.queue_of("ann").in_browser]
        items = ann.post("next", n=12, back=back).json()["items"]
        came = origins(rare, "ann", items)
        assert set(came) <= {"likely", "audit"}
        assert came.count("likely") >= 6
        likely = [item["id"] for item, origin in zip(items, came, strict=True) if origin == "likely"]
        assert sum(rare.truth[item] == "question" for item in likely[:6]) >= 3  # by chance fewer than one
        why = ann.panel("why", item=likely[0])
        assert "It was asked because it <strong>may be" in why
        assert "The model gives it" in why
        audited = [item["id"] for item, origin in zip(items, came, strict=True) if origin == "audit"]
        for item in audited:
            assert "drawn at random to measure accuracy" in ann.panel("why", item=item)
            assert ann.answer(item, "bug").json()["class_search"]["asked"] == 0  # it was not one of those looked for
        for number, item in enumerate(likely[:3], 1):
            assert ann.answer(item, rare.truth[item]).json()["class_search"]["asked"] == number
        assert ann.answer(likely[3], kind="skip").json()["class_search"] is None
        assert ann.state()["class_search"] is None
        rest = ann.post("next", n=8, back=likely[4:]).json()["items"]
        assert "likely" not in origins(rare, "ann", rest)


def test_it_ends_by_a_click_and_a_new_order_brings_new_members(rare):
    with rare.person("ann") as ann:
        start(ann, "question").raise_for_status()
        search = rare.engine.schedule.class_searches["ann"]
        before = dict(search.items)
        found = [item for item in before if rare.truth[item] == "question"]
        for item in found[:3]:
            rare.store.answer("bob", item, "label", "question")
        assert eventually(lambda: search.items != before and not set(found[:3]) & search.items.keys(), 60)
        assert ann.post("class/search/stop").json()["class_search"] is None
        assert ann.post("class/search/stop").json()["class_search"] is None
        assert "likely" not in origins(rare, "ann", ann.next(6))


def test_a_class_without_an_example_is_not_looked_for(rare):
    with rare.person("ann") as ann:
        assert 'Few labels yet: <b dir="auto">question</b>.' in ann.panel("progress")
        ann.post("class", name="praise").raise_for_status()
        refused = start(ann, "praise")
        assert refused.status_code == 422
        assert "expected an item of it that was labelled" in refused.json()["error"]
        assert "search the unanswered items under Labelled" in refused.json()["fix"]
        audited = sorted(rare.store.audit())[0]
        ann.answer(audited, "praise")
        assert start(ann, "praise").status_code == 422  # what measures accuracy is no example
        free = next(item for item in rare.store.ids() if item not in rare.store.audit() | rare.store.current().keys())
        ann.answer(free, "praise")
        assert start(ann, "praise").json()["class_search"]["label"] == "praise"
        assert start(ann, "nonsense").status_code == 422
        html = ann.panel("progress")
        assert 'aria-label="Look for more of praise"' in html


def test_a_project_without_a_model_says_what_to_do_instead(shared):
    with shared.person("ann") as ann:
        refused = start(ann, "bug").json()
        assert "a project without a model" in refused["error"]
        assert "Labelled" in refused["fix"]
        assert "Look for more" not in ann.panel("progress")


def test_it_follows_its_class_and_ends_when_that_or_the_person_is_gone(folder):
    with Here(folder) as server, server.person("ann") as ann:
        searches = server.engine.schedule.class_searches
        ann.next(2)
        searches["ann"] = ClassSearch("bug")
        ann.post("class/rename", old="bug", new="defect").raise_for_status()
        assert ann.state()["class_search"]["label"] == "defect"
        ann.post("class/change", name="feature", hidden=True).raise_for_status()
        assert ann.state()["class_search"]["label"] == "defect"
        ann.post("class/merge", name="defect", into="question").raise_for_status()
        assert ann.state()["class_search"] is None
        searches["ann"] = ClassSearch("question")
        server.engine.queue_of("ann").seen_at -= 2 * LEASE
        assert eventually(lambda: not searches, 30)


def test_which_classes_have_few_labels():
    answers = {
        f"i{row}": Answer(f"i{row}", "bug" if row < 18 else "wish", "label", "ann", NOW, None, row) for row in range(20)
    }
    assert few_labels(answers, ["bug", "wish"]) == ["wish"]
    assert few_labels(answers, ["bug", "wish", "praise"]) == []  # too early to say
    assert few_labels({}, []) == []


@pytest.mark.parametrize(("scheme", "width"), [("dark", 390), ("light", 1280)])
def test_the_page_says_so_and_goes_back_by_itself_or_by_a_click(rare, browser, scheme, width):
    size = {"viewport": {"width": width, "height": 844}, "color_scheme": scheme}
    with Visitor(browser, rare.base, "ann", **size) as ann:
        ann.panel("progress")
        button = ann.page.locator('[aria-label="Look for more of question"]')
        button.wait_for()
        assert violations(ann.page) == []
        ann.page.route(
            "**/api/class/search", lambda route: (ann.sees("#class-search", "One moment"), route.continue_())
        )
        button.focus()
        ann.press("Enter")
        ann.sees("#class-search", "Looking for question, 0 of 20")
        rare.engine.schedule.class_searches["ann"].size = 2
        assert violations(ann.page) == []
        assert ann.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        ann.press("Escape")
        for _ in range(12):
            if ann.page.locator("#class-search").is_hidden():
                break
            item, _text = ann.item()
            ann.label(KEYS[rare.truth[item]])
            ann.saved()
        ann.sees("#notice", "The search for question is over")
        assert len(rare.store.current()) > 33
        ann.panel("progress")
        button.click()
        ann.sees("#class-search", "Looking for question")
        if width > 600:
            ann.reload()  # it is that of the person, not of the tab
            ann.sees("#class-search", "Looking for question")
        ann.page.click("#class-search-stop")
        ann.page.wait_for_selector("#class-search", state="hidden")
        assert rare.engine.schedule.class_searches == {}
        assert ann.errors == []


def test_a_stop_without_the_server_is_said_and_can_be_repeated(rare, browser):
    with Visitor(browser, rare.base, "eve") as eve:
        rare.engine.schedule.class_searches["eve"] = ClassSearch("question")
        eve.sees("#class-search", "Looking for question")
        eve.page.route("**/api/class/search/stop", lambda route: route.abort())
        eve.page.click("#class-search-stop")
        eve.sees("#notice", "The search goes on: the server cannot be reached.")
        eve.page.wait_for_timeout(300)
        assert [error for error in eve.errors if "ERR_FAILED" not in error] == []
        eve.page.unroute("**/api/class/search/stop")
        eve.page.click("#class-search-stop")
        eve.page.wait_for_selector("#class-search", state="hidden")
        assert "eve" not in rare.engine.schedule.class_searches
