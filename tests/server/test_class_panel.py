"""Classes on the page: what they mean, order, colour, hiding, deleting and merging, with two people at work."""

import re
from dataclasses import replace

import pytest
from browsing import Visitor, browser_of
from serving import Here, ProjectsHere, eventually, write_tickets
from test_page import violations

from bemps import InputError
from bemps.server.http.templating import STATIC
from bemps.server.project_start import Source, Wishes, prepared
from bemps.store import COLOURS, NewClass
from bemps.store.events import Example

BUG = NewClass("bug", "b", "Something is broken.", "orange")


@pytest.fixture(scope="module")
def browser(chromium):
    with browser_of(chromium) as found:
        yield found


@pytest.fixture
def server(folder):
    write_tickets(folder / "tickets.csv")
    with Here(folder, classes=(BUG, "feature", "question")) as running:
        yield running


def names(page):
    return page.locator("#classes .class").evaluate_all("all => all.map((each) => each.dataset.label)")


@pytest.mark.usefixtures("either_store")
def test_requests_change_classes_for_everybody(server):
    with server.person() as ann:
        item = ann.next()[0]["id"]
        ann.post("class/change", name="feature", description="A wish.", colour="sky").raise_for_status()
        ann.post("class/example", name="feature", item=item).raise_for_status()
        reply = ann.post("class/change", name="question", move=-1).raise_for_status().json()["classes"]
        assert [each["name"] for each in reply["list"]] == ["bug", "question", "feature"]
        about = reply["list"][2]
        assert (about["description"], about["colour"]) == ("A wish.", "sky")
        assert about["examples"][0]["text"] == server.store.item(item).content
        assert ann.post("class/change", name="bug", colour="mauve").status_code == 422
        assert ann.post("class/change", name="bug", move=5).status_code == 422
        assert "A wish." in ann.panel("guidelines")
        text = ann.http.get("classes.csv").raise_for_status().text
        assert text.splitlines() == [
            "name,key,description,colour,examples",
            "bug,b,Something is broken.,orange,",
            "question,3,,,",
            "feature,2,A wish.,sky,",
        ]
        assert ann.post("class/example", name="feature", item=item, remove=True).is_success
        assert server.store.classes()[2].examples == ()


def test_a_blank_name_is_refused_in_plain_words(server):
    with server.person() as ann:
        for blank in ("", "   "):
            reply = ann.post("class", name=blank)
            assert reply.status_code == 422
            assert "got nothing" in reply.text
            assert "Write something." in reply.text


def test_a_long_name_is_said_within_the_page_and_ones_own_class_is_no_news(server, browser):
    with Visitor(browser, server.base, "ann") as ann, server.person("eve") as eve:
        ann.page.click("text=Edit classes")
        ann.page.fill("#new-class", "mine")
        ann.press("Enter")
        ann.page.wait_for_selector('#classes .class[data-label="mine"]')
        assert ann.page.locator(".notice", has_text="mine").count() == 0
        eve.post("class", name="w" * 200).raise_for_status()
        ann.sees(".notice", "New class www")
        assert ann.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert ann.page.locator(".notice button").bounding_box()["x"] < 1280


@pytest.mark.usefixtures("either_store")
def test_a_hidden_class_takes_no_new_answers_but_keeps_what_was_sent_and_can_be_confirmed(server):
    with server.person() as ann:
        first, second = [item["id"] for item in ann.next(2)]
        ann.answer(first, "bug", request="request-1").raise_for_status()
        assert ann.post("class/change", name="bug", hidden=True).json()["classes"]["gone"][0]["name"] == "bug"
        refused = ann.answer(second, "bug")
        assert refused.status_code == 422
        assert "hidden" in refused.text
        assert ann.answer(first, "bug", request="request-1").is_success  # sent again, as its reply was lost
        assert ann.answer(first, "bug").is_success  # confirmed
        assert server.store.current()[first].label == "bug"
        assert "hidden" in ann.panel("classes")
        assert "bug" not in ann.panel("keys")
        ann.post("class/change", name="bug", hidden=False)
        assert ann.answer(second, "bug").is_success


