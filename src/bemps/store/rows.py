"""The row of a file as one JSON text: what an item keeps of the columns that it does not use itself."""

import json
import math
from collections.abc import Mapping
from typing import Any

from bemps.store.failures import damaged

CONTENT = {"bemps": "content"}  # stands for a value that is the item's own content, which is kept once


def packed(columns: Mapping[str, Any], content: str) -> str | None:
    """A row as JSON; None where it has no column.

    Parameters
    ----------
    columns
        The values by the names of their columns, in the order of the file: whatever a reader gives.
    content
        The content of the item, which one of them may be.
    """
    values = {name: CONTENT if value == content else as_json(value) for name, value in columns.items()}
    return json.dumps(values, allow_nan=False) if values else None


def unpacked(text: str | None, content: str) -> dict[str, Any]:
    """The columns that were packed."""
    try:
        values = {} if text is None else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise damaged("the columns of an item", "JSON", text) from error
    if not isinstance(values, dict):
        raise damaged("the columns of an item", "a JSON object", text)
    return {name: content if value == CONTENT else value for name, value in values.items()}


def as_json(value: Any) -> Any:
    """A value as JSON can write it: what is no number is null, and times, decimals and the like are texts."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None if math.isnan(value) else str(value)
    if isinstance(value, Mapping):
        return {str(name): as_json(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(one) for one in value]
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
