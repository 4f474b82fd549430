"""What is typed in the panels stays until it is saved, and a Save says nothing of what was not changed."""

import pytest
from browsing import Visitor, browser_of
from serving import Here, tickets, write_tickets
from test_refused import hold


@pytest.fixture(scope="module")
def browser(chromium):
    with browser_of(chromium) as opened:
        yield opened


@pytest.fixture
def shared_out(folder):
    """A project whose items are divided among people by their topic."""
    write_tickets(folder / "tickets.csv", tickets(60))
    with Here(folder, audit=0.0, overlap=1.0, assign_by="topic", assigned_to={"question": ["ann"]}) as server:
        yield server


def test_settings_that_others_saved_meanwhile_stay(server, browser):
    with Visitor(browser, server.base, "ann") as ann, server.person("ben") as ben:
        ann.panel("settings")
        ben.post("settings", values={"audit_share": "30", "markdown": "yes"}).raise_for_status()
        ann.page.fill("#setting-title", "Tickets of May")
        ann.page.press("#setting-title", "Enter")
        ann.sees("#settings-saved", "Saved.")
        settings = server.store.read_settings()
        assert (settings.title, settings.audit_share, settings.markdown) == ("Tickets of May", 0.3, True)
        assert ann.page.input_value("#setting-audit_share") == "30"
        ann.page.select_option("#setting-remote_images", "yes")  # the first choice, where the second held
        ann.page.click("#panel form .primary")
        ann.page.wait_for_selector("#panel", state="hidden")  # the page was loaded anew
        assert server.store.read_settings().remote_images


def test_a_class_keeps_what_others_said_of_it_meanwhile(server, browser):
    with Visitor(browser, server.base, "ann") as ann, server.person("ben") as ben:
        ann.panel("classes")
        ben.post("class/change", name="bug", description="What is broken.", colour="blue").raise_for_status()
        ann.page.fill("#key-0", "b")
        ann.page.click("#save-0")
        ann.sees("#more-0 summary", "What is broken.")
        bug = next(known for known in server.store.classes() if known.name == "bug")
        assert (bug.key, bug.description, bug.colour) == ("b", "What is broken.", "blue")
        ann.page.click("#more-0 summary")
        ann.page.select_option("#colour-0", "")  # the first choice, where another held
        ann.page.click("#more-0 button:has-text('Save')")
        ann.page.wait_for_selector("#more-0 .swatch", state="detached")
        bug = next(known for known in server.store.classes() if known.name == "bug")
        assert (bug.key, bug.description, bug.colour) == ("b", "What is broken.", None)


def test_shares_that_others_saved_meanwhile_stay(shared_out, browser):
    with Visitor(browser, shared_out.base, "ann") as ann, shared_out.person("ben") as ben:
        ann.panel("team")
        ben.post("assignment", people={"bug": "ben"}).raise_for_status()
        ann.page.fill("#assign-1", "ann")
        ann.page.press("#assign-1", "Enter")
        ann.sees("#assign-saved", "Saved.")
        assert shared_out.store.read_settings().assigned_to == {"bug": ["ben"], "feature": ["ann"], "question": ["ann"]}
        assert ann.page.input_value("#assign-0") == "ben"
        ben.post("assignment", people={"bug": "cem"}).raise_for_status()
        ann.page.fill("#assign-0", "ann")
        ann.page.press("#assign-0", "Enter")
        ann.sees("#panel .problem", "Bug: expected the value that you saw; got 'cem', which was saved meanwhile")
        ann.page.press("#assign-0", "Enter")
        ann.sees("#assign-saved", "Saved.")
        assert shared_out.store.read_settings().assigned_to["bug"] == ["ann"]
        ben.post("assignment", column="").raise_for_status()
        ann.page.click("[data-act=assign-by] button")  # nothing was chosen: nothing is said
        ann.page.wait_for_selector("#assign-0", state="detached")
        assert not shared_out.store.read_settings().assign_by


def test_typed_shares_stay_while_team_is_made_anew(shared_out, browser):
    first, *_ = shared_out.store.ids()
    for name, label in (("bob", "bug"), ("cem", "feature")):
        shared_out.store.answer(name, first, "label", label)
    with Visitor(browser, shared_out.base, "ann") as ann:
        ann.panel("team")
        ann.page.fill("#assign-1", "ann, bob")
        ann.page.fill("#my-name", "ann b")
        ann.page.click(f'[data-act=adjudicate][data-item="{first}"][data-label="bug"]')
        ann.sees("#panel", "1 decided")
        assert ann.page.input_value("#assign-1") == "ann, bob"
        ann.page.locator("#content").focus()
        ann.label("1")
        ann.sees("#panel .counts", "ann")
        assert ann.page.input_value("#assign-1") == "ann, bob"
        assert ann.page.input_value("#my-name") == "ann b"
        assert ann.page.locator("#drafts").count() == 0  # it was on show all the time
        ann.page.click("[data-act=assign] button")
        ann.sees("#assign-saved", "Saved.")
        assert shared_out.store.read_settings().assigned_to == {"feature": ["ann", "bob"], "question": ["ann"]}


