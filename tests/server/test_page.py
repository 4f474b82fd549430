"""How the page looks and behaves: for every script, class count, screen, colour scheme and for screen readers."""

import re

import pytest
from browsing import Visitor, browser_of
from serving import Here, Server, write_tickets

from bemps.server.http.templating import STATIC
from bemps.server.panels.keys import assign

LONG = "\n".join(f"Line {number} of a long report about the same thing." for number in range(120))
TEXTS = {
    "script": '<script>document.body.dataset.hacked="yes"</script><img src=x onerror="document.body.dataset.hacked=1">',
    "hebrew": "האפליקציה קורסת כשאני מייצא את החשבונית, תודה רבה",
    "long": LONG,
    "plain": "How do I export the invoice?",
}


@pytest.fixture(scope="module")
def browser(chromium):
    with browser_of(chromium) as found:
        yield found


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    write_tickets(folder / "tickets.csv", [(text, "x") for text in TEXTS.values()])
    with Here(folder, audit=0.0, guidelines="A bug is something that is broken.") as server:
        yield server


def violations(page):
    """What axe-core objects to, in short."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [(one["id"], [node["target"] for node in one["nodes"]]) for one in found]


def opened(visitor, server, text):
    """Show a certain text."""
    item = next(item.id for item in server.store.items() if item.content == text)
    visitor.panel("labelled")
    visitor.page.select_option("#by-state", "unanswered")
    visitor.page.locator(f'#panel [data-item="{item}"]').click()
    visitor.page.wait_for_selector(f'#content[data-item="{item}"]')


def test_a_script_is_shown_and_not_run(texts, browser):
    with Visitor(browser, texts.base, "ann") as ann:
        opened(ann, texts, TEXTS["script"])
        assert ann.page.locator("#content").inner_text() == TEXTS["script"]
        assert ann.page.locator("#content script, #content img, #panel img").count() == 0
        assert ann.page.evaluate("document.body.dataset.hacked") is None


def test_right_to_left_texts_run_right_to_left(texts, browser):
    with Visitor(browser, texts.base, "ann") as ann:
        opened(ann, texts, TEXTS["hebrew"])
        assert ann.page.evaluate("getComputedStyle(document.querySelector('#content')).direction") == "rtl"
        assert ann.page.evaluate("getComputedStyle(document.querySelector('#classes')).direction") == "ltr"


def test_long_texts_scroll_inside_and_nothing_jumps(texts, browser):
    with Visitor(browser, texts.base, "ann") as ann:
        opened(ann, texts, TEXTS["plain"])
        before = ann.page.locator("#classes").bounding_box()
        ann.page.keyboard.press("l")
        opened(ann, texts, TEXTS["long"])
        assert ann.page.evaluate("(e => e.scrollHeight > e.clientHeight)(document.querySelector('#content'))")
        assert ann.page.locator("#classes").bounding_box() == before


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_no_accessibility_violation_in_any_panel(texts, browser, scheme, width):
    size = {"width": width, "height": 844}
    with Visitor(browser, texts.base, "ann", color_scheme=scheme, viewport=size) as ann:
        assert violations(ann.page) == []
        background = ann.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, background[4:-1].split(","))) < 150) == (scheme == "dark")
        for key in "pli?":
            ann.press(key)
            ann.page.wait_for_selector("#panel-content h2")
            assert violations(ann.page) == [], key
            assert ann.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            ann.press("Escape")
        for panel in ("team", "classes", "why"):
            ann.panel(panel)
            assert violations(ann.page) == [], panel
            ann.press("Escape")
        ann.press("n")
        assert violations(ann.page) == []


@pytest.mark.parametrize(("scheme", "width"), [("dark", 1280), ("light", 390)])
def test_the_checker_passes_the_page_and_finds_what_is_wrong(texts, browser, scheme, width):
    size = {"width": width, "height": 844}
    with Visitor(browser, texts.base, "ann", color_scheme=scheme, viewport=size) as ann:
        assert violations(ann.page) == []
        ann.page.evaluate("document.querySelector('main').append(document.createElement('button'))")
        assert [name for name, _ in violations(ann.page)] == ["button-name"]


def test_what_happens_is_said_to_screen_readers_and_keys_can_be_switched_off(server, browser):
    with Visitor(browser, server.base, "ann") as ann:
        ann.label("1")
        ann.sees("#live", "bug. Next: ")
        assert ann.page.locator("#live").get_attribute("aria-live") == "polite"
        ann.panel("keys")
        ann.page.check("#keys-off")
        here = ann.item()
        ann.press("Escape", "2", "s")
        assert ann.item() == here
        ann.page.locator('.class[data-label="feature"]').focus()
        ann.press("Enter")
        ann.page.wait_for_function("id => document.querySelector('#content').dataset.item !== id", arg=here[0])
        ann.sees("#live", "feature. Next: ")


def test_seventy_seven_classes_by_two_keys_or_by_name(folder, browser):
    names = tuple(f"intent {number:02d} {('card', 'fee', 'cash', 'top')[number % 4]}" for number in range(77))
    keys = assign(names)
    with Here(folder, classes=names) as server, Visitor(browser, server.base, "ann") as ann:
        assert violations(ann.page) == []
        first, _ = ann.item()
        ann.press(*keys[names[40]][0])
        ann.page.wait_for_function("id => document.querySelector('#content').dataset.item !== id", arg=first)
        ann.saved(f"{names[40]} · saved")
        second, _ = ann.item()
        ann.press("/")
        ann.page.keyboard.type("76 card")
        assert ann.page.locator("#classes .class:visible").count() == 1
        ann.press("Enter")
        ann.saved("intent 76 card · saved")
        current = {item: answer.label for item, answer in server.store.current().items()}
        assert current == {first: names[40], second: names[76]}
        assert ann.page.locator("#classes .class:visible").count() == 77


def test_images_are_shown_and_zoomed(tmp_path, browser):
    pillow = pytest.importorskip("PIL.Image")
    photos = tmp_path / "photos"
    photos.mkdir()
    for number, colour in enumerate(("red", "green", "blue")):
        pillow.new("RGB", (1600, 900), colour).save(photos / f"{colour} #{number}.png")
    pillow.new("RGB", (60, 40), "white").save(photos / "scan.tif")
    with Server(tmp_path, data="photos", classes=("warm", "cold")) as server, Visitor(browser, server.url) as ann:
        for _ in range(4):
            image = ann.page.locator("#content img")
            image.wait_for()
            ann.page.wait_for_function("() => document.querySelector('#content img').naturalWidth > 0")
            small = image.bounding_box()["width"]
            ann.press("z")
            assert image.bounding_box()["width"] > 1.5 * small
            assert violations(ann.page) == []
            ann.press("z", "1")
            ann.saved()
        ann.sees("#content", "Everything is answered")
        assert ann.errors == []
        with server.person() as web:
            assert web.http.get("image", params={"id": "../../etc/passwd"}).status_code == 404


def test_a_stranger_is_asked_for_a_name(folder, browser):
    from bemps.server.http.http_server import Address

    with Here(folder, address=Address(host="0.0.0.0", port=0)) as server:
        context = browser.new_context()
        page = context.new_page()
        assert page.goto(server.base).status == 401
        page.goto(f"{server.base}?token={server.door.token}")
        assert "token" not in page.url
        assert violations(page) == []
        page.fill("#name", "Zoë Ångström")
        page.keyboard.press("Enter")
        page.wait_for_selector("#content[data-item]")
        page.keyboard.press("1")
        page.locator("#saved", has_text="bug · saved").wait_for()
        assert server.store.annotators()[-1] == "Zoë Ångström"
        context.close()


def test_a_second_ann_is_told_and_says_who_she_is(folder, browser):
    with Here(folder) as server:
        with server.person("Ann") as first:
            first.answer(first.next()[0]["id"], "bug").raise_for_status()
        context = browser.new_context()
        page = context.new_page()
        page.goto(server.base)
        page.fill("#name", "ann")
        page.keyboard.press("Enter")
        page.locator("#question", has_text="Ann labels here right now. Is that you?").wait_for()
        assert violations(page) == []
        assert page.evaluate("document.activeElement.textContent") == "Yes, I am Ann"
        page.click("text=Choose another name")
        assert page.evaluate("document.activeElement.id") == "name"
        page.keyboard.type("Anna")
        page.keyboard.press("Enter")
        page.wait_for_selector("#content[data-item]")
        assert page.evaluate("JSON.parse(document.querySelector('#project').textContent).annotator") == "Anna"
        page.click("text=Team")
        page.fill("#my-name", "Ann")
        page.keyboard.press("Enter")
        page.locator("#panel .problem", has_text="choose Change again").first.wait_for()
        with page.expect_navigation():
            page.keyboard.press("Enter")
        page.wait_for_selector("#content[data-item]")
        assert page.evaluate("JSON.parse(document.querySelector('#project').textContent).annotator") == "Ann"
        context.close()


def test_a_device_of_the_same_person_goes_on_under_her_name(folder, browser):
    with Here(folder) as server:
        server.store.answer("Ann", server.store.ids()[0], "label", "bug")
        context = browser.new_context(viewport={"width": 380, "height": 700})
        page = context.new_page()
        page.goto(server.base)
        page.fill("#name", "Ann")
        page.keyboard.press("Enter")
        page.locator("#same").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.keyboard.press("Enter")
        page.wait_for_selector("#content[data-item]")
        assert [cookie["value"] for cookie in context.cookies() if cookie["name"].startswith("bemps_name")] == ["Ann"]
        context.close()


def test_no_class_of_the_page_has_two_methods_of_one_name():
    """The second would replace the first without a word."""
    for path in sorted(STATIC.glob("*.js")):
        for body in re.split(r"^(?:export )?class ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
            methods = re.findall(
                r"^  (?:async )?(?!if |for |while )(\w+)\(.*\{", body.partition("\n}")[0], flags=re.MULTILINE
            )
            assert len(methods) == len(set(methods)), (path.name, sorted(methods))
