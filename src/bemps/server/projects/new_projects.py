"""From an upload, or a sample, to a project: made by `prepared`, as on the command line, and whole or not at all."""

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from bemps.errors import InputError
from bemps.server.project_start import Source, Wishes, prepared
from bemps.server.projects.file_preview import Preview, preview
from bemps.server.projects.project_folder import SUFFIX, ProjectFolder
from bemps.server.projects.sample_projects import SAMPLES
from bemps.server.projects.uploads import FILES, UNFINISHED, Uploads
from bemps.store import NewClass
from bemps.store.sql.database_errors import NotSaved

Result = TypeVar("Result")


@dataclass(frozen=True)
class Choices:
    """What a person chose of a file.

    Attributes
    ----------
    title : str
        The name of the project.
    reading : sequence of str
        The columns to read; several are joined.
    classes : sequence of str or NewClass
        Names that were typed, or the classes of a class file.
    class_column : str
        The column, or `folder`, whose values are the classes; empty for none.
    labelled : bool
        Whether what stands in that column counts as labels.
    encoding : str
        Of a text file that is not in UTF-8; empty otherwise.
    sheet : str
        The sheet of a workbook with several; empty otherwise.
    """

    title: str = ""
    reading: Sequence[str] = ()
    classes: Sequence[str | NewClass] = ()
    class_column: str = ""
    labelled: bool = False
    encoding: str = ""
    sheet: str = ""


class NewProjects:
    """The projects that are made of uploads, one at a time; the caller holds the lock."""

    def __init__(self, projects: ProjectFolder, uploads: Uploads) -> None:
        self._projects, self._uploads = projects, uploads

    def look(self, upload: str, encoding: str = "", sheet: str = "") -> Preview:
        """Return a preview of an upload."""
        left_out = self._uploads.left_out(upload)
        folder = self._uploads.folder_of(upload) / FILES
        seen = _without_folder(folder, lambda: preview(folder, encoding or None, sheet or None))
        return replace(seen, other_files=left_out + Counter(seen.other_files))

    def create(self, upload: str, choices: Choices) -> str:
        """Make a project of an upload; returns its key. After a refusal the upload is as it was."""
        seen = self.look(upload, choices.encoding, choices.sheet)
        columns, wishes = _columns(seen, choices), _wishes(seen, choices)
        return self._make(upload, seen.path, choices.title or _title(seen), columns, wishes)

    def create_sample(self, name: str) -> str:
        """Make a project of a sample; returns its key."""
        sample, upload = SAMPLES[name], self._uploads.begin()
        try:
            path = sample.write(self._uploads.folder_of(upload) / FILES)
            return self._make(upload, path, sample.title, sample.columns, sample.wishes)
        except BaseException:
            self._uploads.drop(upload)
            raise

    def _make(self, upload: str, path: Path, title: str, columns: dict[str, Any], wishes: dict[str, Any]) -> str:
        """The upload's folder becomes the project's: its marker goes last, so that a kill leaves nothing behind."""
        staged, folder = self._uploads.folder_of(upload), self._projects.free_folder(title)
        os.rename(staged, folder)
        where = folder / f"{folder.name}{SUFFIX}"
        source = Source(folder / path.relative_to(staged), columns)
        settings = Wishes(title=" ".join(title.split()), fewest_classes=0, **wishes)
        try:
            store, _ = _without_folder(folder / FILES, lambda: prepared(str(where), source, settings))
        except BaseException:
            os.rename(folder, staged)
            raise
        store.close()
        (folder / UNFINISHED).unlink()
        self._uploads.finish(upload)
        return self._projects.key_of(where)


def _title(seen: Preview) -> str:
    return "texts" if seen.kind == "texts" else "images" if seen.kind == "images" else seen.path.stem.replace("_", " ")


def _columns(seen: Preview, choices: Choices) -> dict[str, Any]:
    """How `bemps.data.read` is to read it."""
    columns: dict[str, Any] = {"encoding": seen.encoding, "delimiter": seen.delimiter, "sheet": choices.sheet}
    if seen.kind == "table":
        _check_columns(seen, choices)
        images = {column.name for column in seen.columns if column.are_images}
        chosen_image = next((name for name in choices.reading if name in images), None)
        columns |= {"image": chosen_image} if chosen_image else {"text": list(choices.reading)}
    if choices.class_column and choices.labelled:
        columns["label"] = choices.class_column
    return {name: value for name, value in columns.items() if value}


def _check_columns(seen: Preview, choices: Choices) -> None:
    names = [column.name for column in seen.columns]
    if not choices.reading or not set(choices.reading) <= set(names):
        expected = f"one of {', '.join(names)}"
        raise InputError("column to read", expected=expected, got=str(list(choices.reading)), fix="Choose another.")


def _wishes(seen: Preview, choices: Choices) -> dict[str, Any]:
    """The classes that were typed, or those of a column."""
    if not choices.class_column:
        return {"classes": list(choices.classes) or None}
    if choices.class_column == "folder" and seen.folders:
        return {"classes": list(seen.folders)}
    columns = {column.name: column.classes for column in seen.class_columns}
    if choices.class_column not in columns:
        expected = f"one of {', '.join(columns)}" if columns else "classes that are typed"
        raise InputError("column of classes", expected=expected, got=choices.class_column, fix="Choose another.")
    return {"classes": list(columns[choices.class_column])}


def _without_folder(folder: Path, work: Callable[[], Result]) -> Result:
    """Refusals name files as the person did who dropped them."""
    try:
        return work()
    except NotSaved:
        raise
    except InputError as error:
        words = (str(part).replace(f"{folder}{os.sep}", "") for part in (error.expected, error.got, error.fix))
        begins = "file " if error.what.startswith(f"{folder}{os.sep}") else ""  # so that no name gets a capital letter
        what = begins + error.what.replace(f"{folder}{os.sep}", "")
        raise InputError(what, **dict(zip(("expected", "got", "fix"), words, strict=True))) from error
