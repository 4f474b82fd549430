"""An answer that the server refuses never was: its items are asked again, and undo is about what was saved."""

import pytest
from browsing import Visitor, browser_of
from serving import Here, tickets, write_tickets

PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def browser(chromium):
    with browser_of(chromium) as opened:
        yield opened


@pytest.fixture
def few(folder):
    """Eight items, all of which are in the browser at once."""
    write_tickets(folder / "tickets.csv", tickets(8))
    with Here(folder, audit=0.0) as server:
        yield server


def replace(server):
    """Delete a class that no answer has, and add another."""
    server.store.delete_class("bug", "ben")
    server.store.add_class("defect", "ben", key="7")


def refuse(visitor, server, path):
    """Replace a class just before the next letter arrives."""
    pending = [server]

    def change(route):
        if pending:
            replace(pending.pop())
        route.continue_()

    visitor.page.route(f"**/api/{path}", change)


def hold(visitor, path="answer"):
    """Keep the next letter on its way; returns what lets it go on."""
    held = []
    visitor.page.route(f"**/api/{path}", lambda route: route.continue_() if held else held.append(route))

    def go_on():
        held[0].continue_()

    return go_on


def labels(server):
    return {item: answer.label for item, answer in server.store.current().items()}


def test_the_items_of_a_refused_list_are_asked_again(few, browser):
    with Visitor(browser, few.base, "ann") as ann:
        ann.label("2")
        ann.saved("feature · saved")
        ann.panel("labelled")
        ann.page.select_option("#by-state", "unanswered")
        ann.page.locator("[data-act=open-list]").click()
        ann.page.locator("[data-act=list-class][data-label=bug]").click()
        refuse(ann, few, "list")
        ann.page.click("#list-confirm")
        ann.sees("#banner", "Not saved: 7 items as bug")
        ann.page.wait_for_selector('.class[data-label="defect"]')
        for _ in range(7):
            ann.label("7")
        ann.sees("#content", "Everything is answered")
        assert sorted(labels(few).values()) == [*["defect"] * 7, "feature"]
        assert [error for error in ann.errors if "422" not in error] == []


def test_undo_after_a_refused_answer_is_about_the_one_before(few, browser):
    with Visitor(browser, few.base, "ann") as ann:
        first, _ = ann.label("2")
        ann.saved("feature · saved")
        refuse(ann, few, "answer")
        second, _ = ann.label("1")
        ann.sees("#banner", "Not saved: bug")
        ann.sees("#saved", "not saved")
        ann.page.wait_for_selector(f'#content[data-item="{second}"]')
        ann.press("u")
        ann.page.wait_for_selector(f'#content[data-item="{first}"]')
        ann.page.click("#banner-close")
        ann.saved("Taken back: your label feature.")
        assert labels(few) == {}
        ann.label("3")
        assert ann.item()[0] == second  # it has no answer, and was on show before
        ann.press("u")
        ann.saved("Taken back: your label question.")
        assert ann.item()[0] == first


def test_an_undo_that_waits_behind_a_refused_answer_takes_back_nothing_else(few, browser):
    with Visitor(browser, few.base, "ann") as ann:
        first, _ = ann.label("2")
        ann.saved("feature · saved")
        go_on = hold(ann)
        second, _ = ann.label("1")
        ann.press("u")
        ann.sees("#earlier", "Taken back: your label bug.")
        replace(few)
        go_on()
        ann.sees("#banner", "Not saved: bug")
        ann.page.click("#banner-close")
        ann.page.wait_for_selector(f'#content[data-item="{second}"]')
        assert labels(few) == {first: "feature"}
        ann.page.wait_for_selector('.class[data-label="defect"]')
        ann.label("7")
        ann.saved("defect · saved")
        assert labels(few) == {first: "feature", second: "defect"}


def test_two_refused_answers_are_both_asked_again(few, browser):
    with Visitor(browser, few.base, "ann") as ann:
        go_on = hold(ann)
        items = {ann.label("1")[0], ann.label("1")[0]}
        replace(few)
        go_on()
        ann.page.wait_for_function("([one, other]) => [one, other].includes(content.dataset.item)", arg=list(items))
        ann.sees("#saved", "not saved")
        ann.page.wait_for_timeout(500)  # both replies
        assert {ann.label("2")[0], ann.label("2")[0]} == items


def test_answers_of_a_renamed_class_count_as_its_present_name(few, browser):
    with Visitor(browser, few.base, "ann") as ann:
        ann.context.set_offline(True)
        items = [ann.label(key)[0] for key in "1212"]
        few.store.rename_class("bug", 'Lob, "gut"', "ben")
        few.store.add_class("bug", "ben", key="8")  # the old name means another class now
        ann.context.set_offline(False)
        ann.saved("feature · saved")
        assert labels(few) == dict(zip(items, ['Lob, "gut"', "feature"] * 2, strict=True))
        ann.page.wait_for_selector("""[data-label='Lob, "gut"']""")
        ann.label("8")
        ann.saved("bug · saved")


