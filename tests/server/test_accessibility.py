"""What axe-core says of parts of the page that are not there from the start."""

import pytest
from browsing import Visitor, browser_of
from serving import Here, tickets, write_tickets
from test_guess import SHARES, guessed, learnt
from test_page import violations
from test_refused import refuse

pytestmark = pytest.mark.parametrize(("scheme", "width"), [("light", 390), ("dark", 1280)])


@pytest.fixture(scope="module")
def browser(chromium):
    with browser_of(chromium) as opened:
        yield opened


def visited(browser, server, scheme, width, name="ann"):
    return Visitor(browser, server.base, name, color_scheme=scheme, viewport={"width": width, "height": 844})


def is_for_everyone(visitor):
    """No violation, and nothing beside the screen."""
    assert violations(visitor.page) == []
    assert visitor.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_settings_and_what_was_typed_before(server, browser, scheme, width):
    with visited(browser, server, scheme, width) as ann:
        ann.panel("settings")
        is_for_everyone(ann)
        ann.page.fill("#setting-title", "Not saved")
        ann.page.click("#panel-close")
        ann.panel("settings")
        ann.sees("#drafts", "not saved yet")
        is_for_everyone(ann)
        ann.page.fill("#setting-audit_share", "many")
        ann.page.press("#setting-audit_share", "Enter")
        ann.sees("#panel .problem", "a number from 0 to 100")
        is_for_everyone(ann)


def test_the_end_and_a_refused_answer(folder, browser, scheme, width):
    write_tickets(folder / "tickets.csv", tickets(3))
    with Here(folder, audit=0.0) as server, visited(browser, server, scheme, width) as ann:
        refuse(ann, server, "answer")
        item, _ = ann.label("1")
        ann.sees("#banner", "Not saved: bug")
        is_for_everyone(ann)
        ann.page.wait_for_selector(f'#content[data-item="{item}"]')
        ann.page.click("#banner-close")
        for _ in range(3):
            ann.item()
            ann.press("2")
            ann.saved("feature · saved")
        ann.sees("#content", "3 labelled, of 3 items.")
        is_for_everyone(ann)


def test_the_shares_under_team(folder, browser, scheme, width):
    shares = {"bug": ["ann", "ben"], "feature": []}
    with (
        Here(folder, audit=0.0, assign_by="topic", assigned_to=shares) as server,
        visited(browser, server, scheme, width) as ann,
    ):
        assert "Save who gets what" in ann.panel("team")
        is_for_everyone(ann)


def test_why_with_a_guess_on_show(folder, browser, scheme, width):
    with Here(folder, model="tfidf", audit=0.0) as server, visited(browser, server, scheme, width) as ann:
        learnt(server, ann)
        ann.item()
        guessed(ann)
        ann.page.locator(SHARES).first.wait_for()
        ann.page.wait_for_selector("#guess-words h3, #guess-words .said")
        is_for_everyone(ann)
