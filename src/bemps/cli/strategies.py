"""`bemps strategies`: the names and one line each."""

from rich.console import Console
from rich.table import Table

from bemps.acquisition.strategy_registry import strategies as names


def strategies() -> None:
    """List every strategy with one line of help."""
    table = Table(box=None, pad_edge=False, show_header=False)
    for name, help_line in names().items():
        table.add_row(f"[bold]{name}[/]", help_line)
    Console().print(table)
