"""Guidelines: Markdown that people edit on the page, without overwriting each other."""

import pytest
from browsing import Visitor, browser_of
from serving import Here, write_tickets
from test_page import violations

from bemps.server.routes.route_values import guidelines_version


@pytest.fixture(scope="module")
def browser(chromium):
    with browser_of(chromium) as found:
        yield found


@pytest.fixture
def server(folder):
    write_tickets(folder / "tickets.csv")
    with Here(folder, guidelines="# Rules\n\nA **bug** is broken.\nSee <script>x</script>") as running:
        yield running


def test_they_are_shown_as_markdown_and_saved_with_who_edited_last(server):
    with server.person("ann") as ann, server.person("bob") as bob:
        panel = ann.panel("guidelines")
        assert "<strong>bug</strong>" in panel
        assert "<script>" not in panel
        assert "Last edited" not in panel
        seen = guidelines_version(server.store.read_settings().guidelines)
        ann.post("guidelines", text="New\r\nrules ", seen=seen).raise_for_status()
        assert server.store.read_settings().guidelines == "New\nrules"
        assert 'Last edited by <span dir="auto">ann</span>, just now.' in bob.panel("guidelines")
        late = bob.post("guidelines", text="Others", seen=seen)
        assert late.status_code == 422
        assert "somebody else saved meanwhile" in late.text
        assert bob.post("guidelines", text="New\nrules", seen=seen).is_success  # the same text is no conflict
        assert bob.post("guidelines", text="Others", seen=guidelines_version("New\nrules")).is_success
        assert bob.post("guidelines", text="x\0y", seen=guidelines_version("Others")).status_code == 422
        assert bob.post("guidelines", text="x" * 80_001, seen="").status_code == 422
        assert server.store.read_settings().guidelines == "Others"


def test_addresses_become_links_but_not_in_code(folder):
    write_tickets(folder / "tickets.csv")
    text = "See https://a.example/x. `https://b.example` [c](https://c.example) <https://d.example>"
    with Here(folder, guidelines=text) as server, server.person() as ann:
        panel = ann.panel("guidelines")
    for name in ("a.example/x", "c.example", "d.example"):
        assert panel.count(f'<a href="https://{name}"') == 1
    assert "<code>https://b.example</code>" in panel


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_they_are_edited_on_the_page_and_others_see_it(server, browser, scheme, width):
    options = {"color_scheme": scheme, "viewport": {"width": width, "height": 800}}
    with Visitor(browser, server.base, "ann", **options) as ann, Visitor(browser, server.base, "bob") as bob:
        ann.press("i")
        ann.sees("#panel h3", "Rules")
        ann.page.focus("#guidelines-edit summary")
        ann.page.keyboard.press("Enter")
        assert violations(ann.page) == []
        ann.page.fill("#guidelines-text", "- one\n- two")
        bob.panel("guidelines")
        bob.page.click("#guidelines-edit summary")
        bob.page.fill("#guidelines-text", "What bob typed")
        ann.page.click("#guidelines-edit .primary")
        ann.sees("#panel .guide li", "two")
        ann.sees("#panel", "Last edited by ann, just now.")
        assert not ann.page.is_visible("#guidelines-text")
        bob.sees("#notice", "ann has changed the guidelines.")
        bob.sees("#panel .guide li", "two")
        assert bob.page.input_value("#guidelines-text") == "What bob typed"  # not lost
        bob.page.click("#guidelines-edit .primary")
        bob.sees("#guidelines-problem", "Bring yours up to date")
        assert server.store.read_settings().guidelines == "- one\n- two"
        assert bob.page.input_value("#guidelines-text") == "What bob typed"
        bob.page.click("#guidelines-edit .primary")
        bob.sees("#panel .guide", "What bob typed")
        ann.sees("#panel .guide", "What bob typed")
        assert ann.page.evaluate("document.documentElement.scrollWidth") <= width
        assert not ann.errors
