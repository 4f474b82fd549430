"""The pool of a frozen and a fine-tuned classifier: weights from held-out labels alone."""

import math

import numpy as np
import pytest
from tiny_bert import CLASSES, LABELS, TEXTS, tiny_bert

from bemps.errors import InputError
from bemps.learner import ActiveLearner
from bemps.models._torch.training_loop import TrainingRecipe
from bemps.models.encoders.tfidf import tfidf_vectors
from bemps.models.linear.spectral_classifiers import SpectralLaplace
from bemps.models.pool_weights import FIRST_ALONE, Evidence, PoolWeights, enough, pool_weights, pooled, stratified_folds
from bemps.models.text.adapted_text import AdaptedText
from bemps.models.text.finetuned_laplace import FineTunedLaplace
from bemps.testing import ModelCase, model_contract

QUICK = TrainingRecipe(learning_rate=1e-2, head_rate=2e-2, epochs=6, patience=None, warm_up=0.1)
WORDS = tfidf_vectors(TEXTS, dimensions=8, rng=np.random.default_rng(0))


def quick(**options):
    frozen = SpectralLaplace(TEXTS, encode=WORDS, members=4)
    tuned = FineTunedLaplace(tiny_bert(), members=4, max_length=32, recipe=QUICK, pool=TEXTS)
    return AdaptedText(frozen, tuned, **options)


def fitted(model, n=24, seed=0):
    return model.fit(TEXTS[:n], LABELS[:n], CLASSES, np.random.default_rng(seed))


@model_contract(ModelCase("both", quick, TEXTS, LABELS, CLASSES, tolerance=1e-5))
def test_contract(case, check):
    check(case)


def answers(labels, right, K, rng):
    """Probabilities of a classifier that is right with this probability, and says so."""
    says = np.where(rng.random(len(labels)) < right, labels, rng.integers(K, size=len(labels)))
    probs = np.full((len(labels), K), 0.2 / (K - 1))
    probs[np.arange(len(labels)), says] = 0.8
    return probs


@pytest.mark.parametrize(("first", "second", "low", "high"), [(0.9, 0.3, 0, 0.25), (0.3, 0.9, 0.75, 1)])
def test_the_better_of_two_counts_more(first, second, low, high):
    rng = np.random.default_rng(0)
    labels = rng.integers(4, size=200)
    weights = pool_weights(Evidence(labels, answers(labels, first, 4, rng), answers(labels, second, 4, rng)))
    assert low <= weights.share <= high


def test_two_alike_share():
    rng = np.random.default_rng(1)
    labels = rng.integers(4, size=100)
    one, other = (answers(labels, 0.7, 4, rng) for _ in range(2))
    evidence = Evidence(np.tile(labels, 2), np.vstack([one, other]), np.vstack([other, one]))
    assert pool_weights(evidence).share == pytest.approx(0.5, abs=1e-6)


def test_the_pool_is_the_weighed_mean_of_powers_of_the_answers():
    p, q = np.array([[0.5, 0.3, 0.2]]), np.array([[0.1, 0.1, 0.8]])
    soft = q**0.5 / (q**0.5).sum()
    mean = 0.75 * p + 0.25 * soft
    assert np.allclose(pooled(p, q, PoolWeights(0.25, 1.0, 0.5)), mean)
    assert np.allclose(pooled(p, q, PoolWeights(0.25, 1.0, 0.5, 0.8)), mean**0.8 / (mean**0.8).sum())


def raised(probs, power):
    """The literal power of probabilities, of sum one."""
    powers = [p**power for p in probs]
    return [p / sum(powers) for p in powers]


def literal_weights(labels, first, second):
    """The rule in loops over grids and labels, as it stands in the docs."""

    def loss(answers):
        return -sum(math.log(answer[label]) for answer, label in zip(answers, labels, strict=True))

    def mean(grid, losses):
        likelihoods = [math.exp(min(losses) - loss) for loss in losses]
        return sum(value * weight for value, weight in zip(grid, likelihoods, strict=True)) / sum(likelihoods)

    powers = [2 ** (n / 2) for n in range(-6, 5)]
    logs = [math.log(power) for power in powers]
    a, b = (
        math.exp(mean(logs, [loss([raised(answer, power) for answer in answers]) for power in powers]))
        for answers in (first, second)
    )
    shares = [n / 20 for n in range(21)]
    pools = [
        [
            [(1 - w) * x + w * y for x, y in zip(raised(p, a), raised(q, b), strict=True)]
            for p, q in zip(first, second, strict=True)
        ]
        for w in shares
    ]
    w = mean(shares, [loss(pool) for pool in pools])
    return w, a, b, 1 / max(1.0, a ** (1 - w) * b**w)


@pytest.mark.parametrize("seed", range(4))
def test_the_weights_are_those_of_the_literal_rule(seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=40)
    first, second = (rng.dirichlet(np.ones(3), size=40) + 0.5 * np.eye(3)[labels] for _ in range(2))
    first, second = (probs / probs.sum(axis=1, keepdims=True) for probs in (first, second**2))
    weights = pool_weights(Evidence(labels, first, second))
    expected = literal_weights(labels.tolist(), first.tolist(), second.tolist())
    assert (weights.share, weights.first_power, weights.second_power, weights.power) == pytest.approx(expected)


def test_an_answer_that_is_too_sure_is_softened_and_one_too_modest_sharpened():
    rng = np.random.default_rng(2)
    labels = rng.integers(4, size=300)
    sure, modest = (answers(labels, 0.6, 4, rng) ** power for power in (4.0, 0.5))
    sure, modest = (probs / probs.sum(axis=1, keepdims=True) for probs in (sure, modest))
    weights = pool_weights(Evidence(labels, modest, sure))
    assert weights.first_power > 1.1
    assert weights.second_power < 0.5


