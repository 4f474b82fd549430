import time

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from bemps.errors import InputError
from bemps.models.base import Diverged, UsesPool
from bemps.models.ensembling import likelihood_weights, log_likelihood
from bemps.models.heads import head_classifier as heads_module
from bemps.models.heads.fitted_heads import masked
from bemps.models.heads.head_classifier import HeadClassifier
from bemps.models.heads.head_inputs import standard_map
from bemps.models.heads.head_training import HeadRecipe, mean_losses, train_heads
from bemps.models.heads.stacked_heads import draw_layers, logits, penultimate, stack_rows
from bemps.models.linear.spectral_classifiers import SpectralLogistic
from bemps.models.linear.spectral_features import spectral_map
from bemps.models.validation_splits import Fixed
from bemps.testing import ModelCase, model_contract

DIGITS = load_digits()
SHUFFLED = np.random.default_rng(0).permutation(len(DIGITS.target))
X, Y = DIGITS.data[SHUFFLED].astype(np.float32), DIGITS.target[SHUFFLED].astype(np.int64)
CLASSES = [str(digit) for digit in range(10)]
CPU = torch.device("cpu")
NORM = 2.5


def rng(seed=0):
    return np.random.default_rng(seed)


def fitted(model, labels=100, seed=0):
    return model.fit(X[:labels], Y[:labels], CLASSES, rng(seed))


def accuracy(probs, labels):
    return float((probs.mean(axis=0).argmax(axis=1) == labels).mean())


# The contract

FOUR = np.flatnonzero(Y < 4)[:32]
MODELS = {
    "ensemble": lambda: HeadClassifier(X),
    "no pool": HeadClassifier,
    "linear": lambda: HeadClassifier(X, hidden=0, resample="dirichlet"),
    "dropout": lambda: HeadClassifier(X, posterior="dropout", members=7),
    "linear dropout": lambda: HeadClassifier(X, posterior="dropout", hidden=0),
    "validated": lambda: HeadClassifier(X, validation="dynamic", calibrate=True, weighting="likelihood"),
    "standard, batches": lambda: HeadClassifier(
        X, inputs="standard", recipe=HeadRecipe(batch_size=8), validation="constant"
    ),
}
CASES = [ModelCase(name, make, X[FOUR], Y[FOUR], list("0123"), tolerance=1e-5) for name, make in MODELS.items()]


@model_contract(*CASES)
def test_contract(case, check):
    check(case)


# Many heads at once


def rows_of(positions, labels=60):
    even = np.ones((len(positions), len(positions[0])))
    return stack_rows(NORM * spectral_map(X)(X[:labels])[:, :-1], Y[:labels], positions, even, CPU)


def trained(seeds, *, hidden, batch_size, own_split, dropout, epochs=12):
    """Heads of these seeds, trained together; member s has the split of seed s where `own_split`."""
    rngs = [rng(seed) for seed in seeds]
    orders = [rng(100 + seed if own_split else 100).permutation(60) for seed in seeds]
    train, valid = (rows_of([order[part] for order in orders]) for part in (slice(42), slice(42, None)))
    layers = draw_layers(train.columns.shape[1], hidden, 10, norm=NORM, rngs=rngs, device=CPU)
    recipe = HeadRecipe(epochs=epochs, batch_size=batch_size, patience=3)
    return train_heads(layers, train, valid, recipe=recipe, dropout=dropout, rngs=rngs)


@pytest.mark.parametrize("own_split", [True, False])
@pytest.mark.parametrize(
    ("hidden", "batch_size", "dropout"), [(16, None, 0.3), (16, 10, 0.3), (0, None, 0.0), (0, 7, 0.2)]
)
def test_members_trained_together_are_the_members_trained_alone(hidden, batch_size, own_split, dropout):
    options = {"hidden": hidden, "batch_size": batch_size, "own_split": own_split, "dropout": dropout}
    together = trained(range(4), **options)
    for e in range(4):
        alone = trained([e], **options)
        assert together.best_epochs[e] == alone.best_epochs[0]
        for mine, theirs in zip(together.layers, alone.layers, strict=True):
            assert torch.allclose(mine.weight[e], theirs.weight[0], atol=1e-4)
            assert torch.allclose(mine.bias[e], theirs.bias[0], atol=1e-4)


def test_a_member_does_not_depend_on_how_many_there_are():
    few, many = (fitted(HeadClassifier(X, members=E)).predict(X[:200]) for E in (2, 6))
    assert many[:2] == pytest.approx(few, abs=1e-5)


