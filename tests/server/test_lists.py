"""Panels in a real browser: lists, searches, the end of a project, and what they say while there is no model."""

from dataclasses import replace

import pytest
from browsing import Visitor, browser_of
from serving import Here, eventually, tickets, write_tickets


@pytest.fixture(scope="module")
def browser(chromium):
    with browser_of(chromium) as opened:
        yield opened


def labels_of(server):
    return {item: answer.label or answer.kind for item, answer in server.store.current().items()}


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


def test_a_click_below_a_search_is_not_undone_by_letters_that_were_typed_before_it(server, browser):
    with Visitor(browser, server.base, "ann") as ann:
        _, text = ann.label("1")
        ann.saved()
        ann.panel("labelled")
        ann.page.fill("#q", text.split()[0])
        ann.page.locator("#panel button", has_text="not answered").wait_for()
        slow = []
        ann.page.route(lambda url: "state=unanswered" in url, lambda route: slow.append(route))  # noqa: PLW0108
        ann.page.locator("#q").press("Backspace")
        ann.page.locator("#panel button", has_text="not answered").click()
        ann.page.wait_for_timeout(600)  # longer than the page waits for more letters
        slow[0].continue_()
        ann.page.wait_for_selector("#panel [data-unanswered]")


def test_letters_that_are_typed_while_the_list_is_made_anew_are_searched_too(server, browser):
    with Visitor(browser, server.base, "ann") as ann:
        ann.panel("labelled")
        ann.page.evaluate(
            """() => {
                const state = document.querySelector("#by-state"), field = document.querySelector("#q");
                state.value = "unanswered";
                state.dispatchEvent(new Event("change", { bubbles: true }));
                field.focus();
                field.value = "invoice";
                field.dispatchEvent(new Event("input", { bubbles: true }));
            }"""
        )
        ann.sees("#panel mark", "invoice")


def test_at_the_end_there_is_a_summary_and_a_download_and_no_class_to_press(folder, browser):
    write_tickets(folder / "tickets.csv", tickets(4))
    with Here(folder, audit=0.0) as server, Visitor(browser, server.base, "ann") as ann:
        for key in "112":
            ann.label(key)
        ann.press("s")
        ann.sees("#content .end", "3 labelled, 1 skipped, of 4 items")
        assert ann.page.locator("#classes .class:visible").count() == 0
        assert ann.page.locator("[data-do]:visible").evaluate_all("all => all.map(each => each.dataset.do)") == [
            "undo",
            "redo",
        ]
        link = ann.page.locator("#content .end a").first.get_attribute("href")
        with server.person() as eve:
            assert len(eve.http.get(link).raise_for_status().text.splitlines()) >= 4
        ann.press("u")
        ann.sees("#earlier", "Taken back: you skipped this item.")
        assert ann.page.locator("#classes .class:visible").count() == 3


def test_without_the_server_it_is_said_what_happens(server, browser):
    with Visitor(browser, server.base, "ann") as ann:
        assert eventually(lambda: len(server.store.leases()) > 20)
        ann.page.wait_for_timeout(300)
        ann.page.route("**/api/**", lambda route: route.abort())
        shown = []
        for _ in range(20):
            shown.append(ann.label("1")[0])
        assert len(set(shown)) == 20
        ann.sees("#banner", "1 item can be answered meanwhile.")
        ann.press("1")
        ann.sees("#content", "More come when the server can be reached")
        ann.press("u")
        ann.sees("#earlier", "Taken back: your label bug.")
        ann.sees("#banner", "not saved yet")
        ann.press("u")
        ann.page.wait_for_selector(f'#content[data-item="{shown[-1]}"]')
        ann.label("2")
        ann.page.unroute("**/api/**")
        assert eventually(lambda: labels_of(server).get(shown[-1]) == "feature")
        assert labels_of(server) == dict.fromkeys(shown[:-1], "bug") | {shown[-1]: "feature"}


def gives_back(response):
    """Whether this is the answer to a browser that gave items of an old order back."""
    return response.url.endswith("api/next") and bool(response.request.post_data_json["back"])


def test_a_new_order_replaces_what_is_far_ahead_and_not_what_is_next(server, browser):
    with Visitor(browser, server.base, "ann") as ann:
        queue = server.engine.queue_of("ann")
        assert eventually(lambda: len(queue.in_browser) == 21)
        ann.page.wait_for_timeout(500)
        first = list(queue.in_browser)
        new = [item for item in server.store.ids() if item not in server.store.leases()][:60]
        server.engine.schedule.rank(new, "model")
        server.engine.model_status.orders += 1
        with ann.page.expect_response(gives_back):
            shown = [ann.label("1")[0]]
        assert eventually(lambda: len(set(queue.in_browser) & set(first)) < 6)
        ann.page.wait_for_timeout(500)
        shown += [ann.label("1")[0] for _ in range(11)]
        assert shown[:4] == first[:4]
        assert not set(shown[6:]) & set(first) - server.store.audit()  # an item of the audit may come again by chance
        assert len(set(shown[6:]) & set(new)) >= 2
        ann.saved()
        assert eventually(lambda: set(server.store.leases()) == server.engine.lending.out())  # what is back is free


