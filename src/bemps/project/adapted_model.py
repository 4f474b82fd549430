"""A fine-tuned text encoder of a project: what it made of the texts, on disk, and the model that uses it.

One file beside the project holds the vectors of the encoder, the weights of the two models, and what both said of
held-out labels. Whoever trains writes the file as one piece; whoever predicts needs no torch.
"""

import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from jaxtyping import Bool, Float

from bemps._utils.files import make_folder, written_whole
from bemps.models import Items, Model
from bemps.models.content_models import Encoder, encode_once, show_pool
from bemps.models.encoders.feature_cache import KEY_BYTES, keys_of
from bemps.models.pool_weights import Evidence, PoolWeights, pooled
from bemps.models.text.adapted_vectors import AdaptedVectors
from bemps.project.project_models import ProjectModel
from bemps.types import Array

BROKEN_FILE = (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile)


@dataclass(frozen=True, eq=False)
class Adaptation:
    """The result of fine-tuning an encoder.

    Attributes
    ----------
    model : str
        The name of the project model that it belongs to.
    labels : int
        The number of labels that the encoder learnt from.
    weights : PoolWeights
        The weights of the frozen and the fine-tuned model. A share of 0 means that fine-tuning does not help.
    evidence : Evidence
        The predictions of both for held-out labels.
    keys : tuple of bytes
        The digests of the texts.
    vectors : float array of shape (N, H)
        The vectors of the texts. It has no rows if the share is 0.
    """

    model: str
    labels: int
    weights: PoolWeights
    evidence: Evidence
    keys: tuple[bytes, ...]
    vectors: Float[Array, "N H"]

    @property
    def helps(self) -> bool:
        """Whether the fine-tuned encoder has a share in the predictions."""
        return self.weights.share > 0

    def save(self, path: Path) -> None:
        """Write the file completely or not at all."""
        make_folder(path.parent, "fine-tuned encoder")
        about = {"model": self.model, "labels": self.labels, "weights": vars(self.weights)}
        with written_whole(path, "fine-tuned encoder") as draft, draft.open("wb") as file:
            np.savez(
                file,
                about=np.array(json.dumps(about)),
                held_labels=self.evidence.labels,
                held_first=self.evidence.first,
                held_second=self.evidence.second,
                keys=np.array(self.keys, dtype=f"V{KEY_BYTES}"),
                vectors=self.vectors,
            )

    def held_out(self) -> tuple[Float[Array, " n"], Bool[Array, " n"]]:
        """Confidence in the predicted class of held-out labels, and whether it was right."""
        probs = pooled(self.evidence.first, self.evidence.second, self.weights)
        return probs.max(axis=1), probs.argmax(axis=1) == self.evidence.labels


def load_adaptation(path: Path, model: str) -> Adaptation | None:
    """Return what was saved for this model, or None if there is nothing or the file is damaged."""
    try:
        with path.open("rb") as raw, np.load(raw) as file:
            about = json.loads(str(file["about"]))
            evidence = Evidence(file["held_labels"], file["held_first"], file["held_second"])
            keys = tuple(key.tobytes() for key in file["keys"])
            saved = Adaptation(
                about["model"], about["labels"], PoolWeights(**about["weights"]), evidence, keys, file["vectors"]
            )
    except BROKEN_FILE:
        return None
    return saved if saved.model == model else None


def adaptation_file(folder: Path, project: str) -> Path:
    """Return the file with the fine-tuned vectors of a project; projects on a server share a folder."""
    return folder / f"adapted-{project or 'project'}.npz"


class AdaptedEncoder:
    """The vectors of the frozen encoder and then those of the fine-tuned one; zeros for texts that it has not read."""

    def __init__(self, frozen: Encoder, adaptation: Adaptation) -> None:
        self.frozen, self.adaptation = frozen, adaptation
        self.progress = frozen.progress
        self._rows = {key: row for row, key in enumerate(adaptation.keys)}

    def __call__(self, contents: Any) -> Float[Array, "N H"]:
        texts = list(contents)
        tuned = np.zeros((len(texts), self.adaptation.vectors.shape[1]), dtype=np.float32)
        rows = np.array([self._rows.get(key, -1) for key in keys_of(texts)], dtype=np.int64)
        tuned[rows >= 0] = self.adaptation.vectors[rows[rows >= 0]]
        return np.hstack([self.frozen(texts), tuned])

    def encode_once(self, contents: Sequence[str]) -> Float[Array, "N H"]:
        """Vectors of new texts, which the fine-tuned encoder has not read: zeros in its part."""
        frozen = encode_once(self.frozen, contents)
        return np.hstack([frozen, np.zeros((len(frozen), self.adaptation.vectors.shape[1]), dtype=np.float32)])


@dataclass(frozen=True)
class AdaptedProjectModel(ProjectModel):
    """The model of a project with an encoder that was fine-tuned on its labels."""

    @property
    def kind(self) -> str:
        """The kind of the model. Rounds of different kinds are not compared."""
        return f"{self.name}, adapted"

    def see_pool(self, contents: list[str]) -> None:
        """Show the unlabelled texts to the frozen encoder before the first `encode`."""
        show_pool(self._encoder.frozen, contents)

    def on_vectors(self, vectors: Items) -> Model:
        """Return a new model for the vectors of both encoders."""
        adaptation = self._encoder.adaptation
        model = AdaptedVectors(adaptation.vectors.shape[1], adaptation.weights, first_view=self.row.vectors.first_view)
        model.see_pool(vectors)
        return cast(Model, model)

    @property
    def _encoder(self) -> AdaptedEncoder:
        assert isinstance(self.encode, AdaptedEncoder)
        return self.encode

    @property
    def held_out(self) -> tuple[Float[Array, " n"], Bool[Array, " n"]]:
        """See `Adaptation.held_out`."""
        return self._encoder.adaptation.held_out()


def adapted_model(frozen: ProjectModel, adaptation: Adaptation) -> AdaptedProjectModel:
    """Return the model of a project that also uses a fine-tuned encoder."""
    share = f"{100 * adaptation.weights.share:.0f} %"
    words = (
        f"{frozen.words}, and an encoder that learnt from {adaptation.labels:,} of your labels ({share} of the weight)"
    )
    values = {name: getattr(frozen, name) for name in ("name", "row", "asked", "tuned", "cache")}
    return AdaptedProjectModel(words=words, encode=AdaptedEncoder(frozen.encode, adaptation), **values)
