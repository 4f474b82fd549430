"""Scores: G, S and the divergence belong together, and what is not a proper score is refused."""

import numpy as np
import pytest

import bemps
from bemps.scores import SCORES, Beta, Brier, Custom, Log, Power, Quadratic, SoftZeroOne, Spherical, ZeroOne, score

ALL = [
    Brier(),
    Log(),
    Spherical(),
    Power(0.5),
    Power(3.0),
    Beta(0.5, 2.0),
    Beta(1.0, 1.0),
    Quadratic(np.array([[2.0, 0.5], [0.5, 1.0]])),
    ZeroOne(),
    SoftZeroOne(5),
    Custom(lambda p: (p**4).sum(-1)),
]


@pytest.fixture
def forecasts():
    return np.random.default_rng(0).dirichlet(np.ones(2), size=50).clip(0.01, 0.99)


@pytest.mark.parametrize("rule", ALL, ids=lambda s: type(s).__name__)
def test_expected_score_of_the_truth_is_g(rule, forecasts):
    p = forecasts / forecasts.sum(-1, keepdims=True)
    expected = sum(p[:, y] * rule.S(p, np.full(len(p), y)) for y in range(2))
    assert np.allclose(expected, rule.G(p), atol=1e-7)


@pytest.mark.parametrize("rule", ALL, ids=lambda s: type(s).__name__)
def test_divergence_is_what_a_wrong_forecast_loses(rule, forecasts):
    p = forecasts / forecasts.sum(-1, keepdims=True)
    q = p[::-1]
    lost = sum(p[:, y] * (rule.S(p, np.full(len(p), y)) - rule.S(q, np.full(len(p), y))) for y in range(2))
    assert np.allclose(rule.divergence(p, q), lost, atol=1e-6)
    assert (rule.divergence(p, q) >= -1e-7).all()
    assert np.allclose(rule.divergence(p, p), 0, atol=1e-7)


@pytest.mark.parametrize("rule", ALL, ids=lambda s: type(s).__name__)
def test_every_score_here_is_convex(rule):
    least = bemps.check_convexity(rule, 2)
    assert least >= -1e-9
    if rule.strict:
        assert least > 0


def test_known_values():
    p = np.array([0.2, 0.3, 0.5])
    assert Brier().S(p, 2) == pytest.approx(-(0.04 + 0.09 + 0.25))
    assert Brier().divergence(p, p[::-1].copy()) == pytest.approx(2 * 0.09)
    assert Log().S(p, 0) == pytest.approx(np.log(0.2))
    assert Log().G(np.array([0.0, 1.0, 0.0])) == 0
    assert Log().S(np.array([0.0, 1.0]), 0) == -np.inf
    assert Spherical().S(p, 1) == pytest.approx(0.3 / np.sqrt(0.38))
    assert ZeroOne().S(p, 2) == 1
    assert ZeroOne().S(p, 0) == 0


def test_families_meet_where_they_should(forecasts):
    p = forecasts / forecasts.sum(-1, keepdims=True)
    assert np.allclose(Power(2.0).G(p), Brier().G(p))
    assert np.allclose(Power(1 + 1e-5).G(p), Log().G(p), atol=1e-4)
    half_brier = (p[:, 1] ** 2 - p[:, 1]) / 2  # G'' = 1, G(0) = G(1) = 0
    assert np.allclose(Beta(1.0, 1.0).G(p), half_brier)
    assert np.allclose(Beta(1e-6, 1e-6).divergence(p, p[::-1]), Log().divergence(p, p[::-1]), rtol=1e-3, atol=1e-5)
    assert np.allclose(Quadratic(np.eye(2)).G(p) - 1, Brier().G(p))


def test_beta_curvature_is_its_weight_function():
    p, h = np.linspace(0.1, 0.9, 9), 1e-3
    at = lambda x: Beta(0.7, 2.0).G(np.stack([1 - x, x], -1))  # noqa: E731
    second = (at(p + h) - 2 * at(p) + at(p - h)) / h**2
    assert np.allclose(second, p ** (0.7 - 1) * (1 - p), rtol=1e-3)


def test_quadratic_only_needs_to_be_definite_on_differences():
    ones = np.ones((3, 3))
    Quadratic(np.eye(3) - 0.9 * ones)  # indefinite, but not on vectors that sum to zero
    for bad in (-np.eye(3), np.diag([1.0, -0.1, -0.2]), ones):
        with pytest.raises(bemps.InputError, match="positive definite on vectors that sum to zero"):
            Quadratic(bad)
    with pytest.raises(bemps.InputError, match="square"):
        Quadratic(np.ones((2, 3)))
    with pytest.raises(bemps.InputError, match="3 x 3"):
        bemps.expected_gain(np.full((2, 4, 3), 1 / 3), score=Quadratic(np.eye(2)))


@pytest.mark.parametrize(
    "build", [lambda: Power(0), lambda: Power(1), lambda: Beta(0, 1), lambda: Beta(1, -1), lambda: SoftZeroOne(0)]
)
def test_parameters_outside_the_family_are_refused(build):
    with pytest.raises(bemps.InputError):
        build()


def test_convexity_check_catches_a_concave_function():
    with pytest.raises(bemps.InputError, match="above the chord"):
        bemps.check_convexity(lambda p: -(p**2).sum(-1), 3)
    assert bemps.check_convexity(lambda p: (p**2).sum(-1), 3) == pytest.approx(0.25)


def test_a_score_is_found_by_name_object_or_function():
    class Mine:
        def G(self, p):
            return (p**2).sum(-1)

    p = np.full((1, 2), 0.5)
    assert score("brier") == Brier()
    assert score(Log()) == Log()
    assert score(Mine()).G(p) == 0.5
    assert score(lambda p: (p**2).sum(-1)).G(p) == 0.5
    assert set(SCORES) >= {"brier", "log", "spherical", "power", "beta", "zero-one", "soft-zero-one"}
    with pytest.raises(bemps.InputError, match="Did you mean 'brier'"):
        score("brierr")


def test_beta_is_for_two_classes():
    with pytest.raises(bemps.InputError, match="K=2"):
        bemps.expected_gain(np.full((2, 4, 3), 1 / 3), score="beta")


def test_zeros_in_a_forecast_do_no_harm():
    for rule in (Power(0.5), Power(3.0), Spherical(), Brier()):
        certain = np.array([0.0, 1.0])
        assert np.isfinite(rule.S(certain, 1))
        assert rule.S(certain, 1) == pytest.approx(rule.G(certain))
        assert np.isfinite(rule.divergence(np.array([0.0, 0.3, 0.7]), np.array([0.0, 0.5, 0.5])))


def test_a_g_that_is_not_finite_is_refused():
    bad = lambda p: (p * np.log(p)).sum(-1)  # noqa: E731
    with np.errstate(all="ignore"):
        with pytest.raises(bemps.InputError, match="xlogy"):
            bemps.expected_gain(np.array([[[1.0, 0.0]], [[1.0, 0.0]]]), score=bad)
        with pytest.raises(bemps.InputError, match="xlogy"):
            bemps.check_convexity(bad, 3)
    with pytest.raises(bemps.InputError, match="above the chord"):
        bemps.check_convexity(lambda p: -1e-6 * (p**2).sum(-1), 3)
    with pytest.raises(bemps.InputError, match="K: expected a whole number"):
        bemps.check_convexity("brier", 1)
