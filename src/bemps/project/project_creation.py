"""The one way in which rows become a project, or come to one that exists: from Python and on the command line."""

import os
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from bemps._utils.class_names import class_name, known_name
from bemps._utils.files import path_inside
from bemps.data import NO_LABEL, ImageFiles, Table, hashes_of
from bemps.data.reading import read_columns
from bemps.data.spreadsheets import WORKBOOKS
from bemps.errors import InputError, hint, parameter, shortened, unknown_name
from bemps.formats.entries import content_key, items_of
from bemps.formats.user_columns import columns_of_table, with_columns, with_source
from bemps.project.audit import draw_audit
from bemps.project.empty_rows import with_empty_rows
from bemps.store import Change, NewAnswer, NewClass, Store
from bemps.store.events import LABEL, SOURCE
from bemps.store.keywords import LONGEST, MOST, are_keywords, parse_keywords
from bemps.store.project_settings import ProjectSettings
from bemps.store.reservation.assignment import check_assignment


@dataclass(frozen=True)
class Added:
    """What a table added to a project.

    Attributes
    ----------
    rows : int
        The number of new rows.
    copies : int
        The number of these that are copies of other rows.
    classes : tuple of str
        The new classes.
    audit : int
        The number of items that were drawn for the audit.
    labels : int
        The number of labels that came to rows which were there without an answer.
    unlike : tuple of UnlikeLabel
        The rows whose label is not that of the project.
    """

    rows: int
    copies: int
    classes: tuple[str, ...]
    audit: int
    labels: int = 0
    unlike: "tuple[UnlikeLabel, ...]" = ()

    def label_notes(self) -> list[str]:
        """Return what the user should know about the labels of the table, in sentences."""
        notes = [f"{self.labels:,} rows that were there got their label from the file"] if self.labels else []
        if not self.unlike:
            return notes
        copies = sum(row.is_copy for row in self.unlike)
        first = f"For example, {self.unlike[0]}."
        rows = "1 row has" if len(self.unlike) == 1 else f"{len(self.unlike):,} rows have"
        words = f"{rows} another label in the file, and the project keeps its own. {first}"
        if copies:
            words += f" {copies:,} of them repeat a text or an image, and the first label of it holds for all its rows."
            words += hint(" Correct the file, or make a new project with {}.", "duplicates", "ask")
        return [*notes, words]


@dataclass(frozen=True)
class UnlikeLabel:
    """A row with another label than the project has.

    Attributes
    ----------
    row, content : str
        The id of the row, and its content.
    label : str
        Its label in the file.
    stored : str or None
        The label in the project. None if people passed the item over.
    is_copy : bool
        Whether it repeats an earlier row.
    """

    row: str
    content: str
    label: str
    stored: str | None
    is_copy: bool

    def __str__(self) -> str:
        row = f"row {shortened(self.row)!r} ({shortened(self.content)!r})"
        stored = "no label" if self.stored is None else repr(self.stored)
        return f"{row} has {self.label!r} in the file and {stored} in the project"


def update_project(
    store: Store,
    settings: ProjectSettings,
    table: Table | None,
    *,
    annotator: str,
    classes: Sequence[str | NewClass] = (),
    take_over: bool = False,
    fewest_classes: int = 0,
) -> Added:
    """Bring rows, classes and settings into a project in one transaction, then draw its audit slice.

    Parameters
    ----------
    store : Store
        The database of the project, new or not.
    settings : ProjectSettings
        The new settings; `id`, `title`, `kind` and `folder` are filled in where they are empty.
    table : Table or None
        The rows. None adds no rows.
    annotator : str
        The name under which new classes are recorded.
    classes : sequence of str or NewClass
        Classes that come before those of the table.
    take_over : bool
        Whether keys, descriptions, colours and examples of these also come to classes that the project has already.
    fewest_classes : int
        With fewer classes the project is refused and stays as it was.

    Returns
    -------
    Added
        What was added.
    """
    contents = () if table is None else contents_of(table, _folder(settings, table))
    stored = store.settings
    with store.changing() as change:
        names = _add_classes(change, (*classes, *(() if table is None else table.classes)), annotator)
        if take_over:
            present = change.classes()
            entries = [new for new in classes if isinstance(new, NewClass) and new.name in present]
            change.take_over_classes(entries, annotator)
        check_classes(change.classes(), fewest_classes)
        if table is not None:
            settings = _with_table(settings, table, contents)
        rows = 0 if table is None else change.add_items(items_of(table, contents), copy_key(settings))
        labels, unlike = (0, ()) if table is None else _take_over_labels(change, table, contents)
        if settings.assign_by and settings.assign_by != stored.get("assign_by"):
            _check_column(store, settings, table)
        settings = _identified(settings, store)
        check_shown_columns(settings, stored)
        check_keywords(settings, stored, change.understood_classes())
        change.set_all(_changed(stored, settings))
        copies = change.copies
    return Added(rows, copies, names, draw_audit(store, settings, content_key_of(settings)), labels, unlike)


