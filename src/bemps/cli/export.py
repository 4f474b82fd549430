"""`bemps export`: labels, predictions, the log or the model out of a project."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bemps.cli.arguments import Force, ProjectPlace
from bemps.cli.failures import plainly
from bemps.cli.progress import shown


def export(
    project: ProjectPlace,
    out: Annotated[Path, typer.Option(help="a file; a folder for huggingface and for the model")],
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="csv, csv-spreadsheet, jsonl, parquet, label-studio, doccano, prodigy, argilla, huggingface; "
            "else by the file's name",
        ),
    ] = None,
    what: Annotated[str, typer.Option(help="labels, predictions, events or model")] = "labels",
    resolved: Annotated[
        bool, typer.Option("--resolved", help="one label for each item instead of everybody's answers")
    ] = False,
    force: Force = False,
) -> None:
    """Write what a project holds to a file.

    Labels are one row for each answer (columns id, text, label, annotator, time; also kind and note where something
    was skipped, unsure, adjudicated or noted). Predictions have the probability of every class for every item, events
    are the log, and the model is what `bemps predict` takes. CSV is exact: a text that starts with = stays so. For
    people who open it in a spreadsheet there is csv-spreadsheet. What is there already is replaced only with --force;
    the project, the file that it was made from and folders of other things never are.

    \b
    Examples:
      bemps export tickets.bemps --out labels.csv
      bemps export tickets.bemps --out predictions.parquet --what predictions
      bemps export tickets.bemps --out tasks.json --format label-studio
      bemps export tickets.bemps --out dataset --format huggingface
      bemps export tickets.bemps --out log.jsonl --what events
    """
    console = Console(soft_wrap=True)
    with plainly():
        from bemps.project import Project
        from bemps.store import open_store

        with Project(open_store(project)) as opened, shown(console, opened):
            opened.export(out, what, format_, resolved=resolved, force=force)
            name = opened.store.name  # without the password
    console.print(f"{what} of {name}: {out}", highlight=False, markup=False)
