"""The command line, one file a command; each has a --help that a newcomer can follow."""

from importlib import metadata
from typing import Annotated

import typer

from bemps.cli.bench import bench
from bemps.cli.demo import demo
from bemps.cli.export import export
from bemps.cli.import_ import import_
from bemps.cli.label import label
from bemps.cli.predict import predict
from bemps.cli.report import report
from bemps.cli.run import run
from bemps.cli.select import select
from bemps.cli.strategies import strategies
from bemps.cli.weights import weights

app = typer.Typer(
    name="bemps",
    help="Which items to label next, and when to stop.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(asked: bool) -> bool:
    if asked:
        typer.echo(f"bemps {metadata.version('bemps')}")
        raise typer.Exit
    return asked


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", help="print the version", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Which items to label next, and when to stop."""


for command in (demo, label, export, import_, predict, run, report, select, strategies, weights, bench):
    app.command(command.__name__.rstrip("_"))(command)
