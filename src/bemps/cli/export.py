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
    out: Annotated[Path, typer.Option(help="the file to write; a folder for huggingface, model and arrays")],
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            help=f"{', '.join(FORMATS)}; without it the ending of the file decides",
        ),
    ] = None,
    what: Annotated[str, typer.Option(help="labels, predictions, report, model, arrays, classes or events")] = "labels",
    resolved: Annotated[
        bool, typer.Option("--resolved", help="one label for each item instead of everybody's answers")
    ] = False,
    audit: Annotated[
        bool, typer.Option("--audit", help="let the model learn from the labels that measure accuracy, too")
    ] = False,
    force: Force = False,
) -> None:
    """Write what a project holds to a file.

    CSV is exact: a text that starts with = stays so. For a spreadsheet take xlsx or csv-spreadsheet. An earlier export
    is replaced only with --force. The project, its data file and other files of yours are never replaced.

    \b
    What to export:
      labels        a row for each answer: id, text, label, annotator, time, and what was skipped or noted
      predictions   a row for each item, with the probability of every class
      report        one HTML file: what was labelled, and how good it is
      model         a folder for `bemps predict` and ActiveLearner.load
      arrays        the model for programs without bemps: plain arrays, and an example
      classes       a class file, as --classes of `bemps label` takes it
      events        the log

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
