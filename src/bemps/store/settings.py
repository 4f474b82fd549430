"""Settings of a project as they are kept: JSON by name, those that bemps itself reads of the right kind."""

import json
from collections.abc import Callable
from typing import Any

from bemps.store.failures import damaged


def _is_share(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= 1


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "audit_share": ("a share", _is_share),
    "overlap_share": ("a share", _is_share),
    "seed": ("a whole number", lambda value: type(value) is int and value >= 0),
    "stop_rise": ("a number", lambda value: type(value) in (int, float) and 0 <= value < float("inf")),
    "no_model": ("true or false", lambda value: isinstance(value, bool)),
    **dict.fromkeys(("title", "guidelines", "kind", "folder", "id", "model", "strategy"), ("a text", _is_text)),
    **dict.fromkeys(("curve", "stamp", "sources"), ("a list", _is_list)),
}


def read_setting(name: str, text: str) -> Any:
    """The value of a setting."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise damaged(f"setting {name}", "JSON", text) from error
    expected, is_right = KINDS.get(name, ("", None))
    if is_right is not None and not is_right(value):
        raise damaged(f"setting {name}", expected, value)
    return value
