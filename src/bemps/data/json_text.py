"""JSON that somebody else wrote: a value, or a sentence about what is wrong with it."""

import json
import re
from typing import Any

from bemps.errors import InputError

SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")  # an escape that is half of a character, unless its other half follows


def parse_json(text: str, where: str, expected: str = "JSON") -> Any:
    """The value of a JSON text.

    Parameters
    ----------
    text
        The text, of any origin.
    where
        What messages call it: the file, and the line where it has several.
    expected
        What messages say should be there.

    Raises
    ------
    InputError
        When it is no JSON, is nested too deeply, holds a number that is too long, or half of a surrogate pair.
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
    value = parse_json(text, where, "one JSON object")
    if isinstance(value, dict):
        return value
    got = f"a JSON {type(value).__name__}"
    raise InputError(where, expected="one JSON object", got=got, fix="Each must be an object {...} of its own.")
