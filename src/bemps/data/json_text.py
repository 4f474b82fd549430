"""JSON texts of other origin, parsed with a clear error for damaged ones."""

import json
import re
from typing import Any

from bemps.errors import InputError

SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")  # an escape that is half of a character, unless its other half follows


def parse_json(text: str, where: str, expected: str = "JSON") -> Any:
    """Parse a JSON text.

    Parameters
    ----------
    text : str
        The text, of any origin.
    where : str
        The position in messages: the file, and the line if it has several.
    expected : str
        What is expected, for messages.

    Returns
    -------
    object
        The value.

    Raises
    ------
    InputError
        It is no JSON, is nested too deeply, has a number that is too long, or half of a surrogate pair.
    """
    try:
        value = json.loads(text)
        if SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        at = f"character {error.colno}" if "\n" not in text.strip() else f"line {error.lineno}, character {error.colno}"
        got = f"{error.msg} at {at}"
    except UnicodeEncodeError:
        got = "half of a surrogate pair in a text"
    except RecursionError:
        got = "brackets nested too deeply"
    except ValueError as error:  # a whole number of more digits than Python reads
        got = str(error)
    else:
        return value
    raise InputError(where, expected=expected, got=got, fix="Is it complete, and the right file?")


def parse_object(text: str, where: str) -> dict[str, Any]:
    """The object of a JSON text; any other value is refused."""
    return object_of(parse_json(text, where, "one JSON object"), where)


def object_of(value: Any, where: str) -> dict[str, Any]:
    """A JSON value that is an object; any other is refused."""
    if isinstance(value, dict):
        return value
    got = f"a JSON {type(value).__name__}"
    raise InputError(where, expected="one JSON object", got=got, fix="Each must be an object {...} of its own.")
