"""`bemps label`: a page in the browser to label one's own data, with active learning behind it."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from bemps._utils.existing_paths import path_exists
from bemps._utils.extras import requires_extra
from bemps.cli.command_errors import print_errors
from bemps.cli.options import label_options as options
from bemps.cli.options.project_wishes import wishes_of
from bemps.cli.projects_page import annotator_of, announce, refuse_options, serve_folder
from bemps.errors import InputError

if TYPE_CHECKING:
    from bemps.server.http.http_server import Address
    from bemps.server.project_start import Source
    from bemps.store import Store

PROJECT_SUFFIX = ".bemps"


def label(
    data: options.Data = None,
    text: options.TextColumns = None,
    image: options.ImageColumn = None,
    label_column: options.LabelColumn = None,
    id_: options.IdColumn = None,
    encoding: options.Encoding = None,
    delimiter: options.Delimiter = None,
    sheet: options.Sheet = None,
    classes: options.Classes = None,
    project: options.ProjectFile = None,
    folder: options.ProjectFolder = None,
    store: options.StoreAddress = None,
    title: options.Title = None,
    guidelines: options.Guidelines = None,
    audit: options.AuditShare = None,
    overlap: options.OverlapShare = None,
    answers: options.AnswersEach = None,
    assign_by: options.AssignBy = None,
    assign: options.Assign = None,
    model: options.ModelName = None,
    adapt: options.Adapt = None,
    strategy: options.StrategyName = None,
    stop_below: options.StopBelow = None,
    seed: options.Seed = None,
    duplicates: options.Duplicates = None,
    suggest: options.Suggest = None,
    suggest_model: options.SuggestModel = None,
    suggest_requests: options.SuggestRequests = None,
    train_on_suggested: options.TrainOnSuggested = None,
    show: options.ShownColumns = None,
    remote_images: options.RemoteImages = None,
    markdown: options.Markdown = None,
    keywords: options.Keywords = None,
    annotator: options.AnnotatorName = None,
    port: options.Port = None,
    host: options.Host = "127.0.0.1",
    allow_host: options.AllowedHosts = None,
    root_path: options.RootPath = "",
    browser: options.OpenBrowser = True,
) -> None:
    """Label your own data in the browser; active learning chooses what to ask and says when to stop.

    Every answer is in the project file before the page says that it is saved. Stop with Ctrl-C, run the same command
    again, and it goes on. Nothing leaves this machine, unless you name an address with --suggest. Without DATA a page
    of projects opens, where you drop files; `bemps` alone does the same. docs/howto/labelling.md explains the page.

    \b
    Examples:
      bemps label                                                 (a page of projects)
      bemps label tickets.csv --text body --classes bug,feature,question
      bemps label tickets.bemps                                   (go on with a project)
      bemps label photos/ --classes cat,dog --guidelines rules.md
      bemps label tickets.csv --text body --classes topics.csv --host 0.0.0.0 --overlap 0.1   (a small team)
      bemps label tickets.bemps --suggest http://localhost:11434/v1 --suggest-model llama3
    """
    columns = {
        "text": text, "image": image, "label": label_column, "id": id_, "encoding": encoding, "delimiter": delimiter,
        "sheet": sheet,
    }  # fmt: skip
    settings = {
        "classes": classes, "title": title, "guidelines": guidelines, "audit": audit, "overlap": overlap,
        "answers": answers, "assign_by": assign_by, "assign": assign, "model": model, "strategy": strategy,
        "stop_below": stop_below, "seed": seed, "duplicates": duplicates, "adapt": adapt, "suggest": suggest,
        "suggest_model": suggest_model, "suggest_requests": suggest_requests, "train_on_suggested": train_on_suggested,
        "show": show, "remote_images": remote_images, "markdown": markdown, "keywords": keywords,
    }  # fmt: skip
    with print_errors(label):
        with requires_extra("label", "bemps label"):
            from bemps.server.http.http_server import Address, keep_private
            from bemps.server.project_start import prepared
        address = Address(host, port, root_path, tuple(allow_host or ()))
        if data is None and project is None and store is None:
            refuse_options({**columns, **settings})
            serve_folder(folder, address, annotator, browser)
            return
        if folder is not None:
            raise InputError("--folder", expected="no DATA", got="both", fix="Leave one out.")
        where, source = _project_and_source(
            data, project, store, {name: value for name, value in columns.items() if value}
        )
        wishes = wishes_of(settings)
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
    if not path_exists(data):
        raise InputError("DATA", expected="a file or folder", got=f"{data}, which does not exist", fix="Correct it.")
    return where, Source(data, columns)