def test_a_modest_model_counts_as_much_as_its_calibrated_answers():
    """AG NEWS: a frozen model that was right more often had a share of 30 % as it was less sure."""
    rng = np.random.default_rng(4)
    labels = rng.integers(4, size=300)
    first, second = answers(labels, 0.8, 4, rng), answers(labels, 0.75, 4, rng)
    modest = first**0.4 / (first**0.4).sum(axis=1, keepdims=True)
    calibrated, shy = (pool_weights(Evidence(labels, probs, second)) for probs in (first, modest))
    assert shy.share == pytest.approx(calibrated.share, abs=0.05)
    assert shy.share < 0.5


def test_sharpening_serves_the_comparison_and_not_the_answer():
    """The pool of a modest model with itself is the model itself, whatever the held-out labels say."""
    rng = np.random.default_rng(5)
    labels = rng.integers(4, size=200)
    probs = answers(labels, 0.95, 4, rng) ** 0.5
    probs /= probs.sum(axis=1, keepdims=True)
    weights = pool_weights(Evidence(labels, probs, probs))
    assert weights.first_power > 1.5
    assert np.allclose(pooled(probs, probs, weights), probs)


def test_a_negligible_share_leaves_the_first_as_it_is():
    rng = np.random.default_rng(3)
    labels = rng.integers(4, size=300)
    assert pool_weights(Evidence(labels, answers(labels, 0.95, 4, rng), answers(labels, 0.0, 4, rng))) == FIRST_ALONE


def test_folds_hold_out_every_label_once_and_every_class_evenly():
    labels = np.repeat(np.arange(4), [9, 6, 4, 1])
    splits = stratified_folds(labels, 3, np.random.default_rng(0))
    assert sorted(np.concatenate([split.valid for split in splits])) == list(range(20))
    for split in splits:
        assert set(split.train) == set(range(20)) - set(split.valid)
        sizes = np.bincount(labels[split.valid], minlength=4)
        assert sizes[0] == 3
        assert 1 <= sizes[2] <= 2


def test_no_more_folds_than_are_needed():
    splits = stratified_folds(np.zeros(300, dtype=int), 3, np.random.default_rng(0))
    assert len(list(enough(splits, 150))) == 2
    assert len(list(enough(splits, 1000))) == 3
    assert len(list(enough(splits, 1))) == 1


def test_evidence_comes_from_models_that_have_not_seen_the_labels():
    model = quick()
    seen = []
    fit, predict = model.frozen.fit, model.frozen.predict_map

    def recorded(items, labels, classes, rng):
        seen.append(set(items))
        return fit(items, labels, classes, rng)

    def asked(items):
        assert not seen[-1] & set(items)
        return predict(items)

    model.frozen.fit, model.frozen.predict_map = recorded, asked
    model.fit_encoder(TEXTS, LABELS, CLASSES, np.random.default_rng(0))
    assert len(seen) == 3
    assert len(model.evidence_.labels) == 24


def test_inner_products_of_features_are_weighed_as_the_pool():
    model = fitted(quick())
    model.pool_weights_ = PoolWeights(0.3, 1.25, 0.625, 0.8)
    model.tuned.fit(TEXTS, LABELS, CLASSES, np.random.default_rng(1))
    both, first, second = (part.features(TEXTS) for part in (model, model.frozen, model.tuned))
    assert np.allclose(both @ both.T, 0.7 * first @ first.T + 0.3 * 0.25 * second @ second.T)


def test_with_a_handful_of_labels_it_is_the_frozen_model():
    model = fitted(quick(), n=9)
    assert model.pool_weights_ == FIRST_ALONE
    alone = SpectralLaplace(TEXTS, encode=WORDS, members=4)
    alone.fit(TEXTS[:9], LABELS[:9], CLASSES, np.random.default_rng(0))
    assert np.array_equal(model.predict_map(TEXTS), alone.predict_map(TEXTS))


def test_where_fine_tuning_counts_for_nothing_it_is_not_trained_at_the_end(monkeypatch):
    monkeypatch.setattr("bemps.models.text.adapted_text.pool_weights", lambda evidence: FIRST_ALONE)
    model, sizes = quick(), []
    train = model.tuned.fit_encoder

    def counted(items, *others):
        sizes.append(len(items))
        return train(items, *others)

    model.tuned.fit_encoder = counted
    fitted(model)
    assert sizes == [16, 16, 16]
    assert model.features(TEXTS).shape == model.frozen.features(TEXTS).shape


def test_the_heads_follow_new_labels_without_training():
    model = quick().fit_encoder(TEXTS[:21], LABELS[:21], CLASSES, np.random.default_rng(0))
    model.tuned.fit_encoder = None
    model.fit_head(TEXTS, LABELS, CLASSES, np.random.default_rng(1))
    assert model.predict(TEXTS).shape == (4, 24, 3)


def test_heads_before_the_encoder_are_refused():
    with pytest.raises(InputError, match="Call fit first"):
        quick().fit_head(TEXTS, LABELS, CLASSES, np.random.default_rng(0))


def test_progress_is_one_bar():
    told = []
    fitted(quick(progress=lambda *what: told.append(what)))
    assert {task for task, _, _ in told} == {"fine-tune"}
    done = [done for _, done, _ in told]
    assert done == sorted(done)
    assert told[-1][1] == told[-1][2]


def test_strategies_work_on_both():
    for strategy in ("corelog-laplace", "badge", "corelog-ties"):
        learner = ActiveLearner(quick(), TEXTS, classes=CLASSES, strategy=strategy, seed=0)
        learner.tell({str(i): CLASSES[LABELS[i]] for i in range(21)})
        assert len(learner.ask(2)) == 2
