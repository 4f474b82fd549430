"""Keys, clicks and taps in a real browser: each does what it says, and nothing else."""

import pytest
from browsing import Visitor, browser_of
from serving import Here, tickets, write_tickets

from bemps.store import open_store

LONG = "\n".join(f"Line {number} of a long report about the same thing." for number in range(120))


@pytest.fixture(scope="module")
def browser(chromium):
    with browser_of(chromium) as opened:
        yield opened


def labels_of(server):
    return {item: answer.label or answer.kind for item, answer in server.store.current().items()}


def keys_of(server):
    return {known.name: known.key for known in server.store.classes()}


def test_the_key_of_a_class_named_by_a_digit_is_that_digit(folder, browser):
    with Here(folder, classes=("0", "1")) as server, Visitor(browser, server.base, "ann") as ann:
        first, _ = ann.label("1")
        second, _ = ann.label("0")
        ann.saved("0 · saved")
        assert labels_of(server) == {first: "1", second: "0"}


def test_a_key_keeps_its_class_when_classes_are_added_and_renamed_and_all_pages_are_told(folder, browser):
    classes = ("ham", "Access", "Purchase")
    with (
        Here(folder, classes=classes) as server,
        Visitor(browser, server.base, "ann") as ann,
        Visitor(browser, server.base, "bea") as bea,
        server.person("eve") as eve,
    ):
        before = keys_of(server)
        assert before == {"ham": "1 h", "Access": "2 a", "Purchase": "3"}
        eve.post("class/rename", old="ham", new="not spam")
        for name in ("phishing", "Payroll", "Legal", "Housing", "Energy", "Audits", "Advice"):
            eve.post("class", name=name)
        for page in (ann, bea):
            page.sees("#notice", "New class Advice: key 0.")
            page.sees("#notice", "ham is called not spam now.")
        after = keys_of(server)
        assert [after[name] for name in ("not spam", "Access", "Purchase")] == list(before.values())
        first, _ = bea.label("h")
        second, _ = bea.label("a")
        bea.saved("Access · saved")
        assert labels_of(server) == {first: "not spam", second: "Access"}
        bea.page.click("#notice-close")
        assert bea.page.locator("#notice").is_hidden()


def test_a_key_that_was_given_to_another_class_first_says_so(server, browser):
    with Visitor(browser, server.base, "ann") as ann, server.person("eve") as eve:
        item, _ = ann.item()
        eve.post("class/key", name="bug", key="k")
        eve.post("class/key", name="feature", key="b")
        ann.sees("#notice", "feature has another key: key b.")
        ann.press("b")
        ann.sees("#notice", "Key b means feature now. Press it again to label.")
        assert ann.item()[0] == item
        assert labels_of(server) == {}
        ann.label("b")
        ann.saved("feature · saved")
        assert labels_of(server) == {item: "feature"}


def test_a_project_labelled_before_keys_were_kept_gets_those_it_had(folder, browser):
    with Here(folder, classes=("spam", "Access")) as server, server.person() as ann:
        ann.answer(ann.next()[0]["id"], "spam")
    store = open_store(folder / "tickets.bemps")
    for name in ("spam", "Access"):
        store.set_key(name, None, "test")
    store.set("keys_recorded", False)
    store.close()
    for _ in range(2):
        with Here(folder, classes=("spam", "Access")) as server:
            assert keys_of(server) == {"spam": "1 a", "Access": "2 c"}


@pytest.mark.parametrize("button", [".class[data-label=feature]", "[data-do=skip]"])
def test_space_after_a_click_answers_nothing_and_scrolls(folder, browser, button):
    write_tickets(folder / "tickets.csv", [(f"{number} {LONG}", "x") for number in range(8)])
    with Here(folder) as server, Visitor(browser, server.base, "ann") as ann:
        first, _ = ann.item()
        ann.page.click(button)
        ann.page.wait_for_function("id => document.querySelector('#content').dataset.item !== id", arg=first)
        second, _ = ann.item()
        top = "document.querySelector('#content').scrollTop"
        ann.press(" ")
        ann.page.wait_for_function(f"() => {top} > 100")
        ann.page.focus(button)  # also where somebody went there by Tab
        ann.press(" ")
        ann.page.wait_for_timeout(100)
        ann.saved()
        assert ann.item()[0] == second
        assert list(labels_of(server)) == [first]
        ann.press("Enter")
        ann.page.wait_for_function("id => document.querySelector('#content').dataset.item !== id", arg=second)


