"""The table of suggestions: what a server answered for each item, by the version of the prompt."""

from collections.abc import Mapping

from sqlalchemy import insert, select

from bemps.store.sql.database import Database
from bemps.store.sql.sql_tables import SUGGESTIONS


class StoredSuggestions:
    """What a server suggested, so that no item is sent again with the same prompt."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def suggestions(self, prompt: str) -> dict[str, str | None]:
        """Return the suggested label of each item for one version of a prompt; None where no class came back."""
        rows = select(SUGGESTIONS.c.item, SUGGESTIONS.c.label).where(SUGGESTIONS.c.prompt == prompt)
        with self._database.reading() as connection:
            return {row.item: row.label for row in connection.execute(rows)}

    def add_suggestions(self, prompt: str, labels: Mapping[str, str | None]) -> None:
        """Keep the suggested label of each item. Those that are there stay as they are."""
        asked = select(SUGGESTIONS.c.item).where(SUGGESTIONS.c.prompt == prompt, SUGGESTIONS.c.item.in_(list(labels)))
        with self._database.writing() as connection:
            now, known = self._database.now(connection), set(connection.execute(asked).scalars())
            rows = [
                {"prompt": prompt, "item": item, "label": label, "time": now}
                for item, label in labels.items()
                if item not in known
            ]
            if rows:
                connection.execute(insert(SUGGESTIONS), rows)
