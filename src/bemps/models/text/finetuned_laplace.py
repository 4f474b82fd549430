"""A text encoder that is fine-tuned on the labels, under a linear head with a Laplace posterior.

The two parts are fitted separately. `fit_encoder` trains the network in tens of seconds to minutes, also in another
process, and `save_encoder` writes it for `load_encoder`. `fit_head` is a logistic regression on the features of the
last layer, below a second, so that it can follow every label. The head makes the members. The closed forms and all
strategies work with its features. For MC-dropout or a deep ensemble of the same networks see `fine_tuned`.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from bemps._utils.extras import requires_extra
from bemps._utils.files import written_whole
from bemps.checks import within
from bemps.errors import InputError, unknown_name
from bemps.models.base import Items, Model, NotFitted, check_labelled, count, take
from bemps.models.encoders.onnx_text import EncoderParts
from bemps.models.encoders.transformer_graph import LAST, transformer_graph
from bemps.models.linear.spectral_classifiers import SpectralLaplace
from bemps.models.text.adapted_vectors import HEAD
from bemps.types import Array

with requires_extra("finetune", "a fine-tuned text encoder"):
    from safetensors.torch import load_file, save_file

    from bemps.models._torch.training_loop import TrainingRecipe
    from bemps.models.text.pretrained import MINILM
    from bemps.models.text.recent_vectors import RecentVectors
    from bemps.models.text.text_classifier import TextClassifier
    from bemps.models.text.tokens import Progress

# Chosen on seeds of their own (docs/appendices/recipes.md): 12 epochs are no better than 8, nor is learning the words.
FINE_TUNING = TrainingRecipe(learning_rate=1e-4, head_rate=5e-3, epochs=8, patience=None, warm_up=0.1)
NETWORKS = {  # validation and recipe of the posteriors that are networks or masks
    "dropout": ("none", FINE_TUNING),
    "ensemble": ("dynamic", replace(FINE_TUNING, epochs=30, patience=6)),
}
BATCH = 16
MAX_LENGTH = 96
TOP_LAYERS = {"bge-small": 6, "gte-small": 6}
LAST_BIAS = "classifier.bias"  # one number for each class
CENTRE = 512  # texts of the pool from which the features are centred and scaled


class FineTunedLaplace:
    """An encoder fine-tuned on the labels; its members are samples of the Laplace posterior of the last layer.

    Parameters
    ----------
    name : str or Path, optional
        `minilm`, `bge-small`, `gte-small`, a local folder of an encoder, or a name on the Hugging Face hub.
    members : int, optional
        The number of samples of the posterior.
    temperature : float, optional
        The factor of the posterior covariance; see `SpectralLaplace`.
    recipe : TrainingRecipe, optional
        How to train; None: `FINE_TUNING`.
    top_layers : int, optional
        How many layers learn; the states of the layers below are computed once and cached. None: all, but the upper six
        of the twelve of `bge-small` and `gte-small`, which were no worse.
    max_length : int, optional
        The largest number of tokens of a text; the rest is cut.
    pool : sequence of str, optional
        The unlabelled texts, on a sample of which features are centred. None: on the labelled ones.
    cache : Path or str, optional
        Folder for tokens and for the vectors of the encoder as it was before training.
    checkpoints : Path or str, optional
        Folder of this model alone: an interrupted `fit_encoder`, called again, goes on after the last epoch.
    device : str, optional
        Where the network runs; None takes CUDA where there is one, else the processor.
    progress : callable, optional
        Called with (task, done, total). What it raises ends the training.
    """

    def __init__(
        self,
        name: str | Path = MINILM,
        *,
        members: int = 20,
        temperature: float | None = None,
        recipe: TrainingRecipe | None = None,
        top_layers: int | None = None,
        max_length: int = MAX_LENGTH,
        pool: Items | None = None,
        cache: Path | str | None = None,
        checkpoints: Path | str | None = None,
        device: str | None = None,
        progress: Progress | None = None,
    ) -> None:
        within(members, "members", 1)
        self.name, self.members, self.temperature, self.recipe = name, members, temperature, recipe
        self.top_layers, self.max_length, self.pool, self.cache = top_layers, max_length, pool, cache
        self.checkpoints, self.device, self.progress = checkpoints, device, progress
        self._network = self._untrained()
        self._vectors: RecentVectors | None = None
        self._head: SpectralLaplace | None = None

    def see_pool(self, items: Items) -> None:
        """Centre the features on these texts from the next `fit_head` on."""
        self.pool = items

    def fit(
        self, items: Items, labels: Int[Array, " L"], classes: Sequence[str], rng: np.random.Generator
    ) -> "FineTunedLaplace":
        """Train the network, then fit the head.

        Parameters
        ----------
        items : array, table, or sequence
            The labelled items.
        labels : array (L,) of int
            Codes into `classes`.
        classes : sequence of str
            The ordered class names.
        rng : numpy Generator
            The source of randomness.

        Returns
        -------
        FineTunedLaplace
            The model itself.
        """
        return self.fit_encoder(items, labels, classes, rng).fit_head(items, labels, classes, rng)

    def fit_encoder(
        self, items: Items, labels: Int[Array, " L"], classes: Sequence[str], rng: np.random.Generator
    ) -> "FineTunedLaplace":
        """Train the network from its pretrained weights; the head has to be fitted next.

        Parameters
        ----------
        items : array, table, or sequence
            The labelled items.
        labels : array (L,) of int
            Codes into `classes`.
        classes : sequence of str
            The ordered class names.
        rng : numpy Generator
            The source of randomness.

        Returns
        -------
        FineTunedLaplace
            The model itself.
        """
        check_labelled(items, labels, classes)
        self._vectors = self._head = None
        self._network.progress = self.progress
        self._network.fit(items, labels, classes, rng)
        self._vectors = RecentVectors(self._network.features)
        return self

    def fit_head(
        self, items: Items, labels: Int[Array, " L"], classes: Sequence[str], rng: np.random.Generator
    ) -> "FineTunedLaplace":
        """Fit the head on the features of the trained network; labels may be more than the network has seen.

        Parameters
        ----------
        items : array, table, or sequence
            The labelled items.
        labels : array (L,) of int
            Codes into `classes`.
        classes : sequence of str
            The ordered class names.
        rng : numpy Generator
            The source of randomness.

        Returns
        -------
        FineTunedLaplace
            The model itself.
        """
        labels = check_labelled(items, labels, classes)
        head = SpectralLaplace(
            self._centre(items),
            members=self.members,
            temperature=self.temperature,
            encode=self._encode(),
            recipe=HEAD,
        )
        head.fit(items, labels, classes, rng)
        self._head = head
        return self

    def predict(self, items: Items) -> Float[Array, "E N K"]:
        """Predict probabilities for each member; see `Model.predict`."""
        return self._fitted().predict(items)

    def predict_map(self, items: Items) -> Float[Array, "N K"]:
        """Probabilities of the most probable head."""
        return self._fitted().predict_map(items)

    def features(self, items: Items) -> Float[Array, "N H"]:
        """The last layer of the trained network, centred and scaled, the bias last."""
        return self._fitted().features(items)

    def last_layer(self, items: Items) -> Float[Array, "N H"]:
        """The last layer of the trained network as it is; it needs no head."""
        return self._encode()(items)

    def embeddings(self, items: Items) -> Float[Array, "N H"]:
        """Vectors of the encoder as it was before any training."""
        return self._network.embeddings(items)

    def folded_members(self) -> tuple[Float[Array, "D E K"], Float[Array, "E K"]]:
        """What predicts from the last layer: member e has the logits `vectors @ F[:, e] + b[e]`."""
        return self._fitted().folded_members()

    def encoder_parts(self) -> EncoderParts:
        """What another program needs to make the last layer, whose vectors have any norm, without torch."""
        self._encode()
        encoder, tokenizer = self._network.trained_encoder()
        weights = {name: value.cpu().numpy() for name, value in encoder.state_dict().items()}
        config: Any = encoder.config
        graph = transformer_graph(weights, config.to_dict(), bits=32, longest=self.max_length)
        return EncoderParts(graph, tokenizer.backend_tokenizer.to_str(), [LAST], ["mean"])

    def save_encoder(self, path: Path | str) -> None:
        """Write the network of `fit_encoder` to a file of safetensors."""
        self._encode()
        [weights] = self._network.trained_weights()
        with written_whole(Path(path), "encoder") as draft:
            save_file({key: value.contiguous() for key, value in weights.items()}, draft)

    def load_encoder(self, path: Path | str) -> "FineTunedLaplace":
        """Load the network that another model of the same name saved; the head has to be fitted next."""
        if not Path(path).is_file():
            raise InputError(
                f"encoder {path}", expected="a file of `save_encoder`", got="none", fix="Train and save it first."
            )
        weights = load_file(path)
        self._network.restore([weights], len(weights[LAST_BIAS]))
        self._vectors, self._head = RecentVectors(self._network.features), None
        return self

    def _untrained(self) -> TextClassifier:
        return TextClassifier(
            self.name,
            members=1,
            validation="none",
            recipe=self.recipe or FINE_TUNING,
            head="mean",
            learn_words=False,
            top_layers=self.top_layers or TOP_LAYERS.get(str(self.name)),
            cache=self.cache,
            max_length=self.max_length,
            batch_size=BATCH,
            device=self.device,
            checkpoints=self.checkpoints,
        )

    def _centre(self, items: Items) -> Items:
        texts = items if self.pool is None or count(self.pool) == 0 else self.pool
        if count(texts) <= CENTRE:
            return texts
        return take(texts, np.sort(np.random.default_rng(0).choice(count(texts), CENTRE, replace=False)))

    def _encode(self) -> RecentVectors:
        if self._vectors is None:
            raise NotFitted(self)
        return self._vectors

    def _fitted(self) -> SpectralLaplace:
        if self._head is None:
            raise NotFitted(self)
        return self._head


def fine_tuned(
    posterior: str = "laplace",
    *,
    name: str | Path = MINILM,
    members: int | None = None,
    epochs: int | None = None,
    cache: Path | str | None = None,
    device: str | None = None,
    progress: Progress | None = None,
) -> Model:
    """A fine-tuned text classifier with one of three posteriors.

    Parameters
    ----------
    posterior : {"laplace", "dropout", "ensemble"}, optional
        `laplace` (of the last layer), `dropout` (one network under consistent masks) or `ensemble` (networks that
        differ in head, order of batches and validation split, which stops them early, as in the paper).
    name : str or Path, optional
        The encoder: a name of the table, a folder, or a name on the hub.
    members : int, optional
        None: 20 samples of a Laplace posterior, which are cheap; five networks or masks.
    epochs : int, optional
        None: 8; for an ensemble at most 30.
    cache : Path or str, optional
        The folder for what is computed once.
    device : str, optional
        Where the network runs; None takes CUDA where there is one, else the processor.
    progress : callable, optional
        Called with (task, done, total). What it raises ends the training.

    Returns
    -------
    Model
        The classifier.

    Raises
    ------
    InputError
        The posterior is unknown.
    """
    if posterior not in ("laplace", *NETWORKS):
        raise unknown_name("posterior", posterior, ("laplace", *NETWORKS))
    validation, recipe = NETWORKS.get(posterior, ("none", FINE_TUNING))
    recipe = recipe if epochs is None else replace(recipe, epochs=epochs)
    if posterior == "laplace":
        return FineTunedLaplace(
            name,
            members=20 if members is None else members,
            recipe=recipe,
            cache=cache,
            device=device,
            progress=progress,
        )
    return TextClassifier(
        name,
        members=5 if members is None else members,
        posterior=posterior,
        validation=validation,
        recipe=recipe,
        head="mean",
        learn_words=False,
        max_length=MAX_LENGTH,
        batch_size=BATCH,
        cache=cache,
        device=device,
        progress=progress,
    )
