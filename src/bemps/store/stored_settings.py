"""Settings as a project's file holds them: JSON by name, checked when it is read."""

import json
from collections.abc import Collection
from typing import Any

from sqlalchemy import select
from sqlalchemy.engine import Connection

from bemps.errors import InputError
from bemps.store.project_settings import ProjectSettings, check_setting
from bemps.store.sql.database_errors import damaged
from bemps.store.sql.sql_tables import SETTINGS


def read_setting(name: str, text: str) -> Any:
    """Read the value of a setting."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise damaged(f"setting {name}", "JSON", text) from error
    try:
        check_setting(name, value)
    except InputError as error:
        raise damaged(f"setting {name}", error.expected, value) from error
    return value


def stored_settings(connection: Connection, names: Collection[str] | None = None) -> dict[str, Any]:
    """Read the settings of these names, or all, that are set."""
    query = select(SETTINGS) if names is None else select(SETTINGS).where(SETTINGS.c.name.in_(names))
    return {row.name: read_setting(row.name, row.value) for row in connection.execute(query)}


def read_settings(connection: Connection, names: Collection[str]) -> ProjectSettings:
    """Read the settings of these names. All others have their defaults."""
    return ProjectSettings.from_json(stored_settings(connection, names))
