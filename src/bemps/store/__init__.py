"""The durable store of a project: an append-only log on SQLite or PostgreSQL."""

from bemps._utils.extras import requires_extra

with requires_extra("label", "a labelling project"):
    import sqlalchemy as _sqlalchemy

from bemps.store.changes import Change as Change
from bemps.store.events import COLOURS as COLOURS
from bemps.store.events import SOURCE as SOURCE
from bemps.store.events import Answer as Answer
from bemps.store.events import Class as Class
from bemps.store.events import Disagreement as Disagreement
from bemps.store.events import Event as Event
from bemps.store.events import Example as Example
from bemps.store.events import Item as Item
from bemps.store.events import ItemList as ItemList
from bemps.store.events import ListedAnswers as ListedAnswers
from bemps.store.events import NewAnswer as NewAnswer
from bemps.store.events import NewAnswer as Said  # noqa: F401  the name in release 0.1
from bemps.store.events import NewClass as NewClass
from bemps.store.events import Page as Page
from bemps.store.events import Row as Row
from bemps.store.sql.database_errors import NotRead as NotRead
from bemps.store.sql.database_errors import NotSaved as NotSaved
from bemps.store.store import Store as Store
from bemps.store.store import open_store as open_store

del _sqlalchemy
