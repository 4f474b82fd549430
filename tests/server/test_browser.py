"""The page as people use it, in a real headless Chromium."""

import subprocess
import sys

import pytest
from browsing import Visitor, browser_of
from serving import CLASSES, Here, Server, free_port, tickets, write_tickets

from bemps.store import open_store

KEYS = dict(zip(CLASSES, "123", strict=True))


@pytest.fixture(scope="module")
def browser(chromium):
    with browser_of(chromium) as found:
        yield found


@pytest.fixture
def truth(folder):
    return write_tickets(folder / "tickets.csv")


def labels_of(folder, name="tickets.bemps"):
    store = open_store(folder / name)
    try:
        return {item: answer.label or answer.kind for item, answer in store.current().items()}
    finally:
        store.close()


def test_thirty_items_by_keyboard_undo_reload_kill_restart_and_export(folder, truth, browser):
    given = {}
    with Server(folder, "--port", free_port(), model="tfidf") as server, Visitor(browser, server.url) as ann:
        for number in range(30):
            item, text = ann.label(KEYS[truth[ann.item()[1]]])
            given[item] = truth[text]
            if number == 10:
                ann.saved()
                ann.reload()
        ann.saved(" · saved")
        assert labels_of(folder) == given
        ann.press("u")
        ann.sees("#earlier", "Taken back")
        last, _ = ann.item()
        assert last == item
        ann.press("r")
        ann.sees("#saved", "Done again")
        server.kill()
        here, text = ann.label(KEYS[truth[ann.item()[1]]])  # the server is gone: kept, and said
        given[here] = truth[text]
        ann.sees("#banner", "1 answer not saved yet")
        server.start()
        ann.saved()
        ann.sees("#count", "31")
        assert labels_of(folder) == given
        assert ann.page.evaluate("localStorage.length") <= 2
        out = folder / "labels.csv"
        command = [
            sys.executable,
            "-c",
            "from bemps.cli import app; app()",
            "export",
            str(folder / "tickets.bemps"),
            "--out",
            str(out),
        ]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        assert len(out.read_text(encoding="utf-8").splitlines()) == 32


def test_an_answer_survives_a_closed_browser(folder, browser):
    with Server(folder, "--port", free_port()) as server:
        context = browser.new_context()
        context.set_default_timeout(30_000)
        page = context.new_page()
        page.goto(server.url)
        page.wait_for_selector("#content[data-item]")
        item = page.locator("#content").get_attribute("data-item")
        server.kill()
        page.keyboard.press("2")
        page.locator("#banner", has_text="not saved yet").wait_for()
        page.close()
        server.start()
        page = context.new_page()
        page.goto(server.url)
        page.locator("#count", has_text="1").wait_for()
        assert labels_of(folder) == {item: "feature"}
        context.close()


def test_a_full_disk_is_said_on_the_page_and_the_answer_is_sent_again(server, browser):
    told = {"error": "Not saved: the disk is full.", "fix": "Free some space and send it again."}
    with Visitor(browser, server.base, "ann") as ann:
        ann.page.route("**/api/answer", lambda route: route.fulfill(status=507, json=told))
        item, _ = ann.label("1")
        ann.sees("#banner", "1 answer not saved yet: Not saved: the disk is full.")
        assert labels_of(server.folder) == {}
        ann.page.unroute("**/api/answer")
        ann.saved("bug · saved")
        assert labels_of(server.folder) == {item: "bug"}


def test_classes_are_added_and_renamed_on_the_page(server, browser):
    with Visitor(browser, server.base, "ann") as ann:
        assert "Classes" in ann.panel("classes")
        ann.page.fill("#new-class", "praise")
        ann.press("Enter")
        ann.page.wait_for_selector('.class[data-label="praise"]')
        ann.press("Escape")
        item, _ = ann.label("4")
        ann.saved("praise · saved")
        ann.panel("classes")
        ann.page.fill("#name-3", "thanks")
        ann.page.locator("form[data-old=praise] button").click()
        ann.page.wait_for_selector('.class[data-label="thanks"]')
        assert labels_of(server.folder) == {item: "thanks"}
        ann.page.fill("#key-0", "u")
        ann.page.locator("form[data-old=bug] button").click()
        ann.sees("#panel .problem", "undo")
        assert ann.errors == [error for error in ann.errors if "422" in error]


