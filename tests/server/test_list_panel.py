"""Label many at once, in a real browser with a model at work."""

import pytest
from browsing import Visitor, browser_of
from serving import Here, eventually, tickets, write_tickets
from test_page import violations

KEYS = {"bug": "1", "feature": "2", "question": "3"}


@pytest.fixture(scope="module")
def browser(chromium):
    with browser_of(chromium) as found:
        yield found


@pytest.fixture
def modelled(tmp_path):
    """A server whose model has learnt from 30 labels."""
    truth = write_tickets(tmp_path / "tickets.csv", tickets(150))
    with Here(tmp_path, model="tfidf", audit=0.1) as server:
        free = [item for item in server.store.items() if item.id not in server.store.audit()]
        for item in free[:30]:
            server.store.answer("bob", item.id, "label", truth[item.content])
        assert eventually(lambda: server.engine.model_status.ready and server.engine.labels == 30, 90)
        yield server


def search(visitor, words):
    visitor.panel("labelled")
    visitor.page.select_option("#by-state", "unanswered")
    visitor.page.fill("#q", words)
    visitor.page.keyboard.press("Enter")
    visitor.page.locator("[data-act=open-list]").click()
    visitor.page.wait_for_selector("#item-list")


def test_hits_are_labelled_by_the_keyboard_and_one_undo_takes_them_back(server, browser):
    with Visitor(browser, server.base, "ann") as ann:
        current, _ = ann.item()
        search(ann, "crashes")
        boxes = ann.page.locator(".ticks input")
        total = boxes.count()
        assert total > 10
        ann.press("s")  # keys of the item do nothing to it while the list has them
        ann.sees("#saved", "Close the list first")
        boxes.first.focus()
        ann.press("ArrowDown", "ArrowDown", " ", "ArrowUp", " ")
        left = [boxes.nth(row).get_attribute("value") for row in (1, 2)]
        assert [boxes.nth(row).is_checked() for row in range(4)] == [True, False, False, True]
        ann.press("1")
        ann.sees("#list-confirm", f"Label {total - 2} items as bug")
        assert server.engine.labels == 0
        assert ann.item()[0] == current
        ann.press("3", "Enter")
        ann.sees("#notice", f"Labelled {total - 2} items as question.")
        ann.saved(f"{total - 2} items as question · saved")
        answers = server.store.current()
        assert {answer.label for answer in answers.values()} == {"question"}
        assert len(answers) == total - 2
        assert not set(left) & answers.keys()
        ann.press("u")
        ann.sees("#saved", f"Taken back: your label question for {total - 2} items at once.")
        assert server.store.current() == {}
        ann.press("r")
        ann.sees("#saved", f"Done again: your label question for {total - 2} items at once.")
        assert server.store.current().keys() == answers.keys()
        ann.label("1")  # keys belong to the item again
        ann.saved("bug")
        assert server.engine.labels == total - 1
        assert ann.errors == []


def test_what_is_in_this_browser_leaves_it_with_the_list(server, browser):
    with Visitor(browser, server.base, "ann") as ann:
        item, text = ann.item()
        second = ann.context.new_page()
        second.goto(server.base)
        second.wait_for_selector(f'#content[data-item="{item}"]')
        ann.page.bring_to_front()
        search(ann, text.split()[-1].strip(".?"))
        ann.press("2", "Enter")
        ann.saved("saved")
        shown, _ = ann.item()
        listed = {item for item, answer in server.store.current().items() if answer.method == "listed"}
        assert shown not in listed
        assert item in listed
        second.wait_for_function("id => document.querySelector('#content').dataset.item !== id", arg=item)
        assert second.get_attribute("#content", "data-item") not in listed
        for _ in range(5):
            ann.label("1")
        ann.saved()
        assert {answer.label for item, answer in server.store.current().items() if item in listed} == {"feature"}


