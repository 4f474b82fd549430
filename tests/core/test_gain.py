"""Every fast form of the expected gain against Algorithms 1 and 2 as literal loops."""

import mpmath
import numpy as np
import pytest
import reference
from making import predictions, weights_for

import bemps
from bemps.gain.general import BlockedGain, GeneralKernel
from bemps.scores import SCORES, Custom, Power, Quadratic, SoftZeroOne, score

SHAPES = [(1, 3, 2, 2), (2, 4, 3, 2), (3, 5, 4, 3), (5, 6, 7, 4), (7, 2, 1, 6), (4, 1, 5, 10)]


def agree(found: np.ndarray, wanted: np.ndarray, tolerance: float) -> None:
    """Relative to the largest entry, as a gain far below the largest never matters."""
    scale = np.abs(wanted).max()
    assert np.isfinite(found).all()
    assert np.abs(found - wanted).max() <= tolerance * scale + 1e-300, np.abs(found - wanted).max() / scale


def cost_matrix(K: int) -> np.ndarray:
    order = np.arange(K)
    return np.exp(-np.abs(order[:, None] - order) / K)  # classes in an order, positive definite


SCORES_TO_TEST = {
    "brier": ("brier", lambda K: reference.g_brier),
    "log": ("log", lambda K: reference.g_log),
    "quadratic": (None, lambda K: reference.g_quadratic(cost_matrix(K))),
    "spherical": ("spherical", lambda K: lambda p: sum(x * x for x in p) ** 0.5),
    "power": (Power(1.5), lambda K: lambda p: (sum(x**1.5 for x in p) - 1) / 0.5),
    "zero-one": ("zero-one", lambda K: max),
    "soft-zero-one": (SoftZeroOne(10), lambda K: lambda p: np.log(sum(np.exp(10 * x) for x in p)) / 10),
    "custom": (lambda p: (p**3).sum(-1), lambda K: lambda p: sum(x**3 for x in p)),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", SCORES_TO_TEST)
@pytest.mark.parametrize("zeros", [0.0, 0.3])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_matrix_and_scores_equal_the_literal_loops(name, shape, zeros, dtype):
    E, N, M, K = shape
    rng = np.random.default_rng([E, N, M, K, int(10 * zeros)])
    probs, estimation = (predictions(rng, E, count, K, zeros=zeros, dtype=dtype) for count in (N, M))
    weights = weights_for(rng, E)
    given, G = SCORES_TO_TEST[name]
    gain = bemps.expected_gain(
        probs, estimation, score=Quadratic(cost_matrix(K)) if given is None else given, weights=weights
    )
    wanted = reference.gain_matrix(probs.astype(float), estimation.astype(float), weights, G(K))
    tolerance = 1e-9 if dtype == np.float64 else 1e-5
    if E > 1:
        agree(gain.matrix(), wanted, tolerance)
        agree(gain.scores, wanted.mean(1), tolerance)
    else:
        assert np.abs(gain.matrix()).max() < 1e-12
    assert gain.matrix().dtype == dtype
    if wanted.mean(1).max() > 1e-6 and E > 1:
        assert gain.scores.argmax() == reference.algorithm_2(
            probs.astype(float), estimation.astype(float), weights, G(K)
        )


@pytest.mark.parametrize("apart", [1e-1, 1e-2, 1e-3, 1e-4])
@pytest.mark.parametrize("name", ["brier", "log"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_members_that_hardly_differ(name, apart, dtype):
    """Against 50 digits: a difference of G is useless in float64 there, ours is not."""
    rng = np.random.default_rng(3)
    probs, estimation = (predictions(rng, 4, count, 3, apart=apart, dtype=dtype) for count in (5, 6))
    weights = weights_for(rng, 4)
    with mpmath.workdps(50):
        exact = [[[[mpmath.mpf(float(v)) for v in row] for row in member] for member in p] for p in (probs, estimation)]
        wanted = reference.gain_matrix(*exact, [mpmath.mpf(w) for w in weights], SCORES_TO_TEST[name][1](3))
    gain = bemps.expected_gain(probs, estimation, score=name, weights=weights)
    tolerance = 1e-9 if dtype == np.float64 else 1e-5
    agree(gain.matrix(), wanted, tolerance)
    agree(gain.scores, wanted.mean(1), tolerance)


def test_float32_with_one_rare_class_where_members_differ_much():
    """The block has large t, but only where they weigh nothing: float32 alone would lose the gains."""
    rng = np.random.default_rng(0)
    p = predictions(rng, 5, 40, 3, apart=0.003)
    rare = 1e-7 * np.exp(2 * rng.normal(size=(5, 40, 1)))
    probs = np.concatenate([p * (1 - rare), rare], axis=2).astype(np.float32)
    wanted = bemps.core_log(probs.astype(np.float64)).matrix()
    agree(bemps.core_log(probs).matrix(), wanted, 1e-5)


@pytest.mark.parametrize("name", [*SCORES, "quadratic"])
def test_the_general_kernel_agrees_with_the_special_ones(name):
    rng = np.random.default_rng(7)
    K = 2 if name == "beta" else 4
    probs, estimation = predictions(rng, 5, 30, K), predictions(rng, 5, 20, K)
    weights = weights_for(rng, 5)
    chosen = Quadratic(cost_matrix(K)) if name == "quadratic" else score(name)
    literal = BlockedGain(GeneralKernel(probs, estimation, chosen.G, weights), np.full(20, 1 / 20))
    gain = bemps.expected_gain(probs, estimation, score=chosen, weights=weights)
    agree(gain.matrix(), literal.matrix(), 1e-9)
    agree(gain.standard_error, literal.standard_error, 1e-9)


@pytest.mark.parametrize("name", ["brier", "log", "spherical"])
def test_estimation_weights_and_standard_error(name):
    rng = np.random.default_rng(1)
    probs, estimation = predictions(rng, 4, 8, 3), predictions(rng, 4, 11, 3)
    v = rng.dirichlet(np.ones(11))
    gain = bemps.expected_gain(probs, estimation, score=name, estimation_weights=5 * v)
    matrix = gain.matrix()
    agree(gain.scores, matrix @ v, 1e-12)
    spread = np.sqrt(((matrix - (matrix @ v)[:, None]) ** 2 @ v**2) * 11 / 10)
    agree(gain.standard_error, spread, 1e-9)
    plain = bemps.expected_gain(probs, estimation, score=name)
    agree(plain.standard_error, plain.matrix().std(1, ddof=1) / np.sqrt(11), 1e-9)


def test_standard_error_predicts_the_spread_over_estimation_pools():
    """Draw many estimation pools: the scores scatter as the standard error says."""
    rng = np.random.default_rng(2)
    pool = predictions(rng, 5, 4000, 3)
    draws = [bemps.core_mse(pool[:, :20], pool[:, rng.choice(4000, 100)]) for _ in range(200)]
    spread = np.std([g.scores for g in draws], axis=0)
    predicted = np.mean([g.standard_error for g in draws], axis=0)
    assert np.all(np.abs(spread / predicted - 1) < 0.2)


def test_a_single_estimation_point_has_no_known_error():
    probs = predictions(np.random.default_rng(0), 3, 4, 2)
    for name in ("brier", "log"):
        assert np.isinf(bemps.expected_gain(probs, probs[:, :1], score=name).standard_error).all()


@pytest.mark.parametrize("name", ["brier", "log", "zero-one"])
def test_chunked_and_threaded_equal_whole(name):
    rng = np.random.default_rng(5)
    probs, estimation = predictions(rng, 5, 700, 4), predictions(rng, 5, 300, 4)
    whole = bemps.expected_gain(probs, estimation, score=name)
    with bemps.limits(memory=2**20, threads=3):
        parts = bemps.expected_gain(probs, estimation, score=name)
        agree(parts.scores, whole.scores, 1e-12)
        agree(parts.standard_error, whole.standard_error, 1e-12)
        agree(parts.matrix(), whole.matrix(), 1e-12)
        some = np.array([3, 699, 5])
        agree(parts.rows(some), parts.vectors[some], 1e-12)


def test_memory_stays_within_the_limit():
    import tracemalloc

    probs = predictions(np.random.default_rng(0), 5, 1_500, 4, dtype=np.float32)
    for name in ("brier", "log", "spherical"):
        with bemps.limits(memory=2 * 2**20):
            tracemalloc.start()
            _ = bemps.expected_gain(probs, score=name).scores
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert peak < 6 * 2**20, (name, peak)  # the whole matrix of float32 alone would be 9 MB


@pytest.mark.parametrize("name", ["brier", "log", "spherical", "quadratic"])
def test_remaining_gain_is_equation_qs(name):
    rng = np.random.default_rng(9)
    estimation, weights = predictions(rng, 4, 6, 3, zeros=0.2), weights_for(rng, 4)
    chosen = Quadratic(cost_matrix(3)) if name == "quadratic" else name
    wanted = reference.remaining_gain(estimation, weights, SCORES_TO_TEST[name][1](3))
    assert bemps.remaining_gain(estimation, score=chosen, weights=weights) == pytest.approx(wanted, rel=1e-10)


def test_more_pairs_of_members_than_points_gives_the_same():
    """Sixty members have 1,770 pairs: with 20 points rows are computed directly, with 3,000 by the factorised form."""
    rng = np.random.default_rng(0)
    probs, estimation = predictions(rng, 60, 30, 3), predictions(rng, 60, 3_000, 3)
    few, many = bemps.core_mse(probs, estimation[:, :20]), bemps.core_mse(probs, estimation)
    assert type(few) is not type(many)
    agree(many.matrix()[:, :20], few.matrix(), 1e-9)
    for gain in (few, many):
        agree(gain.scores, gain.matrix().mean(1), 1e-9)
        agree(gain.standard_error, gain.matrix().std(1, ddof=1) / np.sqrt(gain.matrix().shape[1]), 1e-9)


def test_core_mse_and_core_log_are_expected_gain():
    probs = predictions(np.random.default_rng(0), 4, 9, 3)
    assert np.array_equal(bemps.core_mse(probs).scores, bemps.expected_gain(probs, score="brier").scores)
    assert np.array_equal(bemps.core_log(probs).scores, bemps.expected_gain(probs, score="log").scores)


def test_a_custom_g_must_reduce_the_last_axis():
    probs = predictions(np.random.default_rng(0), 3, 4, 2)
    with pytest.raises(bemps.InputError, match="one number per row"):
        bemps.expected_gain(probs, score=Custom(lambda p: p**2))


@pytest.mark.parametrize("weight", [0.0, 1e-45, 1e-39, 1e-30])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ["brier", "log", "spherical"])
def test_a_member_of_no_weight_says_nothing(name, weight, dtype):
    """An outlier whom nobody believes: neither NaN from its ratios, nor a loss of accuracy for the others."""
    rng = np.random.default_rng(0)
    probs = predictions(rng, 3, 12, 3, apart=1e-4, dtype=dtype)
    odd = np.zeros((1, 12, 3), dtype)
    odd[..., 2] = 1
    with_odd = np.concatenate([probs, odd])
    gain = bemps.expected_gain(with_odd, score=name, weights=[1, 1, 1, weight])
    alone = bemps.expected_gain(probs, score=name)
    agree(gain.scores, alone.scores, 1e-9 if weight == 0 else 1e-4)
    agree(gain.matrix(), alone.matrix(), 1e-6 if weight == 0 else 1e-4)
    assert bemps.remaining_gain(with_odd, score=name, weights=[1, 1, 1, 0]) == bemps.remaining_gain(probs, score=name)
    for strategy in ("coremse", "corelog", "bald", "coremse-joint", "batchbald"):
        assert len(bemps.select(with_odd, 3, strategy, weights=[1, 1, 1, weight])) == 3


@pytest.mark.parametrize("name", ["brier", "log"])
def test_estimation_points_of_no_weight_do_not_count_in_the_error(name):
    rng = np.random.default_rng(1)
    probs, points = predictions(rng, 4, 6, 3), predictions(rng, 4, 5, 3)
    some = bemps.expected_gain(probs, points, score=name, estimation_weights=[1, 1, 0, 0, 0])
    agree(some.standard_error, bemps.expected_gain(probs, points[:, :2], score=name).standard_error, 1e-9)
    assert np.isinf(
        bemps.expected_gain(probs, points, score=name, estimation_weights=[0, 1, 0, 0, 0]).standard_error
    ).all()


def test_the_matrix_has_the_type_of_the_candidates():
    probs = predictions(np.random.default_rng(0), 3, 5, 2, dtype=np.float32)
    for name in ("brier", "log", "spherical"):
        assert bemps.expected_gain(probs, probs.astype(np.float64), score=name).matrix().dtype == np.float32


class DoubledBrier:
    """A user's own quadratic score: twice the Brier score."""

    def G(self, p):
        return 2 * (p * p).sum(-1)

    def root(self, K):
        return np.sqrt(2) * np.eye(K)


def test_a_score_with_a_root_is_factorised():
    probs = predictions(np.random.default_rng(3), 4, 30, 3)
    doubled = bemps.expected_gain(probs, score=DoubledBrier())
    assert not isinstance(doubled, BlockedGain)
    np.testing.assert_allclose(doubled.scores, 2 * bemps.expected_gain(probs, score="brier").scores, atol=1e-12)
    general = bemps.expected_gain(probs, score=DoubledBrier().G)
    assert isinstance(general, BlockedGain)
    np.testing.assert_allclose(doubled.scores, general.scores, atol=1e-12)
    twice = 2 * bemps.remaining_gain(probs, score="brier")
    assert bemps.remaining_gain(probs, score=DoubledBrier()) == pytest.approx(twice)


def test_a_root_of_another_shape_is_refused():
    wrong = DoubledBrier()
    wrong.root = lambda K: np.eye(K + 1)
    with pytest.raises(bemps.InputError, match=r"shape \(R, 3\)"):
        bemps.expected_gain(predictions(np.random.default_rng(3), 4, 30, 3), score=wrong)
