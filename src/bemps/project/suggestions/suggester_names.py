"""What the setting of suggestions names: the model, a column, or an address."""

from urllib.parse import urlsplit

from bemps.store.project_settings import ADDRESSES, BY_COLUMN, ProjectSettings


def is_address(suggest: str) -> bool:
    """Return whether suggestions come from an address."""
    return suggest.startswith(ADDRESSES)


def column_of(suggest: str) -> str | None:
    """Return the column that suggestions come from; None if they come from elsewhere."""
    return suggest.removeprefix(BY_COLUMN) if suggest.startswith(BY_COLUMN) else None


def suggester_name(settings: ProjectSettings) -> str:
    """Return the name of what suggests, as of an annotator; empty if nothing does."""
    if is_address(settings.suggest):
        return f"{settings.suggest_model} at {urlsplit(settings.suggest).netloc}"
    column = column_of(settings.suggest)
    return f"column {column}" if column is not None else "the model" if settings.suggest else ""
