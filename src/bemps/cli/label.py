"""`bemps label`: a page in the browser to label one's own data, with active learning behind it."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from bemps._utils.extras import requires_extra
from bemps.cli.command_errors import print_errors
from bemps.cli.projects_page import annotator_of, announce, refuse_options, serve_folder
from bemps.errors import InputError
from bemps.models.model_registry import project_models

if TYPE_CHECKING:
    from bemps.server.http.http_server import Address
    from bemps.server.project_start import Source
    from bemps.store import NewClass, Store

DATA, PROJECT, SERVER = "Data", "Project", "Server"
PROJECT_SUFFIX = ".bemps"
LARGEST_GUIDELINES = 200_000


def label(
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="[data]",
            help="CSV, TSV, Excel, JSON, JSONL or Parquet file, folder of images or texts; or a project, "
            "also its postgresql+psycopg:// address",
        ),
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
    encoding: Annotated[
        str | None, typer.Option(help="encoding of the file, if not UTF-8", rich_help_panel=DATA)
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option(help="separator of a CSV, if not a comma", rich_help_panel=DATA)
    ] = None,
    classes: Annotated[
        str | None,
        typer.Option(
            help="names with commas; a .csv file (columns name, key, description, colour); a .txt file of names",
            rich_help_panel=PROJECT,
        ),
    ] = None,
    project: Annotated[
        Path | None, typer.Option(help="the project file (default: DATA.bemps here)", rich_help_panel=PROJECT)
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(help="without DATA: the folder of projects (default: bemps at home)", rich_help_panel=PROJECT),
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
            min=0,
            max=0.9,
            help="share of the items asked, drawn at random, that measure accuracy (0.1)",
            rich_help_panel=PROJECT,
        ),
    ] = None,
    overlap: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="share of the items that several people label (0)", rich_help_panel=PROJECT),
    ] = None,
    answers: Annotated[
        int | None,
        typer.Option(min=2, max=20, help="how many people label each item of the overlap (2)", rich_help_panel=PROJECT),
    ] = None,
    assign_by: Annotated[
        str | None,
        typer.Option(
            help="column that says who gets an item: its values are names, or are mapped by --assign ('' ends it)",
            rich_help_panel=PROJECT,
        ),
    ] = None,
    assign: Annotated[
        list[str] | None,
        typer.Option(
            help="VALUE=NAMES: who gets the items with this value, as in north=ann,ben (repeatable)",
            rich_help_panel=PROJECT,
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help=f"auto; texts: {', '.join(project_models('text'))}, a folder or a hub name of a text encoder; "
            f"images: {', '.join(project_models('image'))}; none: items at random",
            rich_help_panel=PROJECT,
        ),
    ] = None,
    adapt: Annotated[
        str | None,
        typer.Option(
            help="auto: the text encoder is fine-tuned on your labels, in the background, where that is possible; off",
            rich_help_panel=PROJECT,
        ),
    ] = None,
    strategy: Annotated[str | None, typer.Option(help="a name of `bemps strategies`", rich_help_panel=PROJECT)] = None,
    stop_below: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="advise to stop when 100 labels raise the accuracy by less (0.01)",
            rich_help_panel=PROJECT,
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="seed of the random draws of a new project", rich_help_panel=PROJECT)
    ] = None,
    duplicates: Annotated[
        str | None,
        typer.Option(
            help="rows of the same text: once (asked once, the answer counts for all), or ask each",
            rich_help_panel=PROJECT,
        ),
    ] = None,
    suggest: Annotated[
        str | None,
        typer.Option(
            help="suggests labels beside the items: model, a column of DATA, an address, or off. An address is that of "
            "a server with OpenAI's chat protocol (a local Ollama: http://localhost:11434/v1). Texts are sent there.",
            rich_help_panel=PROJECT,
        ),
    ] = None,
    suggest_model: Annotated[
        str | None, typer.Option(help="the name of the model at that address", rich_help_panel=PROJECT)
    ] = None,
    suggest_requests: Annotated[
        int | None, typer.Option(min=0, help="requests to that address in all, at most (1000)", rich_help_panel=PROJECT)
    ] = None,
    train_on_suggested: Annotated[
        bool | None,
        typer.Option(
            "--train-on-suggested/--no-train-on-suggested",
            help="whether the model learns from suggestions that people accepted (yes)",
            rich_help_panel=PROJECT,
        ),
    ] = None,
    show: Annotated[
        list[str] | None,
        typer.Option(
            help='column that the page shows beside the item (repeatable; "" shows none)', rich_help_panel=PROJECT
        ),
    ] = None,
    remote_images: Annotated[
        bool | None,
        typer.Option(
            "--remote-images/--no-remote-images",
            help="load images of other servers that a shown column names: they learn who looks and when",
            rich_help_panel=PROJECT,
        ),
    ] = None,
    markdown: Annotated[
        bool | None,
        typer.Option("--markdown/--no-markdown", help="show the texts as Markdown", rich_help_panel=PROJECT),
    ] = None,
    keywords: Annotated[
        str | None,
        typer.Option(
            help='words to highlight, with commas, or a .txt file with one in each line; "" for none',
            rich_help_panel=PROJECT,
        ),
    ] = None,
    annotator: Annotated[
        str | None, typer.Option(help="your name beside your labels (default: your login name)", rich_help_panel=SERVER)
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=0, max=65535, help="port of the page (default: 8765, or the next free one)", rich_help_panel=SERVER
        ),
    ] = None,
    host: Annotated[
        str,
        typer.Option(
            help="address to listen on; beyond loopback people need the printed token", rich_help_panel=SERVER
        ),
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
    plug), run the same command again, and it goes on. Nothing leaves this machine, unless you name an address with
    --suggest. The page is explained in
    docs/howto/labelling.md.
    Without DATA a page of projects opens, where files can be dropped; `bemps` alone does the same.

    \b
    Examples:
      bemps label                                                 (a page of projects)
      bemps label tickets.csv --text body --classes bug,feature,question
      bemps label tickets.bemps                                   (go on with a project)
      bemps label photos/ --classes cat,dog --guidelines rules.txt
      bemps label tickets.csv --text body --classes topics.csv --host 0.0.0.0 --overlap 0.1   (a small team)
      bemps label tickets.bemps --suggest http://localhost:11434/v1 --suggest-model llama3
    """
    columns = {
        "text": text,
        "image": image,
        "label": label_column,
        "id": id_,
        "encoding": encoding,
        "delimiter": delimiter,
    }
    with print_errors(label):
        with requires_extra("label", "bemps label"):
            from bemps.server.http.http_server import Address, keep_private
            from bemps.server.project_start import Wishes, prepared
        address = Address(host, port, root_path, tuple(allow_host or ()))
        if data is None and project is None and store is None:
            wishes_of_project = {
                "classes": classes, "title": title, "guidelines": guidelines, "audit": audit, "overlap": overlap,
                "answers": answers, "assign-by": assign_by, "assign": assign, "model": model, "strategy": strategy,
                "stop-below": stop_below, "seed": seed, "duplicates": duplicates, "adapt": adapt, "suggest": suggest,
                "suggest-model": suggest_model, "suggest-requests": suggest_requests,
                "train-on-suggested": train_on_suggested,
                "show": show, "remote-images": remote_images, "markdown": markdown, "keywords": keywords,
            }  # fmt: skip
            refuse_options({**columns, **wishes_of_project})
            serve_folder(folder, address, annotator, browser)
            return
        if folder is not None:
            raise InputError("--folder", expected="no DATA", got="both", fix="Leave one out.")
        where, source = _project_and_source(
            data, project, store, {name: value for name, value in columns.items() if value}
        )
        wishes = Wishes(
            classes=_classes(classes), title=title, guidelines=_guidelines(guidelines), audit=audit, overlap=overlap,
            answers=answers, assign_by=assign_by, assigned_to=_assigned(assign), model=model, strategy=strategy,
            stop_below=stop_below, seed=seed, duplicates=duplicates, adapt=adapt, suggest=suggest,
            suggest_model=suggest_model, suggest_requests=suggest_requests, train_on_suggested=train_on_suggested,
            show=show, remote_images=remote_images, markdown=markdown, keywords=_keywords(keywords),
        )  # fmt: skip
        keep_private(address)
        opened, notes = prepared(where, source, wishes)
        with closing(opened):
            _serve(opened, where, notes, address, annotator, browser, suggest)


