"""The table of suggestions: what a server answered for each item, by the version of the prompt."""

from collections.abc import Mapping

from sqlalchemy import insert, select
from sqlalchemy.engine import Connection

from bemps.store.sql.sql_tables import SUGGESTIONS


def read_suggestions(connection: Connection, prompt: str) -> dict[str, str | None]:
    """Return the suggested label of each item that was asked with a prompt; None where no class came back."""
    rows = select(SUGGESTIONS.c.item, SUGGESTIONS.c.label).where(SUGGESTIONS.c.prompt == prompt)
    return {row.item: row.label for row in connection.execute(rows)}


def add_suggestions(connection: Connection, prompt: str, labels: Mapping[str, str | None], now: int) -> None:
    """Add suggestions. Those that are there stay as they are.

    Parameters
    ----------
    connection : sqlalchemy.Connection
        A connection in a transaction that writes.
    prompt : str
        The version of the prompt.
    labels : mapping of str to str or None
        The suggested label of each item.
    now : int
        The time, in microseconds since 1970.
    """
    asked = select(SUGGESTIONS.c.item).where(SUGGESTIONS.c.prompt == prompt, SUGGESTIONS.c.item.in_(list(labels)))
    known = set(connection.execute(asked).scalars())
    rows = [
        {"prompt": prompt, "item": item, "label": label, "time": now}
        for item, label in labels.items()
        if item not in known
    ]
    if rows:
        connection.execute(insert(SUGGESTIONS), rows)
