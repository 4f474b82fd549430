"""The options of `bemps label`, one type each: what it is, its help, and its panel in the help.

The default is beside the parameter of the command. None leaves a setting of a project as it is.
"""

from pathlib import Path
from typing import Annotated

import typer

from bemps.models.model_registry import project_models

DATA, PROJECT, SERVER = "Data", "Project", "Server"

Data = Annotated[
    str | None,
    typer.Argument(
        metavar="[data]",
        help="CSV, TSV, Excel, JSON, JSONL or Parquet file, folder of images or texts; or a project, "
        "also its postgresql+psycopg:// address",
    ),
]
TextColumns = Annotated[
    list[str] | None, typer.Option(help="column of the texts (repeatable: joined)", rich_help_panel=DATA)
]
ImageColumn = Annotated[str | None, typer.Option(help="column of image paths", rich_help_panel=DATA)]
LabelColumn = Annotated[
    str | None,
    typer.Option(
        "--label",
        help="column of labels that are there already; `folder` in a folder of images",
        rich_help_panel=DATA,
    ),
]
IdColumn = Annotated[
    str | None,
    typer.Option("--id", help="column of ids; without it bemps makes ids from the content", rich_help_panel=DATA),
]
Encoding = Annotated[str | None, typer.Option(help="encoding of the file, if not UTF-8", rich_help_panel=DATA)]
Delimiter = Annotated[str | None, typer.Option(help="separator of a CSV, if not a comma", rich_help_panel=DATA)]
Sheet = Annotated[
    str | None, typer.Option(help="sheet of a workbook (default: the first that holds a table)", rich_help_panel=DATA)
]
Classes = Annotated[
    str | None,
    typer.Option(
        help="names with commas; a .csv file (columns name, key, description, colour, examples); a .txt file of names",
        rich_help_panel=PROJECT,
    ),
]
ProjectFile = Annotated[
    Path | None, typer.Option(help="the project file (default: DATA.bemps here)", rich_help_panel=PROJECT)
]
ProjectFolder = Annotated[
    Path | None,
    typer.Option(
        help="without DATA: the folder of projects (default: bemps in your home folder)", rich_help_panel=PROJECT
    ),
]
StoreAddress = Annotated[
    str | None, typer.Option(help="postgresql+psycopg://user@host/database, for a team", rich_help_panel=PROJECT)
]
Title = Annotated[str | None, typer.Option(help="shown on the page", rich_help_panel=PROJECT)]
Guidelines = Annotated[
    Path | None, typer.Option(help="a Markdown file with instructions for those who label", rich_help_panel=PROJECT)
]
AuditShare = Annotated[
    float | None,
    typer.Option(
        min=0,
        max=0.9,
        help="share of the items, drawn at random, that measure accuracy (default: 0.1)",
        rich_help_panel=PROJECT,
    ),
]
OverlapShare = Annotated[
    float | None,
    typer.Option(
        min=0, max=1, help="share of the items that several people label (default: 0)", rich_help_panel=PROJECT
    ),
]
AnswersEach = Annotated[
    int | None,
    typer.Option(
        min=2, max=20, help="how many people label each item of the overlap (default: 2)", rich_help_panel=PROJECT
    ),
]
AssignBy = Annotated[
    str | None,
    typer.Option(
        help="column that says who gets an item: its values are names, or --assign names people for them; "
        "'' gives every item to everybody",
        rich_help_panel=PROJECT,
    ),
]
Assign = Annotated[
    list[str] | None,
    typer.Option(
        help="VALUE=NAMES: who gets the items with this value, as in north=ann,ben (repeatable)",
        rich_help_panel=PROJECT,
    ),
]
ModelName = Annotated[
    str | None,
    typer.Option(
        help=f"auto; texts: {', '.join(project_models('text'))}, a folder or a hub name of a text encoder; "
        f"images: {', '.join(project_models('image'))}; none: items at random",
        rich_help_panel=PROJECT,
    ),
]
Adapt = Annotated[
    str | None,
    typer.Option(
        help="auto: fine-tune the text encoder on your labels in the background, where that is possible; or off",
        rich_help_panel=PROJECT,
    ),
]
StrategyName = Annotated[str | None, typer.Option(help="a name of `bemps strategies`", rich_help_panel=PROJECT)]
StopBelow = Annotated[
    float | None,
    typer.Option(
        min=0,
        max=1,
        help="advise to stop when 100 labels raise the accuracy by less than this (default: 0.01)",
        rich_help_panel=PROJECT,
    ),
]
Seed = Annotated[
    int | None, typer.Option(min=0, help="seed of the random draws of a new project", rich_help_panel=PROJECT)
]
Duplicates = Annotated[
    str | None,
    typer.Option(
        help="rows of the same text: once, and the answer counts for all of them; or ask, for each of them",
        rich_help_panel=PROJECT,
    ),
]
Suggest = Annotated[
    str | None,
    typer.Option(
        help="what suggests a label for each item: model, a column of DATA, an address, or off. The address is that of "
        "a server with OpenAI's chat protocol, as http://localhost:11434/v1 of Ollama. bemps sends texts there.",
        rich_help_panel=PROJECT,
    ),
]
SuggestModel = Annotated[
    str | None, typer.Option(help="the name of the model at that address", rich_help_panel=PROJECT)
]
SuggestRequests = Annotated[
    int | None,
    typer.Option(
        min=0, help="how many requests may go to that address in all (default: 1000)", rich_help_panel=PROJECT
    ),
]
TrainOnSuggested = Annotated[
    bool | None,
    typer.Option(
        "--train-on-suggested/--no-train-on-suggested",
        help="whether the model learns from suggestions that people accepted (default: yes)",
        rich_help_panel=PROJECT,
    ),
]
ShownColumns = Annotated[
    list[str] | None,
    typer.Option(
        help='column that the page shows beside the item (repeatable; "" shows none)', rich_help_panel=PROJECT
    ),
]
RemoteImages = Annotated[
    bool | None,
    typer.Option(
        "--remote-images/--no-remote-images",
        help="load images of other servers that a shown column names; these servers learn who looks and when",
        rich_help_panel=PROJECT,
    ),
]
Markdown = Annotated[
    bool | None,
    typer.Option("--markdown/--no-markdown", help="show the texts as Markdown", rich_help_panel=PROJECT),
]
Keywords = Annotated[
    str | None,
    typer.Option(
        help='words to highlight, with commas, or a .txt file with one in each line; "" for none',
        rich_help_panel=PROJECT,
    ),
]
AnnotatorName = Annotated[
    str | None, typer.Option(help="your name beside your labels (default: your login name)", rich_help_panel=SERVER)
]
Port = Annotated[
    int | None,
    typer.Option(
        min=0, max=65535, help="port of the page (default: 8765, or the next free one)", rich_help_panel=SERVER
    ),
]
Host = Annotated[
    str,
    typer.Option(
        help="address to listen on; at another than the default people need the printed link", rich_help_panel=SERVER
    ),
]
AllowedHosts = Annotated[
    list[str] | None,
    typer.Option(help="another name of this server, as behind a proxy (repeatable)", rich_help_panel=SERVER),
]
RootPath = Annotated[str, typer.Option(help="the path under which a proxy shows the page", rich_help_panel=SERVER)]
OpenBrowser = Annotated[bool, typer.Option("--browser/--no-browser", help="open the page", rich_help_panel=SERVER)]
