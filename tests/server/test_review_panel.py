"""Where it errs, look again, the map and the header's sentence, in a real browser with a model at work."""

import pytest
from browsing import Visitor, browser_of
from serving import CLASSES, Here, eventually, tickets, write_tickets
from test_page import violations

from bemps.store.events import LABEL

OUTCOME = {
    **{"first": 60, "last": 70, "low": -0.01, "high": 0.07},
    **{"came": 0.03, "came_low": -0.05, "came_high": 0.11, "size": 28, "wrong": False},
}


@pytest.fixture(scope="module")
def browser(chromium):
    with browser_of(chromium) as found:
        yield found


@pytest.fixture(scope="module")
def modelled(tmp_path_factory):
    """A server whose model has learnt from 70 labels, four of them swapped, and is measured on all audit items."""
    folder = tmp_path_factory.mktemp("modelled")
    truth = write_tickets(folder / "tickets.csv", tickets(140))
    with Here(folder, model="tfidf", audit=0.2) as server:
        store = server.store
        audit, contents = store.audit(), {item.id: item.content for item in store.items()}
        others = [name for name in store.ids() if name not in audit]
        server.swapped = set(others[:4])
        for name in [*audit, *others[:70]]:
            label = truth[contents[name]]
            wrong = CLASSES[(CLASSES.index(label) + 1) % 3]
            store.answer("ann", name, LABEL, wrong if name in server.swapped else label)
        store.answer("ann", others[70], "skip")
        store.answer("ann", others[71], "unsure")
        assert eventually(lambda: "guesses" in (server.engine.model_status.last.get("audit") or {}), 90)
        yield server


def opened(visitor, name):
    visitor.panel(name)
    visitor.page.locator("[data-refresh]").wait_for(state="detached")


def test_the_header_says_how_good_it_is(modelled, browser):
    with Visitor(browser, modelled.base, "ann") as ann:
        ann.sees("#summary", "Right about")
        words = ann.page.inner_text("#summary-words")
        assert " times in " in words
        assert ann.page.locator("#summary-result").is_hidden()
        ann.page.evaluate("0")
        modelled.engine.model_status.last["advice"] |= {"stop": True}
        ann.sees("#summary", "You may stop.")
        ann.page.locator("#summary-result").click()
        ann.page.wait_for_selector("#predictions-format")
        modelled.engine.model_status.last["advice"] |= {"stop": False}


def test_doubted_labels_are_changed_and_confirmed_with_one_key_each(modelled, browser):
    with Visitor(browser, modelled.base, "ann") as ann:
        opened(ann, "review")
        ann.page.wait_for_selector("[data-review]")
        first = ann.page.locator("[data-review]").first.get_attribute("data-item")
        assert first in modelled.swapped
        second = ann.page.locator("[data-review]").nth(1).get_attribute("data-item")
        ann.page.locator("[data-review]").first.focus()
        ann.press("Enter")
        ann.page.wait_for_selector(f'#content[data-item="{first}"]')
        ann.sees("#earlier", "Enter confirms it")
        events = len(modelled.store.events())
        text = ann.item()[1]
        ann.press(str(CLASSES.index(dict(tickets())[text]) + 1))
        ann.page.wait_for_selector(f'#content[data-item="{second}"]')
        before = modelled.store.current()[second].label
        ann.press("Enter")
        ann.saved(f"{before} · saved")
        new = modelled.store.events()[events:]
        assert [(event.item, event.kind) for event in new] == [(first, LABEL), (second, LABEL)]
        assert modelled.store.current()[first].label == dict(tickets())[text]
        assert new[1].label == new[1].previous == before
        ann.page.locator(f'[data-review][data-item="{second}"]').wait_for(state="detached")
        assert ann.errors == []


def test_enter_does_nothing_to_an_item_that_has_no_label(modelled, browser):
    with Visitor(browser, modelled.base, "ann") as ann:
        item, _ = ann.item()
        events = len(modelled.store.events())
        ann.page.locator("#content").focus()
        ann.press("Enter")
        assert ann.item()[0] == item
        assert len(modelled.store.events()) == events


@pytest.mark.parametrize(("kind", "count"), [("skipped", 1), ("unsure", 1)])
def test_what_was_passed_over_is_listed(modelled, browser, kind, count):
    with Visitor(browser, modelled.base, "ann") as ann:
        opened(ann, "review")
        ann.page.select_option("#review-kind", kind)
        ann.sees("#panel .items", kind.replace("skipped", "skip"))
        assert ann.page.locator("[data-review]").count() == count


@pytest.mark.parametrize("kind", ["skipped", "unsure", "later"])
def test_enter_is_not_offered_where_there_is_no_label_to_confirm(modelled, kind):
    open_items = [name for name in modelled.store.ids() if name not in modelled.store.current()]
    modelled.store.answer("dan", open_items[-1], "later")
    with modelled.person("dan") as dan:
        words = " ".join(dan.panel("review", kind=kind).split())
        assert "Choose one; the key of a class labels it, and the next one comes." in words
        assert "Enter" not in words
        assert "confirms its label" in dan.panel("review", kind="doubts")


def test_what_has_no_answer_stands_in_the_order_of_the_file(folder):
    with Here(folder, audit=0.0) as server, server.person("ann") as ann:
        for item in server.store.ids()[:40]:
            server.store.answer("ann", item, LABEL, "bug")
        first, answered = ann.panel("labelled", state="unanswered", offset=30), ann.panel("labelled", offset=30)
        assert ">Previous<" in first
        assert ">Next<" in first
        assert not any(word in first for word in (">Newer<", ">Older<"))
        assert ">Newer<" in answered
        assert ">Older<" in ann.panel("labelled")


