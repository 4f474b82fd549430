"""`bemps export`: labels, predictions, a report, the model or the log out of a project."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bemps.cli.command_errors import print_errors
from bemps.cli.options.shared_arguments import Force, ProjectAddress
from bemps.cli.terminal_progress import print_broken, shown
from bemps.formats.format_registry import FORMATS


def export(
    project: ProjectAddress,
    out: Annotated[Path, typer.Option(help="a file; a folder for huggingface, for the model and for its arrays")],
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            help=f"{', '.join(FORMATS)}; else by the file's name",
        ),
    ] = None,
    what: Annotated[str, typer.Option(help="labels, predictions, report, model, arrays, classes or events")] = "labels",
    resolved: Annotated[
        bool, typer.Option("--resolved", help="one label for each item instead of everybody's answers")
    ] = False,
    audit: Annotated[
        bool, typer.Option("--audit", help="predictions and models learn from the labels that measure accuracy, too")
    ] = False,
    force: Force = False,
) -> None:
    """Write what a project holds to a file.

    Labels are one row for each answer (columns id, text, label, annotator, time; also kind and note where something
    was skipped, unsure, adjudicated or noted). Predictions have the probability of every class for every item, the
    report is one HTML file, the model is what `bemps predict` takes, arrays are the model for programs without bemps
    (they need NumPy, with some encoders also tokenizers or onnxruntime), classes are a class file for --classes, and
    events are the log. CSV is exact: a text that starts with = stays so. For people who open it in a spreadsheet there
    are xlsx and csv-spreadsheet. What is there already is replaced only with --force; the project, the file that it was
    made from and folders of other things never are.

    \b
    Examples:
      bemps export tickets.bemps --out labels.csv
      bemps export tickets.bemps --out labels.xlsx
      bemps export tickets.bemps --out predictions.parquet --what predictions
      bemps export tickets.bemps --out report.html --what report
      bemps export tickets.bemps --out tickets-model --what arrays
      bemps export tickets.bemps --out tasks.json --format label-studio
      bemps export tickets.bemps --out dataset --format huggingface
      bemps export tickets.bemps --out classes.csv --what classes
      bemps export tickets.bemps --out log.jsonl --what events
    """
    console = Console(soft_wrap=True)
    with print_errors(export):
        from bemps.project import Project
        from bemps.store import open_store

        with Project(open_store(project)) as opened, shown(console, opened):
            opened.export(out, what, format_, resolved=resolved, audit=audit, force=force)
            name = opened.store.name  # without the password
            if what in ("predictions", "model", "arrays"):
                console.print(f"Model: {opened.model().words}", highlight=False, markup=False)
            if what == "predictions":
                print_broken(console, opened.broken)
    console.print(f"{what} of {name}: {out}", highlight=False, markup=False)
