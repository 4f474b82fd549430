"""The guess of the model: for the item that it was asked for, and never before the label of an item that measures."""

import pytest
from browsing import Visitor, browser_of
from serving import Here, eventually, tickets

HIDDEN = "Hidden, so that it does not lead you"
NOT_YET = "It comes with your label"
SHARES = "#panel td:has-text('%')"


@pytest.fixture(scope="module")
def browser(chromium):
    with browser_of(chromium) as opened:
        yield opened


def learnt(server, visitor):
    """A model that has learnt, from answers of somebody else."""
    names = dict(tickets())
    measuring = server.store.audit()
    with server.person("bea") as bea:
        for item in list(server.store.items([name for name in server.store.ids() if name not in measuring]))[:15]:
            bea.answer(item.id, names[item.content]).raise_for_status()
    visitor.page.wait_for_selector("#model-state[data-state=ready]")


def guessed(visitor):
    """Ask for the guess until the model has time."""
    for _ in range(20):
        visitor.press("g")
        if visitor.page.locator(f"{SHARES}, #panel p:has-text('{NOT_YET}')").count():
            return
        visitor.page.wait_for_timeout(500)


def test_a_guess_is_shown_for_the_item_it_was_asked_for_alone(folder, browser):
    with Here(folder, model="tfidf", audit=0.0) as server, Visitor(browser, server.base, "ann") as ann:
        learnt(server, ann)
        ann.item()
        guessed(ann)
        ann.page.locator(SHARES).first.wait_for()
        ann.page.wait_for_selector("#guess-words h3, #guess-words .said")
        item, _ = ann.label("1")
        ann.sees("#panel", HIDDEN)
        assert ann.page.locator(f"{SHARES}, #content mark.for-guess").count() == 0
        ann.press("u")
        ann.page.wait_for_selector(f'#content[data-item="{item}"]')
        ann.saved()
        assert ann.errors == []


def test_an_item_that_was_asked_before_there_was_a_model_has_a_guess_once_there_is_one(folder):
    with Here(folder, model="tfidf", audit=0.0) as server, server.person("ann") as ann, server.person("bea") as bea:
        assert eventually(lambda: server.engine.model_status.orders)
        item, names = ann.next(1)[0]["id"], dict(tickets())
        assert "There is no model yet" in ann.panel("why", item=item)
        waiting = [other for other in server.store.items() if other.id != item]
        for other in waiting[:12]:
            bea.answer(other.id, names[other.content]).raise_for_status()
        assert eventually(lambda: server.engine.model_status.ready)
        status = server.engine.model_status
        assert eventually(lambda: "up to date" in status.as_json(12)["words"] and not status.learning)
        server.engine.model_status.about.pop(item, None)  # it is in hand, and not in the new order
        panel = ann.panel("why", item=item, guess=item)
        assert "There was no model yet when it was asked" in panel
        assert "busy" not in panel
        assert "How sure it is of this one item" in panel


def test_an_item_that_measures_shows_no_guess_before_its_label(folder, browser):
    with Here(folder, model="tfidf", audit=0.4) as server, Visitor(browser, server.base, "ann") as ann:
        learnt(server, ann)
        while ann.item()[0] not in server.store.audit():
            ann.label("2")
        item, _ = ann.item()
        ann.press("w")
        ann.sees("#panel", NOT_YET)
        ann.press("g")
        ann.sees("#panel", NOT_YET)
        assert ann.page.locator(SHARES).count() == 0
        assert "Most like it among the labelled" not in ann.page.inner_text("#panel")  # their labels would be a guess
        with server.person("ann") as elsewhere:
            assert elsewhere.panel("guess-words", item=item).strip() == ""
            assert "%" not in elsewhere.panel("why", item=item, guess=item).partition("The model’s guess")[2]
            server.store.answer("bea", item, "label", "bug")  # of somebody else
            assert NOT_YET in elsewhere.panel("why", item=item, guess=item)
        ann.press("1")
        ann.saved("bug · saved")
        with server.person("ann") as elsewhere:
            why = elsewhere.panel("why", item=item, guess=item)
            assert NOT_YET not in why
            assert "Most like it among the labelled" in why
            assert elsewhere.panel("guess-words", item=item).strip()
