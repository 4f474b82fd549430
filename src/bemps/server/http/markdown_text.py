"""Markdown as HTML that is safe to show: HTML in the text stays text, links lead to web pages and mail alone."""

import re
from collections.abc import Sequence
from functools import cache
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

LONGEST = 200_000  # characters; a longer text is shown as it is
SAFE_LINK = re.compile("(https?://|mailto:)", re.IGNORECASE)
ADDRESS = re.compile(r"(https?://[^\s<>\"]*[^\s<>\"'.,;:!?)\]}*_~])", re.IGNORECASE)  # without the stop behind it
NEW_TAB = {"target": "_blank", "rel": "noopener noreferrer"}
DEMOTED = 2  # levels: the page has headings of its own above those of the text
DIRECTED = ("paragraph_open", "heading_open", "list_item_open", "th_open", "td_open")


def render_markdown(text: str) -> str:
    """Render Markdown as safe HTML.

    Parameters
    ----------
    text : str
        CommonMark with tables and ~~strikethrough~~. HTML in it is shown as text.

    Returns
    -------
    str
        HTML without scripts, styles, images or attributes of the author. Links open in a new tab. An image becomes a
        link to it, because the page loads nothing from other servers.
    """
    if len(text) > LONGEST:
        return f"<p><small>Too long to be shown as Markdown.</small></p>\n<pre>{escape(text)}</pre>\n"
    return str(_parser().render(text))


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.validateLink = _is_safe_link  # type: ignore[method-assign]
    parser.core.ruler.push("bare_links", _link_addresses)
    parser.core.ruler.push("page_attributes", _set_attributes)
    parser.add_render_rule("image", _image_link)
    return parser


def _is_safe_link(url: str) -> bool:
    return SAFE_LINK.match(url) is not None


def _link_addresses(state: Any) -> None:
    """Addresses that stand in the text by themselves become links."""
    for token in state.tokens:
        depth = 0
        children: list[Token] = []
        for child in token.children or ():
            depth += child.nesting if child.type in ("link_open", "link_close") else 0
            children += [child] if depth or child.type != "text" else _with_links(child.content, state.md)
        if token.children:
            token.children = children


def _with_links(text: str, parser: MarkdownIt) -> list[Token]:
    tokens: list[Token] = []
    for position, piece in enumerate(ADDRESS.split(text)):
        words = Token("text", "", 0, content=piece)
        if position % 2:
            tokens += [
                Token("link_open", "a", 1, attrs={"href": parser.normalizeLink(piece)}),
                words,
                Token("link_close", "a", -1),
            ]
        elif piece:
            tokens.append(words)
    return tokens


def _set_attributes(state: Any) -> None:
    """Headings below those of the page, links in a new tab, right-to-left paragraphs by themselves, no styles."""
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + DEMOTED)}"
        token.attrs.pop("style", None)  # the alignment of a column, which the content policy would refuse
        if token.type in DIRECTED:
            token.attrSet("dir", "auto")
        for child in token.children or ():
            if child.type == "link_open":
                child.attrs |= NEW_TAB


def _image_link(renderer: RendererHTML, tokens: Sequence[Token], position: int, options: OptionsDict, env: Any) -> str:
    token = tokens[position]
    words = renderer.renderInlineAsText(token.children, options, env) or "image"
    attributes = "".join(f' {name}="{value}"' for name, value in NEW_TAB.items())
    return f'<a href="{escape(str(token.attrs["src"]))}"{attributes}>{escape(words)}</a>'