def test_a_list_whose_class_is_renamed_before_enter_is_saved_under_the_present_name(few, browser):
    with Visitor(browser, few.base, "ann") as ann:
        ann.label("2")
        ann.saved()
        ann.panel("labelled")
        ann.page.select_option("#by-state", "unanswered")
        ann.page.locator("[data-act=open-list]").click()
        ann.page.wait_for_selector("#item-list")
        ann.press("1")
        few.store.rename_class("bug", 'Lob, "gut"', "ben")
        ann.sees("#list-confirm", 'Label 7 items as Lob, "gut"')
        ann.sees("#item-list [data-act=list-class]", 'Lob, "gut"')
        few.store.rename_class('Lob, "gut"', "praise", "ben")
        ann.press("Enter")
        ann.sees("#saved", "7 items as praise · saved")
        assert sorted(labels(few).values()) == ["feature", *["praise"] * 7]


def test_every_refused_answer_is_named_by_the_text_of_its_item(few, browser):
    with Visitor(browser, few.base, "ann") as ann:
        go_on = hold(ann)
        said = [ann.label("1"), ann.label("1"), ann.label("2")]
        replace(few)
        go_on()
        ann.sees("#banner", said[1][1])
        words = ann.page.locator("#banner-words").inner_text()
        assert [text in words for _, text in said] == [True, True, False]
        assert "Not saved: bug for “" in words
        assert not any(item in words for item, _ in said)
        assert "'bug', which was deleted" in words
        assert "add" not in words.replace(said[0][1], "").replace(said[1][1], "")
        ann.page.click("#banner-close")
        assert ann.page.locator("#banner").is_hidden()


@pytest.mark.parametrize("field", ["#new-class", "#note"])
def test_a_refused_answer_leaves_alone_who_types(few, browser, field):
    with Visitor(browser, few.base, "ann") as ann:
        go_on = hold(ann)
        item, _ = ann.label("1")
        if field == "#note":
            ann.press("n")
        else:
            ann.panel("classes")
        ann.page.wait_for_selector(f"{field}:focus")
        ann.page.keyboard.type("half ")
        present, _ = ann.item()
        replace(few)
        with ann.page.expect_response("**/api/item?*"):
            go_on()
        ann.sees("#banner", "Not saved: bug")
        ann.page.wait_for_timeout(200)
        ann.page.keyboard.type("222")
        assert ann.page.input_value(field) == "half 222"
        assert ann.item()[0] == present
        assert labels(few) == {}
        ann.page.click("#note-cancel" if field == "#note" else "#panel-close")
        ann.page.locator("#content").focus()
        ann.label("2")
        assert ann.item()[0] == item  # it comes next


def test_a_refused_item_that_cannot_be_looked_up_is_asked_all_the_same(few, browser):
    with Visitor(browser, few.base, "ann") as ann:
        ann.page.route("**/api/item?*", lambda route: route.abort())
        refuse(ann, few, "answer")
        ann.label("1")
        ann.sees("#banner", "Not saved: bug")
        ann.page.wait_for_selector('.class[data-label="defect"]')
        for _ in range(8):
            ann.label("7")
        ann.sees("#content", "Everything is answered")
        assert set(labels(few).values()) == {"defect"}
        assert len(labels(few)) == 8


def test_many_refused_answers_leave_room_for_the_item(folder, browser):
    with Here(folder, audit=0.0) as server, Visitor(browser, server.base, "ann") as ann:
        ann.page.wait_for_function(
            "performance.getEntriesByType('resource').some((one) => one.name.endsWith('api/next'))"
        )
        ann.page.wait_for_timeout(300)
        ann.context.set_offline(True)
        said = [ann.label("1") for _ in range(21)]
        replace(server)
        asked = []
        ann.page.on("request", lambda request: asked.append(request.url.partition("/api/")[2].partition("?")[0]))
        ann.context.set_offline(False)
        ann.sees("#banner", "and 1 more. ")
        ann.page.wait_for_selector(f'#content[data-item="{said[-1][0]}"]')
        assert asked.count("answer") >= 21
        assert asked.count("state") < 15  # one, and the usual looks
        assert ann.page.locator("#banner").bounding_box()["height"] <= 0.31 * 800
        assert ann.page.locator("#banner-close").is_visible()
        ann.page.wait_for_timeout(500)
        assert asked.count("item") <= 20


def test_what_is_said_of_a_refused_answer_is_closed_by_a_tap(few, browser):
    with Visitor(browser, few.base, "ann", viewport=PHONE, has_touch=True) as ann:
        refuse(ann, few, "answer")
        ann.page.locator('.class[data-label="bug"]').tap()
        ann.sees("#banner", "Not saved: bug")
        ann.page.wait_for_timeout(1500)
        assert ann.page.is_visible("#banner")
        ann.page.locator("#banner-close").tap()
        ann.page.wait_for_selector("#banner", state="hidden")


def test_what_passes_by_itself_has_no_button(few, browser):
    with Visitor(browser, few.base, "ann") as ann:
        ann.page.route("**/api/answer", lambda route: route.abort())
        ann.label("1")
        ann.sees("#banner", "not saved yet")
        assert ann.page.locator("#banner-close").is_hidden()