def test_long_texts_are_read_by_keyboard_and_say_that_there_is_more(folder, browser):
    write_tickets(folder / "tickets.csv", [(LONG, "x"), ("short", "y"), ("brief", "y")])
    with Here(folder, audit=0.0) as server, Visitor(browser, server.base, "ann") as ann:
        while ann.item()[1] != LONG:
            ann.label("1")
        top = "document.querySelector('#content').scrollTop"
        more = ann.page.locator("#more")
        more.wait_for()
        seen = [0]
        for key in (" ", "PageDown", "ArrowDown", "End"):
            ann.press(key)
            ann.page.wait_for_function(f"before => {top} > before", arg=seen[-1])
            seen.append(ann.page.evaluate(top))
        more.wait_for(state="hidden")
        for key in ("PageUp", "ArrowUp", "Shift+Space", "Home"):
            ann.press(key)
            ann.page.wait_for_function(f"before => {top} < before", arg=seen[-1])
            seen.append(ann.page.evaluate(top))
        assert seen[-1] == 0


def test_fields_of_panels_can_be_clicked_into(server, browser):
    with Visitor(browser, server.base, "ann") as ann:
        for panel, fields in {"classes": ("#new-class", "#name-1", "#key-2"), "team": ("#my-name",)}.items():
            ann.panel(panel)
            for field in fields:
                ann.page.click(field)
                ann.page.wait_for_timeout(150)
                assert ann.page.locator("#panel .problem:visible").count() == 0
                assert ann.page.evaluate("document.activeElement.id") == field[1:]
            ann.press("Escape")
        ann.panel("classes")
        ann.page.click("#new-class")
        ann.page.keyboard.type("praise")
        ann.page.click("form[data-act=add-class] button")
        ann.page.wait_for_selector('.class[data-label="praise"]')
        assert ann.errors == []


def test_switching_keys_off_is_seen_when_the_panel_is_opened_again(server, browser):
    with Visitor(browser, server.base, "ann") as ann:
        ann.panel("keys")
        ann.page.check("#keys-off")
        ann.press("Escape")
        ann.sees("[data-panel=keys]", "Keys off")
        assert ann.page.locator("#classes kbd:visible").count() == 0
        ann.panel("keys")
        assert ann.page.is_checked("#keys-off")
        ann.page.uncheck("#keys-off")
        ann.press("Escape")
        ann.label("1")


def test_taking_a_label_back_leaves_the_note_on_show(server, browser):
    with Visitor(browser, server.base, "ann") as ann:
        ann.press("n")
        ann.page.fill("#note", "ask Eve")
        ann.press("Control+Enter")
        ann.label("1")
        ann.saved("bug · saved")
        ann.press("u")
        ann.sees("#earlier", "Taken back: bug")
        ann.sees("#item-note", "ask Eve")


def test_a_tapped_class_does_not_stay_marked_and_nothing_is_covered(server, browser):
    touch = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    with Visitor(browser, server.base, "ann", **touch) as ann:
        first, _ = ann.item()
        ann.page.tap('.class[data-label="feature"]')
        ann.page.wait_for_function("id => document.querySelector('#content').dataset.item !== id", arg=first)
        ann.page.wait_for_timeout(400)
        style = "name => getComputedStyle(document.querySelector(`.class[data-label=${name}]`)).backgroundColor"
        assert ann.page.evaluate(style, "feature") == ann.page.evaluate(style, "bug")
        for width in (390, 1024, 1440):
            ann.page.set_viewport_size({"width": width, "height": 844})
            ann.page.evaluate("scrollTo(0, document.body.scrollHeight)")
            foot = ann.page.locator(".foot").bounding_box()
            for button in ann.page.locator(".commands button").all():
                box = button.bounding_box()
                assert box["y"] + box["height"] <= foot["y"]


WORDS = ("Hardware", "HR Support", "Access", "Miscellaneous", "Storage", "Internal Project", "Administrative rights")


@pytest.mark.parametrize("width", [390, 1024, 1440])
def test_no_word_is_broken_on_a_button(folder, browser, width):
    size = {"width": width, "height": 844}
    with Here(folder, classes=WORDS) as server, Visitor(browser, server.base, "ann", viewport=size) as ann:
        lines = """() => [...document.querySelectorAll("#classes .class span")].map((span) => {
            const range = document.createRange();
            range.selectNodeContents(span);
            return new Set([...range.getClientRects()].map((box) => Math.round(box.bottom))).size;
        })"""
        for name, count in zip(WORDS, ann.page.evaluate(lines), strict=True):
            assert count <= len(name.split()), name
        assert ann.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_thirty_classes_and_the_commands_are_all_on_one_screen(folder, browser):
    classes = tuple(f"topic {number} of the desk" for number in range(30))
    size = {"width": 1440, "height": 900}
    with Here(folder, classes=classes) as server, Visitor(browser, server.base, "ann", viewport=size) as ann:
        for button in ann.page.locator("#classes .class, .commands button").all():
            box = button.bounding_box()
            assert box["y"] + box["height"] <= 900
        assert ann.page.evaluate("(e => e.scrollHeight <= e.clientHeight)(document.querySelector('#classes'))")
        assert ann.page.evaluate("document.documentElement.scrollHeight <= innerHeight")


