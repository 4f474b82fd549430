import time

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from bemps._utils.numerics import softmax
from bemps.errors import InputError
from bemps.models.base import HasEmbeddings, HasFeatures
from bemps.models.linear.logistic_regression import L2, map_weights, principal_axes
from bemps.models.linear.prior import ALPHAS, NORMS, best_norm, choose, leave_one_out, scores
from bemps.models.linear.spectral_classifiers import SpectralLaplace, SpectralLogistic
from bemps.models.linear.spectral_features import SHARES, SpectralRecipe, spectra_of, spectral_map, spectrum_of

DIGITS = load_digits()
X, Y = (DIGITS.data / 16).astype(np.float32), DIGITS.target
CLASSES = [str(digit) for digit in range(10)]


def rng(seed=0):
    return np.random.default_rng(seed)


def fitted(model, labels=60, seed=0):
    return model.fit(X[:labels], Y[:labels], CLASSES, rng(seed))


# Spectral features


def test_features_have_the_stated_spectrum_and_norm():
    u = spectral_map(X, SpectralRecipe(alpha=0.75, bias=0.5, energy_share=1.0))(X)
    z, sd = u[:, :-1], np.sqrt(np.maximum(np.linalg.eigvalsh(np.cov(X.T.astype(float), ddof=0)), 0)[::-1])
    assert (u[:, -1] == 0.5).all()
    assert np.abs(z.mean(axis=0)).max() < 1e-6
    assert (z * z).sum(axis=1).mean() == pytest.approx(1)
    expected = sd[: z.shape[1]] ** 1.75
    assert z.std(axis=0) == pytest.approx(expected / np.sqrt((expected**2).sum()), rel=1e-4)


def test_a_recipe_takes_the_old_name_of_its_energy_share():
    assert SpectralRecipe(0.5, kept=0.9, norm=2.0) == SpectralRecipe(0.5, energy_share=0.9, norm=2.0)
    with pytest.raises(TypeError, match="multiple values"):
        SpectralRecipe(0.5, 0.35, 0.9, kept=0.9)


def test_weak_directions_are_dropped_and_only_they():
    whole, part = (spectral_map(X, SpectralRecipe(energy_share=share)) for share in (1.0, 0.99))
    assert part.matrix.shape[1] < whole.matrix.shape[1]
    assert np.allclose(part.matrix, whole.matrix[:, : part.matrix.shape[1]])
    z = part(X)[:, :-1]
    assert 0.99 <= (z * z).sum(axis=1).mean() <= 1


def test_folded_weights_give_the_logits_of_the_features():
    made = spectral_map(X)
    weights = rng().normal(size=(made.matrix.shape[1] + 1, 3))
    folded, offset = made.fold(weights)
    assert X @ folded + offset == pytest.approx(made(X) @ weights, abs=1e-6)


def test_a_pool_without_variation_leaves_the_bias():
    made = spectral_map(np.ones((5, 3)))
    assert made(np.ones((2, 3))).shape == (2, 1)


@pytest.mark.parametrize("vectors", [np.zeros((2, 63), dtype=np.float32), np.zeros((0, 1))])
def test_vectors_of_another_length_are_refused(vectors):
    with pytest.raises(InputError, match="length 64"):
        spectral_map(X)(vectors)


# MAP logistic regression


