"""`bemps label`: a page in the browser to label one's own data, with active learning behind it."""

import getpass
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from bemps.cli.failures import plainly
from bemps.errors import InputError, MissingExtra
from bemps.project_models import BY_KIND

if TYPE_CHECKING:
    from bemps.serve.running import Address
    from bemps.serve.starting import Source
    from bemps.store import Store

DATA, PROJECT, SERVER = "Data", "Project", "Server"
PROJECT_SUFFIX = ".bemps"
LARGEST_GUIDELINES = 200_000


def label(
    data: Annotated[
        Path | None, typer.Argument(help="CSV, TSV, JSONL or Parquet file, or a folder of images; or a project")
    ] = None,
    text: Annotated[
        list[str] | None, typer.Option(help="column of the texts (repeatable: joined)", rich_help_panel=DATA)
    ] = None,
    image: Annotated[str | None, typer.Option(help="column of image paths", rich_help_panel=DATA)] = None,
    label_column: Annotated[
        str | None,
        typer.Option(
            "--label",
            help="column of labels that are there already; `folder` in a folder of images",
            rich_help_panel=DATA,
        ),
    ] = None,
    id_: Annotated[
        str | None, typer.Option("--id", help="column of ids; else content hashes", rich_help_panel=DATA)
    ] = None,
    encoding: Annotated[str | None, typer.Option(help="of the file, if not UTF-8", rich_help_panel=DATA)] = None,
    delimiter: Annotated[str | None, typer.Option(help="of a CSV, if not a comma", rich_help_panel=DATA)] = None,
    classes: Annotated[
        str | None,
        typer.Option(help="names with commas, or a .txt file with one in each line", rich_help_panel=PROJECT),
    ] = None,
    project: Annotated[
        Path | None, typer.Option(help="the project file (default: DATA.bemps here)", rich_help_panel=PROJECT)
    ] = None,
    store: Annotated[
        str | None, typer.Option(help="postgresql+psycopg://user@host/database, for a team", rich_help_panel=PROJECT)
    ] = None,
    title: Annotated[str | None, typer.Option(help="shown on the page", rich_help_panel=PROJECT)] = None,
    guidelines: Annotated[
        Path | None, typer.Option(help="a text file that the page shows beside the items", rich_help_panel=PROJECT)
    ] = None,
    audit: Annotated[
        float | None,
        typer.Option(
            min=0, max=0.9, help="share of the asks drawn at random to measure accuracy (0.1)", rich_help_panel=PROJECT
        ),
    ] = None,
    overlap: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="share of the items that two people label (0)", rich_help_panel=PROJECT),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help=f"auto; texts: {', '.join(BY_KIND['text'])}; images: {', '.join(BY_KIND['image'])}; "
            "none: items at random",
            rich_help_panel=PROJECT,
        ),
    ] = None,
    strategy: Annotated[str | None, typer.Option(help="a name of `bemps strategies`", rich_help_panel=PROJECT)] = None,
    stop_below: Annotated[
        float | None,
        typer.Option(
            min=0, help="advise to stop when 100 labels raise the accuracy by less (0.01)", rich_help_panel=PROJECT
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="of random draws, of a new project", rich_help_panel=PROJECT)
    ] = None,
    duplicates: Annotated[
        str | None,
        typer.Option(
            help="rows of the same text: once (asked once, the answer counts for all), or ask each",
            rich_help_panel=PROJECT,
        ),
    ] = None,
    annotator: Annotated[
        str | None, typer.Option(help="whose labels they are (your login name on this machine)", rich_help_panel=SERVER)
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="8765, or the next free one", rich_help_panel=SERVER)
    ] = None,
    host: Annotated[
        str, typer.Option(help="other addresses than loopback need the token that is printed", rich_help_panel=SERVER)
    ] = "127.0.0.1",
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="another name of this server, as behind a proxy (repeatable)", rich_help_panel=SERVER),
    ] = None,
    root_path: Annotated[
        str, typer.Option(help="the path under which a proxy shows the page", rich_help_panel=SERVER)
    ] = "",
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="open the page", rich_help_panel=SERVER)
    ] = True,
) -> None:
    """Label your own data in the browser; active learning chooses what to ask and says when to stop.

    Everything is saved in one project file, each answer before it is acknowledged: stop with Ctrl-C (or pull the
    plug), run the same command again, and it goes on. Nothing leaves this machine. docs/labelling.md explains the page.

    \b
    Examples:
      bemps label tickets.csv --text body --classes bug,feature,question
      bemps label tickets.bemps                                   (go on with a project)
      bemps label photos/ --classes cat,dog --guidelines rules.txt
      bemps label tickets.csv --text body --classes topics.txt --host 0.0.0.0 --overlap 0.1   (a small team)
    """
    columns = {
        "text": text,
        "image": image,
        "label": label_column,
        "id": id_,
        "encoding": encoding,
        "delimiter": delimiter,
    }
    with plainly(label):
        try:
            from bemps.serve.running import Address, keep_private
            from bemps.serve.starting import Wishes, prepared
        except ImportError as cause:
            raise MissingExtra("bemps label", "label", cause) from cause
        where, source = _places(data, project, store, {name: value for name, value in columns.items() if value})
        wishes = Wishes(
            _classes(classes),
            title,
            _guidelines(guidelines),
            audit,
            overlap,
            model,
            strategy,
            stop_below,
            seed,
            duplicates,
        )
        address = Address(host, port, root_path, tuple(allow_host or ()))
        keep_private(address)
        opened, notes = prepared(where, source, wishes)
        with closing(opened):
            _serve(opened, where, notes, address, annotator, browser)


