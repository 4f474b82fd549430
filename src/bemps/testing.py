"""The contract of every model, as tests that you can run on your own models.

    from bemps.testing import ModelCase, model_contract

    CASES = [ModelCase("mine", MyModel, items, labels, classes)]

    @model_contract(*CASES)
    def test_my_models(case, check):
        check(case)

Each check is a plain function of a case and says with an AssertionError what is wrong; only `model_contract`
needs pytest. `items` and `labels` are real: a dozen items or more, three classes or more, two labels of each.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from bemps.errors import BempsError, InputError
from bemps.models.base import HasEmbeddings, HasFeatures, HasSurprisal, HasWeights, Items, Model, count, take
from bemps.types import Array

SUM_TOLERANCE = 1e-5


@dataclass(frozen=True, eq=False)
class ModelCase:
    """A model under test, with labelled items that it can learn.

    Attributes
    ----------
    name : str
        The name of the case in the ids of the tests.
    make : callable
        Returns a new model that is not fitted.
    items : Items
        Labelled items, a dozen or more.
    labels : array of int (L,)
        Their codes: three classes or more, two labels of each.
    classes : sequence of str
        Names of the classes.
    tolerance : float
        How far the probabilities of an item may differ between batches (float32 models: about 1e-5).
    members_differ : bool
        False for a model of one member, or whose members agree by design.
    learns : bool
        False for a model that does not learn from its labels (probabilities from a file).
    """

    name: str
    make: Callable[[], Model]
    items: Items
    labels: Int[Array, " L"]
    classes: Sequence[str]
    tolerance: float = 1e-6
    members_differ: bool = True
    learns: bool = True

    def fitted(self, seed: int = 0) -> Model:
        """A new model, fitted to the labelled items.

        Parameters
        ----------
        seed : int
            Seed of the fit.

        Returns
        -------
        Model
            The fitted model.
        """
        return self.make().fit(self.items, self.labels, self.classes, np.random.default_rng(seed))

    def only(self, keep: Int[Array, " n"]) -> "ModelCase":
        """The same case with only some of the labelled items.

        Parameters
        ----------
        keep : array of int (n,)
            Positions of the items.

        Returns
        -------
        ModelCase
            The smaller case.
        """
        return replace(self, items=take(self.items, keep), labels=self.labels[keep])


def _probs(case: ModelCase, model: Model, items: Items) -> Float[Array, "E N K"]:
    """The prediction, checked to be a distribution for each member and item."""
    probs = model.predict(items)
    assert probs.ndim == 3, f"predict returned {probs.ndim} axes, expected (E, N, K)"
    expected = (count(items), len(case.classes))
    assert probs.shape[1:] == expected, f"predict returned {probs.shape}, expected (E, {expected[0]}, {expected[1]})"
    assert np.isfinite(probs).all(), "NaN or infinity in the probabilities"
    assert probs.min(initial=0) >= 0, "a negative probability"
    off = np.abs(probs.sum(axis=-1, dtype=np.float64) - 1).max(initial=0)
    assert off < SUM_TOLERANCE, f"rows sum to one only within {off:.2g}"
    return probs


def check_probabilities(case: ModelCase) -> None:
    """(E, N, K), rows sum to one; fit returns the model and leaves its arguments alone."""
    model, labels = case.make(), case.labels.copy()
    assert model.fit(case.items, labels, case.classes, np.random.default_rng(0)) is model
    assert np.array_equal(labels, case.labels), "fit changed the labels"
    _probs(case, model, case.items)


def check_no_items(case: ModelCase) -> None:
    """The prediction of no items has the shape (E, 0, K)."""
    _probs(case, case.fitted(), take(case.items, np.arange(0)))


def check_same_seed_same_numbers(case: ModelCase) -> None:
    """Two fresh models from the same seed agree in every bit."""
    first, second = (case.fitted(seed=3).predict(case.items) for _ in range(2))
    assert np.array_equal(first, second), f"differ by up to {np.abs(first - second).max():.2g}"


def check_no_memory_of_earlier_fit(case: ModelCase) -> None:
    """A model that was fitted before predicts the same numbers as a new one."""
    fresh = case.fitted(seed=3).predict(case.items)
    half = case.only(np.arange(0, count(case.items), 2))
    used = half.fitted(seed=1)
    used.predict(case.items)
    used.fit(case.items, case.labels, case.classes, np.random.default_rng(3))
    off = np.abs(used.predict(case.items) - fresh).max()
    assert off <= case.tolerance, f"an earlier fit moved the probabilities by {off:.2g}"


def check_same_answer_until_retrained(case: ModelCase) -> None:
    """Two calls agree in every bit, whatever was predicted between them."""
    model = case.fitted()
    first = model.predict(case.items)
    model.predict(take(case.items, np.arange(1)))
    assert np.array_equal(first, model.predict(case.items)), "predict changed its answer without a fit"


def check_company_does_not_matter(case: ModelCase) -> None:
    """An item gets the same probabilities alone, in reversed order or repeated."""
    model, N = case.fitted(), count(case.items)
    together = model.predict(case.items)
    for order in (np.arange(N)[::-1], np.array([0, N - 1, 0]), np.array([N // 2])):
        off = np.abs(model.predict(take(case.items, order)) - together[:, order]).max()
        assert off <= case.tolerance, f"probabilities of an item move by {off:.2g} with the rest of the batch"


def check_members_differ(case: ModelCase) -> None:
    """No two members agree on every item: an ensemble of copies has no disagreement to measure."""
    if not case.members_differ:
        return
    half = case.only(np.arange(0, count(case.items), 2))
    probs = half.fitted().predict(case.items)
    assert len(probs) > 1, "a model of one member: set members_differ=False"
    for e in range(len(probs)):
        others = np.delete(probs, e, axis=0)
        assert (np.abs(others - probs[e]).max(axis=(1, 2)) > 0).all(), f"member {e} has a copy"


def check_learns(case: ModelCase) -> None:
    """On its training items the mean prediction is better than always predicting the largest class."""
    if not case.learns:
        return
    mean = case.fitted().predict(case.items).mean(axis=0)
    right = float((mean.argmax(axis=1) == case.labels).mean())
    largest = float(np.bincount(case.labels).max() / len(case.labels))
    assert right > largest, f"accuracy {right:.2f} on the training items, {largest:.2f} for the largest class"


def check_columns_follow_classes(case: ModelCase) -> None:
    """If the classes are reversed, the columns are too: codes are positions in `classes`."""
    if not case.learns:
        return
    K = len(case.classes)
    turned = replace(case, labels=K - 1 - case.labels, classes=list(case.classes)[::-1])
    mean = turned.fitted().predict(case.items).mean(axis=0)
    right = float((K - 1 - mean.argmax(axis=1) == case.labels).mean())
    largest = float(np.bincount(case.labels).max() / len(case.labels))
    assert right > largest, f"with the classes reversed, accuracy falls to {right:.2f}"


def check_one_class_only(case: ModelCase) -> None:
    """With labels of one class only, predictions have all K columns, and that class is the most probable."""
    code = int(case.labels[0])
    alone = case.only(np.flatnonzero(case.labels == code))
    probs = _probs(case, alone.fitted(), case.items)
    if case.learns:
        assert (probs.mean(axis=0).argmax(axis=1) == code).all(), "the only class seen is not the most probable one"


def check_unseen_class(case: ModelCase) -> None:
    """Classes without a label have a column, also as the first and the last class."""
    labels = case.labels + 1
    wider = replace(case, labels=labels, classes=["unseen before", *case.classes, "unseen after"])
    if not case.learns:
        return
    mean = _probs(wider, wider.fitted(), case.items).mean(axis=0)
    assert set(mean.argmax(axis=1)) <= set(labels.tolist()), "a class never seen wins over those seen"


def check_two_labels(case: ModelCase) -> None:
    """A model can be fitted to two labels of two classes."""
    other = int(np.flatnonzero(case.labels != case.labels[0])[0])
    _probs(case, case.only(np.array([0, other])).fitted(), case.items)


def check_single_label(case: ModelCase) -> None:
    """A model can be fitted to one label."""
    _probs(case, case.only(np.arange(1)).fitted(), case.items)


def check_refusals(case: ModelCase) -> None:
    """Bad input, and a prediction before the first fit, are refused with an InputError."""
    rng, K = np.random.default_rng(0), len(case.classes)
    none, zero = np.arange(0), np.zeros(1, dtype=np.int64)
    _refuses(lambda: case.make().predict(case.items), "predict before fit")
    _refuses(lambda: case.make().fit(case.items, zero, case.classes, rng), "one label for many items")
    _refuses(lambda: case.make().fit(take(case.items, none), none, case.classes, rng), "no labels")
    _refuses(lambda: case.make().fit(take(case.items, zero), zero + K, case.classes, rng), "a code beyond K")
    _refuses(lambda: case.make().fit(take(case.items, zero), zero - 1, case.classes, rng), "a negative code")


def _refuses(action: Callable[[], object], what: str) -> None:
    try:
        action()
    except InputError:
        return
    raise AssertionError(f"{what}: expected an InputError, got an answer")


def check_capabilities(case: ModelCase) -> None:
    """Vectors are one finite row per item; weights are a distribution over the members."""
    model, N = case.fitted(), count(case.items)
    vectors = []
    if isinstance(model, HasFeatures):
        vectors.append(model.features(case.items))
    if isinstance(model, HasEmbeddings):
        vectors.append(model.embeddings(case.items))
    if isinstance(model, HasSurprisal):
        vectors.append(model.surprisal(case.items))
    for rows in vectors:
        assert (rows.ndim, len(rows)) == (2, N), f"vectors of shape {rows.shape} for {N} items"
        assert np.isfinite(rows).all(), "NaN or infinity in the vectors"
    if isinstance(model, HasWeights):
        E = len(model.predict(case.items))
        assert model.weights.shape == (E,), f"weights of shape {model.weights.shape} for {E} members"
        assert abs(model.weights.sum() - 1) < SUM_TOLERANCE, "weights do not sum to one"
        assert model.weights.min() >= 0, "a negative weight"


MODEL_CHECKS: tuple[Callable[[ModelCase], None], ...] = (
    check_probabilities,
    check_no_items,
    check_same_seed_same_numbers,
    check_no_memory_of_earlier_fit,
    check_same_answer_until_retrained,
    check_company_does_not_matter,
    check_members_differ,
    check_learns,
    check_columns_follow_classes,
    check_one_class_only,
    check_unseen_class,
    check_two_labels,
    check_single_label,
    check_refusals,
    check_capabilities,
)


def model_contract(*cases: ModelCase) -> Any:
    """A pytest decorator that runs a test for every case with every check.

    Parameters
    ----------
    *cases : ModelCase
        The models to test.

    Returns
    -------
    pytest mark
        A parametrisation of the arguments `case` and `check`.
    """
    try:
        import pytest
    except ImportError as error:
        words = f"model_contract: expected pytest to be installed; got: {error}. Install it with: pip install pytest"
        raise BempsError(words) from error
    pairs = [
        pytest.param(case, check, id=f"{case.name}-{check.__name__.removeprefix('check_')}")
        for case in cases
        for check in MODEL_CHECKS
    ]
    return pytest.mark.parametrize(("case", "check"), pairs)
