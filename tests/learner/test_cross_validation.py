"""Each label is predicted by a fit that did not learn from it."""

import numpy as np

from bemps.learner.cross_validation import cross_validate


class Remembers:
    """Sure of the class of what it learnt, and of class 0 otherwise; two members that agree."""

    def fit(self, items, labels, classes, rng):
        self.known, self.K = {float(row[0]): int(code) for row, code in zip(items, labels, strict=True)}, len(classes)
        return self

    def predict(self, items):
        codes = [self.known.get(float(row[0]), 0) for row in items]
        return np.repeat((0.8 * np.eye(self.K)[codes] + 0.2 / self.K)[None], 2, 0)


def test_no_label_is_predicted_by_a_model_that_saw_it():
    codes = np.arange(30) % 3
    confidence, right = cross_validate(Remembers(), np.arange(30.0)[:, None], codes, ["a", "b", "c"])
    np.testing.assert_array_equal(right, codes == 0)
    np.testing.assert_allclose(confidence, 0.8 + 0.2 / 3)


def test_a_fold_with_one_class_alone_is_not_judged():
    codes = np.array([1] + [0] * 20)
    assert cross_validate(Remembers(), np.arange(21.0)[:, None], codes, ["a", "b"]) is None


def test_the_same_labels_are_judged_alike():
    rng = np.random.default_rng(0)
    codes, items = rng.integers(3, size=40), rng.standard_normal((40, 1))
    first, second = (cross_validate(Remembers(), items, codes, ["a", "b", "c"]) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_with_many_labels_no_more_is_predicted_than_is_needed():
    codes = np.arange(30) % 3
    items = np.arange(30.0)[:, None]
    every, some = (
        cross_validate(Remembers(), items, codes, ["a", "b", "c"], max_predictions=enough) for enough in (30, 10)
    )
    assert (len(every[0]), len(some[0]), len(some[1])) == (30, 12, 12)
    assert set(some[0]) <= set(every[0])