def _serve(
    opened: "Store", where: str, notes: Sequence[str], address: "Address", annotator: str | None, browser: bool
) -> None:
    """Serve until Ctrl-C."""
    from bemps.serve.running import serve
    from bemps.serve.security import is_loopback

    console = Console(soft_wrap=True, highlight=False)
    shown = opened.name  # never a password
    for note in (*notes, f"Saved in {shown}. Ctrl-C stops; the same command goes on."):
        console.print(note, markup=False)
    mine = annotator or (_login() if is_loopback(address.host) and not address.names else None)
    try:
        serve(opened, where, address, annotator=mine, browser=browser, say=lambda url: _say(console, url))
    except KeyboardInterrupt:
        console.print(f"Stopped. Everything is saved in {shown}.", markup=False)


def _say(console: Console, url: str) -> None:
    console.print(f"Label at {url}", markup=False)
    console.file.flush()


def _places(
    data: Path | None, project: Path | None, store: str | None, columns: dict[str, Any]
) -> tuple[str, "Source | None"]:
    """Where the project is, and where its items come from."""
    from bemps.serve.starting import Source

    if project is not None and store is not None:
        raise InputError("--store", expected="one place for the project", got="--project as well", fix="Leave one out.")
    if data is not None and data.suffix == PROJECT_SUFFIX and data.is_file():
        if project is not None or store is not None or columns:
            raise InputError(
                str(data), expected="a project alone", got="other places or columns", fix="Leave them out."
            )
        return str(data), None
    if data is None and project is None and store is None:
        raise InputError("DATA", expected="a file, a folder or a project", got="nothing", fix="See bemps label --help.")
    where = store or str(
        project or Path(f"{data.stem if data and data.suffix else data and data.name}{PROJECT_SUFFIX}")
    )
    if data is None:
        return where, None
    if not data.exists():
        raise InputError("DATA", expected="a file or folder", got=f"{data}, which does not exist", fix="Correct it.")
    return where, Source(data, columns)


def _classes(given: str | None) -> list[str] | None:
    if given is None:
        return None
    if given.endswith(".txt"):
        return [line.strip() for line in _text(Path(given), "--classes").splitlines() if line.strip()]
    return given.split(",")


def _guidelines(path: Path | None) -> str | None:
    if path is None:
        return None
    text = _text(path, "--guidelines")
    if len(text) > LARGEST_GUIDELINES:
        got = f"{len(text):,} characters"
        raise InputError("--guidelines", expected=f"at most {LARGEST_GUIDELINES:,}", got=got, fix="Shorten them.")
    return text


def _text(path: Path, what: str) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(what, expected="a text file in UTF-8", got=f"{path}: {error}", fix="Correct it.") from error


def _login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container without a user table
        return "me"