def _add_classes(change: Change, classes: Sequence[str | NewClass], annotator: str) -> tuple[str, ...]:
    """Add those that are new, and return their names. A class that was merged or renamed is not."""
    known = change.classes_in_files()
    entries = {name_of(new): new for new in reversed(classes)}  # the first of a name
    new = [name for name in dict.fromkeys(map(name_of, classes)) if known_name(name, known) not in known]
    for name in new:
        change.add_class(entries[name], annotator)
    return tuple(new)


def name_of(new: str | NewClass) -> str:
    """Return the name of a class to add."""
    return class_name(new if isinstance(new, str) else new.name)


def check_classes(names: Sequence[str], fewest: int) -> None:
    """Refuse a project with fewer classes."""
    if len(names) < fewest:
        fix = hint("For example: {}", "classes", "bug,feature,question") or "Add some."
        what = parameter("classes") or "classes"
        raise InputError(what, expected="at least two", got=str(len(names) or "none"), fix=fix)


def _check_column(store: Store, settings: ProjectSettings, table: Table | None) -> None:
    """Refuse a column that cannot say who gets an item."""
    column = settings.assign_by
    values = () if table is None else table.columns.get(column, ())
    stored = (item.columns.get(column) for item in store.items())
    check_assignment(column, [name for name, _, _ in settings.columns or ()], chain(stored, values))


def check_shown_columns(settings: ProjectSettings, stored: Mapping[str, Any]) -> None:
    """Refuse columns to show that no file of the project has. What was stored before stays."""
    names = [name for name, _, _ in settings.columns or ()]
    for name in settings.shown_columns:
        if name not in names and name not in stored.get("shown_columns", ()):
            raise unknown_name("column to show", name, names)


def check_keywords(settings: ProjectSettings, stored: Mapping[str, Any], classes: Sequence[str]) -> None:
    """Refuse new words to highlight of classes that do not exist, and too many or too long ones.

    Parameters
    ----------
    settings : ProjectSettings
        The new settings.
    stored : mapping
        The settings as the project has them; its words stay as they are.
    classes : sequence of str
        The names of the classes, also of merged ones.
    """
    new = [line for line in settings.keywords if line not in stored.get("keywords", ())]
    if not are_keywords(list(settings.keywords)):
        got = f"{len(settings.keywords):,}, the longest of {max(map(len, settings.keywords)):,} letters"
        expected = f"at most {MOST:,} words of at most {LONGEST} letters"
        raise InputError("words to highlight", expected=expected, got=got, fix="Shorten the list.")
    for keyword in parse_keywords(new):
        if keyword.class_name is not None and keyword.class_name not in classes:
            raise unknown_name(f"class of the word {keyword.word!r}", keyword.class_name, classes)


def _identified(settings: ProjectSettings, store: Store) -> ProjectSettings:
    """Every project has an id and a title."""
    title = settings.title or ("" if store.path is None else store.path.stem.replace("_", " "))
    return replace(settings, id=settings.id or uuid.uuid4().hex, title=title)


def _changed(stored: Mapping[str, Any], settings: ProjectSettings) -> dict[str, Any]:
    return {name: value for name, value in settings.to_json().items() if name not in stored or stored[name] != value}


# -- rows ------------------------------------------------------------------------------------------------------------


def _with_table(settings: ProjectSettings, table: Table, contents: Sequence[str]) -> ProjectSettings:
    """What a project notes of its rows; the first of them decide what it is."""
    settings = with_source(with_columns(settings, columns_of_table(table, contents)), table.source)
    settings = with_empty_rows(settings, table)
    settings = replace(settings, folder=str(_folder(settings, table) or ""))
    if table.source is not None:
        title = settings.title or table.source.stem.replace("_", " ")
        settings = replace(settings, stamp=stamp_of(table.source, table.read_with), title=title)
    return settings if settings.id else replace(settings, kind=table.kind)


def stamp_of(path: Path, columns: Mapping[str, Any]) -> list[Any]:
    """Changes when a file or the columns that are read do, or when files come to a folder or its subfolders or go."""
    state = path.stat()
    changed = max([state.st_mtime_ns, *(os.stat(folder).st_mtime_ns for folder, _, _ in os.walk(path))])
    pairs = [[name, value] for name, value in sorted(columns.items()) if (name, value) != ("id", "path")]
    return [str(path.resolve()), state.st_size, changed, pairs]


