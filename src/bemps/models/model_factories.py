"""The functions that make the models of a grid; the table is `bemps.models.model_registry`.

A factory takes the items of the pool and a folder for what is computed once, and returns a model. Its keyword-only
parameters are the options of the model, and so possible axes of a grid. None takes what suits the model. An option
means the same in every factory (`bemps.models.option_values` has its values):

    members                how many regressions, trees, networks or dropout masks there are, or how many are drawn
    posterior              where members come from: "ensemble" or "dropout"
    resample               how labels weigh in each member: "dirichlet", "bootstrap" or "none"
    validation             which labels are held out: "none", "dynamic", "constant" or a `Fixed`
    calibrate              whether each member gets a temperature
    weighting              how members weigh: "uniform" or "likelihood"
    C                      the inverse strength of the prior
    posterior_temperature  the temperature of the Laplace posterior
    covariance             the form of its covariance: "full" or "shared"
    first_view             the columns of the first of two views; None where there is one view
    hidden, dropout        the number of hidden units, and the rate of dropout
    epochs, learning_rate  the largest number of epochs, and the learning rate
    top_layers             how many layers learn; None or 0 is all of them
    frozen, tuned          the text encoder that stays as it is, and the one to fine-tune
    width                  the channels of the first convolution
"""

from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from bemps._utils.extras import requires_extra
from bemps.models.base import Items, Model, check_vectors
from bemps.models.encoders.encoder_registry import ENCODERS, encoder_row
from bemps.models.linear.spectral_features import Spectrum, spectra_of
from bemps.models.option_values import check_encoder, frozen_encoders
from bemps.models.validation_splits import Validation
from bemps.types import Array


def logistic(
    pool: Items,
    _: Path,
    *,
    members: int = 10,
    C: float | None = None,
    resample: str = "dirichlet",
    validation: Validation = "none",
    calibrate: bool = False,
    weighting: str = "uniform",
) -> Model:
    """Logistic regressions with weights of the labels drawn at random, on rows of numbers or TF-IDF of texts."""
    from sklearn.linear_model import LogisticRegression

    from bemps.models.encoders.tfidf import tfidf_classifier
    from bemps.models.scikit_learn.sklearn_ensemble import SklearnEnsemble

    if isinstance(pool, np.ndarray):
        estimator: Any = LogisticRegression(C=30.0 if C is None else C, max_iter=200)
    else:
        estimator = tfidf_classifier(LogisticRegression(C=10.0 if C is None else C, max_iter=1000))
    return SklearnEnsemble(
        estimator,
        members=members,
        resample=resample,
        validation=validation,
        calibrate=calibrate,
        weighting=weighting,
    )


def forest(pool: Items, _: Path, *, members: int = 50) -> Model:
    """The trees of a random forest, on rows of numbers or TF-IDF of texts."""
    from sklearn.ensemble import RandomForestClassifier

    from bemps.models.encoders.tfidf import tfidf_classifier
    from bemps.models.scikit_learn.forest import ForestMembers

    forest = RandomForestClassifier(members, n_jobs=1)
    return ForestMembers(forest if isinstance(pool, np.ndarray) else tfidf_classifier(forest))


def spectral(
    pool: Items,
    _: Path,
    *,
    members: int = 20,
    posterior_temperature: float | None = None,
    covariance: str = "full",
    first_view: int | None = None,
) -> Model:
    """A linear head on vectors, its members drawn from a Laplace posterior."""
    from bemps.models.linear.spectral_classifiers import SpectralLaplace

    model = SpectralLaplace(
        pool, members=members, temperature=posterior_temperature, covariance=covariance, first_view=first_view
    )
    if isinstance(pool, np.ndarray) and not pool.flags.writeable:
        model.spectra_ = _spectra(_Rows(pool), first_view)
    return model


@dataclass(frozen=True, eq=False)
class _Rows:
    """An array that nobody can write to, and so is known by its identity."""

    array: Array

    def __hash__(self) -> int:
        return id(self.array)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Rows) and self.array is other.array


@lru_cache(maxsize=2)
def _spectra(pool: _Rows, first_view: int | None) -> tuple[Spectrum, ...]:
    """Made once for all cells of a process that learn from the same vectors: seconds each time, with two views."""
    return spectra_of(check_vectors(pool.array), first_view)


def heads(
    pool: Items,
    _: Path,
    *,
    members: int = 5,
    posterior: str = "ensemble",
    hidden: int | None = None,
    dropout: float | None = None,
    validation: Validation = "none",
    resample: str = "none",
    calibrate: bool = False,
    weighting: str = "uniform",
    epochs: int | None = None,
    first_view: int | None = None,
) -> Model:
    """Small networks on vectors."""
    with requires_extra("torch", "the model 'heads'"):
        from bemps.models.heads.head_classifier import HeadClassifier, defaults
    recipe = None if epochs is None else replace(defaults(posterior, hidden).recipe, epochs=epochs)
    return HeadClassifier(
        pool,
        members=members,
        posterior=posterior,
        hidden=hidden,
        dropout=dropout,
        validation=validation,
        resample=resample,
        calibrate=calibrate,
        weighting=weighting,
        recipe=recipe,
        first_view=first_view,
        device="cpu",
    )


