"""What can suggest labels: the names that people use for it, checks, and what is sent where in words."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from bemps.errors import InputError, parameter, unknown_name
from bemps.project.suggestions.chat_prompt import LONGEST_TEXT
from bemps.project.suggestions.suggester_names import is_address
from bemps.server.http.access import is_loopback
from bemps.store.project_settings import ADDRESSES, BY_COLUMN, BY_MODEL

OFF = "off"
ITEMS_PER_REQUEST = 10
KEY, OPENAI_KEY = "BEMPS_SUGGEST_KEY", "OPENAI_API_KEY"  # in the environment
OPENAI = "api.openai.com"
REQUEST_PATH = "/chat/completions"  # below the address


def parse_suggester(text: str, columns: Sequence[str]) -> str:
    """Return the setting `suggest` for what a person wrote.

    Parameters
    ----------
    text : str
        `off`, `model`, the name of a column, `column:` and a name, or an http(s) address.
    columns : sequence of str
        The columns of the user's files.

    Returns
    -------
    str
        The value of the setting.

    Raises
    ------
    InputError
        If there is no such column, or the address cannot be one.
    """
    text = text.strip()
    if text in ("", OFF):
        return ""
    if text == BY_MODEL:
        return BY_MODEL
    if "://" in text:
        return checked_address(text)
    name = text.removeprefix(BY_COLUMN)
    if name not in columns:
        raise unknown_name("column of suggestions", name, columns, "Or model, off, or an http address.")
    return BY_COLUMN + name


def checked_address(address: str) -> str:
    """Return an address without its last slash, and without the path of a request, with which people copy it.

    Anything but http and https is refused, and so is a password in it.
    """
    expected = "an address such as http://localhost:11434/v1"
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise InputError("address", expected=expected, got=repr(address[:200]), fix="Correct it.") from error
    if not address.lower().startswith(ADDRESSES) or not host or not address.isascii() or not address.isprintable():
        raise InputError("address", expected=expected, got=repr(address[:200]), fix="Correct it.")
    if parts.username is not None or parts.query or parts.fragment or " " in address:
        fix = f"Leave it out; a key goes into the environment as {KEY}."
        raise InputError("address", expected=expected, got="more than a host and a path", fix=fix)
    return address.rstrip("/").removesuffix(REQUEST_PATH).rstrip("/")


def check_suggester(suggest: str, model: str, kind: str) -> None:
    """Refuse settings that cannot work: an address without the name of a model, or for images.

    Parameters
    ----------
    suggest : str
        The setting.
    model : str
        The name of the model at an address.
    kind : {'text', 'image'}
        The kind of the items.
    """
    if not is_address(suggest):
        return
    if kind != "text":
        raise InputError("suggestions", expected="texts", got="images", fix="An address suggests labels of texts only.")
    if not model.strip():
        fix = f"Give the name of the model there, for example {parameter('suggest_model', 'llama3') or 'llama3'}."
        raise InputError("suggestions", expected="the name of a model", got="none", fix=fix)


def sending_words(address: str) -> str:
    """Return a sentence that says what is sent where."""
    return (
        f"The texts of items (at most {LONGEST_TEXT:,} characters of each), the names and descriptions of the classes "
        f"and the guidelines are sent to {address}, {ITEMS_PER_REQUEST} items at a time, while people label."
    )


@dataclass(frozen=True)
class SentKey:
    """The key for an address.

    Attributes
    ----------
    value : str or None
        The key. None sends none.
    advice : str
        What to do where the server refuses it, or wants one.
    """

    value: str | None = None
    advice: str = ""


def key_for(address: str, from_command: bool) -> SentKey:
    """Return the key for an address, from the environment.

    `BEMPS_SUGGEST_KEY` goes only to an address that the command line named, so that nobody on the page can have it
    sent elsewhere. `OPENAI_API_KEY` goes only to OpenAI. A key is sent over https, or to this machine.
    """
    parts = urlsplit(address)
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        return SentKey(advice="A key is sent only over https, or to this machine.")
    names = [*([KEY] if from_command else []), *([OPENAI_KEY] if parts.hostname == OPENAI else [])]
    for name in names:
        if value := os.environ.get(name):
            return SentKey(value, f"It stands in {name} where bemps was started.")
    if not names:
        return SentKey(advice=f"Whoever starts bemps sets {KEY}, and names this address at the start.")
    return SentKey(advice=f"Whoever starts bemps sets {names[-1]} before.")