def test_lengths_are_the_same_on_the_page_on_the_server_and_in_the_store(server, browser):
    from bemps.store.validation import LONGEST_NAME, LONGEST_NOTE

    with Visitor(browser, server.base, "ann") as ann, server.person() as eve:
        assert ann.page.get_attribute("#note", "maxlength") == str(LONGEST_NOTE)
        ann.panel("classes")
        ann.page.fill("#new-class", "c" * 3_000)  # refused, not cut
        ann.page.press("#new-class", "Enter")
        ann.sees(
            "#panel .problem:not(:empty)", f"Name: expected at most {LONGEST_NAME} characters; got 3,000. Shorten it."
        )
        (item,) = eve.next()
        for extra, status in ((0, 200), (1, 422)):
            assert eve.answer(item["id"], kind="note", note="n" * (LONGEST_NOTE + extra)).status_code == status
            assert eve.post("class", name="c" * (LONGEST_NAME + extra)).status_code == status


def without_a_model(server, state):
    """As if the project had a model that is in this state."""
    server.engine.settings = replace(server.engine.settings, no_model=False)
    server.engine.model_status.state = state


def test_enough_items_that_measure_a_model_that_is_not_ready_are_not_said_to_be_too_few(folder):
    with Here(folder, audit=0.2) as server, server.person() as ann:
        for item in sorted(server.store.audit())[:22]:
            ann.answer(item, "bug").raise_for_status()
        without_a_model(server, "starting")
        page = ann.panel("progress")
        assert "22 items that were drawn at random measure" in page
        assert "so far 22" not in page


@pytest.mark.parametrize(
    ("state", "progress", "why"),
    [
        ("starting", "The model gets ready", "The model gets ready"),
        ("failed", "The model has stopped", "The model has stopped"),
    ],
)
def test_while_there_is_no_model_the_panels_say_why_at_once(server, state, progress, why):
    async def never(*_):
        raise AssertionError("a model that is not there was asked")

    with server.person() as ann:
        items = ann.next(4)
        for item, name in zip(items, ("bug", "feature", "bug", "question"), strict=True):
            ann.answer(item["id"], name)
        without_a_model(server, state)
        server.engine.background.look = never
        assert "Just started" not in ann.panel("progress")
        assert progress in ann.panel("progress")
        page = ann.panel("why", item=items[0]["id"])
        assert why in page
        assert "before two classes have labels" not in page


def test_a_panel_that_takes_long_says_so(server, browser):
    with Visitor(browser, server.base, "ann") as ann:
        ann.page.route("**/panel/why**", lambda route: None)
        ann.page.click("[data-panel=why]")
        ann.sees("#panel", "One moment")


def test_pictures_are_shown_in_lists_and_reasons(tmp_path, browser):
    pillow = pytest.importorskip("PIL.Image")
    photos = tmp_path / "photos"
    photos.mkdir()
    for number in range(6):
        pillow.new("RGB", (300, 200), (40 * number, 90, 120)).save(photos / f"photo {number}.png")
    with (
        Here(tmp_path, data="photos", classes=("warm", "cold"), audit=0.0) as server,
        Visitor(browser, server.base, "ann") as ann,
    ):
        labelled = [ann.label("1")[0], ann.label("2")[0]]
        ann.saved()
        ann.panel("labelled")
        shown = "() => [...document.querySelectorAll('#panel img')].filter((one) => one.naturalWidth > 0).length"
        ann.page.wait_for_function(f"() => ({shown})() === 2")
        ann.press("Escape")
        item, _ = ann.item()
        server.engine.model_status.about[item] = {"item": item, "near": labelled, "others": [], "guess": []}
        ann.panel("why")
        ann.page.wait_for_function(f"() => ({shown})() === 2")


def test_the_header_does_not_flicker_with_every_label():
    from bemps.server.model.messages import State
    from bemps.server.model.model_status import SLOW, ModelStatus

    seen = ModelStatus()
    seen.receive(State("ready", alive=True))
    seen.start_learning()
    assert seen.as_json(3)["words"] == "model is learning"  # the first time it is news
    seen.learning, seen.ready = False, True
    before = seen.as_json(3)
    seen.start_learning()
    assert seen.as_json(4) == before
    seen.learning_since -= SLOW + 1
    assert seen.as_json(4)["words"] == "model is learning"


def test_links_in_guidelines_can_be_followed_and_nothing_else_is_html(folder):
    with Here(folder, guidelines="See https://example.org/rules <b>first</b>.") as server, server.person() as ann:
        page = ann.panel("guidelines")
        assert '<a href="https://example.org/rules"' in page
        assert "&lt;b&gt;first&lt;/b&gt;" in page
