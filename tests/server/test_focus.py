"""The focus of somebody at the keys stays where it is while the page changes, and Enter never labels by accident."""

from dataclasses import replace

import pytest
from browsing import Visitor, browser_of
from serving import Here, eventually, tickets, write_tickets

AUDIT = {"size": 25, "drawn": 25, "needed": 20, "right": 19, "passed": 0, "narrowed": False}
ACCURACY = {"value": 0.8, "low": 0.6, "high": 0.9}
NO_ADVICE = {"stop": False, "reasons": (), "rises": None, "little": False}
FOCUSED = "document.activeElement.textContent"


@pytest.fixture(scope="module")
def browser(chromium):
    with browser_of(chromium) as opened:
        yield opened


@pytest.fixture
def suggested(folder):
    """A project with a suggestion for every item, whose model is measured."""
    write_tickets(folder / "tickets.csv", tickets(60))
    with Here(folder, audit=0.0, suggest="topic") as server:
        status = server.engine.model_status
        status.ready = True
        status.last = {"ready": True, "waiting": 9, "audit": AUDIT | {"accuracy": ACCURACY}, "advice": NO_ADVICE}
        yield server


def refreshed(visitor, panel, times=2):
    """Wait until a panel was made anew by itself."""
    for _ in range(times):
        with visitor.page.expect_response(lambda response: f"/panel/{panel}" in response.url):
            pass
    visitor.page.wait_for_timeout(100)


def test_a_control_keeps_the_focus_while_progress_is_made_anew(suggested, browser):
    with Visitor(browser, suggested.base, "ann") as ann:
        item, _ = ann.item()
        ann.sees("#suggestion", "Suggested: ")
        ann.panel("progress")
        ann.page.locator("[data-name=errors]").focus()
        refreshed(ann, "progress")
        assert ann.page.evaluate(FOCUSED) == "Where it errs"
        ann.press("Enter")
        ann.sees("#panel h2", "Where it errs")
        assert ann.item()[0] == item
        assert suggested.store.current() == {}
        assert ann.errors == []


def test_a_control_keeps_the_focus_while_a_list_waits_for_the_model(suggested, browser):
    suggested.engine.settings = replace(suggested.engine.settings, no_model=False)
    with Visitor(browser, suggested.base, "ann") as ann:
        item, _ = ann.item()
        ann.panel("review")
        ann.sees("#panel [data-refresh]", "The model gets ready.")
        ann.page.locator("#panel [data-name=errors]").focus()
        refreshed(ann, "review")
        held = []

        def keep(route):
            held.append(route)

        ann.page.route("**/panel/review*", keep)
        ann.page.wait_for_timeout(4_000)  # none is sent while one is on its way
        assert len(held) == 1
        ann.page.unroute("**/panel/review*")
        ann.press("Enter")
        ann.sees("#panel h2", "Where it errs")
        assert ann.item()[0] == item
        assert suggested.store.current() == {}


def test_a_control_that_is_gone_leaves_the_focus_to_the_panel(suggested, browser):
    first, *_ = suggested.store.ids()
    for name, label in (("bob", "bug"), ("cem", "feature")):
        suggested.store.answer(name, first, "label", label)
    with Visitor(browser, suggested.base, "ann") as ann:
        item, _ = ann.item()
        ann.panel("team")
        ann.page.locator(f'[data-act=open-item][data-item="{first}"]').focus()
        with suggested.person("dan") as dan:
            dan.post("adjudicate", item=first, label="bug", instead_of=None, request="r" * 16).raise_for_status()
        ann.page.evaluate("document.querySelector('[data-act=adjudicate]').click()")  # refused or not: made anew
        ann.sees("#panel", "1 decided")
        assert ann.page.evaluate("document.activeElement.id") == "panel"
        ann.press("Enter")
        assert ann.item()[0] == item
        assert set(suggested.store.current()) == {first}


def test_the_class_button_in_focus_stays_when_classes_come(suggested, browser):
    with Visitor(browser, suggested.base, "ann") as ann, suggested.person("bob") as bob:
        ann.item()
        ann.page.locator('.class[data-label="feature"]').focus()
        bob.post("class", name="praise").raise_for_status()
        ann.sees("#classes .class", "praise")
        assert ann.page.evaluate("document.activeElement.dataset.label") == "feature"


@pytest.mark.parametrize("change", ["removed", "hidden"])
def test_enter_after_a_control_vanished_answers_nothing(suggested, browser, change):
    with Visitor(browser, suggested.base, "ann") as ann, suggested.person("bob") as bob:
        item, _ = ann.item()
        ann.sees("#suggestion", "Suggested: ")
        if change == "removed":
            ann.page.locator('.class[data-label="feature"]').focus()
            bob.post("class/rename", old="feature", new="wish").raise_for_status()
            ann.sees("#classes .class", "wish")
        else:
            bob.post("class", name="praise").raise_for_status()
            ann.sees("#notice", "praise")
            ann.page.locator("#notice-close").focus()
            ann.press("Enter")
            ann.page.wait_for_selector("#notice", state="hidden")
        assert eventually(lambda: ann.page.evaluate("document.activeElement === document.body"), 10)
        ann.press("Enter")
        assert ann.page.evaluate("document.activeElement.id") == "content"
        assert ann.item()[0] == item
        ann.press("Enter")  # now it is for the item
        ann.saved("saved")
        assert set(suggested.store.current()) == {item}


def test_enter_after_another_key_is_for_the_item(suggested, browser):
    with Visitor(browser, suggested.base, "ann") as ann, suggested.person("bob") as bob:
        ann.sees("#suggestion", "Suggested: ")
        ann.page.locator('.class[data-label="feature"]').focus()
        bob.post("class/rename", old="feature", new="wish").raise_for_status()
        ann.sees("#classes .class", "wish")
        assert eventually(lambda: ann.page.evaluate("document.activeElement === document.body"), 10)
        first, _ = ann.label("1")
        ann.sees("#suggestion", "Suggested: ")
        ann.page.wait_for_selector("#suggestion:not([data-late])")
        second, _ = ann.item()
        ann.press("Enter")
        ann.page.wait_for_function("id => content.dataset.item !== id", arg=second)
        ann.saved("saved")
        assert set(suggested.store.current()) == {first, second}


def test_enter_accepts_at_once_after_a_panel_was_closed_at_the_keys(suggested, browser):
    with Visitor(browser, suggested.base, "ann") as ann:
        item, _ = ann.item()
        ann.sees("#suggestion", "Suggested: ")
        ann.press("p")
        ann.page.wait_for_selector("#panel-content h2")
        ann.press("Tab", "Tab", "Escape", "Enter")
        ann.saved("saved")
        assert set(suggested.store.current()) == {item}
