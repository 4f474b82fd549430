"""The command line, one file a command; each has a --help that a newcomer can follow."""

import signal
from importlib import metadata
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from bemps.cli.demo import demo
from bemps.cli.export import export
from bemps.cli.import_ import import_
from bemps.cli.label import label
from bemps.cli.predict import predict
from bemps.cli.projects_page import projects
from bemps.cli.report import report
from bemps.cli.run import run
from bemps.cli.select import select
from bemps.cli.strategies import strategies
from bemps.cli.weights import weights
from bemps_command import stop_at_once


class _Commands(TyperGroup):
    """The commands; without one it is `bemps projects`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the usual command in front of its options."""
        if not args or (args[0].startswith("-") and args[0] not in ("--help", "--version")):
            args = [projects.__name__, *args]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """From here on Ctrl-C is an exception: a command tidies up, then says that it stopped."""
        try:
            if signal.getsignal(signal.SIGINT) is stop_at_once:
                signal.signal(signal.SIGINT, signal.default_int_handler)
            return super().invoke(ctx)
        except KeyboardInterrupt:
            typer.echo("Stopped.", err=True)
            raise typer.Exit(130) from None


app = typer.Typer(
    name="bemps",
    cls=_Commands,
    help="Which items to label next, and when to stop. `bemps` alone opens a page: drop a file there and label it.",
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


for command in (projects, demo, label, export, import_, predict, run, report, select, strategies, weights):
    app.command(command.__name__.rstrip("_"))(command)
