"""Arguments that several commands share."""

import json
from typing import Annotated, Any

import typer

Force = Annotated[bool, typer.Option("--force", help="replace the file or folder that an earlier command wrote")]
ProjectAddress = Annotated[str, typer.Argument(help="the project file, or its postgresql+psycopg:// address")]


def option_value(text: str) -> Any:
    """The value of an option: numbers, true and false (as Python spells them too) as such, everything else as text."""
    try:
        return json.loads(text.lower() if text in ("True", "False") else text)
    except (ValueError, RecursionError):
        return text
