"""Markdown becomes HTML that nobody can misuse."""

from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bemps.server.http.markdown_text import LONGEST, render_markdown

TAGS = {
    *("p", "h3", "h4", "h5", "h6", "strong", "em", "s", "code", "pre", "blockquote", "hr", "br", "small"),
    *("ul", "ol", "li", "a", "table", "thead", "tbody", "tr", "th", "td"),
}
ATTRIBUTES = {"a": {"href", "title", "target", "rel"}, "ol": {"start"}, "code": {"class"}}
PIECES = [
    *("<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<b onclick=x>", "<!--", "<svg/onload=x>", "&lt;"),
    *("[a](javascript:alert(1))", "[a](JaVaScRiPt&colon;alert(1))", "[a](data:text/html,x)", "[a](//evil.example)"),
    *("![a](https://evil.example/p.png)", '![a](x" onerror="y)', '<https://a.example/"x>', "<javascript:x>", "[r]"),
    *("\n\n[r]: javascript:x\n\n", '\n```x" onclick="y\n', "```\n", "\n# ", "\n- ", "\n1. ", "\n> ", "|", "|-|:-:|\n"),
    *(
        "https://e.example/",
        "http://",
        "https://x'y\"z",
    ),
    *("\n", " ", "*", "**", "~~", "`", '"', "'", "<", ">", "&", "[", "](", ")", "\\", "a", "\t"),
]


class Reader(HTMLParser):
    """Collects tags and their attributes as a browser would."""

    def __init__(self):
        super().__init__()
        self.tags = []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_comment(self, data):
        self.tags.append(("comment", {}))


def tags_of(html):
    reader = Reader()
    reader.feed(html)
    return reader.tags


def check_safe(html):
    for tag, attributes in tags_of(html):
        assert tag in TAGS, html
        assert set(attributes) <= ATTRIBUTES.get(tag, set()) | {"dir"}, html
        if tag == "a" and "href" in attributes:
            assert attributes["href"].lower().startswith(("http://", "https://", "mailto:")), html
            assert attributes["rel"] == "noopener noreferrer"
            assert attributes["target"] == "_blank"


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_no_text_brings_tags_or_links_of_its_own(text):
    check_safe(render_markdown(text))


@pytest.mark.parametrize("piece", PIECES)
def test_each_attack_alone(piece):
    check_safe(render_markdown(piece))


def test_what_people_write_is_rendered():
    html = render_markdown(
        "# Refunds\n\nA **refund**, *not* a ~~bug~~.\n\n- one\n- two\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n"
    )
    assert '<h3 dir="auto">Refunds</h3>' in html
    assert "<strong>refund</strong>" in html
    assert "<em>not</em>" in html
    assert "<s>bug</s>" in html
    assert html.count("<li") == 2
    assert "<table>" in html
    assert "style" not in html


def test_html_is_shown_as_text():
    assert "&lt;b&gt;bold&lt;/b&gt;" in render_markdown("<b>bold</b>")


def test_an_image_is_a_link():
    html = render_markdown("![a cat](https://a.example/cat.png)")
    assert "<img" not in html
    assert ">a cat</a>" in html


def test_an_address_in_the_text_is_a_link():
    html = render_markdown(
        "See https://a.example/x?y=1&z=2. (http://b.example) `https://c.example` [d](https://d.example)"
    )
    assert [tag[1]["href"] for tag in tags_of(html) if tag[0] == "a"] == [
        "https://a.example/x?y=1&z=2",
        "http://b.example",
        "https://d.example",
    ]
    check_safe(html)


def test_a_link_to_a_page_of_this_server_is_no_link():
    assert "<a" not in render_markdown("[x](api/undo) [y](/api/undo) [z](//evil.example)")


def test_a_very_long_text_is_shown_as_it_is():
    html = render_markdown("**a** <b>" + "x" * LONGEST)
    assert "**a** &lt;b&gt;" in html
    assert "Too long" in html
