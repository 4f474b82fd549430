import numpy as np
import pytest

from bemps.errors import InputError
from bemps.models.base import (
    Diverged,
    HasFeatures,
    HasWeights,
    Model,
    NotFitted,
    check_labelled,
    check_probs,
    check_vectors,
    count,
    fit_members,
    join,
    member_seeds,
    take,
)

CLASSES = ["a", "b", "c"]


class Weighted:
    @property
    def weights(self):
        raise NotFitted(self)


def test_items_are_rows_or_texts():
    rows, texts = np.arange(6).reshape(3, 2), ["x", "y", "z"]
    order = np.array([2, 0])
    assert (count(rows), count(texts)) == (3, 3)
    assert take(rows, order).tolist() == [[4, 5], [0, 1]]
    assert take(texts, order) == ["z", "x"]
    assert take(texts, np.arange(0)) == []
    assert join(rows, rows).shape == (6, 2)
    assert join(texts, ("q",)) == ["x", "y", "z", "q"]


def test_texts_in_an_array_stay_an_array():
    assert take(np.array(["x", "y"]), np.array([1])).tolist() == ["y"]


@pytest.mark.parametrize(
    ("n", "labels", "classes"),
    [(3, [0, 1], CLASSES), (0, [], CLASSES), (1, [3], CLASSES), (1, [-1], CLASSES), (1, [0], ["a"])],
)
def test_labels_that_cannot_be_are_refused(n, labels, classes):
    with pytest.raises(InputError):
        check_labelled(np.zeros((n, 1)), np.array(labels, dtype=int), classes)


@pytest.mark.parametrize("items", [["text"], np.zeros(3), np.array([["x"]]), np.array([[np.nan]]), np.zeros((1, 2, 3))])
def test_what_is_no_vector_is_refused(items):
    with pytest.raises(InputError):
        check_vectors(items)


def test_the_row_with_nan_is_named():
    rows = np.zeros((4, 2))
    rows[2, 1] = np.inf
    with pytest.raises(InputError, match="row 2"):
        check_vectors(rows)


def test_integers_become_floats_and_float32_stays():
    assert check_vectors(np.ones((2, 2), dtype=np.uint8)).dtype == np.float64
    assert check_vectors(np.ones((2, 2), dtype=np.float32)).dtype == np.float32


@pytest.mark.parametrize("row", [[np.nan, 1.0], [0.5, 0.4], [1.5, -0.5]])
def test_probabilities_that_are_none_have_diverged(row):
    with pytest.raises(Diverged):
        check_probs(np.array([row]))


def test_capability_of_an_unfitted_model_is_a_question_not_a_crash():
    assert not isinstance(Weighted(), HasWeights)
    assert not isinstance(Weighted(), HasFeatures)
    assert not isinstance(Weighted(), Model)
    with pytest.raises(InputError, match="Call fit first"):
        _ = Weighted().weights


def test_members_have_seeds_of_their_own_that_do_not_depend_on_how_many_there_are():
    few, many = (member_seeds(E, np.random.default_rng(0)) for E in (2, 5))
    assert np.array_equal(few, many[:2])
    assert len(np.unique(many)) == 10


def test_fit_members_hands_each_its_number_and_generator():
    draws = fit_members(3, lambda e, rng: (e, rng.random()), np.random.default_rng(0))
    again = fit_members(3, lambda e, rng: (e, rng.random()), np.random.default_rng(0))
    assert draws == again
    assert [e for e, _ in draws] == [0, 1, 2]
    assert len({value for _, value in draws}) == 3


@pytest.mark.parametrize("failure", [Diverged("NaN loss"), FloatingPointError("overflow"), ValueError("one class")])
def test_a_failed_member_is_retried_once_with_another_seed(failure):
    tries: list[tuple[int, float]] = []

    def fit_one(e, rng):
        tries.append((e, rng.random()))
        if len(tries) == 2:
            raise failure
        return tries[-1]

    members = fit_members(3, fit_one, np.random.default_rng(0))
    assert [e for e, _ in tries] == [0, 1, 1, 2]
    assert len({value for _, value in tries}) == 4
    # A retry of one member leaves the seeds of the others alone.
    calm = fit_members(3, lambda e, rng: (e, rng.random()), np.random.default_rng(0))
    assert (members[0], members[2]) == (calm[0], calm[2])


def test_a_member_that_fails_twice_is_reported_with_its_causes():
    def fit_one(e, rng):
        if e == 1:
            raise Diverged("loss is NaN")
        return e

    with pytest.raises(Diverged, match=r"member 1.*loss is NaN") as caught:
        fit_members(3, fit_one, np.random.default_rng(0))
    assert isinstance(caught.value.__cause__, Diverged)


@pytest.mark.parametrize("error", [InputError("x", expected="a", got="b", fix="c"), TypeError("a bug"), KeyError("k")])
def test_bad_input_and_bugs_are_not_retried(error):
    tries = []

    def fit_one(e, rng):
        tries.append(e)
        raise error

    with pytest.raises(type(error)):
        fit_members(2, fit_one, np.random.default_rng(0))
    assert tries == [0]


def test_no_members_is_refused():
    with pytest.raises(InputError):
        fit_members(0, lambda e, rng: e, np.random.default_rng(0))


def test_no_two_settings_of_models_have_one_name():
    pytest.importorskip("torch")
    import bemps.models
    from bemps.models.text.text_classifier import TrainingRecipe

    assert bemps.models.SpectralRecipe.__name__ == "SpectralRecipe"
    assert bemps.models.Recipe is bemps.models.SpectralRecipe  # the name in earlier releases
    assert TrainingRecipe.__name__ == "TrainingRecipe"