def test_what_is_in_another_tab_leaves_it_with_the_list(server, browser):
    with Visitor(browser, server.base, "ann") as ann:
        item, text = ann.item()
        second = ann.context.new_page()
        second.goto(server.base)
        second.wait_for_selector(f'#content[data-item="{item}"]')
        ann.page.bring_to_front()
        search(ann, text.split()[-1].strip(".?"))
        ann.press("2", "Enter")
        ann.saved("saved")
        assert server.store.current()[item].label == "feature"
        second.wait_for_function("id => document.querySelector('#content').dataset.item !== id", arg=item)
        second.locator("#notice").filter(has_text="Labelled").wait_for()  # both tabs say it


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_more_like_this_one_and_more_like_these_with_the_mouse(modelled, browser, scheme, width):
    size = {"viewport": {"width": width, "height": 844}, "color_scheme": scheme}
    with Visitor(browser, modelled.base, "ann", **size) as ann:
        while ann.item()[0] in modelled.store.audit():
            ann.label("1")
        item, _ = ann.item()
        ann.panel("why")
        ann.page.locator("[data-query*=alike]").click()
        ann.page.wait_for_selector("#item-list")
        boxes = ann.page.locator(".ticks input")
        assert boxes.count() == 21  # this one, and the twenty most like it
        assert boxes.first.get_attribute("value") == item
        assert violations(ann.page) == []
        assert ann.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        ann.page.click("text=Tick none")
        assert ann.page.locator("#list-confirm").is_disabled()
        boxes.nth(0).click()
        boxes.nth(1).click()
        second = boxes.nth(1).get_attribute("value")
        ann.page.click("text=More like these")
        ann.sees("#panel", "Most like any of 2 items first.")
        assert [boxes.nth(row).get_attribute("value") for row in (0, 1)] == [item, second]
        ann.page.select_option("#list-size", "50")
        ann.page.wait_for_selector(".ticks li:nth-child(40)")
        assert boxes.nth(1).get_attribute("value") == second
        ann.page.locator("[data-act=list-class]").nth(1).click()
        ann.page.click("text=Tick none")
        boxes.nth(0).click()
        assert violations(ann.page) == []
        ann.page.click("text=Label 1 item as feature")
        ann.saved("1 item as feature · saved")
        assert modelled.store.current()[item].label == "feature"
        assert ann.errors == []


def test_what_an_item_stands_for_and_a_part_of_the_map(modelled, browser):
    with Visitor(browser, modelled.base, "ann") as ann:
        ann.page.wait_for_selector("#content[data-item]")
        reasons = modelled.engine.model_status.about
        item = next(name for name, reason in reasons.items() if reason.get("stands_for", 0) > 1)
        with modelled.person("ann") as person:
            html = person.panel("list", source="represented", item=item)
        # those that wait in the browser of ann are hers; nobody else has any
        assert html.count('type="checkbox"') == reasons[item]["stands_for"] + 1
        ann.panel("map")
        ann.page.wait_for_selector("#map circle", timeout=60_000)
        box = ann.page.locator("#map").bounding_box()
        ann.page.mouse.move(box["x"] + 2, box["y"] + 2)
        ann.page.mouse.down()
        ann.page.mouse.move(box["x"] + box["width"] - 2, box["y"] + box["height"] / 2)
        ann.page.mouse.up()
        ann.page.locator("#map-items [data-act=open-list]").click()
        ann.page.wait_for_selector("#item-list")
        ann.sees("#panel", "without an answer in the rectangle.")
        count = ann.page.locator(".ticks input").count()
        ann.press("2", "Enter")
        ann.saved(f"{count} items as feature · saved")
        assert modelled.engine.labels == 30 + count
        assert not modelled.store.audit() & modelled.store.current().keys()


def test_a_list_that_was_sent_without_the_server_is_sent_again(server, browser):
    with Visitor(browser, server.base, "ann") as ann:
        search(ann, "crashes")
        ann.context.set_offline(True)
        ann.press("1", "Enter")
        ann.sees("#banner", "1 answer not saved yet")
        assert server.store.current() == {}
        ann.context.set_offline(False)
        ann.sees("#saved", "items as bug · saved")
        assert {answer.label for answer in server.store.current().values()} == {"bug"}
        assert len({event.action for event in server.store.events() if event.method == "listed"}) == 1
