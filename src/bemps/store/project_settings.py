"""The settings of a project: JSON by name in its file, one typed value in the code."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any

from bemps.errors import InputError
from bemps.store.events import SUGGESTED, Answer
from bemps.store.keywords import are_keywords

LISTS = ("sources", "columns", "shown_columns", "keywords")  # stored as lists
DUPLICATES = ("once", "ask")  # what to do with rows of the same text
FEWEST_ANSWERS, MOST_ANSWERS = 2, 20  # people who answer one item of the overlap
MOST_ASSIGNED = 1_000  # values of columns that decide who gets an item; those of earlier columns stay
ADAPT = ("auto", "off")  # whether the text encoder is fine-tuned on the labels
BY_MODEL, BY_COLUMN, ADDRESSES = "model", "column:", ("http://", "https://")  # what suggests labels
SUGGEST_REQUESTS = 1_000


@dataclass(frozen=True)
class ProjectSettings:
    """The settings of a project.

    Attributes
    ----------
    id : str
        The identity of the project in a browser; empty if the project is not prepared for labelling.
    kind : {'text', 'image'}
        The kind of the items.
    title, guidelines : str
        Texts of the page.
    guidelines_edit : mapping or None
        Who last edited the guidelines on the page, when, and the version that came of it.
    folder : str
        The folder of the images.
    model, strategy : str or None
        Names. None leaves the choice to bemps.
    adapt : {'auto', 'off'}
        Whether the text encoder is fine-tuned on the labels where that is possible, or never.
    no_model : bool
        Whether items come at random and nothing is learnt.
    audit_share, overlap_share : float
        Shares of the items for measuring accuracy, and for several annotators.
    answers_per_item : int
        How many annotators answer each item of the overlap.
    assign_by : str
        The column of the file that says who gets an item. Empty: everybody gets everything.
    assigned_to : mapping or None
        The names of people for a value of that column. A value that is not in it is a name itself.
    stop_rise : float
        The advice is to stop if the next 100 labels raise the accuracy by less than this.
    seed : int
        Seed of the random order and the model.
    suggest : str
        What suggests labels: "" (nothing), "model", "column:NAME", or the http(s) address of a server that speaks the
        chat protocol of OpenAI.
    suggest_model : str
        The name of the model at that address.
    suggest_requests, suggest_requests_made : int
        How many requests may be sent to addresses in all, and how many were.
    train_on_suggested : bool
        Whether the model learns from suggestions that people accepted.
    duplicates : {'once', 'ask'}
        Whether rows of the same text are asked once, or each.
    keys_recorded : bool
        Whether the keys of the classes are in the log.
    stamp : list or None
        The file that was read last, as it was then.
    sources : tuple of str
        Every file that items came from.
    columns : tuple or None
        Name, type and meaning of every column of those files; None in projects of early releases.
    shown_columns : tuple of str
        The columns of those files that the page shows beside the item, in this order.
    remote_images : bool
        Whether images of other servers, which a shown column names, are loaded.
    markdown : bool
        Whether the texts are shown as Markdown.
    keywords : tuple of str
        Words to highlight in the texts, each perhaps with ` = ` and a class (`bemps.store.keywords`).
    empty_rows : mapping or None
        Rows of those files without content, by file (`bemps.project.empty_rows`).
    taken_files : mapping or None
        What was last taken over from class files and files of guidelines: their hashes by option. The same file taken
        again does not undo what was changed on the page since.
    history : mapping or None
        The rounds of the model (`bemps.project.history`).
    others : mapping
        Settings of other releases, unchanged.
    """

    id: str = ""
    kind: str = "text"
    title: str = ""
    guidelines: str = ""
    folder: str = ""
    model: str | None = None
    strategy: str | None = None
    adapt: str = ADAPT[0]
    no_model: bool = False
    audit_share: float = 0.1
    overlap_share: float = 0.0
    answers_per_item: int = 2
    assign_by: str = ""
    assigned_to: Mapping[str, Any] | None = None
    stop_rise: float = 0.01
    seed: int = 0
    suggest: str = ""
    suggest_model: str = ""
    suggest_requests: int = SUGGEST_REQUESTS
    suggest_requests_made: int = 0
    train_on_suggested: bool = True
    duplicates: str = DUPLICATES[0]
    keys_recorded: bool = False
    stamp: list[Any] | None = None
    sources: tuple[str, ...] = ()
    columns: tuple[tuple[str, str, str], ...] | None = None
    shown_columns: tuple[str, ...] = ()
    remote_images: bool = False
    markdown: bool = False
    keywords: tuple[str, ...] = ()
    empty_rows: Mapping[str, Any] | None = None
    taken_files: Mapping[str, Any] | None = None
    guidelines_edit: Mapping[str, Any] | None = None
    history: Mapping[str, Any] | None = None
    others: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def learns_from(self, answer: Answer) -> bool:
        """Return whether the model may learn from an answer: it has a label, of a person's own where that is asked."""
        return answer.label is not None and (self.train_on_suggested or answer.method != SUGGESTED)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "ProjectSettings":
        """Make settings from what a store holds. A value of the wrong kind is refused."""
        for name, value in stored.items():
            check_setting(name, value)
        if not _are_columns(stored.get("columns", [])):
            got = f"{stored['columns']!r:.100}"
            raise InputError("setting columns", expected="a list of columns", got=got, fix="Restore a copy.")
        values = {name: value for name, value in stored.items() if name in NAMES}
        for name in LISTS:
            if values.get(name) is not None:
                values[name] = tuple(tuple(row) if isinstance(row, list) else row for row in values[name])
        return cls(**values, others={name: value for name, value in stored.items() if name not in NAMES})

    def to_json(self) -> dict[str, Any]:
        """Return the settings as a store holds them. A setting of None is left out."""
        values = {name: getattr(self, name) for name in NAMES} | dict(self.others)
        for name in LISTS:
            if values[name] is not None:
                values[name] = [list(row) if isinstance(row, tuple) else row for row in values[name]]
        return {name: value for name, value in values.items() if value is not None}


