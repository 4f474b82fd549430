"""Bad input is refused with what was expected, what came, and what to do."""

import numpy as np
import pytest

import bemps
from bemps import checks

GOOD = np.full((2, 4, 3), 1 / 3)


def broken(value, at=(1, 2, 0)):
    bad = GOOD.copy()
    bad[at] = value
    return bad


@pytest.mark.parametrize(
    ("probs", "message"),
    [
        (GOOD[0], r"expected an array \(E, N, K\).*got shape \(4, 3\).*probs\[None\]"),
        (GOOD[None], r"got shape \(1, 2, 4, 3\)"),
        (broken(np.nan), r"1 NaN or infinite, the first at \(1, 2, 0\)"),
        (broken(np.inf), "NaN or infinite"),
        (broken(-0.1), "no negative entry.*softmax"),
        (np.log(GOOD), "never logits"),
        (broken(0.9), r"sum to one.*\(member, item\) \(1, 2\)"),
        (GOOD[:, :0], "pool is empty"),
        (GOOD[:0], "at least one member"),
        (np.array([[["a", "b"]]]), "real numbers"),
        (GOOD + 1j, "real numbers"),
    ],
)
def test_bad_probabilities(probs, message):
    for call in (bemps.expected_gain, bemps.remaining_gain, lambda p: bemps.select(p, 1)):
        with pytest.raises(bemps.InputError, match=message):
            call(probs)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"estimation": GOOD[:1]}, "E=2 members and K=3 classes"),
        ({"estimation": np.full((2, 4, 2), 0.5)}, "E=2 members and K=3 classes"),
        ({"weights": [1.0, 1.0, 1.0]}, r"weights: expected shape \(2,\)"),
        ({"weights": [-1.0, 2.0]}, "not negative"),
        ({"weights": [0.0, 0.0]}, "not all zero"),
        ({"weights": [np.nan, 1.0]}, "NaN"),
        ({"estimation_weights": [1.0]}, r"estimation_weights: expected shape \(4,\)"),
        ({"score": "LOG "}, "Did you mean 'log'"),
        ({"score": "loog"}, "Did you mean 'log'"),
    ],
)
def test_bad_arguments_of_expected_gain(arguments, message):
    with pytest.raises(bemps.InputError, match=message):
        bemps.expected_gain(GOOD, **arguments)


@pytest.mark.parametrize("n", [0, 5, -1, 2.0, True, None])
def test_bad_batch_sizes(n):
    fix = "Ask for fewer items or give a larger pool" if n == 5 else "Give a whole number, 1 or more"
    with pytest.raises(bemps.InputError, match=f"from 1 to 4.*{fix}"):
        checks.batch_size(n, 4)
    if type(n) is int:
        with pytest.raises(bemps.InputError, match="from 1 to 4"):
            bemps.select(GOOD, n)


def own(context, *, length=1):
    """A strategy with an option."""
    return bemps.Selection(np.arange(context.n), np.full(context.n, float(length)))


