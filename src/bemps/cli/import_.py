"""`bemps import`: labels that were given elsewhere into a project."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bemps.cli.arguments import ProjectPlace
from bemps.cli.failures import plainly


def import_(
    project: ProjectPlace,
    file: Annotated[Path, typer.Argument(help="what `bemps export` or another labelling tool wrote")],
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="csv, jsonl, parquet, label-studio, doccano, prodigy, argilla, huggingface; else recognised",
        ),
    ] = None,
    annotator: Annotated[str, typer.Option(help="who gave the labels of a file that does not say")] = "import",
    add_classes: Annotated[bool, typer.Option("--add-classes", help="make classes that the project has not")] = False,
    add_items: Annotated[bool, typer.Option("--add-items", help="add items that the project has not")] = False,
) -> None:
    """Take labels from a file into a project.

    Items are matched by id, else by their text. What the project does not know is refused unless you ask for it to
    be added. The same file twice changes nothing.

    \b
    Examples:
      bemps import tickets.bemps labels.csv
      bemps import tickets.bemps export.json --format label-studio --add-classes
    """
    console = Console(soft_wrap=True)
    with plainly():
        from bemps.exchange import import_labels
        from bemps.store import open_store

        with open_store(project) as store:
            done = import_labels(
                store, file, format_, annotator=annotator, add_classes=add_classes, add_items=add_items
            )
    console.print(f"{file}: {done}", highlight=False, markup=False)
