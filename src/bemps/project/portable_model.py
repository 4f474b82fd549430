"""The model of a project for other machines: it names no folder of this one, and predicts images of any folder."""

from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from bemps.learner import ActiveLearner
from bemps.learner.saving.saved_learner import save
from bemps.models.image_contents import ImageVectors, encode_readable, images_in
from bemps.types import Array


def save_portable(learner: ActiveLearner, path: str | Path, *, force: bool = False) -> None:
    """Save a learner for other machines, to predict with. Of images it has what the model reads of them, not the files.

    Parameters
    ----------
    learner : ActiveLearner
        The learner of a project.
    path : path
        The folder.
    force : bool
        Whether to replace another learner in the folder.
    """
    encode = image_encoder(learner)
    save(learner if encode is None else _on_rows(learner, encode), path, force=force, portable=True)


def image_encoder(learner: ActiveLearner) -> ImageVectors | None:
    """Return what makes the vectors of a learner's images; None if its items are no images."""
    encode = getattr(learner.model, "encode", None)
    return encode if isinstance(encode, ImageVectors) else None


def _on_rows(learner: ActiveLearner, encode: ImageVectors) -> ActiveLearner:
    """The same learner, whose items are what its model reads of the images."""
    model: Any = learner.model
    rows = encode.rows_of(learner.items)
    model.see_pool(rows)
    portable = ActiveLearner(
        model, rows, ids=learner.pool.ids, classes=learner.classes, strategy=learner.strategy, seed=learner.seed
    )
    pool = learner.pool
    portable.pool.sync(pool.labels, pool.skipped, pool.classes, pool.version)
    return portable


def predict_images(learner: ActiveLearner, folder: Path, names: list[str]) -> Float[Array, "N K"]:
    """Predict images by their paths below a folder.

    Parameters
    ----------
    learner : ActiveLearner
        A learner of images.
    folder : Path
        The folder.
    names : list of str
        The paths.

    Returns
    -------
    array (N, K)
        The probabilities of the classes; NaN for images that cannot be decoded.
    """
    encode: Any = image_encoder(learner)
    read = lambda some: encode(images_in(str(folder), some))  # noqa: E731
    rows, vectors = encode_readable(read, str(folder), names)
    probs = np.full((len(names), len(learner.classes)), np.nan)
    if rows:
        probs[rows] = learner.predict(vectors)
    return probs
