"""From a file and some options to a project: made the first time, resumed and brought up to date after that."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bemps._utils.class_names import clash_key, class_name
from bemps._utils.files import remove
from bemps.acquisition.strategy_registry import find_strategy
from bemps.data import Table, read
from bemps.errors import InputError, parameter, unknown_name
from bemps.models.encoders.encoder_files import encoder_files, is_own_encoder
from bemps.models.encoders.encoder_registry import EncoderRow
from bemps.models.encoders.weight_files import MissingWeights, find_weights
from bemps.models.model_registry import automatic_model, project_kinds, project_models
from bemps.project.project_creation import (
    Added,
    check_classes,
    check_contents,
    check_sheet,
    name_of,
    stamp_of,
    update_project,
)
from bemps.project.suggestions.suggester_names import column_of, is_address, suggester_name
from bemps.project.suggestions.suggestion_values import unknown_values, unknown_words
from bemps.server.panels.keys import checked_file_keys
from bemps.server.suggestions.suggestion_sources import check_suggester, parse_suggester, sending_words
from bemps.store import NewClass, Store, open_store
from bemps.store.project_settings import ADAPT, BY_MODEL, DUPLICATES, ProjectSettings

FEWEST_CLASSES = 2
NO_MODEL = "none"  # items at random, nothing is learnt
OWNER = "bemps label"  # the annotator of what was set up on the command line


@dataclass(frozen=True)
class Source:
    """Where the items come from: a file or folder, and its columns; see `bemps.data.read`."""

    path: Path
    columns: dict[str, Any] = field(default_factory=dict)

    @property
    def stamp(self) -> list[Any]:
        """Changes when the file does, or what is in the folder."""
        return stamp_of(self.path, self.columns)


@dataclass(frozen=True)
class Wishes:
    """The settings that a user asks for; None leaves a setting as it is.

    Attributes
    ----------
    classes : sequence of str or NewClass, or None
        The classes, by their names or as a class file has them.
    title, guidelines : str or None
        Texts of the page.
    audit : float or None
        The share of the asks that are drawn at random to measure accuracy.
    overlap : float or None
        The share of the items that several people label.
    answers : int or None
        How many people label each of these.
    assign_by : str or None
        The column that says who gets an item; empty if everybody gets everything.
    assigned_to : mapping or None
        The names of people for a value of that column.
    model, strategy : str or None
        Names.
    stop_below : float or None
        The advice is to stop if 100 labels raise the accuracy by less than this.
    seed : int or None
        The seed of the random draws of a new project.
    duplicates : {'once', 'ask'} or None
        Whether rows of the same text are asked once, or each.
    fewest_classes : int
        The project is refused with fewer classes.
    adapt : {'auto', 'off'} or None
        Whether the text encoder is fine-tuned on the labels where that is possible, or never.
    suggest : str or None
        What suggests labels: `off`, `model`, a column, or the http(s) address of a server that speaks the chat protocol
        of OpenAI.
    suggest_model : str or None
        The name of the model at that address.
    suggest_requests : int or None
        How many requests may be sent to it in all.
    train_on_suggested : bool or None
        Whether the model learns from suggestions that people accepted.
    show : sequence of str or None
        The columns of the file that the page shows beside the item, in this order.
    remote_images : bool or None
        Whether images of other servers, which a shown column names, are loaded.
    markdown : bool or None
        Whether the texts are shown as Markdown.
    keywords : sequence of str or None
        Words to highlight, each perhaps with ` = ` and a class.
    """

    classes: Sequence[str | NewClass] | None = None
    title: str | None = None
    guidelines: str | None = None
    audit: float | None = None
    overlap: float | None = None
    answers: int | None = None
    assign_by: str | None = None
    assigned_to: Mapping[str, Sequence[str]] | None = None
    model: str | None = None
    strategy: str | None = None
    stop_below: float | None = None
    seed: int | None = None
    duplicates: str | None = None
    fewest_classes: int = FEWEST_CLASSES
    adapt: str | None = None
    suggest: str | None = None
    suggest_model: str | None = None
    suggest_requests: int | None = None
    train_on_suggested: bool | None = None
    show: Sequence[str] | None = None
    remote_images: bool | None = None
    markdown: bool | None = None
    keywords: Sequence[str] | None = None


def prepared(where: str, source: Source | None, wishes: Wishes) -> tuple[Store, list[str]]:
    """Open a project, or make it, and bring it up to date with its file and the wishes.

    Parameters
    ----------
    where : str
        The file of the project, or its address in a database server.
    source : Source or None
        The data to read. None opens a project that exists.
    wishes : Wishes
        The settings that the user asks for.

    Returns
    -------
    store : Store
        The database of the project.
    notes : list of str
        What the user should know about it.

    Raises
    ------
    InputError
        If the project does not exist and there is no data, or if a wish or the data is not valid.
    """
    classes = None
    if wishes.classes is not None:
        classes = checked_classes(list(map(name_of, wishes.classes)), wishes.fewest_classes)
        wishes = replace(wishes, classes=_checked_entries(wishes.classes, classes))
    _check_names(wishes)
    new, table = not ("://" in where or Path(where).exists()), None
    if new:
        if source is None:
            raise InputError("project", expected="one that exists", got=where, fix="Name the file to label as well.")
        table = read_items(source, classes)  # what cannot be read leaves no half-made project behind
        check_classes(classes or table.classes, wishes.fewest_classes)
    store = open_store(where, create=source is not None)
    try:
        return store, _brought_up_to_date(store, source, wishes, classes, table)
    except BaseException:
        _close(store, new)
        raise


def _close(store: Store, new: bool) -> None:
    """Close a store that could not be filled; a file that was made for it goes again, unless others are in it."""
    empty = new and store.path is not None and not store.count()
    store.close()
    if empty and store.path is not None:
        for ending in ("", "-wal", "-shm"):
            remove(store.path.with_name(store.path.name + ending))


def _check_names(wishes: Wishes) -> None:
    """Names of a model or strategy that do not exist are found out before anything is made."""
    rows = {name: row for kind in project_kinds() for name, row in project_models(kind).items()}
    known = {"auto", NO_MODEL, *rows}
    if wishes.model in rows:
        _check_brought(rows[wishes.model].vectors)
    if wishes.model in (None, "auto"):  # what it takes for texts may be missing, but not damaged
        find_weights(rows[automatic_model("text", "first")].vectors.weights or "")
    if wishes.model is not None and wishes.model not in known:
        if not is_own_encoder(wishes.model):
            raise unknown_name("--model", wishes.model, known, "Or the folder or hub name of a text encoder.")
        encoder_files(wishes.model)  # brought from the hub now, and refused before anything is made
    if wishes.strategy is not None:
        find_strategy(wishes.strategy)
    if wishes.duplicates not in (None, *DUPLICATES):
        raise unknown_name("--duplicates", wishes.duplicates, DUPLICATES)
    if wishes.adapt not in (None, *ADAPT):
        raise unknown_name("--adapt", wishes.adapt, ADAPT)


def _check_brought(vectors: EncoderRow) -> None:
    """Refuse an encoder whose packages or weights are missing; the extra that has the packages may bring both."""
    vectors.require_packages()
    if vectors.weights is not None and find_weights(vectors.weights) is None:
        raise MissingWeights(vectors.weights)


def _brought_up_to_date(
    store: Store, source: Source | None, wishes: Wishes, classes: tuple[str, ...] | None, table: Table | None
) -> list[str]:
    """Items, classes and settings as they are asked for: a refusal leaves the project as it was."""
    settings = store.read_settings()
    if source is None and not store.count():
        raise InputError("project", expected="items", got="none", fix="Name the file to label as well.")
    if source is not None and table is None and _is_new(source, settings):
        check_sheet(settings, source.path, source.columns.get("sheet"))
        table = read_items(source, classes)
    wished = _with_suggester(_with_wishes(settings, wishes), wishes, table)
    if wishes.assigned_to and not wished.assign_by:
        fix = "Name the column: --assign-by region"
        raise InputError("--assign", expected="a column whose values are assigned", got="none", fix=fix)
    is_new = _taken(wished, "classes") != _taken(settings, "classes")
    added = update_project(
        store,
        wished,
        table,
        annotator=OWNER,
        classes=(wishes.classes or ()) if is_new or table is not None else (),  # those deleted since stay so
        take_over=is_new,
        fewest_classes=wishes.fewest_classes,
    )
    notes = [] if source is None or table is None else _notes_of_rows(added, source, table)
    if settings.id and set(added.classes) & set(classes or ()):
        notes.append(f"new classes: {', '.join(name for name in added.classes if name in (classes or ()))}")
    if added.audit:
        share = f"{wished.audit_share:.0%} of those you will be asked"
        notes.append(f"{added.audit:,} items set aside at random to measure accuracy ({share})")
    if wishes.answers is not None and not wished.overlap_share:
        notes.append(f"no item is asked of {wishes.answers} people yet: --overlap 1 asks every item of them")
    notes += _notes_of_shares(store, wishes.assigned_to or {})
    if any(wish is not None for wish in (wishes.answers, wishes.overlap, wishes.assign_by, wishes.assigned_to)):
        notes += _notes_of_few_people(store)
    return [*notes, *_notes_of_suggestions(store, wishes.suggest is not None)]


def _is_new(source: Source, settings: ProjectSettings) -> bool:
    """Whether the file has changed, or was read by a release that did not keep its columns or give a folder some."""
    return settings.stamp != source.stamp or not settings.columns


def _with_wishes(settings: ProjectSettings, wishes: Wishes) -> ProjectSettings:
    """The settings with what is asked for. A file that was taken over before does not undo changes of the page."""
    words = None if wishes.keywords is None else tuple(dict.fromkeys(filter(None, wishes.keywords)))
    files = {"guidelines": wishes.guidelines, "classes": wishes.classes, "keywords": words}
    hashes = {name: _hash(content) for name, content in files.items() if content is not None}
    examples = [new.examples for new in wishes.classes or () if isinstance(new, NewClass)]
    if any(examples):  # else as releases counted it that knew none
        hashes["classes"] = _hash((wishes.classes, examples))
    changed = {name: digest for name, digest in hashes.items() if digest != _taken(settings, name)}
    values: dict[str, Any] = {
        "title": wishes.title,
        "guidelines": wishes.guidelines if "guidelines" in changed else None,
        "taken_files": {**(settings.taken_files or {}), **changed} or None,
        "audit_share": wishes.audit,
        "overlap_share": wishes.overlap,
        "answers_per_item": wishes.answers,
        "assign_by": wishes.assign_by,
        "assigned_to": None
        if wishes.assigned_to is None
        else dict(settings.assigned_to or {}) | dict(wishes.assigned_to),
        "model": None if wishes.model == NO_MODEL else _from_anywhere(wishes.model),
        "no_model": None if wishes.model is None else wishes.model == NO_MODEL,
        "strategy": wishes.strategy,
        "stop_rise": wishes.stop_below,
        "seed": wishes.seed,
        "duplicates": wishes.duplicates,
        "adapt": wishes.adapt,
        "suggest_model": wishes.suggest_model,
        "suggest_requests": wishes.suggest_requests,
        "train_on_suggested": wishes.train_on_suggested,
        "shown_columns": None if wishes.show is None else tuple(dict.fromkeys(filter(None, wishes.show))),
        "remote_images": wishes.remote_images,
        "markdown": wishes.markdown,
        "keywords": words if "keywords" in changed else None,
    }
    return replace(settings, **{name: value for name, value in values.items() if value is not None})


def _hash(content: object) -> str:
    return hashlib.sha256(repr(content).encode()).hexdigest()


def _taken(settings: ProjectSettings, name: str) -> object:
    return (settings.taken_files or {}).get(name)


def _with_suggester(settings: ProjectSettings, wishes: Wishes, table: Table | None) -> ProjectSettings:
    """The settings with what is to suggest labels; a column may be one that is read now."""
    if wishes.suggest is not None:
        known = [name for name, _, _ in settings.columns or ()]
        columns = list(dict.fromkeys([*known, *(() if table is None else table.columns)]))
        settings = replace(settings, suggest=parse_suggester(wishes.suggest, columns))
    if settings.suggest == BY_MODEL and settings.no_model:
        fix = "Leave --model none out, or use a column or an address."
        raise InputError("--suggest", expected="a project with a model", got="one without", fix=fix)
    if wishes.suggest is not None or wishes.suggest_model is not None:
        kind = table.kind if table is not None and not settings.id else settings.kind
        check_suggester(settings.suggest, settings.suggest_model, kind)
    return settings


def _notes_of_shares(store: Store, assigned_to: Mapping[str, Sequence[str]]) -> list[str]:
    """Values that were assigned and that no item has: perhaps misspelt, and then nobody gets the items meant."""
    assignment = store.assignment() if assigned_to else None
    missing = [] if assignment is None else assignment.values_without_items(assigned_to)
    if assignment is None or not missing:
        return []
    values = sorted(set(assignment.values.values()))
    shown = ", ".join(values[:10]) + (", ..." if len(values) > 10 else "")
    return [f"No item has {' or '.join(map(repr, missing))} in column {assignment.column!r}. Its values: {shown}."]


def _notes_of_few_people(store: Store) -> list[str]:
    """Shares with fewer people than are to label an item of the overlap: other people are asked too."""
    settings, assignment = store.read_settings(), store.assignment()
    if assignment is None or not settings.overlap_share:
        return []
    answers = settings.answers_per_item
    few = sorted(value for value, names in assignment.names.items() if 0 < len(names) < answers)
    if not few:
        return []
    shown = ", ".join(map(repr, few[:3])) + (f" and {len(few) - 3} more" if len(few) > 3 else "")
    has = "has" if len(few) == 1 else "have"
    return [
        f"{answers} people label some items, and {shown} {has} fewer in column {assignment.column!r}: "
        "others are asked too, after one of its own people. To ask nobody else, name more: --assign VALUE=NAMES."
    ]


def _notes_of_suggestions(store: Store, asked: bool) -> list[str]:
    """What is sent where, before anything is; and the values of a column that suggest nothing."""
    settings = store.read_settings()
    if is_address(settings.suggest):
        name = suggester_name(settings)
        if asked:
            return [f"Suggestions from {name}. {sending_words(settings.suggest)}"]
        wait = "Nothing is sent there until you agree on the page, under Suggestions, or give --suggest again."
        return [f"The project has suggestions from {name}. {wait}"]
    column = column_of(settings.suggest)
    words = "" if column is None else unknown_words(*unknown_values(store, settings.suggest), column)
    return [words] if words else []


def _from_anywhere(model: str | None) -> str | None:
    """The name of a model; that of a folder holds wherever the project is opened."""
    return str(Path(model).resolve()) if model is not None and Path(model).is_dir() else model


def _notes_of_rows(added: Added, source: Source, table: Table) -> list[str]:
    if not added.rows:
        return added.label_notes() or [f"nothing new in {source.path}"]
    notes = [f"{added.rows - added.copies:,} new items from {source.path} ({table.findings})"]
    if added.copies:
        what = "a text" if table.kind == "text" else "an image"
        notes.append(f"{added.copies:,} rows repeat {what}: it is asked once, and the answer counts for all of them")
    return notes + added.label_notes()


def read_items(source: Source, classes: tuple[str, ...] | None) -> Table:
    """The table of a file or folder; what cannot be labelled is refused."""
    columns = dict(source.columns)
    if source.path.is_dir():
        columns.setdefault("id", "path")  # stable, and no image is opened
    table = read(source.path, **columns, classes=classes)
    check_contents(table)
    return table


def _checked_entries(classes: Sequence[str | NewClass], names: Sequence[str]) -> tuple[NewClass, ...]:
    """Classes with tidy names, and keys that the page can have."""
    entries = [NewClass(new) if isinstance(new, str) else new for new in classes]
    keys = checked_file_keys({name: entry.key for entry, name in zip(entries, names, strict=True)})
    return tuple(replace(entry, name=name, key=keys[name]) for entry, name in zip(entries, names, strict=True))


def checked_classes(names: Sequence[str], fewest: int = FEWEST_CLASSES) -> tuple[str, ...]:
    """At least so many names that nobody can mix up: also not by case, white space, or how Unicode writes them."""
    what = parameter("classes") or "classes"
    tidy = tuple(class_name(" ".join(name.split())) for name in names)
    seen: dict[str, str] = {}
    for name in tidy:
        if not name:
            raise InputError(what, expected="names", got="an empty one", fix="Remove the extra comma.")
        other = seen.setdefault(clash_key(name), name)
        if list(tidy).count(name) > 1 or other != name:
            raise InputError(what, expected="different names", got=f"{other!r} and {name!r}", fix="Rename one.")
    check_classes(tidy, fewest)
    return tidy
