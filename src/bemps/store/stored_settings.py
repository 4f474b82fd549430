"""Settings as a project's file holds them: JSON by name, checked when it is written and when it is read."""

import json
import uuid
from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import delete, insert, select
from sqlalchemy.engine import Connection

from bemps.errors import InputError
from bemps.store import validation
from bemps.store.project_settings import ProjectSettings, check_setting
from bemps.store.sql.database import Database
from bemps.store.sql.database_errors import damaged
from bemps.store.sql.sql_tables import PROJECT, SETTINGS

TOKEN = "settings"  # the row of the table `project` that changes with them


class StoredSettings:
    """The settings of a project."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def values(self) -> dict[str, Any]:
        """Return all settings that are set, by name."""
        with self._database.reading() as connection:
            return _values(connection)

    def read(self) -> ProjectSettings:
        """Return all settings, typed, with defaults for those that are not set."""
        return ProjectSettings.from_json(self.values())

    def token(self) -> str:
        """Return a text that is another one after every change of the settings, by whatever process."""
        with self._database.reading() as connection:
            query = select(PROJECT.c.value).where(PROJECT.c.name == TOKEN)
            return connection.execute(query).scalar_one_or_none() or ""

    def set(self, name: str, value: Any) -> None:
        """Write a setting: anything that JSON can write."""
        self.set_all({name: value})

    def set_all(self, values: Mapping[str, Any]) -> None:
        """Write several settings in one step."""
        if rows := _rows(values):
            with self._database.writing() as connection:
                _write(connection, rows)


def read_settings(connection: Connection, names: Collection[str]) -> ProjectSettings:
    """Read the settings of these names. All others have their defaults."""
    return ProjectSettings.from_json(_values(connection, names))


def write_settings(connection: Connection, values: Mapping[str, Any]) -> None:
    """Write settings within an open transaction."""
    if rows := _rows(values):
        _write(connection, rows)


def _values(connection: Connection, names: Collection[str] | None = None) -> dict[str, Any]:
    """The settings of these names, or all, that are set."""
    query = select(SETTINGS) if names is None else select(SETTINGS).where(SETTINGS.c.name.in_(names))
    return {row.name: _value(row.name, row.value) for row in connection.execute(query)}


def _value(name: str, text: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise damaged(f"setting {name}", "JSON", text) from error
    try:
        check_setting(name, value)
    except InputError as error:
        raise damaged(f"setting {name}", error.expected, value) from error
    return value


def _rows(values: Mapping[str, Any]) -> list[dict[str, str]]:
    """Settings as rows of the table. Values that JSON cannot write, or bemps cannot read, are refused."""
    try:
        rows = [
            {"name": validation.name(name, "setting"), "value": json.dumps(values[name], allow_nan=False)}
            for name in values
        ]
    except (TypeError, ValueError) as error:
        raise InputError("settings", expected="JSON", got=str(error), fix="Use plain values.") from error
    for name, value in values.items():
        check_setting(name, value)
    return rows


def _write(connection: Connection, rows: list[dict[str, str]]) -> None:
    """Rows replace those of the same names, and the token of the settings changes."""
    connection.execute(delete(SETTINGS).where(SETTINGS.c.name.in_([row["name"] for row in rows])))
    connection.execute(insert(SETTINGS), rows)
    connection.execute(delete(PROJECT).where(PROJECT.c.name == TOKEN))
    connection.execute(insert(PROJECT), {"name": TOKEN, "value": uuid.uuid4().hex})
