"""`bemps predict`: the probability of every class, by a project's model or a saved one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from bemps.cli.arguments import Force
from bemps.cli.failures import plainly
from bemps.cli.progress import shown
from bemps.errors import InputError

if TYPE_CHECKING:
    from bemps.exchange.columns import Column
    from bemps.exchange.exporting import Output
    from bemps.project import Project
    from bemps.store import Item


def predict(
    model: Annotated[str, typer.Argument(help="a project, or a folder that `learner.save` or `bemps export` wrote")],
    file: Annotated[
        Path | None, typer.Argument(help="CSV, TSV, JSONL or Parquet file with new items; else the project's own")
    ] = None,
    out: Annotated[Path, typer.Option(help="the file of the predictions")] = Path("predictions.csv"),
    text: Annotated[list[str] | None, typer.Option(help="column of the texts (repeatable: joined)")] = None,
    id_: Annotated[str | None, typer.Option("--id", help="column of ids; else content hashes")] = None,
    format_: Annotated[str | None, typer.Option("--format", help="as of `bemps export`; else by the name")] = None,
    audit: Annotated[bool, typer.Option("--audit", help="learn from the labels that measure accuracy, too")] = False,
    force: Force = False,
) -> None:
    """Predict the classes of a project's items, or of the texts of a file.

    The model is fitted again to the labels that it was saved with, which gives the same model. The file has every
    column of yours in its order, then id, text, label (the most probable class), probability, human (the label that
    people gave), final (theirs, else the model's), and p_CLASS for every class.

    \b
    Examples:
      bemps predict tickets.bemps --out predictions.csv
      bemps predict tickets.bemps new.csv --text body --out predictions.csv
      bemps predict tickets.learner new.csv --text body --out predictions.parquet
    """
    console = Console(soft_wrap=True)
    with plainly(predict):
        new = None if file is None else NewItems(file, text, id_)
        if Path(model).is_dir():
            _refuse_audit(audit)
            _by_saved(console, model, new, _output(out, format_, force, [Path(model), file]))
        else:
            _by_project(console, model, new, lambda own: _output(out, format_, force, [*own, file]), audit)
    console.print(f"Predictions: {out}", highlight=False, markup=False)


@dataclass(frozen=True)
class NewItems:
    """A file with items, and its columns."""

    file: Path
    text: list[str] | None
    id: str | None

    def read(self, console: Console) -> "tuple[list[Item], tuple[Column, ...]]":
        """The items of the file, each with its row, and the columns of the file."""
        from bemps.data import read
        from bemps.exchange.columns import columns_of
        from bemps.exchange.entries import items_of

        table = read(self.file, text=self.text, id=self.id)
        if not isinstance(table.items, list):
            fix = "Name the column with --text."
            raise InputError(str(self.file), expected="a file with texts", got=table.kind, fix=fix)
        console.print(f"{self.file}: {table.found}", highlight=False, markup=False)
        return list(items_of(table, table.items)), tuple(columns_of(table, table.items))


def _output(out: Path, format_: str | None, force: bool, inputs: "Sequence[Path | None]") -> "Output":
    """Where to write, checked before any work is done."""
    from bemps.exchange.exporting import check_export

    return check_export(out, format_, inputs=[path for path in inputs if path is not None], force=force)


def _by_project(
    console: Console, model: str, new: NewItems | None, output_beside: "Callable[[list[Path]], Output]", audit: bool
) -> None:
    from bemps.exchange.entries import about
    from bemps.exchange.exporting import project_files, write_predictions
    from bemps.project import Project
    from bemps.store import open_store

    with Project(open_store(model)) as project, shown(console, project):
        output = output_beside(project_files(project.store))
        chosen = project.model()
        told = about(project.store, model=f"bemps {chosen.name}")
        items, columns = (project.store.rows(), told.columns) if new is None else new.read(console)
        console.print(f"Model: {chosen.words}", highlight=False, markup=False)
        console.print(_learnt_from(project, audit), highlight=False, markup=False)
        write_predictions(project.predict(items, audit=audit), replace(told, columns=columns), output)


def _learnt_from(project: "Project", audit: bool) -> str:
    """How many labels the model learns from, and what becomes of those that measure accuracy."""
    labels, drawn = project.labels(), project.store.audit()
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
        fix = "Give the project, or save a model that has learnt from them: project.learner(audit=True).save(...)."
        raise InputError("--audit", expected="a project", got="a saved model", fix=fix)


def _by_saved(console: Console, model: str, new: NewItems | None, output: "Output") -> None:
    from bemps.exchange.entries import About, content_key, predicted
    from bemps.exchange.exporting import write_predictions
    from bemps.learner import ActiveLearner

    if new is None:
        fix = f"For example: bemps predict {model} new.csv --text body"
        raise InputError("file", expected="a file with new items", got="none", fix=fix)
    items, columns = new.read(console)
    learner = ActiveLearner.load(model)
    told = About(title=Path(model).name, classes=learner.classes, model="bemps", columns=columns)
    labels = learner.labels
    human = {
        content_key(str(content)): labels[id]
        for id, content in zip(learner.pool.ids, learner.items, strict=True)
        if id in labels
    }
    write_predictions(predicted(learner.predict, items, human), told, output)