@pytest.mark.parametrize("L", [15, 40, 300])
def test_map_agrees_with_scikit_learn_below_and_above_as_many_labels_as_features(L):
    H, labels = spectral_map(X)(X) * 3, Y[:L]
    axes = principal_axes(H[:L])
    ours = softmax(H @ (axes.V @ map_weights(axes, labels, 10)))
    theirs = LogisticRegression(C=1 / L2, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(H[:L], labels)
    assert set(labels) == set(range(10))
    assert ours == pytest.approx(theirs.predict_proba(H), abs=1e-5)


def test_axes_reproduce_the_features_and_are_orthonormal():
    for features in (X[:20].astype(float), X[:200].astype(float)):
        axes = principal_axes(features)
        assert pytest.approx(features, abs=1e-5) == axes.Z @ axes.V.T
        assert pytest.approx(np.eye(axes.V.shape[1]), abs=1e-6) == axes.V.T @ axes.V
        assert pytest.approx(np.diag(axes.squares), abs=1e-6) == axes.Z.T @ axes.Z


def test_a_start_near_the_optimum_changes_the_way_not_the_end():
    axes, labels = principal_axes(spectral_map(X)(X[:80]) * 3), Y[:80]
    cold = map_weights(axes, labels, 10)
    warm = map_weights(axes, labels, 10, start=cold + 0.3 * rng().normal(size=cold.shape))
    assert warm == pytest.approx(cold, abs=1e-5)


def test_repeated_and_identical_rows_do_not_break_the_solver():
    features = np.repeat(np.array([[1.0, 2.0], [1.0, 2.0]]), 5, axis=0)
    axes = principal_axes(features)
    weights = axes.V @ map_weights(axes, np.arange(10) % 2, 2)
    assert softmax(features @ weights) == pytest.approx(np.full((10, 2), 0.5), abs=1e-6)


# Strength of the prior


def test_ridge_predictions_are_those_of_fits_without_the_item():
    u, targets = spectral_map(X)(X[:40]), np.eye(10)[Y[:40]] - 0.1
    predicted = leave_one_out(principal_axes(u), targets, 0.3)
    for i in (0, 17, 39):
        rest = np.delete(np.arange(40), i)
        gram = u[rest].T @ u[rest] + 0.3 * np.eye(u.shape[1])
        assert predicted[i] == pytest.approx(u[i] @ np.linalg.solve(gram, u[rest].T @ targets[rest]), abs=1e-8)


def test_the_score_is_the_loss_at_the_best_scale_and_the_prior_on_the_norm():
    axes, labels = principal_axes(spectral_map(X)(X[:100])), Y[:100]
    norms = np.array([1.0, 5.0])
    for norm, score in zip(norms, scores(axes, labels, 10, norms), strict=True):
        f = leave_one_out(axes, np.eye(10)[labels] - 0.1, 10 / norm**2)
        losses = [-np.log(softmax(s * f)[np.arange(100), labels]).sum() for s in np.geomspace(0.5, 64, 200)]
        assert score - np.log(norm**2 / 2.5**2) ** 2 / 2 == pytest.approx(min(losses), rel=0.03)


def test_a_label_that_is_the_only_one_of_its_class_cannot_be_foretold():
    axes, labels = principal_axes(spectral_map(X)(X[:60])), Y[:60].copy()
    labels[0] = 10
    with_it = scores(axes, labels, 11)
    labels[1] = 10
    assert (scores(axes, labels, 11) > with_it).all()


def test_labels_that_nothing_can_foretell_leave_the_usual_norm():
    axes = principal_axes(spectral_map(X)(X[:5]))
    assert best_norm(axes, np.arange(5), 5) == pytest.approx(2.5, rel=0.3)
    assert best_norm(axes, np.zeros(5, dtype=np.int64), 1) == 2.5


def test_noise_asks_for_a_stronger_prior_than_signal():
    unit = principal_axes(spectral_map(X)(X[:200]))
    signal = best_norm(unit, Y[:200], 10)
    noise = best_norm(unit, rng().permutation(Y[:200]), 10)
    assert NORMS[0] < noise < signal / 2 < NORMS[-1]


@pytest.mark.parametrize(("power", "low", "high"), [(2.0, 0.5, 1.0), (-2.0, 0.0, 0.1)])
def test_alpha_follows_where_the_classes_are_told_apart(power, low, high):
    spread = np.geomspace(1, 0.05, 30)
    vectors = rng().normal(size=(600, 30)) * spread
    labels = ((vectors / spread * spread**power).sum(axis=1) > 0).astype(np.int64)
    chosen = choose([spectrum_of(vectors)], vectors[:200], labels[:200], 2)
    alone = [choose([spectrum_of(vectors)], vectors[:200], labels[:200], 2, SpectralRecipe(alpha=a)) for a in ALPHAS]
    sizes = [made.map.matrix.shape[1] for made in alone]
    assert sizes == sorted(sizes)  # the smaller alpha, the more directions are kept
    stretch = np.log(np.linalg.norm(chosen.map.matrix, axis=0))
    variance = np.log(spectrum_of(vectors).variance[: len(stretch)])
    assert low <= 2 * np.polyfit(variance, stretch, 1)[0] <= high


# Two views


def two_views(informative, N=900):
    """The classes are told apart in one view; the other is noise, of another scale."""
    labels = rng().integers(3, size=N)
    centres = rng(1).normal(size=(3, 8))
    views = [rng(2).normal(size=(N, 8)), 40 * rng(3).normal(size=(N, 20))]
    views[informative][:, :8] += [1.5, 60.0][informative] * centres[labels]
    return np.hstack(views), labels


def test_each_share_is_the_variance_of_the_second_view_for_one_of_the_first():
    vectors, _ = two_views(0)
    for share, spectrum in zip(SHARES, spectra_of(vectors, first_view=8), strict=True):
        own = spectrum.map(0.0, SpectralRecipe(energy_share=1.0)).matrix
        spread = [((vectors[:, part] - vectors[:, part].mean(0)) @ own[part]).var(0).sum() for part in np.s_[:8, 8:]]
        assert spread[1] == pytest.approx(share * spread[0])
        assert sum(spread) == pytest.approx(1)
        assert spectrum.variance.sum() == pytest.approx(1 + share)


def test_labelled_vectors_of_another_length_than_the_pools_are_refused():
    model = SpectralLaplace(X, members=2)
    with pytest.raises(InputError, match=f"length {X.shape[1]}, as in the pool; got length {X.shape[1] - 1}"):
        model.fit(X[:20, :-1], Y[:20], [str(k) for k in range(10)], rng())


def test_without_a_share_the_second_view_does_not_exist():
    vectors, _ = two_views(0)
    alone, zero = spectrum_of(vectors[:, :8]), spectra_of(vectors, first_view=8)[0]
    ours, theirs = zero.map(0.5, SpectralRecipe())(vectors), alone.map(0.5, SpectralRecipe())(vectors[:, :8])
    assert ours @ ours.T == pytest.approx(theirs @ theirs.T)


@pytest.mark.parametrize("informative", [0, 1])
def test_the_labels_say_which_view_counts(informative):
    vectors, labels = two_views(informative)

    def right(rows, **options):
        model = SpectralLogistic(rows, **options).fit(rows[:60], labels[:60], ["a", "b", "c"], rng())
        return (model.predict(rows[60:])[0].argmax(1) == labels[60:]).mean()

    alone = [right(vectors[:, part]) for part in np.s_[:8, 8:]]
    assert alone[informative] > alone[1 - informative] + 0.2
    assert right(vectors, first_view=8) > alone[informative] - 0.06  # the noise never counts for nothing


@pytest.mark.parametrize("first", [0, 28, -1])
def test_a_view_has_columns_and_leaves_some(first):
    with pytest.raises(InputError, match="first of two views"):
        spectra_of(two_views(0)[0], first_view=first)


def test_a_view_in_which_nothing_varies_does_no_harm():
    vectors, labels = two_views(0)
    vectors[:, 8:] = 7.0
    model = SpectralLaplace(vectors, first_view=8).fit(vectors[:60], labels[:60], ["a", "b", "c"], rng())
    assert np.isfinite(model.predict(vectors)).all()


# The models


def test_features_weights_and_probabilities_belong_together():
    model = fitted(SpectralLogistic(X))
    h = model.features(X[:60])
    assert np.array_equal(h, model.labelled_features_)
    assert softmax(h @ model.weights_) == pytest.approx(model.labelled_probs_)
    assert model.predict_map(X) == pytest.approx(softmax(model.features(X) @ model.weights_), abs=1e-6)
    assert model.predict(X).shape == (1, len(X), 10)
    assert model.l2 == 1.0
    assert isinstance(model, HasFeatures)
    assert isinstance(model, HasEmbeddings)


def test_the_gradient_at_the_map_is_zero():
    model = fitted(SpectralLogistic(X))
    h, hit = model.labelled_features_, np.eye(10)[Y[:60]]
    gradient = h.T @ (model.labelled_probs_ - hit) + model.l2 * model.weights_
    assert np.abs(gradient).max() < 1e-4


def test_a_fixed_norm_is_kept_and_the_chosen_one_is_no_worse():
    fixed = fitted(SpectralLogistic(X, recipe=SpectralRecipe(norm=1.0)), labels=150)
    chosen = fitted(SpectralLogistic(X), labels=150)
    assert fixed.norm_ == 1.0

    def loss(model):
        return -np.log(model.predict_map(X[150:])[np.arange(len(X) - 150), Y[150:]]).mean()

    assert chosen.norm_ > 1.0
    assert loss(chosen) < loss(fixed)


def test_better_than_plain_logistic_regression_on_few_labels():
    rights = []
    for seed in range(5):
        order = rng(seed).permutation(len(X))
        few, rest = order[:50], order[50:]
        ours = SpectralLogistic(X).fit(X[few], Y[few], CLASSES, rng()).predict_map(X[rest])
        plain = LogisticRegression(max_iter=1000).fit(X[few], Y[few])
        rights.append([(ours.argmax(1) == Y[rest]).mean(), plain.score(X[rest], Y[rest])])
    ours, plain = np.mean(rights, axis=0)
    assert ours > plain


def test_classes_without_labels_are_improbable_and_never_the_answer():
    few = np.flatnonzero(Y < 3)[:12]
    model = SpectralLogistic(X).fit(X[few], Y[few], CLASSES, rng())
    probs = model.predict_map(X)
    assert probs.argmax(axis=1).max() < 3
    assert 0 < probs[:, 3:].max() < probs[:, :3].max(axis=1).min()


def test_without_a_pool_there_are_no_features():
    with pytest.raises(InputError, match="see_pool"):
        fitted(SpectralLogistic())


def test_a_pool_can_be_handed_over_later_and_resets_the_model():
    given, later = SpectralLaplace(X), SpectralLaplace()
    later.see_pool(X)
    assert np.array_equal(fitted(given).predict(X[:9]), fitted(later).predict(X[:9]))
    later.see_pool(X[:100])
    with pytest.raises(InputError, match="Call fit first"):
        later.predict(X[:9])


def test_an_encoder_turns_items_into_vectors():
    names = [str(i) for i in range(len(X))]

    def look_up(items):
        return X[[int(name) for name in items]]

    model = SpectralLogistic(names, encode=look_up).fit(names[:60], Y[:60], CLASSES, rng())
    assert np.array_equal(model.predict_map(names[60:70]), fitted(SpectralLogistic(X)).predict_map(X[60:70]))
    assert np.array_equal(model.embeddings(names[:3]), X[:3])


@pytest.mark.parametrize(
    "options", [{"covariance": "diagonal"}, {"members": 0}, {"temperature": 0.0}, {"temperature": float("nan")}]
)
def test_options_that_cannot_be_are_refused(options):
    with pytest.raises(InputError):
        fitted(SpectralLaplace(X, **options))


def test_fewer_items_than_columns_have_the_same_spectrum_and_cost_little():
    """30 images of 3,072 pixels took twenty seconds when the covariance of the columns was decomposed."""
    rng = np.random.default_rng(0)
    pool = rng.normal(size=(40, 200)) * np.geomspace(1, 1e-2, 200)
    for few in (spectrum_of(pool), *spectra_of(pool, first_view=80)[1:]):
        gram = few.along(pool).T @ few.along(pool) / len(pool)
        assert len(few.variance) == 39
        assert np.allclose(gram, np.diag(few.variance), atol=1e-9 * few.variance[0])
    literal = np.linalg.eigvalsh(np.cov(pool.T, bias=True))[::-1][:39]
    assert np.allclose(spectrum_of(pool).variance, literal)
    start = time.process_time()
    spectrum_of(rng.normal(size=(30, 3072)))
    assert time.process_time() - start < 1
