"""Handling scikit-learn estimators: seeded copies, sample weights, pipelines, silence."""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from bemps.errors import BempsError, InputError


@contextmanager
def quiet() -> Iterator[None]:
    """Silence warnings: scikit-learn warns of few labels and missing classes, which are normal here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def fitting(estimator: Any, use: str = "fitted with") -> Iterator[None]:
    """Turn errors of an estimator into a sentence: its settings or the items are not what it takes."""
    try:
        yield
    except BempsError:
        raise
    except (TypeError, ValueError, AttributeError, re.error) as error:
        raise InputError(
            f"estimator {type(last_step(estimator)).__name__}",
            expected=f"settings and items that it can be {use}",
            got=f"{type(error).__name__}: {' '.join(str(error).split())[:200]}",
            fix="Correct its arguments, or pass the items that it takes.",
        ) from error


def last_step(estimator: Any) -> Any:
    """The estimator itself, or the last one of a pipeline."""
    steps = getattr(estimator, "steps", None)
    return steps[-1][1] if steps else estimator


def weight_argument(estimator: Any) -> str | None:
    """The name by which `fit` takes a weight for each label; None if it takes none."""
    from sklearn.utils.validation import has_fit_parameter

    if not has_fit_parameter(last_step(estimator), "sample_weight"):
        return None
    steps = getattr(estimator, "steps", None)
    return f"{steps[-1][0]}__sample_weight" if steps else "sample_weight"


def require_probabilities(estimator: Any) -> None:
    """Refuse what scikit-learn cannot clone, or what gives no probabilities."""
    if not isinstance(estimator, type) and hasattr(estimator, "get_params") and hasattr(estimator, "predict_proba"):
        return
    raise InputError(
        "estimator",
        expected="a scikit-learn classifier with predict_proba",
        got=repr(estimator)[:80],
        fix=_probabilities_for(estimator),
    )


def _probabilities_for(estimator: Any) -> str:
    from sklearn.base import is_regressor

    if isinstance(estimator, type):
        return f"Make one: {estimator.__name__}()."
    if hasattr(estimator, "get_params") and is_regressor(estimator):
        return "It predicts numbers; choose a classifier, such as LogisticRegression."
    return "Wrap it in sklearn.calibration.CalibratedClassifierCV, or choose one with probabilities."


def seeded_clone(estimator: Any, rng: np.random.Generator) -> Any:
    """An unfitted copy; every `random_state` in it, also of inner estimators, is drawn from the generator."""
    from sklearn.base import clone

    copy = clone(estimator)
    names = sorted(copy.get_params(deep=True))
    seeds = {n: int(rng.integers(2**31)) for n in names if n.split("__")[-1] == "random_state"}
    return copy.set_params(**seeds)
