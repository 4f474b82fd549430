"""`bemps report`: the results of a run as one page."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bemps.cli.command_errors import print_errors
from bemps.cli.options.shared_arguments import Force


def report(
    folder: Annotated[Path, typer.Argument(help="the folder that `bemps run --out` wrote")],
    band: Annotated[
        str, typer.Option(help="around the curves: 95 (confidence interval), se (one standard error), or auto")
    ] = "auto",
    force: Force = False,
) -> None:
    """Write FOLDER/report.html: curves, who beats whom, labels saved, calibration, times.

    The page is one file that opens offline and prints. FOLDER/report/ has every figure as SVG and every table as CSV.
    The report of an unfinished run names what is missing.

    \b
    Examples:
      bemps report runs/digits
      bemps report runs/digits --band 95
    """
    from bemps.report import write_report

    console = Console()
    with print_errors(), console.status("reading") as status:
        page = write_report(folder, band=band, progress=status.update, force=force)
    console.print(f"Report: [bold]{page}[/]", highlight=False, soft_wrap=True)
