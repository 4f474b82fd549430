"""The ensemble of heads on contents, which needs torch; `bemps.models.content_models` works without."""

from typing import Any

from bemps._utils.extras import requires_extra
from bemps.models import Items
from bemps.models.content_models import show_pool

with requires_extra("torch", "an ensemble of heads"):
    from bemps.models.heads.head_classifier import HeadClassifier


class ContentHeads(HeadClassifier):
    """A deep ensemble of small networks on contents; the pool is the learner's, and is not written down with it."""

    def __init__(self, encode: Any = None, *, members: int = 5) -> None:
        super().__init__(encode=encode, members=members)

    def see_pool(self, items: Items) -> None:
        """Give the pool to the encoder and to the heads."""
        show_pool(self.encode, items)
        super().see_pool(items)