@pytest.mark.usefixtures("either_store")
def test_merging_and_splitting_through_requests(server):
    with server.person() as ann:
        item = ann.next()[0]["id"]
        ann.answer(item, "bug").raise_for_status()
        assert "Hide it" in ann.post("class/delete", name="bug").text
        reply = ann.post("class/merge", name="bug", into="feature").json()["classes"]
        assert reply["gone"] == [{"id": 0, "name": "bug", "into": "feature"}]
        assert server.store.current()[item].label == "feature"
        assert "counts as" in ann.panel("classes")
        ann.post("class/split", name="bug").raise_for_status()
        assert server.store.current()[item].label == "bug"
        assert ann.post("class/delete", name="question").is_success
        assert "question" not in ann.http.get("classes.csv").text


def test_the_same_command_again_undoes_nothing_that_was_changed_on_the_page(folder):
    write_tickets(folder / "tickets.csv")
    source, where = Source(folder / "tickets.csv", {"text": "body"}), str(folder / "p.bemps")

    def start(*classes, guidelines="Rules."):
        return prepared(where, source, Wishes(classes=classes, guidelines=guidelines, model="none"))[0]

    with start(BUG, "feature", "extra") as store:
        store.change_class("bug", "ann", description="Changed here.")
        store.delete_class("extra", "ann")
        store.set("guidelines", "Changed too.")
    with start(BUG, "feature", "extra") as store:
        assert [known.name for known in store.classes()] == ["bug", "feature"]
        assert store.classes()[0].description == "Changed here."
        assert store.read_settings().guidelines == "Changed too."
    new = NewClass("bug", "k", "New in the file.")
    with start(new, "feature", guidelines="New rules.") as store:
        assert (store.classes()[0].key, store.classes()[0].description) == ("k", "New in the file.")
        assert store.read_settings().guidelines == "New rules."
    with start(replace(new, examples=("It stops.",)), "feature") as store:
        assert store.classes()[0].examples == (Example(text="It stops."),)


def test_a_class_file_without_examples_is_known_by_what_earlier_releases_stored():
    assert repr(NewClass("bug", "b", "Broken.")) == "NewClass(name='bug', key='b', description='Broken.', colour=None)"


def test_keys_of_a_class_file(folder):
    write_tickets(folder / "tickets.csv")
    source = Source(folder / "tickets.csv", {"text": "body"})

    def start(*keys):
        classes = [NewClass(f"class {row}", key) for row, key in enumerate(keys)]
        return prepared(str(folder / "p.bemps"), source, Wishes(classes=classes, model="none"))[0]

    for keys, words in {
        ("s", "1"): "'s', the key of the page for 'skip'",
        ("ab", "a"): "'a' begins the keys of 'class 0'",
        ("a", "ab"): "'a' begins the keys of 'class 1'",
        ("é", "1"): "'é'",
        ("1", "1"): "'1', the key of 'class 0'",
    }.items():
        with pytest.raises(InputError, match=words):
            start(*keys)
    with start("ab", "ac", "Q") as store:
        assert [known.key for known in store.classes()] == ["ab", "ac", "q"]


def test_a_class_file_on_the_page_of_projects(tmp_path, browser):
    rows = tmp_path / "tickets.csv"
    write_tickets(rows)
    topics = tmp_path / "topics.csv"
    topics.write_text("name,key,description\nbug,k,It is broken.\nfeature,,\n", encoding="utf-8")
    folder = tmp_path / "projects"
    folder.mkdir()
    with ProjectsHere(folder) as server, Visitor(browser, server.base) as ann:
        ann.page.set_input_files("#file", str(rows))
        ann.page.check("#from-file")
        ann.page.click("#make .primary")
        ann.sees("#make-problem", "Choose the file of the classes")
        ann.page.set_input_files("#class-file", str(rows))
        ann.page.click("#make .primary")
        ann.sees("#make-problem", "column")
        ann.page.set_input_files("#class-file", str(topics))
        ann.page.click("#make .primary")
        ann.page.wait_for_selector('.class[data-label="bug"] kbd:text("k")')
        assert ann.page.locator("[id^=class-words-]").text_content() == "It is broken."


