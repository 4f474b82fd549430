"""`bemps predict`: the probability of every class, by a project's model or a saved one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from bemps._utils.archives import is_archive
from bemps.cli.command_errors import print_errors
from bemps.cli.options.shared_arguments import Force
from bemps.cli.terminal_progress import print_broken, reported, shown
from bemps.errors import InputError
from bemps.types import Progress

if TYPE_CHECKING:
    from bemps.formats.entries import ExportInfo
    from bemps.formats.user_columns import Column
    from bemps.learner import ActiveLearner
    from bemps.project import Project
    from bemps.project.exporting import Output
    from bemps.store import Item


LEARNS_FIRST = "Its encoder learns from them first, which takes some minutes"


def predict(
    model: Annotated[
        str,
        typer.Argument(help="a project, or a saved model: a folder of `learner.save` or `bemps export`, or a zip file"),
    ],
    file: Annotated[
        Path | None,
        typer.Argument(
            help="CSV, TSV, XLSX, JSON, JSONL, Parquet or folder: new texts or images; without it those of the project"
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="the file of the predictions")] = Path("predictions.csv"),
    text: Annotated[list[str] | None, typer.Option(help="column of the texts (repeatable: joined)")] = None,
    image: Annotated[str | None, typer.Option(help="column of image paths, relative to FILE")] = None,
    id_: Annotated[
        str | None, typer.Option("--id", help="column of ids; without it contents make them, or paths in a folder")
    ] = None,
    encoding: Annotated[str | None, typer.Option(help="encoding of FILE, if not UTF-8")] = None,
    delimiter: Annotated[str | None, typer.Option(help="separator of FILE, if not a comma")] = None,
    sheet: Annotated[
        str | None, typer.Option(help="sheet of a workbook (default: the first that holds a table)")
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option("--format", help="a format of `bemps export`; without it the ending of the file decides"),
    ] = None,
    audit: Annotated[bool, typer.Option("--audit", help="learn from the labels that measure accuracy, too")] = False,
    force: Force = False,
) -> None:
    """Predict the classes of a project's items, or of new texts or images.

    bemps fits the model again to its labels, which gives the same model. The file has every column of yours in its
    order, then its own.

    \b
    Columns:
      id, text      the item
      label         the most probable class
      probability   how probable it is
      human         the label that people gave
      answered      label, skip or unsure, where people answered
      final         the label of people, else that of the model
      p_CLASS       the probability of each class

    \b
    Examples:
      bemps predict tickets.bemps --out predictions.csv
      bemps predict tickets.bemps new.csv --text body --out new-predictions.csv
      bemps predict tickets.learner new.csv --text body --out predictions.parquet
      bemps predict tickets-model.zip new.csv --text body --out predictions.csv     (a model of the page)
      bemps predict photos-model new-photos/ --out predictions.csv
    """
    console = Console(soft_wrap=True)
    with print_errors(predict):
        new = None if file is None else NewItems(file, text, image, id_, encoding, delimiter, sheet)
        if Path(model).is_dir() or is_archive(Path(model)):
            _refuse_audit(audit)
            _by_saved(console, model, new, _output(out, format_, force, [Path(model), file]))
        else:
            _by_project(console, model, new, lambda own: _output(out, format_, force, [*own, file]), audit)
    console.print(f"Predictions: {out}", highlight=False, markup=False)


@dataclass(frozen=True)
class NewItems:
    """A file or folder with items, and its columns.

    Attributes
    ----------
    file : Path
        The file or folder.
    text : list of str or None
        The columns of the texts. None if the user named none.
    image : str or None
        The column of the paths of images. None if the user named none.
    id : str or None
        The column of the ids. None if the user named none.
    encoding, delimiter, sheet : str or None
        How the file is written, and the sheet of a workbook. None if the user did not say.
    """

    file: Path
    text: list[str] | None
    image: str | None
    id: str | None
    encoding: str | None
    delimiter: str | None
    sheet: str | None

    def read(self, console: Console, output: "Output") -> "NewRows":
        """Read the items, each with its row."""
        from bemps.data import read
        from bemps.formats.entries import items_of
        from bemps.formats.user_columns import columns_of_table
        from bemps.project.empty_rows import insert_empty_rows, noted_empty_rows
        from bemps.project.project_creation import contents_of

        id = self.id or ("path" if self.file.is_dir() else None)
        columns: dict[str, Any] = {"text": self.text, "image": self.image, "id": id, "sheet": self.sheet}
        table = read(self.file, encoding=self.encoding, delimiter=self.delimiter, **columns)
        folder = self.file if self.file.is_dir() else self.file.absolute().parent
        contents = contents_of(table, folder)
        console.print(f"{self.file}: {table.findings}", highlight=False, markup=False)
        if table.empty:
            console.print(_becomes_of_empty_rows(output), highlight=False, markup=False)
        items = insert_empty_rows(items_of(table, contents), noted_empty_rows(table))
        return NewRows(self.file, folder, list(items), tuple(columns_of_table(table, contents)), table.kind)


@dataclass(frozen=True)
class NewRows:
    """The items of a file or folder.

    Attributes
    ----------
    file : Path
        The file or folder.
    folder : Path
        The folder where the paths of images start.
    items : list of Item
        The items, each with its row.
    columns : tuple of Column
        The columns of the file.
    kind : str
        Whether they are texts or images.
    """

    file: Path
    folder: Path
    items: "list[Item]"
    columns: "tuple[Column, ...]"
    kind: str

    def check_kind(self, kind: str) -> None:
        """Refuse texts for a model of images, and images for one of texts."""
        if self.kind != kind:
            fix = f"Name the column with --{kind}, or give a folder of {kind} files."
            raise InputError(str(self.file), expected=f"{kind}s", got=f"{self.kind}s", fix=fix)


def _becomes_of_empty_rows(output: "Output") -> str:
    if output.format.rows is None:
        return "The empty rows are left out: other tools would ask about them"
    return "The empty rows stand in the predictions without a class"


def _output(out: Path, format_: str | None, force: bool, inputs: "Sequence[Path | None]") -> "Output":
    """Where to write, checked before any work is done."""
    from bemps.project.exporting import check_export

    return check_export(out, format_, inputs=[path for path in inputs if path is not None], force=force)


def _by_project(
    console: Console, model: str, new: NewItems | None, output_beside: "Callable[[list[Path]], Output]", audit: bool
) -> None:
    from bemps.formats.entries import export_info
    from bemps.project import Project
    from bemps.project.empty_rows import rows_of_project
    from bemps.project.exporting import project_files, write_predictions
    from bemps.project.project_models import model_version
    from bemps.store import open_store

    with Project(open_store(model)) as project, shown(console, project):
        output = output_beside(project_files(project.store))
        model_choice = project.model()
        description = export_info(project.store, model=model_version(project.store, audit))
        rows = None if new is None else new.read(console, output)
        if rows is not None:
            rows.check_kind(project.store.read_settings().kind)
            description = replace(description, columns=rows.columns)
        console.print(f"Model: {model_choice.words}", highlight=False, markup=False)
        console.print(_learnt_from(project, audit), highlight=False, markup=False)
        if project.is_fine_tuned(audit):
            words = f"{LEARNS_FIRST} (bemps label --adapt off, or Settings on the page, leaves that out)"
            console.print(words, highlight=False, markup=False)
        if rows is not None and rows.kind == "image":
            _write_images(console, project.current_learner(audit), rows, description, output)
            return
        items, total = (rows_of_project(project.store), None) if rows is None else (rows.items, len(rows.items))
        write_predictions(project.with_progress(project.predict(items, audit=audit), total), description, output)
        print_broken(console, project.broken)


def _write_images(
    console: Console, learner: "ActiveLearner", rows: NewRows, description: "ExportInfo", output: "Output"
) -> None:
    """Predict images of a folder that is not the project's: what people said of its images is not said of these."""
    from bemps.formats.entries import predicted_items
    from bemps.project.exporting import write_predictions
    from bemps.project.portable_model import predict_images

    predicted = list(predicted_items(lambda names: predict_images(learner, rows.folder, names), rows.items))
    write_predictions(predicted, description, output)
    print_broken(console, [each.item.content for each in predicted if each.item.id and not each.probs])