NAMES = tuple(each.name for each in fields(ProjectSettings) if each.name != "others")


def _is_share(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= 1


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_suggester(value: Any) -> bool:
    return isinstance(value, str) and (value in ("", BY_MODEL) or value.startswith((BY_COLUMN, *ADDRESSES)))


def _are_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_text, value.values()))


def _are_assigned(value: Any) -> bool:
    if not isinstance(value, dict) or len(value) > MOST_ASSIGNED:
        return False
    return all(_is_list(names) and all(map(_is_text, names)) for names in value.values())


def _are_columns(value: Any) -> bool:
    rows = value if isinstance(value, list) else [value]
    return all(isinstance(row, list) and len(row) == 3 and all(map(_is_text, row)) for row in rows)


KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "audit_share": ("a share", _is_share),
    "overlap_share": ("a share", _is_share),
    "answers_per_item": (
        f"a whole number from {FEWEST_ANSWERS} to {MOST_ANSWERS}",
        lambda value: type(value) is int and FEWEST_ANSWERS <= value <= MOST_ANSWERS,
    ),
    "assigned_to": (f"names of people, by at most {MOST_ASSIGNED:,} values", _are_assigned),
    "suggest": (f'"", {BY_MODEL}, {BY_COLUMN}NAME or an http address', _is_suggester),
    **dict.fromkeys(("seed", "suggest_requests", "suggest_requests_made"), ("a whole number", _is_count)),
    "stop_rise": ("a number", lambda value: type(value) in (int, float) and 0 <= value < float("inf")),
    "duplicates": (" or ".join(DUPLICATES), lambda value: value in DUPLICATES),
    "adapt": (" or ".join(ADAPT), lambda value: value in ADAPT),
    "sources": ("a list of paths", lambda value: isinstance(value, list) and all(map(_is_text, value))),
    **dict.fromkeys(("taken_files", "guidelines_edit"), ("texts by name", _are_texts)),
    "shown_columns": ("names of columns", lambda value: isinstance(value, list) and all(map(_is_text, value))),
    "keywords": ("a list of words", are_keywords),
    "history": ("rounds", lambda value: value is None or isinstance(value, dict)),
    "empty_rows": ("rows by file", lambda value: isinstance(value, dict) and all(map(_is_list, value.values()))),
    **dict.fromkeys(
        ("no_model", "keys_recorded", "train_on_suggested", "remote_images", "markdown"),
        ("true or false", lambda value: isinstance(value, bool)),
    ),
    **dict.fromkeys(
        ("title", "guidelines", "kind", "folder", "id", "model", "strategy", "suggest_model", "assign_by"),
        ("a text", _is_text),
    ),
    **dict.fromkeys(("curve", "stamp"), ("a list", _is_list)),
}


def check_setting(name: str, value: Any) -> None:
    """Refuse a value that bemps cannot read. Unknown settings may have any value."""
    expected, is_right = KINDS.get(name, ("", None))
    if is_right is not None and not is_right(value):
        raise InputError(f"setting {name}", expected=expected, got=f"{value!r:.100}", fix="Set it to another value.")
