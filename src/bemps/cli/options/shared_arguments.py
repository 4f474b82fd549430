"""Arguments that several commands share."""

from typing import Annotated

import typer

Force = Annotated[bool, typer.Option("--force", help="replace the file or folder that an earlier command wrote")]
ProjectAddress = Annotated[str, typer.Argument(help="the project file, or its postgresql+psycopg:// address")]