@pytest.mark.parametrize("members", [1, 5, 100])
@pytest.mark.parametrize("posterior", ["ensemble", "dropout"])
def test_any_number_of_members(members, posterior):
    recipe = HeadRecipe(epochs=3)
    model = fitted(HeadClassifier(X, members=members, posterior=posterior, recipe=recipe), labels=30)
    probs = model.predict(X[:50])
    assert probs.shape == (members, 50, 10)
    assert len(np.unique(probs[:, 0].round(7), axis=0)) == members


# Early stopping


def test_best_weights_are_kept_and_patience_counts_from_the_last_improvement():
    heads = trained(range(6), hidden=32, batch_size=5, own_split=True, dropout=0.0, epochs=100)
    losses = heads.valid_losses
    assert len(losses) < 100, "nobody was stopped"
    for e, best in enumerate(heads.best_epochs):
        lived = losses[: best + 3, e]
        assert best == lived.argmin() + 1
        # up to its best epoch the member never waited three epochs for an improvement
        improvements = [i for i in range(best) if losses[i, e] < losses[:i, e].min(initial=np.inf)]
        assert max(np.diff([-1, *improvements])) <= 3
    valid = rows_of([rng(100 + seed).permutation(60)[42:] for seed in range(6)])
    kept = losses[heads.best_epochs - 1, np.arange(6)]
    assert mean_losses(heads.layers, valid).numpy() == pytest.approx(kept, abs=1e-5)


def test_without_validation_all_epochs_are_trained():
    model = fitted(HeadClassifier(X, recipe=HeadRecipe(epochs=7)))
    assert model.trained_.train_losses.shape == (7, 5)
    assert model.trained_.valid_losses is None


# Masks


def test_a_folded_mask_is_dropout_before_the_last_layer():
    layers = draw_layers(8, 16, 3, norm=1.0, rngs=[rng()], device=CPU)
    columns = torch.from_numpy(rng(1).normal(size=(1, 8, 5)).astype(np.float32))
    kept = rng(2).random((4, 16)) >= 0.25
    folded = logits(masked(layers, kept, 0.25), columns)
    for e in range(4):
        mask = torch.from_numpy((kept[e] / 0.75).astype(np.float32))[None, :, None]
        assert torch.allclose(folded[e], layers[-1](penultimate(layers, columns) * mask)[0], atol=1e-6)


def test_masks_stay_until_the_next_fit_and_are_new_then():
    model = fitted(HeadClassifier(X, posterior="dropout"))
    first, second = model.predict(X[:20]), model.predict(X[:20])
    assert np.array_equal(first, second)
    assert np.abs(fitted(model, seed=1).predict(X[:20]) - first).max() > 1e-3


# Learning


@pytest.mark.parametrize("options", [{}, {"hidden": 0}, {"posterior": "dropout"}, {"validation": "dynamic"}])
def test_training_lowers_the_loss_and_digits_are_learnt(options):
    model = fitted(HeadClassifier(X, **options), labels=150)
    losses = model.trained_.train_losses
    assert (losses[-1] < 0.5 * losses[0]).all()
    assert accuracy(model.predict(X[1000:]), Y[1000:]) > 0.85


@pytest.mark.parametrize("labels", [50, 250])
@pytest.mark.parametrize("options", [{}, {"posterior": "dropout", "members": 20}])
def test_not_worse_than_logistic_regression_on_the_same_features(labels, options):
    features = spectral_map(X)
    ours, plain = [], []
    for seed in range(5):
        chosen = rng(seed).permutation(1000)[:labels]
        model = HeadClassifier(inputs=features, **options).fit(X[chosen], Y[chosen], CLASSES, rng(seed))
        ours.append(accuracy(model.predict(X[1000:]), Y[1000:]))
        regression = LogisticRegression(max_iter=1000).fit(NORM * features(X[chosen]), Y[chosen])
        plain.append(regression.score(NORM * features(X[1000:]), Y[1000:]))
    assert np.mean(ours) > np.mean(plain)


def test_a_linear_head_finds_the_optimum_of_logistic_regression():
    features = spectral_map(X)
    recipe = HeadRecipe(epochs=600, learning_rate=0.3)
    model = HeadClassifier(inputs=features, norm=NORM, hidden=0, members=2, recipe=recipe).fit(
        X[:80], Y[:80], CLASSES, rng()
    )
    inputs = NORM * features(X)[:, :-1]
    expected = LogisticRegression(tol=1e-8, max_iter=5000).fit(inputs[:80], Y[:80]).predict_proba(inputs[:300])
    assert np.abs(model.predict(X[:300]) - expected).max() < 2e-3


