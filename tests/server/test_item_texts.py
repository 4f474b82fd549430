"""How the text of an item is shown: as Markdown, with words of a search, of the project, and of the guess marked."""

import csv

import pytest
from browsing import Visitor, browser_of
from serving import CLASSES, Here, Server, eventually, tickets, write_tickets

from bemps.errors import InputError
from bemps.project import open_project
from bemps.server.project_start import Source, Wishes, prepared
from bemps.store.keywords import Keyword, parse_keyword

TEXT = """# Order 4711

The **blue** kettle has *not* arrived. <img src=x onerror="document.title='hacked'">

- [help](https://shop.example/help)
- [bad](javascript:document.title='hacked')

| what | when |
|------|-----:|
| order | May |

`code with a refund`
"""
MARKED = """[...document.querySelectorAll('#content mark')]
    .map((mark) => `${mark.dataset.colour || mark.className}:${mark.textContent}`)"""


@pytest.fixture(scope="module")
def browser(chromium):
    with browser_of(chromium) as opened:
        yield opened


@pytest.fixture
def markdown(tmp_path):
    with (tmp_path / "tickets.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["body", "subject"])
        writer.writerows([[f"{TEXT}\nNumber {number}", f"Refund {number}"] for number in range(30)])
    return tmp_path


@pytest.mark.parametrize(
    ("line", "keyword"),
    [
        ("refund", Keyword("refund")),
        ("refund*", Keyword("refund", None, True)),
        ("credit  card = billing", Keyword("credit card", "billing")),
        ("refund* = billing", Keyword("refund", "billing", True)),
        ("a=b", Keyword("a=b")),
        ("*", Keyword("*")),
    ],
)
def test_a_line_is_a_word_its_endings_and_its_class(line, keyword):
    assert parse_keyword(line) == keyword


def test_markdown_is_rendered_only_where_asked_for(markdown):
    with Here(markdown) as server, server.person() as ann:
        assert "html" not in ann.next()[0]
        assert ann.post("settings", values={"markdown": "yes"}).status_code == 200
        item = ann.next()[0]
        assert "<strong>blue</strong>" in item["html"]
        assert "<img" not in item["html"]
        assert item["text"].startswith("# Order")


def test_words_of_an_unknown_class_are_refused_with_the_nearest(folder):
    source = Source(folder / "tickets.csv", {"text": "body"})
    with pytest.raises(InputError, match=r"class of the word 'crash'.*Did you mean 'bug'"):
        prepared(str(folder / "t.bemps"), source, Wishes(classes=CLASSES, keywords=["crash = bugs"]))
    with pytest.raises(InputError, match=r"words of at most 200 letters; got 2, the longest of 201 letters"):
        prepared(str(folder / "t.bemps"), source, Wishes(classes=CLASSES, keywords=["x", "y" * 201]))
    with Here(folder) as server, server.person() as ann:
        assert "Did you mean 'bug'" in ann.post("settings", values={"keywords": "crash* = bugs"}).text
        assert ann.post("settings", values={"keywords": "x" * 201}).status_code == 422
        assert ann.post("settings", values={"keywords": "crash* = bug\nplease"}).status_code == 200
        display = ann.state()["settings"]["display"]
        assert display["keywords"] == [
            {"word": "crash", "prefix": True, "class": "bug", "colour": "blue"},
            {"word": "please", "prefix": False},
        ]


def shown_words(person):
    return person.state()["settings"]["display"]["keywords"]


def word(name, class_name, colour):
    return {"word": name, "prefix": False, "class": class_name, "colour": colour}


def test_words_keep_their_class_and_its_colour_when_it_is_renamed(folder):
    with Here(folder, keywords=["crash = bug", "please = feature"]) as server, server.person() as ann:
        bug, feature = (shown["colour"] for shown in shown_words(ann))
        reply = ann.post("class/rename", old="bug", new="defect").raise_for_status().json()
        assert reply["settings"]["display"]["keywords"] == shown_words(ann)
        assert shown_words(ann) == [word("crash", "defect", bug), word("please", "feature", feature)]
        assert "crash = defect" in ann.panel("settings")
        for old, new in (("defect", "x"), ("feature", "defect"), ("x", "feature")):  # two classes change names
            ann.post("class/rename", old=old, new=new).raise_for_status()
        assert shown_words(ann) == [word("crash", "feature", bug), word("please", "defect", feature)]
        ann.post("class/rename", old="feature", new="w" * 300).raise_for_status()
        assert shown_words(ann)[0] == word("crash", "w" * 300, bug)


def test_words_have_the_colour_of_the_class_that_theirs_was_merged_into(folder):
    with Here(folder, keywords=["crash = bug", "please = feature"]) as server, server.person() as ann:
        before = shown_words(ann)
        ann.post("class/merge", name="bug", into="feature").raise_for_status()
        colour = shown_words(ann)[1]["colour"]
        assert shown_words(ann) == [word("crash", "feature", colour), word("please", "feature", colour)]
        ann.post("class/split", name="bug").raise_for_status()
        assert shown_words(ann) == before
        ann.post("class/delete", name="bug").raise_for_status()
        assert shown_words(ann)[0] == {"word": "crash", "prefix": False}


def test_words_follow_a_class_that_was_renamed_beside_the_page(folder):
    with Here(folder, keywords=["crash = bug"]) as server, server.person() as ann:
        with open_project(folder / "tickets.bemps") as project:
            project.store.rename_class("bug", "defect", "lead")
        assert eventually(lambda: shown_words(ann)[0].get("class") == "defect", 10)


def test_the_same_command_again_keeps_the_words_that_were_changed_on_the_page(folder):
    source, where = Source(folder / "tickets.csv", {"text": "body"}), str(folder / "t.bemps")

    def start(*lines):
        return prepared(where, source, Wishes(classes=CLASSES, keywords=lines))[0]

    with start("crash = bug") as store:
        store.rename_class("bug", "defect", "ann")
    with start("crash = bug") as store:
        assert store.read_settings().keywords == ("crash = defect",)
        store.set("keywords", [])
    with start("crash = bug") as store:
        assert store.read_settings().keywords == ()
    with start("please") as store:
        assert store.read_settings().keywords == ("please",)


def test_a_project_from_python_has_the_same_settings(folder):
    with Here(folder):
        pass
    with open_project(folder / "tickets.bemps") as project:
        project.store.set_all({"keywords": ["crash"], "markdown": True})
        assert project.store.read_settings().keywords == ("crash",)
        with pytest.raises(InputError, match="keywords"):
            project.store.set("keywords", "crash")


def test_the_command_line_has_both(folder):
    (folder / "words.txt").write_text("crash*\n\nfreezes = bug\n", encoding="utf-8")
    with Server(folder, "--markdown", "--keywords", "words.txt") as server, server.person() as ann:
        assert "html" in ann.next()[0]
        assert [word["word"] for word in ann.state()["settings"]["display"]["keywords"]] == ["crash", "freezes"]


def test_markdown_in_the_browser(markdown, browser):
    from axe_playwright_python.sync_playwright import Axe

    with Here(markdown, markdown=True, show=["subject"], keywords=["refund"]) as server:
        for options in ({}, {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"}):
            with Visitor(browser, server.base, "ann", **options) as ann:
                ann.item()
                ann.sees("#content h3", "Order 4711")
                assert ann.page.locator("#content img").count() == 0
                assert ann.page.locator("#content a").count() == 1
                assert ann.page.locator("#content a").get_attribute("rel") == "noopener noreferrer"
                ann.sees("#content code mark.word", "refund")
                ann.sees("#columns mark.word", "Refund")
                assert ann.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
                assert Axe().run(ann.page).response["violations"] == []
                assert "hacked" not in ann.page.title()
                assert not ann.errors


def test_the_item_on_show_follows_a_change_of_the_settings(markdown, browser):
    with Here(markdown) as server, Visitor(browser, server.base, "ann") as ann, server.person("bob") as bob:
        item, _ = ann.item()
        bob.post("settings", values={"markdown": "yes", "shown_columns": "subject"}).raise_for_status()
        ann.sees("#content h3", "Order 4711")
        ann.sees("#columns", "Refund")
        assert ann.item()[0] == item
        assert not ann.errors


def test_words_of_the_project_and_of_a_search_are_marked(folder, browser):
    write_tickets(
        folder / "tickets.csv",
        [
            ("A Crash, crashes; uncrash (c++ crash). <b>crash</b> please", "bug"),
            ("Please: pleased 订单退款了", "bug"),
            *tickets(20),
        ],
    )
    words = ["crash* = bug", "please", "c++", "退款"]
    with Here(folder, audit=0.0, keywords=words) as server, Visitor(browser, server.base, "ann") as ann:
        ann.panel("labelled")
        ann.page.select_option("#by-state", "unanswered")
        ann.page.fill("#q", "crash")
        ann.sees("#panel mark", "rash")
        ann.page.locator("#panel .items button", has_text="uncrash").click()
        ann.page.wait_for_function("() => document.querySelector('#content').textContent.includes('uncrash')")
        marks = ann.page.evaluate(MARKED)
        assert sorted(marks) == sorted(
            ["hit:Crash", "hit:crash", "hit:crash", "hit:crash", "hit:crash", "word:c++", "word:please"]
        )
        assert ann.page.locator("#content b").count() == 0
        ann.page.fill("#q", "")
        ann.page.wait_for_selector("#panel mark", state="detached")
        ann.page.locator("#panel .items button", has_text="uncrash").click()
        ann.page.wait_for_selector("#content mark[data-colour=blue]")
        assert sorted(ann.page.evaluate(MARKED)) == sorted(
            ["blue:Crash", "blue:crashes", "blue:crash", "blue:crash", "word:c++", "word:please"]
        )
        assert ann.page.locator("#content").inner_text() == "A Crash, crashes; uncrash (c++ crash). <b>crash</b> please"
        ann.page.locator("#panel .items button", has_text="退款").click()
        ann.page.wait_for_function("() => document.querySelector('#content').textContent.includes('退款')")
        assert ann.page.evaluate(MARKED) == ["word:Please", "word:退款"]
        ann.panel("settings")
        ann.page.fill("#setting-keywords", "pleased = question")
        ann.page.click("#panel button:has-text('Save the settings')")
        ann.page.wait_for_selector("#content mark[data-colour=green]")
        assert ann.page.evaluate(MARKED) == ["green:pleased"]


def test_words_that_speak_for_the_guess_are_listed_and_marked(folder, browser):
    with Here(folder, model="tfidf", audit=0.0) as server, Visitor(browser, server.base, "ann") as ann:
        names = dict(tickets())
        with server.person("bea") as bea:
            for item in bea.next(15):
                bea.answer(item["id"], names[item["text"]]).raise_for_status()
        ann.page.wait_for_selector("#model-state[data-state=ready]")
        ann.item()
        ann.press("g")
        ann.page.wait_for_selector("#guess-words h3, #panel .quiet")
        ann.page.wait_for_selector("#content mark.for-guess")
        listed = ann.page.locator("#guess-words th").all_inner_texts()
        assert listed
        marked = {text.casefold() for text in ann.page.locator("#content mark.for-guess").all_inner_texts()}
        assert marked == {word.casefold() for word in listed}
        assert "An approximation" in ann.page.locator("#guess-words").inner_text()
        ann.press("Escape")
        ann.page.wait_for_selector("#content mark.for-guess", state="detached")
        assert not ann.errors