def test_what_a_class_means_is_shown_on_hover_on_focus_and_by_a_long_touch(server, browser):
    with server.person("lead") as lead:
        lead.post("class/example", name="bug", text="The app crashes.").raise_for_status()
    button, tip = '.class[data-label="bug"]', "#class-help"
    with Visitor(browser, server.base, "ann") as ann:
        page = ann.page
        item, _ = ann.item()
        described = page.locator(button).get_attribute("aria-describedby")
        words = page.locator(f"#{described}").text_content()
        assert words == "Something is broken. For example: The app crashes."
        page.hover(button)
        ann.sees(tip, "The app crashes.")
        page.hover(tip)  # it can be reached
        page.wait_for_timeout(400)
        assert page.is_visible(tip)
        assert violations(page) == []
        page.keyboard.press("Escape")
        page.wait_for_selector(tip, state="hidden")
        page.hover('.class[data-label="feature"]')
        page.focus("#content")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.dataset.label") == "bug"
        ann.sees(tip, "Something is broken.")
        page.keyboard.press("Tab")  # a class without a description
        page.wait_for_selector(tip, state="hidden")
        assert ann.item()[0] == item  # nothing was labelled
    with Visitor(browser, server.base, "bob", has_touch=True, viewport={"width": 390, "height": 800}) as bob:
        page, (item, _) = bob.page, bob.item()
        place = page.locator(button).bounding_box()
        touch = page.context.new_cdp_session(page)
        at = {"x": place["x"] + 20, "y": place["y"] + 20}
        touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [at]})
        bob.sees(tip, "Something is broken.")
        touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        assert bob.item()[0] == item
        box = page.locator(tip).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
        page.tap('.class[data-label="feature"]')
        page.wait_for_function("id => document.querySelector('#content').dataset.item !== id", arg=item)
        assert not bob.errors


def test_a_name_typed_as_soon_as_the_panel_opens_is_no_answer(server, browser):
    with Visitor(browser, server.base, "ann") as ann:
        page, (item, _) = ann.page, ann.item()
        slow = []
        page.route("**/panel/classes*", lambda route: slow.append(route))  # noqa: PLW0108 -- playwright marks its handlers
        page.click("[data-panel=classes]")
        page.keyboard.type("bsxu1")  # while the panel loads: the keys of bug, Skip, Unsure, Undo
        page.wait_for_function("() => document.activeElement.id === 'panel'")
        slow[0].continue_()
        page.wait_for_function("() => document.activeElement.id === 'new-class'")
        page.keyboard.type("subscription")
        page.keyboard.press("Enter")
        page.wait_for_selector('.class[data-label="subscription"]')
        assert ann.item()[0] == item
        assert server.store.answers() == []
        assert not ann.errors
    with Visitor(browser, server.base, "bob", has_touch=True, is_mobile=True) as bob:
        bob.panel("classes")
        bob.page.wait_for_function("() => document.activeElement.id === 'panel'")  # the keyboard of a phone stays away


