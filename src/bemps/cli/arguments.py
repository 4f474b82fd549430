"""Arguments that several commands share."""

from typing import Annotated

import typer

ProjectPlace = Annotated[str, typer.Argument(help="the project file, or its postgresql+psycopg:// address")]