def _serve(
    opened: "Store",
    where: str,
    notes: Sequence[str],
    address: "Address",
    annotator: str | None,
    browser: bool,
    suggest: str | None = None,
) -> None:
    """Serve until Ctrl-C."""
    from bemps.server.http.http_server import serve

    console = Console(soft_wrap=True, highlight=False)
    shown = opened.name  # never a password
    for note in (*notes, *_better_model(opened), f"Saved in {shown}. Ctrl-C stops; the same command goes on."):
        console.print(note, markup=False)
    mine = annotator_of(annotator, address)
    say = lambda url: announce(console, url)  # noqa: E731
    if serve(opened, where, address, annotator=mine, browser=browser, say=say, suggest=suggest):
        console.print(f"Stopped. Everything is saved in {shown}.", markup=False)


def _better_model(opened: "Store") -> list[str]:
    """What is missing for a better model, in a sentence with the commands that bring it."""
    from bemps.project.project_models import better_model

    better = better_model(opened.read_settings())
    return [better[:1].upper() + better[1:]] if better else []


def _project_and_source(
    named: str | None, project: Path | None, store: str | None, columns: dict[str, Any]
) -> tuple[str, "Source | None"]:
    """Where the project is, and where its items come from."""
    from bemps.server.project_start import Source

    if project is not None and store is not None:
        raise InputError("--store", expected="one place for the project", got="--project as well", fix="Leave one out.")
    is_address = named is not None and named.startswith("postgresql") and "://" in named  # a path has single slashes
    data = None if named is None or is_address else Path(named)
    if is_address or (data is not None and data.suffix == PROJECT_SUFFIX and data.is_file()):
        if project is not None or store is not None or columns:
            raise InputError(
                "DATA" if is_address else str(data),  # an address may have a password
                expected="a project and nothing else",
                got="--project, --store or columns as well",
                fix="Leave them out.",
            )
        return str(named), None
    where = store or str(
        project or Path(f"{data.stem if data and data.suffix else data and data.name}{PROJECT_SUFFIX}")
    )
    if data is None:
        return where, None
    if not data.exists():
        raise InputError("DATA", expected="a file or folder", got=f"{data}, which does not exist", fix="Correct it.")
    return where, Source(data, columns)


def _classes(names: str | None) -> "Sequence[str | NewClass] | None":
    from bemps.formats.class_file import SUFFIXES, read_class_file

    if names is None:
        return None
    is_file = "," not in names and Path(names).suffix.lower() in SUFFIXES
    return read_class_file(Path(names), "--classes") if is_file else names.split(",")


def _assigned(pairs: list[str] | None) -> dict[str, list[str]] | None:
    """The people of each value, from VALUE=NAMES."""
    if pairs is None:
        return None
    assigned = {}
    for pair in pairs:
        value, equals, names = pair.rpartition("=")
        if not equals or not value.strip():
            raise InputError("--assign", expected="VALUE=NAMES", got=repr(pair), fix="For example: north=ann,ben")
        assigned[" ".join(value.split())] = [" ".join(name.split()) for name in names.split(",") if name.strip()]
    return assigned


def _keywords(names: str | None) -> list[str] | None:
    """Words with commas, or in the lines of a file."""
    if names is None:
        return None
    if names.endswith(".txt"):
        return [line.strip() for line in _text(Path(names), "--keywords").splitlines() if line.strip()]
    return names.split(",")


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
