"""The row of a file as one JSON text: how an item stores the columns that it does not use itself."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from bemps.store.sql.database_errors import damaged

CONTENT = {"bemps": "content"}  # stands for a value that is the item's own content, which is kept once


def packed(columns: Mapping[str, Any], content: str) -> str | None:
    """Pack a row as JSON.

    Parameters
    ----------
    columns : mapping of str to object
        The values by the names of their columns, in the order of the file.
    content : str
        The content of the item. A column with this value is not stored twice.

    Returns
    -------
    str or None
        The JSON text; None if there is no column.
    """
    values = {name: CONTENT if value == content else as_json(value) for name, value in columns.items()}
    return json.dumps(values, allow_nan=False) if values else None


def unpacked(text: str | None, content: str) -> dict[str, Any]:
    """Return the columns of a packed row."""
    try:
        values = {} if text is None else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise damaged("the columns of an item", "JSON", text) from error
    if not isinstance(values, dict):
        raise damaged("the columns of an item", "a JSON object", text)
    return {name: content if value == CONTENT else value for name, value in values.items()}


def columns_contain(packed_row: str | None, names: Sequence[str], text: str) -> bool:
    """Return whether one of these columns of a packed row contains a text, upper and lower case alike.

    A column that is the content of the item does not count.
    """
    values = unpacked(packed_row, "")
    folded = text.casefold()
    return any(folded in column_text(values.get(name)).casefold() for name in names)


def column_text(value: Any) -> str:
    """Return the value of a column as the page shows it: texts as they are, nothing as "", all others as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def as_json(value: Any) -> Any:
    """Convert a value to one that JSON can write: NaN becomes null; times, decimals and the like become texts."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None if math.isnan(value) else str(value)
    if isinstance(value, Mapping):
        return {str(name): as_json(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(part) for part in value]
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
