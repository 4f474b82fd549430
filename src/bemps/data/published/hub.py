"""Published datasets from the Hugging Face hub; needs the `datasets` package and a network."""

from importlib import import_module
from itertools import chain
from typing import Any

import numpy as np

from bemps.data.images import ImageArray
from bemps.data.published.catalogue import Contents, HubSource, PublishedDataset


def fetch(entry: PublishedDataset, hub: HubSource) -> dict[str, Contents]:
    """Load the parts of a dataset from the hub, or from the cache of the package. Errors are those of the package."""
    package = import_module("datasets")
    options = {} if hub.revision is None else {"revision": hub.revision}
    splits = package.load_dataset(hub.name, **options)
    parts = {"pool": "train", "test": "test"} | ({"dev": hub.dev} if hub.dev else {})
    return {part: _contents(splits[split], hub, entry.classes) for part, split in parts.items()}


def _contents(split: Any, hub: HubSource, classes: tuple[str, ...]) -> Contents:
    names = _names(split.features[hub.label]) or classes
    contents, labels = list(split[hub.content]), list(split[hub.label])
    if isinstance(contents[0], list):  # csabstruct: a row is an abstract
        contents, labels = list(chain.from_iterable(contents)), list(chain.from_iterable(labels))
    words = [label if isinstance(label, str) else names[label] for label in labels]
    if isinstance(contents[0], str):
        return contents, words
    return ImageArray.from_array(np.stack([np.asarray(picture, dtype=np.uint8) for picture in contents])), words


def _names(feature: Any) -> list[str] | None:
    """The class names of a label column, or of a column of lists of labels."""
    inner = getattr(feature, "feature", feature)
    return getattr(inner, "names", None)
