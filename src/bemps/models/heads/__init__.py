"""Heads on frozen features (needs torch)."""

from bemps.models.heads.head_classifier import HeadClassifier as HeadClassifier
