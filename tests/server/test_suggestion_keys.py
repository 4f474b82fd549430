"""Suggestions in a real browser: Enter accepts, every key still answers, and nothing of a hostile server is run."""

import json
import threading

import pytest
from browsing import Visitor, browser_of
from chatting import Chat, labelled, wording
from serving import Here, eventually
from test_page import violations
from test_suggestions import TRUTH, write_guesses


@pytest.fixture(scope="module")
def browser(chromium):
    with browser_of(chromium) as opened:
        yield opened


@pytest.fixture
def guessed(tmp_path):
    write_guesses(tmp_path)
    return tmp_path


def methods(server):
    return {id: (answer.label, answer.method) for id, answer in server.store.current().items()}


def test_enter_accepts_and_other_keys_still_answer(guessed, browser):
    with Here(guessed, suggest="guess", audit=0.0) as server, Visitor(browser, server.base, "ann") as ann:
        first, text = ann.item()
        ann.sees("#suggestion", f"Suggested: {TRUTH[text]}")
        ann.label("Enter")
        ann.sees("#live", f"{TRUTH[text]} accepted. Next: ")
        ann.sees("#live", "Enter accepts it.")
        second, _ = ann.label("2")
        third, _ = ann.label("s")
        ann.saved("skip · saved")
        assert methods(server) == {first: (TRUTH[text], "suggested"), second: ("feature", None), third: (None, None)}
        here, text = ann.item()
        ann.page.click("#suggestion")
        ann.page.wait_for_function("id => document.querySelector('#content').dataset.item !== id", arg=here)
        assert ann.page.evaluate("document.activeElement.id") == "content"
        late = {}
        for name in ("undo", "answer"):
            ann.page.route(f"**/api/{name}", lambda route: late.setdefault(route.request.url.rpartition("/")[2], route))
        ann.press("u")
        ann.page.wait_for_function("id => document.querySelector('#content').dataset.item === id", arg=here)
        ann.sees("#suggestion", f"Suggested: {TRUTH[text]}")
        ann.label("Enter")
        with ann.page.expect_request("**/api/answer"):
            late["undo"].continue_()
        assert ann.page.inner_text("#saved") == "saving 1 …"
        late["answer"].continue_()
        ann.saved()
        assert methods(server)[here] == (TRUTH[text], "suggested")
        assert ann.errors == []


def test_an_item_opened_again_shows_no_suggestion_and_enter_confirms(guessed, browser):
    with Here(guessed, suggest="guess", audit=0.0) as server, Visitor(browser, server.base, "ann") as ann:
        first, text = ann.item()
        other = "1" if TRUTH[text] != "bug" else "2"
        ann.label(other)
        ann.saved()
        chosen = methods(server)[first][0]
        ann.panel("labelled")
        ann.page.locator(f'#panel [data-item="{first}"]').first.click()
        ann.sees("#earlier", f"Labelled {chosen}. Enter confirms it")
        assert ann.page.locator("#suggested").is_hidden()  # no empty strip either
        ann.press("Enter")
        assert eventually(lambda: first in server.store.confirmed())
        assert methods(server)[first] == (chosen, None)


def test_audit_items_show_none_and_enter_does_nothing(guessed, browser):
    with Here(guessed, suggest="guess", audit=0.9) as server, Visitor(browser, server.base, "ann") as ann:
        while ann.item()[0] not in server.store.audit():
            ann.label("1")
        here = ann.item()
        assert ann.page.locator("#suggestion").is_hidden()
        before = len(methods(server))
        ann.press("Enter")
        ann.label("2")
        ann.saved()
        assert methods(server)[here[0]] == ("feature", None)
        assert len(methods(server)) == before + 1


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_an_address_is_typed_agreed_to_and_accessible(guessed, browser, scheme, width):
    size = {"width": width, "height": 844}
    with (
        Chat(labelled(lambda text: TRUTH[text])) as chat,
        Here(guessed, audit=0.0) as server,
        Visitor(browser, server.base, "ann", color_scheme=scheme, viewport=size) as ann,
    ):
        page = ann.page
        ann.panel("settings")
        page.click("#panel [data-name=suggestions]")
        page.wait_for_selector("#suggest-source")
        assert page.locator("#suggest-url").is_hidden()
        page.select_option("#suggest-source", "address")
        page.fill("#suggest-url", chat.address)
        page.fill("#suggest-model", "llama3")
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.click("#panel form .primary")
        ann.sees("#panel .problem", f"are sent to {chat.address}")
        assert chat.requests == []
        page.wait_for_selector("#panel .problem:not(:empty)")
        page.check("#panel [name=agreed]")
        with page.expect_response(lambda response: response.url.endswith("panel/suggestions")):  # the form, made anew
            page.click("#panel form .primary")
        ann.sees("#panel h3", "From llama3 at 127.0.0.1")
        page.fill("#suggest-model", "another")
        asked = "() => /[1-9][0-9]* items are answered/.test(document.querySelector('#suggest-state').innerText)"
        page.wait_for_function(asked)  # how it goes comes by itself
        assert page.input_value("#suggest-model") == "another"  # and leaves the form alone
        assert violations(page) == []
        page.click("#panel-close")
        _, text = ann.item()
        ann.sees("#suggestion", f"Suggested: {TRUTH[text]}")
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.focus("#content")
        page.wait_for_selector("#suggestion:not([data-late])")  # one that came late is seen before it is accepted
        item, _ = ann.label("Enter")
        ann.saved()
        assert methods(server)[item] == (TRUTH[text], "suggested")
        ann.panel("progress")
        assert violations(page) == []
        assert [error for error in ann.errors if "422" not in error] == []


def test_words_of_a_hostile_server_are_neither_run_nor_shown(guessed, browser):
    bad = '<img src=x onerror="document.body.dataset.hacked=1">'
    classes = ("bug", "feature", bad)
    answers = [
        lambda body: (
            200,
            wording(json.dumps({"labels": {"1": "<script>hack()</script>", "2": bad, "__proto__": "bug"}})),
        ),
        lambda body: (400, json.dumps({"error": {"message": bad}})),
    ]
    turn = threading.Event()
    with (
        Chat(lambda body: answers[int(turn.is_set())](body)) as chat,  # noqa: PLW0108
        Here(guessed, classes=classes, suggest=chat.address, suggest_model=bad, audit=0.0) as server,
    ):
        server.engine.suggester.allow(chat.address, from_command=True)
        with Visitor(browser, server.base, "ann") as ann:
            assert eventually(lambda: bad in server.engine.suggester.cache.values())
            turn.set()
            ann.reload()
            while server.engine.suggester.cache.get(ann.item()[0]) != bad:
                ann.label("1")
            ann.sees("#suggestion", f"Suggested: {bad}")  # a class of the project, whatever its name: text
            ann.page.click("[data-panel=settings]")
            ann.page.click("#panel [data-name=suggestions]")
            ann.page.wait_for_selector("#suggest-source")
            assert "script" not in ann.page.locator("#suggestion").inner_text()
            assert ann.page.locator("#main img, #panel img").count() == 0
            assert ann.page.evaluate("document.body.dataset.hacked") is None
            assert ann.errors == []
