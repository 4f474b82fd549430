"""`bemps predict`: the probability of every class, by a project's model or a saved one."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from bemps.cli.arguments import Force
from bemps.cli.failures import plainly
from bemps.cli.progress import shown
from bemps.errors import InputError

if TYPE_CHECKING:
    from bemps.exchange.exporting import Output
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
    force: Force = False,
) -> None:
    """Predict the classes of a project's items, or of the texts of a file.

    The model is fitted again to the labels that it was saved with, which gives the same model. Columns of the CSV:
    id, text, label (the most probable class), probability, and p_CLASS for every class.

    \b
    Examples:
      bemps predict tickets.bemps --out predictions.csv
      bemps predict tickets.bemps new.csv --text body --out predictions.csv
      bemps predict tickets.learner new.csv --text body --out predictions.parquet
    """
    console = Console(soft_wrap=True)
    with plainly():
        if Path(model).is_dir():
            _by_saved(model, file, text, id_, _output(out, format_, force, [Path(model), file]))
        else:
            _by_project(console, model, file, text, id_, out=out, format_=format_, force=force)
    console.print(f"Predictions: {out}", highlight=False, markup=False)


def _output(out: Path, format_: str | None, force: bool, inputs: "list[Path | None]") -> "Output":
    """Where to write, checked before any work is done."""
    from bemps.exchange.exporting import check_export

    return check_export(out, format_, inputs=[path for path in inputs if path is not None], force=force)


def _by_project(
    console: Console,
    model: str,
    file: Path | None,
    text: list[str] | None,
    id_: str | None,
    *,
    out: Path,
    format_: str | None,
    force: bool,
) -> None:
    from bemps.exchange.entries import about
    from bemps.exchange.exporting import project_files, write_predictions
    from bemps.project import Project
    from bemps.store import open_store

    with Project(open_store(model)) as project, shown(console, project):
        output = _output(out, format_, force, [*project_files(project.store), file])
        items = project.items() if file is None else _items(file, text, id_)
        chosen = project.model()
        console.print(f"Model: {chosen.words}", highlight=False, markup=False)
        write_predictions(project.predict(items), about(project.store, model=f"bemps {chosen.name}"), output)


def _by_saved(model: str, file: Path | None, text: list[str] | None, id_: str | None, output: "Output") -> None:
    from bemps.exchange.entries import About, predicted
    from bemps.exchange.exporting import write_predictions
    from bemps.learner import ActiveLearner

    if file is None:
        fix = f"For example: bemps predict {model} new.csv --text body"
        raise InputError("file", expected="a file with new items", got="none", fix=fix)
    items = _items(file, text, id_)
    learner = ActiveLearner.load(model)
    about = About(title=Path(model).name, classes=learner.classes, model="bemps")
    write_predictions(predicted(learner.predict, items), about, output)


def _items(file: Path, text: list[str] | None, id_: str | None) -> "Iterator[Item]":
    from bemps.data import read
    from bemps.store import Item

    table = read(file, text=text, id=id_)
    if not isinstance(table.items, list):
        raise InputError(str(file), expected="a file with texts", got=table.kind, fix="Name the column with --text.")
    return map(Item, table.ids, table.items)
