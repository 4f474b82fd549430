"""The page of projects: what `bemps` alone opens, and `bemps label` without a file."""

import getpass
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from bemps._utils.extras import requires_extra
from bemps._utils.files import make_folder
from bemps.cli.command_errors import print_errors
from bemps.errors import InputError

if TYPE_CHECKING:
    from bemps.server.http.http_server import Address

FOLDER = "bemps"  # in the folder of the user


def projects(
    folder: Annotated[
        Path | None, typer.Option(help="the folder of projects (default: bemps in your home folder)")
    ] = None,
    annotator: Annotated[
        str | None, typer.Option(help="your name beside your labels (default: your login name)")
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="port of the page (default: 8765, or the next free one)")
    ] = None,
    host: Annotated[
        str, typer.Option(help="address to listen on; at another than the default people need the printed link")
    ] = "127.0.0.1",
    allow_host: Annotated[
        list[str] | None, typer.Option(help="another name of this server, as behind a proxy (repeatable)")
    ] = None,
    root_path: Annotated[str, typer.Option(help="the path under which a proxy shows the page")] = "",
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="open the page")] = True,
) -> None:
    """Open a page of projects: drop a file, choose its column and classes, label. `bemps` alone does the same.

    \b
    Examples:
      bemps
      bemps --folder ~/labelling
      bemps projects --host 0.0.0.0                               (a small team)
    """
    with print_errors(projects):
        with requires_extra("label", "the page of projects"):
            from bemps.server.http.http_server import Address
        serve_folder(folder, Address(host, port, root_path, tuple(allow_host or ())), annotator, browser)


def serve_folder(folder: Path | None, address: "Address", annotator: str | None, browser: bool) -> None:
    """Serve the page of a folder of projects until Ctrl-C.

    Parameters
    ----------
    folder : Path or None
        The folder of the projects. None takes the usual folder at home.
    address : Address
        The address at which the server listens.
    annotator : str or None
        The name that the user gave. None takes the login name if only this machine can connect.
    browser : bool
        Whether to open a browser.
    """
    with requires_extra("label", "the page of projects"):
        from bemps.server.http.http_server import keep_private, serve_projects

    console = Console(soft_wrap=True, highlight=False)
    keep_private(address)
    where = Path.home() / FOLDER if folder is None else folder
    make_folder(where, "--folder")
    console.print(f"Projects are in {where}. Ctrl-C stops; everything is saved.", markup=False)
    mine = annotator_of(annotator, address)
    served = serve_projects(
        where.resolve(), address, annotator=mine, browser=browser, say=lambda url: announce(console, url)
    )
    if served:
        console.print(f"Stopped. Everything is saved in {where}.", markup=False)


def refuse_options(options: Mapping[str, object]) -> None:
    """Refuse options that need a file or project, for a command without one; names are those of its parameters."""
    named = [f"--{name.replace('_', '-')}" for name, value in options.items() if value is not None]
    if named:
        got = f"{', '.join(named)} alone"
        raise InputError("DATA", expected="a file, a folder or a project", got=got, fix="See bemps label --help.")


def announce(console: Console, url: str) -> None:
    """Print the address of the page at once."""
    console.print(f"Label at {url}", markup=False)
    console.file.flush()


def annotator_of(named: str | None, address: "Address") -> str | None:
    """Return the name that the user gave, or else the login name if only this machine can connect."""
    from bemps.server.http.access import is_loopback

    return named or (_login() if is_loopback(address.host) and not address.names else None)


def _login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container without a user table; Windows without a name
        return "me"