def _learnt_from(project: "Project", audit: bool) -> str:
    """How many labels the model learns from, and what becomes of those that measure accuracy."""
    current, drawn = project.store.current(), project.store.audit()
    settings = project.store.read_settings()
    labels = [name for name, answer in current.items() if settings.learns_from(answer)]  # as the page counts: no copies
    measuring = sum(name in drawn for name in labels)
    if not measuring:
        return f"Learnt from {len(labels):,} labels"
    if audit:
        return (
            f"Learnt from {len(labels):,} labels, {measuring:,} of them audit items, so their accuracy says nothing now"
        )
    rest = len(labels) - measuring
    return f"Learnt from {rest:,} labels; {measuring:,} audit items are left out (--audit learns from them too)"


def _refuse_audit(audit: bool) -> None:
    if audit:
        fix = "Give the project, or a model that learnt from them: bemps export PROJECT --what model --audit."
        raise InputError("--audit", expected="a project", got="a saved model", fix=fix)


def _by_saved(console: Console, model: str, new: NewItems | None, output: "Output") -> None:
    from bemps.learner import ActiveLearner
    from bemps.project.project_models import cache_folder

    if new is None:
        fix = f"For example: bemps predict {model} new.csv --text body"
        raise InputError("file", expected="a file or folder with new items", got="none", fix=fix)
    rows = new.read(console, output)
    with reported(console) as progress:
        learner = ActiveLearner.load(model, cache=cache_folder(None), progress=progress)
        _write_saved(console, learner, model, rows, output, progress)


def _write_saved(
    console: Console, learner: "ActiveLearner", model: str, rows: NewRows, output: "Output", progress: Progress
) -> None:
    from bemps.formats.entries import ExportInfo, GivenAnswers, counted, predicted_items
    from bemps.learner.saving.saved_learner import learns_for_minutes
    from bemps.project.exporting import write_predictions
    from bemps.project.portable_model import image_encoder
    from bemps.store import Item

    kind = "text" if image_encoder(learner) is None else "image"
    rows.check_kind(kind)
    name = Path(model).stem if is_archive(Path(model)) else Path(model).name
    description = ExportInfo(title=name, classes=learner.classes, field=kind, model="bemps", columns=rows.columns)
    if kind == "image":
        _write_images(console, learner, rows, description, output)
        return
    labels = learner.labels
    console.print(f"The model learns from {len(labels):,} labels, which it holds without weights", highlight=False)
    if learns_for_minutes(learner):
        console.print(f"{LEARNS_FIRST}, at each run of this command", highlight=False)
    known = [Item(id, str(content)) for id, content in zip(learner.pool.ids, learner.items, strict=True)]
    answer_of = GivenAnswers(lambda: known, {id: (label, None) for id, label in labels.items()})
    predicted = counted(predicted_items(learner.predict, rows.items, answer_of), len(rows.items), progress)
    write_predictions(predicted, description, output)