def heads_mc(
    pool: Items,
    cache: Path,
    *,
    members: int = 5,
    hidden: int | None = None,
    dropout: float | None = None,
    validation: Validation = "none",
    resample: str = "none",
    epochs: int | None = None,
    first_view: int | None = None,
) -> Model:
    """One small network on vectors, with dropout masks as its members."""
    return heads(
        pool,
        cache,
        members=members,
        posterior="dropout",
        hidden=hidden,
        dropout=dropout,
        validation=validation,
        resample=resample,
        epochs=epochs,
        first_view=first_view,
    )


def finetuned(
    pool: Items,
    cache: Path,
    *,
    members: int = 5,
    posterior: str = "dropout",
    validation: Validation = "dynamic",
    top_layers: int | None = 2,
    epochs: int = 30,
    learning_rate: float = 5e-5,
) -> Model:
    """MiniLM with its top layers fine-tuned."""
    with requires_extra("finetune", "the model 'finetuned'"):
        from bemps.models._torch.training_loop import TrainingRecipe
        from bemps.models.text.text_classifier import TextClassifier
    return TextClassifier(
        members=members,
        posterior=posterior,
        validation=validation,
        top_layers=top_layers or None,
        recipe=TrainingRecipe(learning_rate=learning_rate, epochs=epochs),
        cache=cache,
        device="cpu",
    )


def finetuned_laplace(
    pool: Items, cache: Path, *, members: int = 20, epochs: int | None = None, tuned: str = "minilm"
) -> Model:
    """A text encoder fine-tuned in all layers, with a Laplace posterior of the last."""
    model: Model = _tuned(tuned, pool, cache, members, epochs)
    return model


def finetuned_dropout(
    pool: Items, cache: Path, *, members: int = 5, epochs: int | None = None, tuned: str = "minilm"
) -> Model:
    """A text encoder fine-tuned in all layers, with masks that all texts share as its members."""
    return _fine_tuned("dropout", cache, members, epochs, tuned)


def finetuned_ensemble(
    pool: Items, cache: Path, *, members: int = 5, epochs: int | None = None, tuned: str = "minilm"
) -> Model:
    """Text encoders fine-tuned in all layers, each with a validation split of its own that stops it."""
    return _fine_tuned("ensemble", cache, members, epochs, tuned)


def adapted(
    pool: Items,
    cache: Path,
    *,
    members: int = 20,
    epochs: int | None = None,
    frozen: str = "bge-words",
    tuned: str = "minilm",
) -> Model:
    """A frozen text encoder and a fine-tuned one, weighed by held-out labels."""
    from bemps.models.text.adapted_text import AdaptedText

    return AdaptedText(_frozen(frozen, pool, cache, members), _tuned(tuned, pool, cache, members, epochs), pool=pool)


def _frozen(name: str, pool: Items, cache: Path, members: int) -> Any:
    """A linear head on the vectors of a text encoder and the words beside, kept in the cache."""
    from bemps.models.encoders.feature_cache import CachedEncoder
    from bemps.models.encoders.text_views import with_words
    from bemps.models.linear.spectral_classifiers import SpectralLaplace

    check_encoder(name, "frozen", names=frozen_encoders(), other=ENCODERS)
    row = encoder_row(name)
    assert row.make is not None
    assert row.first_view is not None
    layers: Any = CachedEncoder(row.make(), cache / "frozen")
    encode = with_words(layers, [str(text) for text in pool], row.first_view)
    return SpectralLaplace(pool, members=members, encode=encode, first_view=row.first_view)


def _fine_tuned(posterior: str, cache: Path, members: int, epochs: int | None, name: str) -> Model:
    with requires_extra("finetune", "a fine-tuned text model"):
        from bemps.models.text.finetuned_laplace import fine_tuned
    return fine_tuned(posterior, name=name, members=members, epochs=epochs, cache=cache, device="cpu")


def _tuned(name: str, pool: Items, cache: Path, members: int, epochs: int | None) -> Any:
    with requires_extra("finetune", "a fine-tuned text model"):
        from bemps.models.text.finetuned_laplace import FINE_TUNING, FineTunedLaplace
    recipe = None if epochs is None else replace(FINE_TUNING, epochs=epochs)
    return FineTunedLaplace(name, members=members, recipe=recipe, pool=pool, cache=cache, device="cpu")


def mnist_bnn(pool: Items, _: Path, *, members: int = 5, posterior: str = "dropout") -> Model:
    """The paper's network for MNIST."""
    return _network("mnist-bnn", members, posterior)


def vgg16bn(pool: Items, _: Path, *, members: int = 5, posterior: str = "dropout", width: int = 64) -> Model:
    """VGG-16 with batch normalisation, trained from scratch."""
    return _network("vgg16bn", members, posterior, width=width)


def _network(name: str, members: int, posterior: str, **shape: int) -> Model:
    with requires_extra("vision", f"the network {name}"):
        from bemps.models.images.image_classifier import ImageClassifier
        from bemps.models.images.image_networks import ARCHITECTURES
    architecture = ARCHITECTURES[name]
    network = replace(architecture, build=partial(architecture.build, **shape))
    model: Any = ImageClassifier(network, members=members, posterior=posterior, device="cpu")
    return model
