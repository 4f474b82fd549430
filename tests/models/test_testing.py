"""The contract suite finds what it is there to find: each broken model fails the check made for it."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from bemps import testing
from bemps._utils.numerics import softmax
from bemps.models.linear.spectral_classifiers import SpectralLaplace
from bemps.testing import MODEL_CHECKS, ModelCase

DIGITS = load_digits(n_class=3)
X, Y = DIGITS.data[:30] / 16, DIGITS.target[:30]
CLASSES = ["zero", "one", "two"]


class Good(SpectralLaplace):
    def __init__(self):
        super().__init__(X, members=3)


class Unnormalised(Good):
    def predict(self, items):
        return 1.01 * super().predict(items)


class NewMaskEveryCall(Good):
    def predict(self, items):
        self.calls = getattr(self, "calls", 0) + 1
        noise = np.random.default_rng(self.calls).normal(size=(3, len(items), len(CLASSES)))
        return softmax(np.log(super().predict(items)) + 0.1 * noise)


class OwnSeed(Good):
    def fit(self, items, labels, classes, rng):
        return super().fit(items, labels, classes, np.random.default_rng())


class LooksAround(Good):
    def predict(self, items):
        return super().predict(items - items.mean(axis=0)) if len(items) else super().predict(items)


class Copies(Good):
    def predict(self, items):
        return super().predict(items)[[0, 1, 1]]


class Remembers(Good):
    def fit(self, items, labels, classes, rng):
        self.seen = np.concatenate([getattr(self, "seen", np.zeros((0, 64))), items])
        self.see_pool(self.seen)
        return super().fit(items, labels, classes, rng)


class OnlySeenClasses(Good):
    def fit(self, items, labels, classes, rng):
        self.known = np.unique(labels)
        return super().fit(items, labels, classes, rng)

    def predict(self, items):
        seen = super().predict(items)[:, :, self.known]
        return seen / seen.sum(-1, keepdims=True)


class Deaf(Good):
    def fit(self, items, labels, classes, rng):
        return super().fit(items, rng.permutation(labels), classes, rng)


class Backwards(Good):
    def predict(self, items):
        return super().predict(items)[:, :, ::-1]


class AlphabeticalColumns(Good):
    def fit(self, items, labels, classes, rng):
        self.order = np.argsort(np.argsort(classes))
        return super().fit(items, labels, classes, rng)

    def predict(self, items):
        return super().predict(items)[:, :, np.argsort(self.order)]


class ChangesLabels(Good):
    def fit(self, items, labels, classes, rng):
        super().fit(items, labels, classes, rng)
        labels[:] = 0
        return self


class AnswersEarly(Good):
    def predict(self, items):
        early = self.member_weights_ is None
        return np.full((1, len(items), 3), 1 / 3) if early else super().predict(items)


class LopsidedWeights(Good):
    weights = np.array([0.9, 0.9, 0.9])


BROKEN = [
    (Unnormalised, testing.check_probabilities),
    (ChangesLabels, testing.check_probabilities),
    (OnlySeenClasses, testing.check_one_class_only),
    (OnlySeenClasses, testing.check_unseen_class),
    (OnlySeenClasses, testing.check_two_labels),
    (OnlySeenClasses, testing.check_single_label),
    (NewMaskEveryCall, testing.check_same_answer_until_retrained),
    (NewMaskEveryCall, testing.check_company_does_not_matter),
    (OwnSeed, testing.check_same_seed_same_numbers),
    (LooksAround, testing.check_company_does_not_matter),
    (Copies, testing.check_members_differ),
    (Remembers, testing.check_no_memory_of_earlier_fit),
    (Deaf, testing.check_learns),
    (Backwards, testing.check_one_class_only),
    (AlphabeticalColumns, testing.check_learns),
    (AlphabeticalColumns, testing.check_columns_follow_classes),
    (AnswersEarly, testing.check_refusals),
    (LopsidedWeights, testing.check_capabilities),
]


def case(make):
    return ModelCase("digits", make, X, Y.copy(), CLASSES)


@pytest.mark.parametrize("check", MODEL_CHECKS, ids=lambda check: check.__name__)
def test_a_good_model_passes(check):
    check(case(Good))


@pytest.mark.parametrize(("broken", "check"), BROKEN, ids=lambda thing: thing.__name__)
def test_a_broken_model_fails(broken, check):
    with pytest.raises(AssertionError):
        check(case(broken))


def test_nearly_every_check_has_a_model_that_it_stops():
    stopped = {check for _, check in BROKEN}
    assert set(MODEL_CHECKS) - stopped == {testing.check_no_items}
