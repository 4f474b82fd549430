"""The panel of suggestions: what suggests, how it goes, how good it is, and what may be changed."""

from collections.abc import Mapping
from math import ceil
from typing import Any

from bemps.project.suggestions.chat_prompt import LONGEST_TEXT
from bemps.project.suggestions.suggester_names import column_of, is_address
from bemps.server.engine import Engine
from bemps.server.suggestions.request_attempts import LONGEST_PAUSE, MOST_TRIES
from bemps.server.suggestions.suggestion_quality import quality_of
from bemps.server.suggestions.suggestion_sources import ITEMS_PER_REQUEST, sending_words
from bemps.store import Answer


def suggestions_of(engine: Engine, answers: Mapping[str, Answer]) -> dict[str, Any]:
    """Return everything that the panel shows."""
    settings, suggester = engine.settings, engine.suggester
    column = column_of(settings.suggest)
    return {
        "suggest": settings.suggest,
        "quality": quality_of(engine, answers),
        "columns": [name for name, _, same in settings.columns or () if not same],
        "column": column,
        "unknown": suggester.column_words(),
        "address": settings.suggest if is_address(settings.suggest) else "",
        "model": settings.suggest_model,
        "sending": sending_words(settings.suggest) if is_address(settings.suggest) else "",
        "items": ITEMS_PER_REQUEST,
        "tries": MOST_TRIES,
        "characters": LONGEST_TEXT,
        "waits": suggester.waits_for_consent,
        "progress": _progress(engine),
        "images": settings.kind == "image",
        "no_model": settings.no_model,
    }


def _progress(engine: Engine) -> dict[str, Any]:
    suggester = engine.suggester
    return {
        "answered": len(suggester.cache),
        "without": sum(label is None for label in suggester.cache.values()),
        "made": suggester.requests_made,
        "most": engine.settings.suggest_requests,
        "problem": suggester.problem,
        "advice": suggester.advice,
        "goes_on": suggester.requests_left and not suggester.attempts.stopped,
        "minutes": ceil(suggester.attempts.wait / 60) if suggester.attempts.wait > LONGEST_PAUSE else 0,
        "unclear": suggester.attempts.unclear,
        "set_aside": suggester.attempts.set_aside,
    }
