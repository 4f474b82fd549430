"""A time with microseconds."""

from datetime import UTC, datetime

WHEN = datetime(2026, 11, 16, 9, 30, 0, 123456, tzinfo=UTC)