@pytest.mark.parametrize(
    ("panel", "open_it", "field"),
    [("guidelines", "#guidelines-edit summary", "#guidelines-text"), ("classes", "#more-1 summary", "#about-1")],
)
def test_texts_stay_when_a_panel_is_closed_and_left_for_another(server, browser, panel, open_it, field):
    with Visitor(browser, server.base, "ann") as ann:
        ann.panel(panel)
        ann.page.click(open_it)
        ann.page.fill(field, "A long text, not saved")
        ann.page.click("#panel-close")
        ann.panel(panel)
        ann.page.wait_for_selector(field)  # where it is typed is open
        assert ann.page.input_value(field) == "A long text, not saved"
        ann.sees("#drafts", "Typed before and not saved yet.")
        ann.panel("progress")
        assert ann.page.locator("#drafts").count() == 0
        ann.panel(panel)
        assert ann.page.input_value(field) == "A long text, not saved"
        ann.page.click("#drafts button")
        ann.page.wait_for_selector("#drafts", state="detached")
        assert ann.page.input_value(field) == ""
        ann.press("Escape")
        ann.panel(panel)
        assert ann.page.input_value(field) == ""
        assert ann.errors == []


def test_what_was_saved_is_no_draft(server, browser):
    with Visitor(browser, server.base, "ann") as ann:
        ann.panel("settings")
        ann.page.fill("#setting-title", "  Tickets   of May ")  # the server tidies it
        ann.page.press("#setting-title", "Enter")
        ann.sees("#settings-saved", "Saved.")
        assert ann.page.input_value("#setting-title") == "Tickets of May"
        ann.panel("classes")
        ann.page.fill("#new-class", "praise")
        ann.page.press("#new-class", "Enter")
        ann.sees("#classes .class", "praise")
        ann.page.wait_for_selector("#name-3")
        assert ann.page.input_value("#new-class") == ""
        ann.press("Escape")
        ann.panel("settings")
        assert ann.page.locator("#drafts").count() == 0


def test_letters_that_come_while_a_form_is_saved_stay(server, browser):
    with Visitor(browser, server.base, "ann") as ann:
        ann.panel("classes")
        ann.page.click("#more-0 summary")
        ann.page.fill("#about-0", "Broken")
        go_on = hold(ann, "class/change")
        ann.page.click("#more-0 button:has-text('Save')")
        ann.page.wait_for_timeout(200)
        ann.page.focus("#about-0")
        ann.page.keyboard.press("End")
        ann.page.keyboard.type(" things")
        go_on()
        ann.sees("#more-0 summary", "Broken")
        assert ann.page.input_value("#about-0") == "Broken things"
        bug = next(known for known in server.store.classes() if known.name == "bug")
        assert bug.description == "Broken"


@pytest.mark.parametrize(
    ("panel", "open_it", "field", "save", "path"),
    [
        ("guidelines", "#guidelines-edit summary", "#guidelines-text", "#guidelines-edit .primary", "guidelines"),
        ("classes", "#more-0 summary", "#about-0", "#more-0 button:has-text('Save')", "class/change"),
        ("settings", "#panel h2", "#setting-title", "#panel form .primary", "settings"),
    ],
)
def test_what_is_saved_after_its_panel_was_left_is_no_draft(server, browser, panel, open_it, field, save, path):
    with Visitor(browser, server.base, "ann") as ann:
        ann.panel(panel)
        ann.page.click(open_it)
        ann.page.fill(field, "A long text")
        go_on = hold(ann, path)
        ann.page.click(save)
        ann.panel("keys")
        with ann.page.expect_response(f"**/api/{path}"):
            go_on()
        ann.page.wait_for_timeout(200)
        assert ann.page.is_hidden("#banner")
        ann.panel(panel)
        ann.page.click(open_it)
        assert ann.page.input_value(field) == "A long text"
        assert ann.page.locator("#drafts").count() == 0
        assert ann.errors == []


@pytest.mark.parametrize("returns", ["before the reply", "after it"])
def test_a_class_that_is_added_after_its_panel_was_left_is_no_draft(server, browser, returns):
    with Visitor(browser, server.base, "ann") as ann:
        ann.panel("classes")
        ann.page.fill("#new-class", "Billing")
        go_on = hold(ann, "class")
        ann.page.press("#new-class", "Enter")
        ann.panel("progress")
        if returns == "before the reply":
            ann.panel("classes")
            ann.page.wait_for_selector("#new-class")
        go_on()
        ann.sees("#classes .class", "Billing")
        if returns == "after it":
            ann.panel("classes")
        ann.page.wait_for_selector("#name-3")
        assert ann.page.input_value("#new-class") == ""
        assert ann.page.locator("#drafts").count() == 0


def test_a_draft_of_a_class_stays_with_its_class(server, browser):
    with Visitor(browser, server.base, "ann") as ann, server.person("ben") as ben:
        ann.panel("classes")
        ann.page.fill("#name-1", "wish")
        ben.post("class/change", name="question", move=-1).raise_for_status()
        ann.press("Escape")
        ann.panel("classes")
        assert [box.input_value() for box in ann.page.locator("#panel [name=name][id^=name-]").all()] == [
            *("bug", "question", "wish")
        ]
        ann.page.click("#save-1")
        ann.sees("#classes .class", "wish")
        assert {known.name for known in server.store.classes()} == {"bug", "wish", "question"}
