"""The trees of a forest as members."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from bemps.errors import InputError
from bemps.models.base import Items, NotFitted, check_labelled, check_probs, count
from bemps.models.ensembling import smoothed
from bemps.models.scikit_learn.estimators import fitting, last_step, quiet, seeded_clone
from bemps.types import Array


class ForestMembers:
    """The trees of a random forest or of extra-trees as members: E is its number of trees.

    Parameters
    ----------
    forest : scikit-learn classifier
        A RandomForestClassifier, an ExtraTreesClassifier, or a pipeline that ends in one.
    smoothing : float
        Labels added to the L labels, spread evenly over the classes. Leaves are pure; a class that a tree never saw is
        then improbable rather than impossible.
    """

    def __init__(self, forest: Any, *, smoothing: float = 1.0) -> None:
        _require_forest(last_step(forest))
        self.forest, self.smoothing = forest, smoothing
        self.fitted_: Any = None
        self.codes_: Array = np.arange(0)
        self.K_ = self.labels_ = 0

    def fit(
        self, items: Items, labels: Int[Array, " L"], classes: Sequence[str], rng: np.random.Generator
    ) -> "ForestMembers":
        """Learn from labelled items.

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
        ForestMembers
            The model itself.
        """
        labels = check_labelled(items, labels, classes)
        fitted = seeded_clone(self.forest, rng)
        with quiet(), fitting(fitted):
            fitted.fit(items, labels)
        self.fitted_, self.codes_ = fitted, np.asarray(fitted.classes_)
        self.K_, self.labels_ = len(classes), len(labels)
        return self

    def predict(self, items: Items) -> Float[Array, "E N K"]:
        """Predict probabilities for each member; see `Model.predict`."""
        if self.fitted_ is None:
            raise NotFitted(self)
        trees = last_step(self.fitted_).estimators_
        probs = np.zeros((len(trees), count(items), self.K_))
        if count(items) == 0:
            return probs
        with quiet():
            rows = _tree_input(self.fitted_, items)
            probs[:, :, self.codes_] = np.stack([tree.predict_proba(rows) for tree in trees])
        return smoothed(check_probs(probs), self.labels_, self.smoothing)


def _require_forest(estimator: Any) -> None:
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

    if not isinstance(estimator, RandomForestClassifier | ExtraTreesClassifier):
        raise InputError(
            "forest",
            expected="a RandomForestClassifier or an ExtraTreesClassifier",
            got=type(estimator).__name__,
            fix="For other estimators use SklearnEnsemble.",
        )


def _tree_input(fitted: Any, items: Items) -> Any:
    """The input of the trees: the items after the earlier steps of a pipeline, in float32."""
    alone: Any = items if hasattr(items, "tocsr") else np.asarray(items)
    rows = fitted[:-1].transform(items) if len(getattr(fitted, "steps", ())) > 1 else alone
    return (rows.to_numpy() if hasattr(rows, "to_numpy") else rows).astype(np.float32)
