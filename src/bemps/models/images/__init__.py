"""Image models (needs torch)."""

from bemps._utils.extras import requires_extra

with requires_extra("vision", "image models"):
    from bemps.models.images.image_classifier import ImageClassifier as ImageClassifier
