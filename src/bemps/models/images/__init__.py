"""Image models (needs torch)."""

from bemps.models.images.image_classifier import ImageClassifier as ImageClassifier
