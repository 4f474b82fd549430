"""`bemps import`: labels that were given elsewhere into a project."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bemps.cli.command_errors import print_errors
from bemps.cli.options.shared_arguments import ProjectAddress
from bemps.formats.format_registry import FORMATS


def import_(
    project: ProjectAddress,
    file: Annotated[Path, typer.Argument(help="what `bemps export` or another labelling tool wrote")],
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            help=f"{', '.join(FORMATS)}; without it bemps recognises the format",
        ),
    ] = None,
    annotator: Annotated[str, typer.Option(help="the person who labelled, if the file does not say")] = "import",
    add_classes: Annotated[
        bool, typer.Option("--add-classes", help="make classes that the project does not have")
    ] = False,
    add_items: Annotated[bool, typer.Option("--add-items", help="add items that the project does not have")] = False,
) -> None:
    """Take labels from a file into a project.

    bemps finds the items by their id, else by their text. It refuses unknown items and classes, unless you add them
    by --add-items and --add-classes. The same file twice changes nothing.

    \b
    Examples:
      bemps import tickets.bemps labels.csv
      bemps import tickets.bemps export.json --format label-studio --add-classes
    """
    console = Console(soft_wrap=True)
    with print_errors():
        from bemps.project.importing import import_labels
        from bemps.store import open_store

        with open_store(project) as store:
            done = import_labels(
                store, file, format_, annotator=annotator, add_classes=add_classes, add_items=add_items
            )
    console.print(f"{file}: {done}", highlight=False, markup=False)
