"""What happened in a project, durable: an append-only log on SQLite or PostgreSQL."""

from bemps.errors import MissingExtra

try:
    import sqlalchemy as _sqlalchemy
except ImportError as cause:
    raise MissingExtra("a labelling project", "label", cause) from cause

from bemps.store.changing import Change as Change
from bemps.store.failures import NotRead as NotRead
from bemps.store.failures import NotSaved as NotSaved
from bemps.store.store import Store as Store
from bemps.store.store import open_store as open_store
from bemps.store.words import SOURCE as SOURCE
from bemps.store.words import Answer as Answer
from bemps.store.words import Class as Class
from bemps.store.words import Disagreement as Disagreement
from bemps.store.words import Event as Event
from bemps.store.words import Item as Item
from bemps.store.words import Page as Page
from bemps.store.words import Row as Row
from bemps.store.words import Said as Said

del _sqlalchemy