def test_the_header_does_not_ask_for_all_items(server, browser):
    with Visitor(browser, server.base, "ann") as ann:
        assert "of 240" not in ann.page.locator(".tally").inner_text().replace("pool of", "")
        ann.sees(".tally", "pool of 240")


def test_lists_are_brought_up_to_date_and_lead_from_hit_to_hit(server, browser):
    with Visitor(browser, server.base, "ann") as ann:
        waiting, _ = ann.item()
        ann.panel("labelled")
        ann.page.select_option("#by-state", "unanswered")
        ann.page.locator("#panel [data-unanswered]").first.wait_for()
        hits = [one.get_attribute("data-item") for one in ann.page.locator("#panel .items button").all()]
        ann.page.locator("#panel .items button").first.click()
        ann.page.wait_for_selector(f'#content[data-item="{hits[0]}"]')
        ann.press("1")
        ann.page.wait_for_selector(f'#content[data-item="{hits[1]}"]')
        ann.page.locator(f'#panel [data-item="{hits[0]}"]').wait_for(state="detached")
        ann.page.select_option("#by-state", "answered")
        ann.sees("#panel .items", "bug")
        ann.press("Escape")
        ann.label("2")
        ann.saved()
        ann.panel("labelled")
        ann.sees("#panel", "2 found")
        ann.press("u")
        ann.sees("#panel", "1 found")
        assert waiting in server.store.ids()


def test_a_search_needs_no_enter_marks_what_it_found_and_finds_what_has_no_answer(server, browser):
    with Visitor(browser, server.base, "ann") as ann:
        _, text = ann.label("1")
        ann.saved()
        ann.panel("labelled")
        ann.page.click("#q")
        words = "  ".join(text.split()[:3])
        ann.page.keyboard.type(words)
        ann.sees("#panel mark", " ".join(text.split()[:3]))
        assert ann.page.input_value("#q") == words
        ann.page.fill("#q", "the")
        ann.page.click("#panel button:has-text('not answered')")
        ann.page.wait_for_selector("#panel [data-unanswered]")
        assert ann.page.locator("#panel mark").count() >= ann.page.locator("#panel .items li").count()


def test_at_the_end_there_is_a_summary_and_a_download_and_no_class_to_press(folder, browser):
    write_tickets(folder / "tickets.csv", tickets(4))
    with Here(folder, audit=0.0) as server, Visitor(browser, server.base, "ann") as ann:
        for key in "112":
            ann.label(key)
        ann.press("s")
        ann.sees("#content .end", "3 labelled, 1 skipped, of 4 items")
        assert ann.page.locator("#classes .class:visible").count() == 0
        assert ann.page.locator("[data-do=skip]:visible, [data-do=unsure]:visible").count() == 0
        link = ann.page.locator("#content .end a").first.get_attribute("href")
        with server.person() as eve:
            assert len(eve.http.get(link).raise_for_status().text.splitlines()) >= 4
        ann.press("u")
        ann.sees("#earlier", "Taken back: skip")
        assert ann.page.locator("#classes .class:visible").count() == 3


def test_without_the_server_it_is_said_what_happens(server, browser):
    with Visitor(browser, server.base, "ann") as ann:
        ann.page.wait_for_timeout(300)
        ann.page.route("**/api/**", lambda route: route.abort())
        for _ in range(4):
            ann.press("1")
        ann.sees("#content", "More come when the server can be reached")
        ann.press("u")
        ann.sees("#banner", "not saved yet")
        ann.page.unroute("**/api/**")
        ann.sees("#earlier", "Taken back: bug")
        assert len(labels_of(server)) == 3


def test_lengths_are_the_same_on_the_page_on_the_server_and_in_the_store(server, browser):
    from bemps.store.checked import LONGEST_NAME, LONGEST_NOTE

    with Visitor(browser, server.base, "ann") as ann, server.person() as eve:
        assert ann.page.get_attribute("#note", "maxlength") == str(LONGEST_NOTE)
        ann.panel("classes")
        assert {field.get_attribute("maxlength") for field in ann.page.locator("[name=name]").all()} == {
            str(LONGEST_NAME)
        }
        (item,) = eve.next()
        for extra, status in ((0, 200), (1, 422)):
            assert eve.answer(item["id"], kind="note", note="n" * (LONGEST_NOTE + extra)).status_code == status
            assert eve.post("class", name="c" * (LONGEST_NAME + extra)).status_code == status