def check_sheet(settings: ProjectSettings, path: Path, sheet: str | None) -> None:
    """Refuse another sheet of the workbook that a project is of: its rows would mix with those of the first."""
    stamp = settings.stamp or []
    if len(stamp) < 4 or stamp[0] != str(path.resolve()) or path.suffix.lower() not in WORKBOOKS:
        return
    before = dict(stamp[3]).get("sheet")
    if before == sheet:
        return
    first = "" if before and sheet else read_columns(path).sheet
    if (before or first) != (sheet or first):
        fix = hint("For a project of its own: {}.", "project", "other.bemps") or "Make another project."
        raise InputError(
            "sheet", expected=f"{before or first!r}, whose rows the project has", got=repr(sheet or first), fix=fix
        )


def _take_over_labels(change: Change, table: Table, contents: Sequence[str]) -> tuple[int, tuple[UnlikeLabel, ...]]:
    """Labels of rows that were there without an answer are taken over; those that people contradict are not."""
    known = change.classes_in_files()
    names = [change.counted_label(known_name(name, known)) for name in table.classes]
    new: dict[str, str] = {}
    unlike = []
    codes = () if table.labels is None else table.labels.tolist()
    for id, content, code in zip(table.ids, contents, codes, strict=False):
        if code == NO_LABEL:
            continue
        label = names[code]
        original = change.original_of(id)
        present = change.labels_of(original) or (new.setdefault(original, label),)
        if label not in present:
            unlike.append(UnlikeLabel(id, content, label, present[0], id != original))
    change.record([NewAnswer(SOURCE, id, LABEL, label) for id, label in new.items()])
    return len(new), tuple(unlike)


def _folder(settings: ProjectSettings, table: Table) -> Path | None:
    """Where a project's images are: as it says, unless that is gone; else where its first rows are."""
    if settings.folder and Path(settings.folder).is_dir():
        return Path(settings.folder)
    if table.source is not None:
        path = table.source.resolve()
        return path if path.is_dir() else path.parent
    if isinstance(table.items, ImageFiles):
        return Path(os.path.commonpath([Path(path).resolve().parent for path in table.items.paths]))
    return None


def check_contents(table: Table) -> None:
    """Refuse a table of what people cannot label."""
    contents_of(table, _folder(ProjectSettings(), table))


def contents_of(table: Table, folder: Path | None) -> Sequence[str]:
    """Return what the items of a table are: texts, or paths of images below a folder."""
    if isinstance(table.items, list):
        return table.items
    if not isinstance(table.items, ImageFiles) or folder is None:
        what = "table" if table.source is None else str(table.source)
        raise InputError(what, expected="texts or image files", got="numbers", fix="Name the text column.")
    return [_image_name(path, folder.resolve()) for path in table.items.paths]


def _image_name(path: str, folder: Path) -> str:
    """The path below the folder; what lies outside, also through a link, would never be shown."""
    if path_inside(folder, Path(path).absolute()) is None:
        raise InputError("image", expected=f"a file inside or below {folder}", got=path, fix="Copy it there.")
    name = Path(os.path.relpath(Path(path).absolute(), folder))
    return (Path(path).resolve().relative_to(folder) if ".." in name.parts else name).as_posix()


def copy_key(settings: ProjectSettings) -> Callable[[str], str] | None:
    """The key by which items of a project are copies: texts, or bytes of images; None if each is asked."""
    return content_key_of(settings) if settings.duplicates == "once" else None


def content_key_of(settings: ProjectSettings) -> Callable[[str], str]:
    """The key by which items of a project have the same content: texts, or bytes of images."""
    return ImageKeys(Path(settings.folder)) if settings.kind == "image" else content_key


class ImageKeys:
    """The first image of the same bytes, for each path below a folder. Only files of the same size are read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._by_size: dict[int, list[str]] = {}
        self._hashes: dict[str, str] = {}

    def __call__(self, name: str) -> str:
        """A file that is empty or not there is like no other."""
        path = self._folder / name
        size = path.stat().st_size if path.is_file() else 0
        if not size:
            return name
        alike = self._by_size.setdefault(size, [])
        same = next((other for other in alike if other == name or self._hash(other) == self._hash(name)), None)
        if same is None:
            alike.append(name)
        return same or name

    def _hash(self, name: str) -> str:
        if name not in self._hashes:
            self._hashes[name] = hashes_of(ImageFiles((str(self._folder / name),)))[0]
        return self._hashes[name]
