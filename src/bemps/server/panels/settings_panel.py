"""The settings of a project that people change on the page: one row each.

A new setting is a field of `ProjectSettings` and a row of `FIELDS`. The template shows every row.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bemps.errors import InputError
from bemps.server.http.saved_meanwhile import FormValue
from bemps.store.project_settings import FEWEST_ANSWERS, MOST_ANSWERS, ProjectSettings, check_setting

LONGEST_TITLE = 200
YES, NO = "yes", "no"


@dataclass(frozen=True)
class SettingField:
    """A setting as the page shows it.

    Attributes
    ----------
    name : str
        The name in `ProjectSettings`.
    label, help : str
        What it is, and what it does, in words for people.
    control : {'text', 'lines', 'number', 'choice'}
        How it is edited.
    show : callable
        From the value to the text of the control.
    parse : callable
        From that text to the value. It raises ValueError where it cannot.
    expected : str
        What the text should be, for the message of a refusal.
    choices : tuple of (str, str)
        For a choice, the texts and the words for them.
    known : callable or None
        From the settings to the names that the text can contain, which are listed below it.
    of_texts : bool
        Whether it says nothing to a project of images.
    """

    name: str
    label: str
    help: str
    control: Literal["text", "lines", "number", "choice"]
    show: Callable[[Any], str]
    parse: Callable[[str], Any]
    expected: str
    choices: tuple[tuple[str, str], ...] = ()
    known: Callable[[ProjectSettings], Sequence[str]] | None = None
    of_texts: bool = False


def _percent_shown(share: float) -> str:
    return f"{100 * share:g}"


def _percent_parsed(text: str) -> float:
    share = float(text.strip().removesuffix("%").replace(",", ".")) / 100
    if not 0 <= share <= 1:
        raise ValueError(text)
    return share


def percent_field(name: str, label: str, help: str) -> SettingField:
    """Return a row for a share, edited as a percentage."""
    return SettingField(name, label, help, "number", _percent_shown, _percent_parsed, "a number from 0 to 100")


def flag_field(name: str, label: str, help: str, of_texts: bool = False) -> SettingField:
    """Return a row for a setting that is on or off."""
    choices = ((YES, "yes"), (NO, "no"))
    return SettingField(name, label, help, "choice", _flag_shown, _flag_parsed, "yes or no", choices, of_texts=of_texts)


def _flag_shown(value: bool) -> str:
    return YES if value else NO


def _flag_parsed(text: str) -> bool:
    if text not in (YES, NO):
        raise ValueError(text)
    return text == YES


def lines_field(
    name: str, label: str, help: str, known: Callable[[ProjectSettings], Sequence[str]] | None = None
) -> SettingField:
    """Return a row for a list of texts, edited one in each line.

    Parameters
    ----------
    name, label, help, known
        As in `SettingField`.

    Returns
    -------
    SettingField
        The row.
    """
    return SettingField(name, label, help, "lines", "\n".join, _lines_parsed, "a text in each line", known=known)


def _columns_of_files(settings: ProjectSettings) -> list[str]:
    return [name for name, _, _ in settings.columns or ()]


def _lines_parsed(text: str) -> list[str]:
    return list(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))


def _count_parsed(text: str) -> int:
    if (count := int(text)) < 0:
        raise ValueError(text)
    return count


def _title_parsed(text: str) -> str:
    if len(text) > LONGEST_TITLE:
        raise ValueError(text)
    return " ".join(text.split())


FIELDS: tuple[SettingField, ...] = (
    SettingField(
        "title",
        "Title",
        "Shown at the top of the page.",
        "text",
        str,
        _title_parsed,
        f"at most {LONGEST_TITLE} letters",
    ),
    percent_field(
        "audit_share",
        "Items drawn at random, in percent",
        "They measure how often the model is right. The model never learns from them.",
    ),
    percent_field(
        "overlap_share",
        "Items that several people label, in percent",
        "They show how far people agree.",
    ),
    SettingField(
        "answers_per_item",
        "People who label each of these",
        "What most of them say counts. Where they differ, anybody can decide under Team.",
        "number",
        str,
        int,
        f"a whole number from {FEWEST_ANSWERS} to {MOST_ANSWERS}",
    ),
    SettingField(
        "adapt",
        "Learn the language of your texts",
        "From 50 labels on, the model that reads your texts learns from them too, for some minutes in the background. "
        "It is used where it predicts better. With no, this computer has less to do.",
        "choice",
        str,
        str,
        "yes or no",
        (("auto", "yes"), ("off", "no")),
        of_texts=True,
    ),
    flag_field(
        "train_on_suggested",
        "Learn from accepted suggestions",
        "With no, the model learns only from labels that a person chose. Accepted suggestions still count as labels.",
    ),
    SettingField(
        "suggest_requests",
        "Requests to an address that suggests, at most",
        "Counted over the life of the project. A request holds up to ten items.",
        "number",
        str,
        _count_parsed,
        "a whole number, 0 or more",
    ),
    lines_field(
        "shown_columns",
        "Columns to show beside the item",
        "One name in each line, in this order. A search looks in them too.",
        _columns_of_files,
    ),
    flag_field(
        "remote_images",
        "Load images from other servers",
        "For web addresses of images in these columns. Those servers then learn who looks at an item and when.",
    ),
    flag_field(
        "markdown",
        "Show texts as Markdown",
        "Headings, lists, tables, links and emphasis are shown as such. HTML in a text stays text.",
        of_texts=True,
    ),
    lines_field(
        "keywords",
        "Words to highlight",
        "One in each line. A star stands for the ends of a word: refund*. A class gives its colour: refund* = billing.",
    ),
)


def settings_rows(settings: ProjectSettings) -> list[tuple[SettingField, str]]:
    """Return every row of the panel that says something to the project, with the text of its control."""
    rows = [row for row in FIELDS if not row.of_texts or settings.kind == "text"]
    return [(row, row.show(getattr(settings, row.name))) for row in rows]


def changed_settings(values: Mapping[str, str], settings: ProjectSettings) -> dict[str, Any]:
    """Return the settings that a form changes.

    Parameters
    ----------
    values : mapping of str to str
        The texts of the controls, by the name of the setting. Names that have no row are refused.
    settings : ProjectSettings
        The present settings.

    Returns
    -------
    dict
        The new values, as `ProjectSettings.to_json` writes them. What is as before is left out.

    Raises
    ------
    InputError
        If a name or a value is not valid. Nothing is changed then.
    """
    rows = {row.name: row for row in FIELDS}
    present, changes = settings.to_json(), {}
    for name, text in values.items():
        if name not in rows:
            raise InputError("setting", expected=" or ".join(rows), got=repr(name[:100]), fix="Reload the page.")
        row = rows[name]
        try:
            value = row.parse(text)
        except ValueError as error:
            raise InputError(row.label, expected=row.expected, got=repr(text[:100]), fix="Correct it.") from error
        check_setting(name, value)
        if text != row.show(getattr(settings, name)) and value != present.get(name):
            changes[name] = value
    return changes


def values_to_change(
    changes: Mapping[str, Any], seen: Mapping[str, str], settings: ProjectSettings
) -> Iterator[FormValue]:
    """Return the settings that are changed, as they are now and as the form showed them."""
    for row in FIELDS:
        if row.name in changes:
            yield FormValue(row.name, row.label, row.show(getattr(settings, row.name)), seen.get(row.name))