def test_bootstrap_weights_set_linear_members_apart():
    even, drawn = (
        fitted(HeadClassifier(X, hidden=0, resample=name)).predict(X[:300]).std(axis=0).mean()
        for name in ("none", "dirichlet")
    )
    assert drawn > 5 * even


# Validation part


def likelihoods(model, items, labels):
    return np.array([log_likelihood(member.astype(np.float64), labels) for member in model.predict(items)])


def test_temperatures_make_timid_heads_as_sure_as_they_are_right():
    held_out = Fixed(X[200:500], Y[200:500])
    recipe = HeadRecipe(epochs=8, learning_rate=0.02)
    told = [
        fitted(HeadClassifier(X, validation=held_out, calibrate=calibrate, recipe=recipe), labels=40)
        for calibrate in (False, True)
    ]
    plain, tempered = (likelihoods(model, X[500:], Y[500:]) for model in told)
    assert (tempered > plain + 20).all()


def test_weights_are_the_likelihoods_of_the_validation_part():
    held_out = Fixed(X[200:230], Y[200:230])
    model = fitted(HeadClassifier(X, validation=held_out, weighting="likelihood", resample="dirichlet"), labels=40)
    expected = likelihood_weights(likelihoods(model, X[200:230], Y[200:230]))
    assert model.weights == pytest.approx(expected, rel=1e-4)
    assert model.weights.max() > 0.3


# Failures


def test_a_diverged_member_is_retried_with_another_seed(monkeypatch):
    plain = fitted(HeadClassifier(X, members=4)).predict(X[:50])
    calls = []

    def failing_once(layers, train, valid, **options):
        result = train_heads(layers, train, valid, **options)
        calls.append(len(options["rngs"]))
        if len(calls) == 1:
            result.train_losses[3, 2] = np.nan
        return result

    monkeypatch.setattr(heads_module, "train_heads", failing_once)
    again = fitted(HeadClassifier(X, members=4)).predict(X[:50])
    assert calls == [4, 1]
    assert again[[0, 1, 3]] == pytest.approx(plain[[0, 1, 3]], abs=1e-6)
    assert np.abs(again[2] - plain[2]).max() > 1e-3


def test_members_that_diverge_twice_are_reported():
    model = HeadClassifier(X, recipe=HeadRecipe(learning_rate=1e30))
    with pytest.raises(Diverged, match=r"members \[0, 1, 2, 3, 4\].*two seeds"):
        fitted(model)
    with pytest.raises(InputError, match="fitted"):
        model.predict(X[:2])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"posterior": "bayes"}, "posterior"),
        ({"weighting": "best"}, "weighting"),
        ({"resample": "jackknife"}, "resample"),
        ({"inputs": "whitened"}, "inputs"),
        ({"validation": "dynamics"}, "Did you mean 'dynamic'"),
        ({"members": 0}, "members"),
        ({"hidden": -1}, "hidden"),
        ({"norm": 0.0}, "norm"),
        ({"posterior": "dropout", "dropout": 0.0}, "dropout"),
        ({"calibrate": True}, "held-out labels"),
        ({"weighting": "likelihood"}, "held-out labels"),
        ({"recipe": HeadRecipe(epochs=0)}, "epochs"),
        ({"recipe": HeadRecipe(l2=-1.0)}, "l2"),
        ({"device": "cuda:77"}, "device"),
    ],
)
def test_bad_settings_are_refused_when_fitting(options, message):
    with pytest.raises(InputError, match=message):
        fitted(HeadClassifier(X, **options))


def test_items_that_are_not_vectors_are_refused():
    with pytest.raises(InputError, match="texts and images need a model that reads them"):
        HeadClassifier().fit(["a", "b"], np.array([0, 1]), CLASSES, rng())
    with pytest.raises(InputError, match="length 64"):
        fitted(HeadClassifier(X)).predict(X[:5, :20])


# Inputs and features


def test_linear_heads_take_the_norm_of_the_final_classifier_and_hidden_ones_half_of_the_way():
    final = SpectralLogistic(X).fit(X[:100], Y[:100], CLASSES, rng())
    assert fitted(HeadClassifier(X, hidden=0), labels=100).norm_ == final.norm_
    assert fitted(HeadClassifier(X), labels=100).norm_ == pytest.approx(np.sqrt(2.5 * final.norm_))


