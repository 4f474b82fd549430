"""The models of a run by name. The keyword-only parameters of a factory are its options, and so possible axes."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bemps.errors import MissingExtra, unknown_name
from bemps.members.base import Items, Model


@dataclass(frozen=True)
class ModelEntry:
    """A row of the table.

    make      from the items of the pool and options to a model
    encoded   it learns from frozen vectors of an encoder, not from texts or pixels
    help      one line
    full      options for the classifier trained on the whole pool, where they differ
    """

    make: Callable[..., Model]
    encoded: bool
    help: str
    full: Mapping[str, Any] = field(default_factory=dict)

    @property
    def options(self) -> dict[str, object]:
        parameters = inspect.signature(self.make).parameters.values()
        own = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
        return own | ({"encoder": "auto"} if self.encoded else {})


def _logistic(
    pool: Items,
    *,
    members: int = 10,
    C: float | None = None,
    resample: str = "dirichlet",
    validation: str = "none",
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


def _forest(pool: Items, *, members: int = 50) -> Model:
    from sklearn.ensemble import RandomForestClassifier

    from bemps.members.forest import ForestMembers
    from bemps.members.tfidf import tfidf_classifier

    forest = RandomForestClassifier(members, n_jobs=1)
    return ForestMembers(forest if isinstance(pool, np.ndarray) else tfidf_classifier(forest))


def _spectral(pool: Items, *, members: int = 20, posterior_temperature: float = 0.1, covariance: str = "full") -> Model:
    from bemps.members.linear import SpectralLaplace

    return SpectralLaplace(pool, members=members, temperature=posterior_temperature, covariance=covariance)


def _heads(
    pool: Items,
    *,
    members: int = 5,
    posterior: str = "ensemble",
    hidden: int | None = None,
    dropout: float | None = None,
    validation: str = "none",
    resample: str = "none",
    calibrate: bool = False,
    weighting: str = "uniform",
) -> Model:
    try:
        from bemps.members.heads import HeadClassifier
    except ImportError as cause:
        raise MissingExtra("the model 'heads'", "torch", cause) from cause
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
        device="cpu",
    )


def _heads_mc(
    pool: Items,
    *,
    members: int = 5,
    hidden: int | None = None,
    dropout: float | None = None,
    validation: str = "none",
    resample: str = "none",
) -> Model:
    return _heads(
        pool,
        members=members,
        posterior="dropout",
        hidden=hidden,
        dropout=dropout,
        validation=validation,
        resample=resample,
    )


MODELS: dict[str, ModelEntry] = {
    "logistic": ModelEntry(
        _logistic,
        False,
        "logistic regressions with Dirichlet weights, on rows, pixels, or TF-IDF of texts",
        {"members": 1, "resample": "none"},
    ),
    "spectral": ModelEntry(_spectral, True, "Laplace posterior of a linear head on frozen vectors"),
    "heads": ModelEntry(_heads, True, "deep ensemble of heads on frozen vectors (torch)"),
    "heads-mc": ModelEntry(_heads_mc, True, "one head under dropout masks on frozen vectors (torch)"),
    "forest": ModelEntry(_forest, False, "the trees of a random forest, on rows, pixels, or TF-IDF of texts"),
}


def model(name: str) -> ModelEntry:
    """The row of a name."""
    if name not in MODELS:
        raise unknown_name("model", name, MODELS)
    return MODELS[name]
