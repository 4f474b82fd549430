"""What undo and redo did is said in words, with the item it was."""

import re

import pytest
from browsing import Visitor, browser_of
from serving import Here

from bemps.server.http.templating import STATIC
from bemps.store.events import ADJUDICATE, ANSWERS


@pytest.fixture(scope="module")
def browser(chromium):
    with browser_of(chromium) as opened:
        yield opened


@pytest.fixture
def server(folder):
    with Here(folder, audit=0.0, overlap=1.0) as running:
        yield running


def test_each_answer_is_named_when_it_is_taken_back_and_done_again(server, browser):
    with Visitor(browser, server.base, "ann") as ann:
        steps = {
            "1": ("your label bug", "label bug for"),
            "s": ("you skipped this item", "skipped"),
            "x": ("you were unsure about this item", "unsure about"),
            ".": ("you put this item off", "put off"),
        }
        items = [ann.label(key) for key in steps]
        ann.saved(" · saved")
        for item, (back, _) in zip(reversed(items), reversed(steps.values()), strict=True):
            ann.press("u")
            ann.sees("#earlier", f"Taken back: {back}.")
            assert ann.item() == item
        ann.saved("Taken back: your label bug.")
        for (_, text), (_, again) in zip(items, steps.values(), strict=True):
            ann.press("r")
            ann.saved(f"Done again: {again} “{text[:60].strip()}")
        assert ann.errors == []


def test_an_answer_that_holds_again_is_named_too(server, browser):
    with Visitor(browser, server.base, "ann") as ann:
        item, _ = ann.label("1")
        ann.saved("bug · saved")
        ann.panel("labelled")
        ann.page.click(f'#panel [data-item="{item}"]')
        ann.page.wait_for_selector(f'#content[data-item="{item}"]')
        ann.label("2")
        ann.press("u")
        ann.sees("#earlier", "Taken back: your label feature. Your label is bug again.")
        ann.saved("Taken back: your label feature. Your label is bug again.")
        assert server.store.current()[item].label == "bug"


def test_a_decision_is_taken_back_as_a_decision(server, browser):
    item, *_ = server.store.ids()
    for name, label in (("bob", "bug"), ("cem", "feature")):
        server.store.answer(name, item, "label", label)
    with Visitor(browser, server.base, "ann") as ann:
        labelled, _ = ann.label("1")
        ann.saved("bug · saved")
        ann.panel("team")
        ann.page.click(f'[data-act=adjudicate][data-item="{item}"][data-label="feature"]')
        ann.sees("#panel", "1 decided")
        ann.press("u")
        ann.sees("#earlier", "Taken back: your decision feature. The labels of people count again.")
        assert ann.item()[0] == item
        ann.sees("#panel", "1 disagreement")
        assert server.store.current("ann")[labelled].label == "bug"
        ann.press("r")
        ann.saved("Done again: decision feature for")


def test_what_was_answered_since_in_another_window_is_taken_back_and_the_label_here_stays(server, browser):
    with Visitor(browser, server.base, "ann") as ann, server.person("ann") as elsewhere:
        here, _ = ann.label("1")
        ann.saved("bug · saved")
        there = next(item for item in reversed(server.store.ids()) if item not in server.engine.lending.out())
        elsewhere.answer(there, "feature").raise_for_status()
        ann.press("u")
        ann.page.wait_for_selector(f'#content[data-item="{there}"]')
        ann.sees("#earlier", "Taken back: your label feature.")
        ann.saved("Taken back: your label feature.")
        assert server.store.current("ann")[here].label == "bug"
        ann.label("3")
        assert ann.item()[0] != here


def test_every_kind_of_answer_has_its_words():
    script = (STATIC / "step_words.js").read_text(encoding="utf-8")
    for part in ("TAKEN_BACK", "DONE_AGAIN"):
        words = script.partition(f"const {part} = {{")[2].partition("\n};")[0]
        assert set(re.findall(r"^  (\w+):", words, flags=re.MULTILINE)) == {*ANSWERS, ADJUDICATE}
