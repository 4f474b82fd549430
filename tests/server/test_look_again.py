"""The lists of *Look again* that are walked through by keyboard: near-duplicates, what was put off, own answers."""

import pytest
from browsing import Visitor, browser_of
from serving import Here, eventually, tickets, write_tickets


@pytest.fixture(scope="module")
def browser(chromium):
    with browser_of(chromium) as opened:
        yield opened


@pytest.fixture
def few(folder):
    """Eight items without a model."""
    write_tickets(folder / "tickets.csv", tickets(8))
    with Here(folder, audit=0.0) as server:
        yield server


def listed(visitor, kind):
    """Open a list of *Look again*."""
    visitor.panel("review")
    visitor.page.select_option("#review-kind", kind)
    visitor.page.wait_for_function("kind => document.querySelector('#review-kind')?.value === kind", arg=kind)
    return visitor.page.locator("#panel [data-review]")


def opened(visitor, row):
    """Open a row at the keys; returns its item."""
    item = row.get_attribute("data-item")
    row.focus()
    visitor.press("Enter")
    visitor.page.wait_for_selector(f'#content[data-item="{item}"]')
    return item


def test_of_near_duplicates_with_different_labels_one_is_changed(folder, browser):
    rows = tickets(40)
    truth = write_tickets(folder / "tickets.csv", [*rows, (rows[0][0].upper(), rows[0][1])])
    first, last = rows[0][1], next(name for name in ("bug", "feature") if name != rows[0][1])
    with Here(folder, model="tfidf", audit=0.0) as server, Visitor(browser, server.base, "ann") as ann:
        *others, twin = server.store.items()
        for item in others:
            server.store.answer("ben", item.id, "label", truth[item.content])
        server.store.answer("ben", twin.id, "label", last)
        assert eventually(lambda: server.engine.model_status.ready)
        found = listed(ann, "pairs")
        ann.sees("#panel", "2 items with a near-duplicate of another label.")
        ann.sees("#panel .items", f"% like it is labelled {first}")
        assert {row.get_attribute("data-item") for row in found.all()} == {others[0].id, twin.id}
        opened(ann, ann.page.locator(f'#panel [data-review][data-item="{twin.id}"]'))
        ann.sees("#earlier", f"Labelled {last}. Enter confirms it")
        ann.press(str(("bug", "feature", "question").index(first) + 1))
        ann.saved(f"{first} · saved")
        ann.sees("#panel", "Nothing to look at here.")
        assert server.store.current()[twin.id].label == first
        assert ann.errors == []


def test_what_was_put_off_is_answered_one_after_the_other(few, browser):
    with Visitor(browser, few.base, "ann") as ann:
        items = [ann.label(".")[0] for _ in range(2)]
        ann.saved("later · saved")
        found = listed(ann, "later")
        ann.sees("#panel", "2 in all. Choose one; the key of a class labels it")
        assert {row.get_attribute("data-item") for row in found.all()} == set(items)
        chosen = opened(ann, found.first)
        ann.press("Enter")  # there is no label to confirm
        assert ann.item()[0] == chosen
        ann.label("1")
        (other,) = {*items} - {chosen}
        assert ann.item()[0] == other
        ann.label("2")
        ann.saved("feature · saved")
        ann.sees("#panel", "Nothing to look at here.")
        assert {item: few.store.current()[item].label for item in items} == {chosen: "bug", other: "feature"}
        assert ann.errors == []


def test_own_answers_are_confirmed_and_changed_and_those_of_others_are_not_listed(few, browser):
    with Visitor(browser, few.base, "ann") as ann, few.person("ben") as ben:
        theirs = ben.next()[0]["id"]
        ben.answer(theirs, "bug").raise_for_status()
        items = [ann.label(key)[0] for key in "12s"]
        ann.saved("skip · saved")
        found = listed(ann, "own")
        ann.sees("#panel", "3 in all. Choose one; Enter confirms a label")
        assert [row.get_attribute("data-item") for row in found.all()] == items[::-1]  # the last first
        assert opened(ann, found.nth(1)) == items[1]
        ann.sees("#earlier", "Labelled feature. Enter confirms it")
        ann.label("Enter")
        assert ann.item()[0] == items[0]
        ann.label("3")
        ann.saved("question · saved")
        current = few.store.current()
        assert [current[item].label for item in items] == ["question", "feature", None]
        assert items[1] in few.store.confirmed()
        assert ann.errors == []


def test_long_addresses_wrap_on_a_phone(folder, browser):
    write_tickets(folder / "tickets.csv", [(f"https://example.org/{'aLongPath_' * 15}{n}", "bug") for n in range(4)])
    with (
        Here(folder, audit=0.0) as server,
        Visitor(browser, server.base, "ann", viewport={"width": 390, "height": 844}) as ann,
    ):
        for _ in range(3):
            ann.label("1")
            ann.saved()
        listed(ann, "own").nth(2).wait_for()
        assert ann.page.evaluate("document.querySelector('#panel').scrollWidth <= innerWidth")
        assert ann.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
