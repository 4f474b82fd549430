"""Heads on frozen features (needs torch)."""

from bemps._utils.extras import requires_extra

with requires_extra("torch", "heads on frozen features"):
    from bemps.models.heads.head_classifier import HeadClassifier as HeadClassifier
