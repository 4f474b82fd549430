"""The ensemble of heads on contents, which needs torch; `bemps.content_models` works without."""

from typing import Any

from bemps.content_models import show_pool
from bemps.errors import MissingExtra
from bemps.members import Items

try:
    from bemps.members.heads import HeadClassifier
except ImportError as cause:
    raise MissingExtra("an ensemble of heads", "torch", cause) from cause


class ContentHeads(HeadClassifier):
    """A deep ensemble of small networks on contents; the pool is the learner's, and is not written down with it."""

    def __init__(self, encode: Any = None, *, members: int = 5) -> None:
        super().__init__(encode=encode, members=members)

    def see_pool(self, items: Items) -> None:
        show_pool(self.encode, items)
        super().see_pool(items)