def test_own_answers_are_ones_own(modelled):
    with modelled.person("ben") as ben:
        assert "Nothing to look at here" in ben.panel("review", kind="own")
    with modelled.person("ann") as ann:
        assert ann.panel("review", kind="own").count("data-review") == 30


def test_a_cell_of_the_table_lists_its_items(modelled, browser):
    with Visitor(browser, modelled.base, "ann") as ann:
        ann.panel("progress")
        ann.page.locator("[data-name=errors]").click()
        ann.page.wait_for_selector(".confusion")
        guesses = modelled.engine.model_status.last["audit"]["guesses"]
        bugs = [name for name, codes in guesses.items() if codes == [0, 0]]
        ann.page.locator('.cell[aria-label$="labelled bug, model says bug"]').focus()
        ann.press("Enter")
        ann.sees("#panel h3", f"{len(bugs)} labelled bug")
        shown = ann.page.locator("#panel .items button").first.get_attribute("data-item")
        assert shown in bugs
        ann.page.locator("#panel .items button").first.click()
        ann.page.wait_for_selector(f'#content[data-item="{shown}"]')


def test_a_point_of_the_map_opens_its_item_and_a_rectangle_lists_those_inside(modelled, browser):
    with Visitor(browser, modelled.base, "ann") as ann:
        opened(ann, "map")
        ann.page.wait_for_selector("#map circle")
        total = len(modelled.store.ids()) - len(modelled.store.audit())
        assert ann.page.locator("#map circle").count() == total
        point = ann.page.locator("#map circle").last
        box = point.bounding_box()
        ann.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        ann.page.wait_for_selector("#content[data-item]")
        ann.sees("#earlier", "Labelled")
        area = ann.page.locator("#map").bounding_box()
        ann.page.mouse.move(area["x"] + 6, area["y"] + 6)
        ann.page.mouse.down()
        ann.page.mouse.move(area["x"] + area["width"] - 6, area["y"] + area["height"] - 6)
        ann.page.mouse.up()
        ann.sees("#map-items h3", f"{total} items")
        ann.page.locator("[data-act=map-class]").first.focus()
        ann.press("Enter")
        ann.page.wait_for_function(f"() => !document.querySelector('#map-items h3').textContent.startsWith('{total} ')")
        assert ann.page.locator("#map-items .items button").count() <= 40
        assert ann.errors == []


@pytest.fixture(scope="module")
def disputed(modelled):
    """The same server, where two people disagree on an item, and on another that was decided."""
    first, second = [name for name in modelled.store.ids() if name not in modelled.store.current()][-2:]
    for name in (first, second):
        modelled.store.answer("cem", name, LABEL, "bug")
        modelled.store.answer("dan", name, LABEL, "question")
    modelled.store.adjudicate(first, "bug", "ann")
    return modelled


def drawn_by_finger(visitor):
    """Draw a rectangle over the whole map by touch; the panel must not scroll instead."""
    visitor.page.locator("#map").scroll_into_view_if_needed()
    area, finger = visitor.page.locator("#map").bounding_box(), visitor.context.new_cdp_session(visitor.page)
    for kind, share in (("Start", 0.02), ("Move", 0.3), ("Move", 0.7), ("Move", 0.98), ("End", None)):
        at = {} if share is None else {x: area[x] + share * area[side] for x, side in (("x", "width"), ("y", "height"))}
        finger.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": [at] if at else []})


def is_for_everyone(visitor):
    """No violation, and nothing beside the screen."""
    assert violations(visitor.page) == []
    assert visitor.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_new_panels_are_for_everyone(disputed, browser, scheme, width):
    options = {"color_scheme": scheme, "viewport": {"width": width, "height": 800}, "has_touch": width == 390}
    with Visitor(browser, disputed.base, "ann", **options) as ann:
        opened(ann, "review")
        is_for_everyone(ann)
        ann.press("Escape")
        opened(ann, "map")
        if width == 390:
            drawn_by_finger(ann)
            ann.sees("#map-items h3", f"{ann.page.locator('#map circle[data-item]').count()} items")
        else:
            ann.page.locator("[data-act=map-class]").first.click()
            ann.page.wait_for_selector("#map-items .items")
        is_for_everyone(ann)
        ann.press("Escape")
        assert "1 disagreement" in ann.panel("team")
        ann.sees("#panel", "1 decided")
        is_for_everyone(ann)
        assert eventually(lambda: "Forecasts so far" in with_forecast(disputed, ann))
        is_for_everyone(ann)
        ann.page.locator("[data-name=errors]").click()
        ann.page.wait_for_selector(".confusion")
        is_for_everyone(ann)
        ann.page.locator('.cell[aria-label$="labelled bug, model says bug"]').click()
        ann.sees("#panel h3", "labelled bug")
        is_for_everyone(ann)


def with_forecast(server, visitor):
    """The panel *Progress* with a forecast that came true; a new order of the model brings its own."""
    server.engine.model_status.last["outcomes"] = [OUTCOME]
    visitor.page.click("#panel-close")
    return visitor.panel("progress")


def test_without_a_model_the_panels_say_so(server):
    with server.person() as ann:
        for name in ("review", "errors", "map"):
            assert "no model" in ann.panel(name)
        assert ann.state()["summary"] == {"words": "", "stop": False}
