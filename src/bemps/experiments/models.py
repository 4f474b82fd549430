"""The models of a run by name. The keyword-only parameters of a factory are its options, and so possible axes."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from bemps.errors import MissingExtra, unknown_name
from bemps.members.base import Items, Model, check_vectors
from bemps.members.spectral import Spectrum, spectra_of
from bemps.members.splits import Validation
from bemps.types import Array


@dataclass(frozen=True)
class ModelEntry:
    """A row of the table.

    make      from the items of the pool, a folder for what is computed once, and options to a model
    reads     what it learns from: frozen vectors of an encoder, texts or images as they are, or anything
              ("plain": rows of numbers, flattened pixels, texts)
    help      one line
    features  it has vectors of its last layer, which BADGE, the -km names of gains and the Laplace family need
    full      options for the classifier trained on the whole pool, where they differ
    """

    make: Callable[..., Model]
    reads: Literal["plain", "vectors", "text", "image"]
    help: str
    features: bool = True
    full: Mapping[str, Any] = field(default_factory=dict)

    @property
    def encoded(self) -> bool:
        return self.reads == "vectors"

    @property
    def options(self) -> dict[str, object]:
        parameters = inspect.signature(self.make).parameters.values()
        own = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
        return own | ({"encoder": "auto"} if self.encoded else {})


def _logistic(
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
    from sklearn.linear_model import LogisticRegression

    from bemps.members.sklearn_members import SklearnEnsemble
    from bemps.members.tfidf import tfidf_classifier

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


def _forest(pool: Items, _: Path, *, members: int = 50) -> Model:
    from sklearn.ensemble import RandomForestClassifier

    from bemps.members.forest import ForestMembers
    from bemps.members.tfidf import tfidf_classifier

    forest = RandomForestClassifier(members, n_jobs=1)
    return ForestMembers(forest if isinstance(pool, np.ndarray) else tfidf_classifier(forest))


def _spectral(
    pool: Items,
    _: Path,
    *,
    members: int = 20,
    posterior_temperature: float | None = None,
    covariance: str = "full",
    first: int | None = None,
) -> Model:
    from bemps.members.linear import SpectralLaplace

    model = SpectralLaplace(
        pool, members=members, temperature=posterior_temperature, covariance=covariance, first=first
    )
    if isinstance(pool, np.ndarray) and not pool.flags.writeable:
        model.spectra_ = _spectra(_Rows(pool), first)
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
def _spectra(pool: _Rows, first: int | None) -> tuple[Spectrum, ...]:
    """Made once for all cells of a process that learn from the same vectors: seconds each time, with two views."""
    return spectra_of(check_vectors(pool.array), first)


def _heads(
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
    first: int | None = None,
) -> Model:
    try:
        from bemps.members.heads import HeadClassifier, defaults
    except ImportError as cause:
        raise MissingExtra("the model 'heads'", "torch", cause) from cause
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
        first=first,
        device="cpu",
    )


def _heads_mc(
    pool: Items,
    cache: Path,
    *,
    members: int = 5,
    hidden: int | None = None,
    dropout: float | None = None,
    validation: Validation = "none",
    resample: str = "none",
    epochs: int | None = None,
    first: int | None = None,
) -> Model:
    return _heads(
        pool,
        cache,
        members=members,
        posterior="dropout",
        hidden=hidden,
        dropout=dropout,
        validation=validation,
        resample=resample,
        epochs=epochs,
        first=first,
    )


def _finetuned(
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
    try:
        from bemps.members.text import TextClassifier
        from bemps.members.training import Recipe
    except ImportError as cause:
        raise MissingExtra("the model 'finetuned'", "text", cause) from cause
    return TextClassifier(
        members=members,
        posterior=posterior,
        validation=validation,
        top_layers=top_layers or None,
        recipe=Recipe(learning_rate=learning_rate, epochs=epochs),
        cache=cache,
        device="cpu",
    )


def _finetuned_laplace(
    pool: Items, cache: Path, *, members: int = 20, epochs: int | None = None, tuned: str = "minilm"
) -> Model:
    model: Model = _tuned(tuned, pool, cache, members, epochs)
    return model


def _adapted(
    pool: Items,
    cache: Path,
    *,
    members: int = 20,
    epochs: int | None = None,
    frozen: str = "bge-words",
    tuned: str = "minilm",
) -> Model:
    from bemps.members.adapted import AdaptedText

    return AdaptedText(_frozen(frozen, pool, cache, members), _tuned(tuned, pool, cache, members, epochs), pool=pool)


def _frozen(name: str, pool: Items, cache: Path, members: int) -> Any:
    """A linear head on the vectors of a text encoder and the words beside, kept in the cache."""
    from bemps.experiments.encoding import ENCODINGS  # which needs the rows of this table
    from bemps.members.feature_cache import CachedEncoder
    from bemps.members.linear import SpectralLaplace
    from bemps.members.text_views import MEANING, with_words

    makers = {form: encoding.make for form, encoding in ENCODINGS.items() if encoding.make and encoding.first}
    if name not in makers:
        raise unknown_name("frozen", name, makers)
    layers: Any = CachedEncoder(makers[name](), cache / "frozen")
    encode = with_words(layers, [str(text) for text in pool])
    return SpectralLaplace(pool, members=members, encode=encode, first=MEANING)


def _tuned(name: str, pool: Items, cache: Path, members: int, epochs: int | None) -> Any:
    try:
        from bemps.members.finetuned import FINE_TUNING, FineTunedLaplace
    except ImportError as cause:
        raise MissingExtra("a fine-tuned text model", "text", cause) from cause
    recipe = None if epochs is None else replace(FINE_TUNING, epochs=epochs)
    return FineTunedLaplace(name, members=members, recipe=recipe, pool=pool, cache=cache, device="cpu")


def _mnist_bnn(pool: Items, _: Path, *, members: int = 5, posterior: str = "dropout") -> Model:
    return _network("mnist-bnn", members, posterior)


def _vgg16bn(pool: Items, _: Path, *, members: int = 5, posterior: str = "dropout", width: int = 64) -> Model:
    return _network("vgg16bn", members, posterior, width=width)


def _network(name: str, members: int, posterior: str, **shape: int) -> Model:
    try:
        from bemps.members.image_networks import ARCHITECTURES
        from bemps.members.vision import ImageClassifier
    except ImportError as cause:
        raise MissingExtra(f"the network {name}", "vision", cause) from cause
    whole = ARCHITECTURES[name]
    network = replace(whole, build=partial(whole.build, **shape))
    model: Any = ImageClassifier(network, members=members, posterior=posterior, device="cpu")
    return model


MODELS: dict[str, ModelEntry] = {
    "logistic": ModelEntry(
        _logistic,
        "plain",
        "logistic regressions with Dirichlet weights, on rows, pixels, or TF-IDF of texts",
        features=False,
        full={"members": 1, "resample": "none"},
    ),
    "spectral": ModelEntry(_spectral, "vectors", "Laplace posterior of a linear head on frozen vectors"),
    "heads": ModelEntry(_heads, "vectors", "deep ensemble of heads on frozen vectors (torch)"),
    "heads-mc": ModelEntry(_heads_mc, "vectors", "one head under dropout masks on frozen vectors (torch)"),
    "forest": ModelEntry(
        _forest, "plain", "the trees of a random forest, on rows, pixels, or TF-IDF of texts", features=False
    ),
    "finetuned": ModelEntry(_finetuned, "text", "MiniLM, its top layers fine-tuned under dropout masks (torch)"),
    "finetuned-laplace": ModelEntry(
        _finetuned_laplace, "text", "MiniLM, all layers fine-tuned, Laplace posterior of the last (torch)"
    ),
    "adapted": ModelEntry(
        _adapted, "text", "a frozen encoder and a fine-tuned one, weighed by held-out labels (torch)"
    ),
    "mnist-bnn": ModelEntry(_mnist_bnn, "image", "the paper's MNIST network (torch)"),
    "vgg16bn": ModelEntry(_vgg16bn, "image", "VGG-16bn from scratch (torch)"),
}


def model(name: str) -> ModelEntry:
    """The row of a name."""
    if name not in MODELS:
        raise unknown_name("model", name, MODELS)
    return MODELS[name]