def test_two_browsers_never_see_the_same_item(server, browser):
    with Visitor(browser, server.base, "ann") as ann, Visitor(browser, server.base, "ben") as ben:
        seen = [who.label(key)[0] for _ in range(8) for who, key in ((ann, "1"), (ben, "b"))]
        ann.saved()
        ben.saved()
        assert len(set(seen)) == 16
        ben.panel("team")
        ben.sees("#panel", "ann")


def test_who_waits_for_the_last_items_of_others_is_told_so(folder, browser):
    write_tickets(folder / "tickets.csv", tickets(6))
    with Here(folder, audit=0.0) as server, server.person("ann") as ann:
        held = [item["id"] for item in ann.next(3)]
        with Visitor(browser, server.base, "ben") as ben:
            for _ in range(2):
                ben.label("1")
            ben.press("1")
            ben.sees("#content", "The last 3 items are in the hands of other people. What they leave comes to you.")
            for item in held:
                ann.answer(item, "bug").raise_for_status()
            ben.sees("#content", "Everything is answered.")


def test_an_item_that_was_decided_says_so_when_it_is_opened(folder, browser):
    with Here(folder, overlap=1.0) as server, server.person("ben") as ben, Visitor(browser, server.base, "ann") as ann:
        item, _ = ann.label("1")
        ann.saved()
        ben.answer(item, "feature").raise_for_status()
        ann.panel("team")
        ann.page.select_option("#panel form[data-act=decide] select", "question")
        ann.page.click("#panel form[data-act=decide] button")
        ann.sees("#panel h3", "1 decided")
        ann.panel("labelled")
        ann.page.locator("#panel li button").filter(has_text="question, decided by ann").click()
        ann.sees("#earlier", "Decided by ann: question. Your answer: bug. A key changes your answer")


def test_skip_unsure_note_browse_and_change_an_old_label(server, browser):
    with Visitor(browser, server.base, "ann") as ann:
        first, text = ann.item()
        ann.press("n")
        ann.page.fill("#note", "1 u s: not keys while typing")
        ann.press("Control+Enter")
        ann.sees("#item-note", "not keys")
        assert ann.item()[0] == first
        ann.label("1")
        skipped, its_text = ann.label("s")
        unsure, _ = ann.label("x")
        ann.saved()
        assert labels_of(server.folder) == {first: "bug", skipped: "skip", unsure: "unsure"}
        waiting, _ = ann.item()
        ann.panel("labelled")
        ann.sees("#panel", "3 found")
        ann.page.fill("#q", text)
        ann.press("Enter")
        ann.sees("#panel", "1 found")
        ann.page.locator("#panel .items button", has_text=text).click()
        ann.sees("#earlier", "Labelled bug")
        ann.press("3")
        ann.saved("question · saved")
        assert ann.item()[0] == waiting
        assert labels_of(server.folder)[first] == "question"
        ann.sees("#panel .items", "question by")  # nothing is made anew any more while the search is typed
        ann.page.select_option("#by-state", "skipped")
        ann.sees("#panel", "Nothing found")  # the search still holds
        ann.page.fill("#q", "")
        ann.press("Enter")
        ann.sees("#panel .items", its_text)
        ann.sees("#panel", "1 found")


def test_why_guess_progress_and_advice(folder, truth, browser):
    with Server(folder, "--audit", "0", model="tfidf") as server, Visitor(browser, server.url) as ann:
        for _ in range(12):
            ann.label(KEYS[truth[ann.item()[1]]])
        ann.page.locator("#model-words", has_text="up to date").wait_for()
        ann.panel("why")
        why = ""
        for _ in range(20):  # those that came before the model are still in the queue
            ann.label(KEYS[truth[ann.item()[1]]])
            ann.page.wait_for_timeout(500)
            why = ann.page.locator("#panel").inner_text()
            if "versions of the model disagree" in why:
                break
        assert "versions of the model disagree" in why
        assert "Most like it among the labelled" in why
        assert "Hidden, so that it does not lead you" in why
        assert "%" not in why.partition("The model’s guess")[2]
        ann.press("g")
        ann.page.locator("#panel td", has_text="%").first.wait_for()
        progress = ann.panel("progress")
        assert "It is not yet known what more labels will bring" in progress
        assert "Speed" in progress
        assert "Brier" not in progress
        assert ann.errors == []