def test_a_class_is_described_coloured_and_moved_by_keyboard(server, browser):
    with Visitor(browser, server.base, "ann") as ann, Visitor(browser, server.base, "bob") as bob:
        page = ann.page
        _item, text = ann.item()
        ann.panel("classes")
        page.click("#more-1 summary")
        page.fill("#about-1", "A wish for something new.")
        page.select_option("#colour-1", "sky")
        page.focus("#item-1")
        page.keyboard.press("Enter")  # the item on show is an example; what is typed stays
        page.locator("#more-1 .examples").filter(has_text=text[:30]).wait_for()
        assert page.input_value("#about-1") == "A wish for something new."
        page.focus("#save-1")
        page.keyboard.press("Enter")
        page.wait_for_selector('.class[data-label="feature"][data-colour="sky"]')
        for who in (ann, bob):
            who.sees("#notice", "feature has a new description.")
            who.sees("#notice", "feature has other examples.")
        page.focus("#up-1")
        page.keyboard.press("Enter")
        bob.sees("#notice", "another order")
        page.wait_for_function("() => document.activeElement.id === 'up-1'")
        assert page.evaluate("document.querySelector('#more-1').open")
        assert names(page) == names(bob.page) == ["feature", "bug", "question"]
        assert [known.id for known in server.store.classes()] == [1, 0, 2]
        bob.press("2")  # the key is still that of feature
        bob.saved("feature · saved")
        assert not ann.errors
        assert not bob.errors


@pytest.mark.usefixtures("either_store")
def test_hiding_merging_and_deleting_are_said_on_every_page_and_keys_ask_before_they_mean_another(server, browser):
    with (
        Visitor(browser, server.base, "ann") as ann,
        Visitor(browser, server.base, "bob") as bob,
        server.person("eve") as eve,
    ):
        ann.label("b")
        ann.saved()
        eve.post("class/merge", name="bug", into="feature").raise_for_status()
        eve.post("class/change", name="question", hidden=True).raise_for_status()
        for page in (ann, bob):
            page.sees("#notice", "what was labelled bug counts as feature now")
            page.sees("#notice", "question is hidden now")
            assert names(page.page) == ["feature"]
        item, _ = bob.item()
        bob.press("b", "3")  # keys of classes that are gone do nothing
        assert bob.item()[0] == item
        eve.post("class", name="new").raise_for_status()
        eve.post("class/key", name="new", key="b").raise_for_status()
        bob.sees("#notice", "key b.")  # with the class, or after it
        bob.press("b")
        bob.sees("#notice", "Key b means new now. Press it again to label.")
        assert bob.item()[0] == item
        eve.post("class/delete", name="new").raise_for_status()
        bob.sees("#notice", "new was deleted.")
        eve.post("class/split", name="bug").raise_for_status()
        bob.sees("#notice", "bug is back: key b.")
        assert names(bob.page) == ["bug", "feature"]
        assert eventually(lambda: [answer.label for answer in server.store.answers()] == ["bug"])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_panel_on_a_phone_in_both_schemes_is_accessible(server, browser, scheme):
    options = {"viewport": {"width": 390, "height": 844}, "color_scheme": scheme}
    with Visitor(browser, server.base, "ann", **options) as ann:
        ann.panel("classes")
        ann.page.click("#more-0 summary")
        ann.page.select_option("#into-0", "feature")
        assert violations(ann.page) == []
        assert ann.page.evaluate("document.documentElement.scrollWidth") <= 390
        ann.page.click("#more-0 form[data-act=merge-class] button")
        ann.page.locator("#panel [data-act=split-class]").wait_for()
        assert violations(ann.page) == []


def test_the_colours_of_classes_stand_out_from_the_card_in_both_schemes():
    css = (STATIC / "page.css").read_text(encoding="utf-8")
    cards = re.findall(r"--card: (#\w{6})", css)
    colours = re.findall(r'\[data-colour="(\w+)"\] \{ --mark: (#\w{6})', css)
    assert [name for name, _ in colours] == [*COLOURS, *COLOURS]
    for row, (name, colour) in enumerate(colours):
        lights = sorted([luminance(colour), luminance(cards[row // len(COLOURS)])])
        assert (lights[1] + 0.05) / (lights[0] + 0.05) >= 3, name


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