def test_masks_of_a_linear_head_see_every_direction_in_every_coordinate():
    plain, mixed = spectral_map(X), spectral_map(X).mixed()
    np.testing.assert_allclose(mixed(X) @ mixed(X).T, plain(X) @ plain(X).T, rtol=0, atol=1e-9)
    strongest = [np.abs(made.matrix).T @ np.abs(plain.matrix[:, 0]) for made in (plain, mixed)]
    assert strongest[1].max() < strongest[0].max() / 2


def test_standard_inputs_have_unit_norm_and_no_dead_coordinates():
    z = standard_map(X)(X)[:, :-1]
    assert z.shape[1] == (X.std(axis=0) > 0).sum() < X.shape[1]
    assert (z * z).sum(axis=1).mean() == pytest.approx(1)
    assert z.std(axis=0) == pytest.approx(z.shape[1] ** -0.5)


def test_large_means_do_not_drown_the_differences():
    shifted = X.astype(np.float64) + 1e7
    near, far = (
        HeadClassifier(pool).fit(pool[:100], Y[:100], CLASSES, rng()).predict(pool[:200]) for pool in (X, shifted)
    )
    assert far == pytest.approx(near, abs=1e-3)


def test_inner_products_of_features_are_means_over_the_heads():
    model = fitted(HeadClassifier(X, members=3, hidden=8, inputs=spectral_map(X), norm=NORM))
    rows = model.features(X[:10])
    inputs = torch.from_numpy((NORM * spectral_map(X)(X[:10])[:, :-1].T[None]).astype(np.float32))
    units = penultimate(model.trained_.layers, inputs)
    assert rows.shape == (10, 24)
    assert rows @ rows.T == pytest.approx((units.transpose(1, 2) @ units).mean(dim=0).numpy(), abs=1e-3)


def test_features_of_linear_and_masked_heads():
    linear = fitted(HeadClassifier(X, hidden=0, inputs=spectral_map(X), norm=NORM)).features(X[:5])
    assert linear == pytest.approx(NORM * spectral_map(X)(X[:5])[:, :-1], abs=1e-5)
    assert fitted(HeadClassifier(X, posterior="dropout", hidden=12)).features(X[:5]).shape == (5, 12)


def test_the_pool_can_come_later_and_what_was_learnt_is_forgotten():
    model = HeadClassifier()
    assert isinstance(model, UsesPool)
    model.see_pool(X)
    with_pool = fitted(model).predict(X[:20])
    assert np.array_equal(with_pool, fitted(HeadClassifier(X)).predict(X[:20]))
    model.see_pool(X[:300])
    with pytest.raises(InputError, match="fitted"):
        model.predict(X[:20])


def test_items_are_encoded_by_the_encoder():
    def double(items):
        return 2 * np.asarray(items)

    model = fitted(HeadClassifier(X, encode=double))
    assert np.array_equal(model.embeddings(X[:3]), 2 * X[:3])
    assert model.predict(X[:50]) == pytest.approx(fitted(HeadClassifier(X)).predict(X[:50]), abs=1e-4)


# Speed: processor time, so that a busy machine does not fail the test; docs/appendices/speed.md has the numbers


def seconds(action, repeats=4):
    def once():
        start = time.process_time()
        action()
        return time.process_time() - start

    return min(once() for _ in range(repeats))


WIDE = rng().normal(size=(6000, 384)).astype(np.float32) / np.arange(1, 385, dtype=np.float32) ** 0.5
SIX = WIDE[:, :6].argmax(axis=1).astype(np.int64)


def test_five_members_take_less_than_three_times_as_long_as_one():
    names, features = list("abcdef"), spectral_map(WIDE)

    def training(members):
        model = HeadClassifier(inputs=features, members=members)
        return lambda: model.fit(WIDE[:500], SIX[:500], names, rng())

    assert seconds(training(5)) < 3 * 1.3 * seconds(training(1))  # three times, and slack for noise


def test_dropout_masks_cost_little_more_than_one_pass():
    names, features = list("abcdef"), spectral_map(WIDE)

    def predicting(members):
        recipe = HeadRecipe(epochs=1)
        model = HeadClassifier(inputs=features, members=members, posterior="dropout", hidden=256, recipe=recipe)
        model.fit(WIDE[:500], SIX[:500], names, rng())
        return lambda: model.predict(WIDE)

    assert seconds(predicting(5)) < 1.3 * 1.2 * seconds(predicting(1))
