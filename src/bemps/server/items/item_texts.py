"""The text of an item as the page shows it: Markdown, and the words to highlight in it."""

from functools import lru_cache
from typing import Any

from bemps.server.http.markdown_text import render_markdown
from bemps.server.panels.class_view import ClassView
from bemps.server.panels.map_panel import colours_of
from bemps.store import COLOURS
from bemps.store.keywords import parse_keywords
from bemps.store.project_settings import ProjectSettings

CACHED = 500  # texts: those that people have in their browsers are asked for again


@lru_cache(maxsize=CACHED)
def item_html(text: str) -> str:
    """Return a text as safe HTML, rendered as Markdown."""
    return render_markdown(text)


def keywords_as_json(settings: ProjectSettings, view: ClassView) -> list[dict[str, Any]]:
    """Return the words to highlight for the browser, each with its class and the colour of that class on the map."""
    words: list[dict[str, Any]] = []
    colours = colours_of(view.classes)
    for keyword in parse_keywords(settings.keywords):
        word: dict[str, Any] = {"word": keyword.word, "prefix": keyword.is_prefix}
        name = None if keyword.class_name is None else view.counted_name(keyword.class_name)
        if name is not None:
            word |= {"class": name, "colour": COLOURS[colours[name]]}
        words.append(word)
    return words