def test_own_strategies_get_the_options_that_they_take():
    assert bemps.select(GOOD, 2, own, length=3).scores.tolist() == [3, 3]

    def passed_on(context, **options):
        return own(context, **options)

    assert bemps.select(GOOD, 2, passed_on, length=2).scores.tolist() == [2, 2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"strategy": "core-mse"}, "Did you mean 'coremse'"),
        ({"strategy": "coremse", "top": 0.5}, "option of coremse: expected one of T, .*got 'top'. Choose one"),
        ({"strategy": "coremse", "T": 0.0}, r"T: expected a number in \(0, 1\]"),
        ({"strategy": "badge"}, "features: expected features"),
        ({"strategy": "bert-km"}, "embeddings: expected embeddings"),
        ({"strategy": "alps"}, "surprisal"),
        ({"strategy": "badge", "features": np.ones((3, 2))}, r"features: expected an array \(4, features\)"),
        ({"strategy": "badge", "features": np.full((4, 2), np.nan)}, "NaN"),
        ({"strategy": "corelog-laplace", "features": np.ones((4, 2))}, "labelled_features"),
        (
            {"strategy": "corelog-laplace", "features": np.ones((4, 2)), "labelled_features": np.ones((1, 3))},
            "labelled_features: expected an array \\(items, 2\\)",
        ),
        ({"strategy": "bald", "rule": "powr"}, "Did you mean 'power'"),
        ({"strategy": "coremse", "compat": "oficial"}, "Did you mean 'official'"),
        ({"strategy": lambda context: bemps.Selection(np.array([0, 0]), np.zeros(2))}, "2 different positions"),
        ({"strategy": lambda context: bemps.Selection(np.arange(2), np.array([1, np.nan]))}, "1 that are not a number"),
        ({"strategy": own, "lengh": 1}, "option of own: expected one of length; got 'lengh'. Did you mean 'length'"),
        ({"strategy": "margin", "beta": -1}, "beta: expected a number"),
        ({"strategy": "margin", "rule": "nope"}, "expected one of .*power.*got 'nope'. Choose one of them."),
        ({"strategy": "coremse-joint", "samples": 0}, "samples: expected a whole number"),
        ({"strategy": "wmocu", "c": float("nan")}, "c: expected a number"),
        ({"labelled_embeddings": np.ones((2, 2))}, "embeddings of the candidates beside it"),
        ({"features": np.ones((4, 2)), "estimation_features": np.ones((4, 2))}, "the estimation pool beside it"),
        (
            {"features": np.ones((4, 2)), "estimation": GOOD, "estimation_features": np.ones((3, 2))},
            "estimation_features: expected an array \\(4, features\\)",
        ),
        ({"labelled_probs": np.full((2, 2), 0.5)}, "labelled_probs: expected an array \\(items, 3\\)"),
        ({"seed": -1}, "seed: expected a whole number"),
    ],
)
def test_bad_arguments_of_select(arguments, message):
    with pytest.raises(bemps.InputError, match=message):
        bemps.select(GOOD, 2, **arguments)


@pytest.mark.parametrize("strategy", ["auto", "entropy", "coremse", "random"])
def test_one_class_leaves_nothing_to_choose(strategy):
    message = r"probs: expected two classes or more; got one, in shape \(2, 4, 1\)\. Give a column for each class"
    with pytest.raises(bemps.InputError, match=message):
        bemps.select(np.ones((2, 4, 1)), 2, strategy)


def test_numbers_of_the_wrong_kind():
    for bad in ("abc", None, True, float("nan"), [1]):
        with pytest.raises(bemps.InputError, match="T: expected a number"):
            checks.within(bad, "T", 0, 1)
    for bad in (2.7, "3", True, 0):
        with pytest.raises(bemps.InputError, match="size: expected a whole number"):
            checks.integer(bad, "size", 1)


def test_no_probabilities_and_nothing_else():
    with pytest.raises(bemps.InputError, match="typiclust"):
        bemps.select(None, 2)
    with pytest.raises(bemps.InputError, match="probs: expected the members' probabilities"):
        bemps.select(None, 2, "coremse", embeddings=np.eye(4))
    assert len(bemps.select(None, 2, embeddings=np.eye(4))) == 2


def test_errors_are_value_errors_and_carry_their_parts():
    with pytest.raises(ValueError, match="probs") as caught:
        bemps.expected_gain(GOOD[0])
    assert isinstance(caught.value, bemps.BempsError)
    assert (caught.value.what, caught.value.got) == ("probs", "shape (4, 3)")


def test_limits_are_checked_and_restored():
    with bemps.limits(memory=2**21, threads=2) as inside:
        assert inside == bemps.Limits(2**21, 2)
        with bemps.limits(threads=0) as all_cores:
            assert all_cores.memory == 2**21
            assert all_cores.threads >= 1
    from bemps.limits import current_limits

    assert current_limits() == bemps.Limits()
    with pytest.raises(bemps.InputError, match="1 MiB"), bemps.limits(memory=10):
        pass


def test_half_precision_and_integers_are_taken():
    half = np.full((2, 3, 4), 0.25, np.float16)
    assert bemps.core_mse(half).matrix().dtype == np.float32
    assert bemps.core_mse(np.array([[[1, 0], [0, 1]], [[0, 1], [0, 1]]])).scores[0] == pytest.approx(0.25)
