"""The contract of every strategy in the table, and what select does with it."""

import numpy as np
import pytest
from making import predictions

import bemps
from bemps.acquisition import baselines
from bemps.acquisition.strategy_registry import ALIASES, STRATEGIES, find_strategy

NAMES = sorted(bemps.strategies())


def everything(rng, N=60, K=4, H=7, dtype=np.float64):
    features = rng.normal(size=(N, H)).astype(dtype)
    return {
        "probs": predictions(rng, 5, N, K, dtype=dtype),
        "features": features,
        "embeddings": rng.normal(size=(N, 5)),
        "surprisal": np.abs(rng.normal(size=(N, 12))),
        "labelled_features": rng.normal(size=(10, H)),
        "labelled_embeddings": rng.normal(size=(10, 5)),
        "labelled_classes": np.arange(10) % K,
    }


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", [1, 7, 60])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_strategy_gives_n_different_items_and_the_same_for_a_seed(name, n, dtype):
    given = everything(np.random.default_rng(0), dtype=dtype)
    first, again = (bemps.select(n=n, strategy=name, seed=3, **given) for _ in range(2))
    assert len(set(first.indices.tolist())) == n == len(first)
    assert np.array_equal(first.indices, again.indices)
    assert np.array_equal(first.scores, again.scores)
    assert first.scores.shape == (n,)
    assert not np.isnan(first.scores).any()
    if first.clusters is not None:
        assert all(pick in cluster for pick, cluster in zip(first.indices, first.clusters, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_a_strategy_survives_equal_rows_and_members_that_agree(name):
    rng = np.random.default_rng(0)
    items = {key: value for key, value in everything(rng).items() if key != "labelled_classes"}
    given = {key: np.repeat(value[..., :1, :], 20, axis=-2) for key, value in items.items()}
    given["labelled_classes"] = np.zeros(20, int)
    assert len(set(bemps.select(n=6, strategy=name, **given).indices.tolist())) == 6
    given["probs"] = np.repeat(given["probs"][:1], 5, axis=0)
    if find_strategy(name).disagreement:
        with pytest.raises(bemps.InputError, match="5 members that predict the same everywhere"):
            bemps.select(n=6, strategy=name, **given)
    else:
        assert len(set(bemps.select(n=6, strategy=name, **given).indices.tolist())) == 6


def one_member(given):
    return {**given, "probs": given["probs"][:1]}


def vectors_of_zeros(given):
    return {
        key: value if key in ("probs", "labelled_classes") else np.zeros_like(value) for key, value in given.items()
    }


def certain(given):
    return {**given, "probs": np.broadcast_to(np.eye(4)[0], given["probs"].shape).copy()}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("change", [one_member, vectors_of_zeros, certain])
@pytest.mark.parametrize("n", [1, 9, 60])
def test_a_strategy_gives_numbers_where_there_is_little_to_tell_items_apart(name, change, n):
    given = change(everything(np.random.default_rng(7)))
    if find_strategy(name).disagreement and change is not vectors_of_zeros and n < 60:
        with pytest.raises(bemps.InputError, match="member"):
            bemps.select(n=n, strategy=name, **given)
        return
    first, again = (bemps.select(n=n, strategy=name, seed=2, **given) for _ in range(2))
    assert len(set(first.indices.tolist())) == n
    assert first.indices.tolist() == again.indices.tolist()
    assert not np.isnan(first.scores).any()


@pytest.mark.parametrize(
    ("name", "scores"),
    [
        ("least-confidence", baselines.least_confidence),
        ("margin", baselines.margin),
        ("entropy", baselines.entropy),
        ("bald", baselines.bald),
        ("coremse-topk", lambda p, w: bemps.core_mse(p, weights=w).scores),
        ("corelog-topk", lambda p, w: bemps.core_log(p, weights=w).scores),
        ("coremse", lambda p, w: bemps.core_mse(p, weights=w).scores),
        ("corelog", lambda p, w: bemps.core_log(p, weights=w).scores),
        ("mocu", lambda p, w: bemps.expected_gain(p, score="zero-one", weights=w).scores),
        ("batchbald", baselines.bald),
        ("margin-km", baselines.margin),
        ("coremse-km", lambda p, w: bemps.core_mse(p, weights=w).scores),
        ("coremse-joint", lambda p, w: bemps.core_mse(p, weights=w).scores),
    ],
)
def test_one_item_is_the_argmax(name, scores):
    given = everything(np.random.default_rng(1))
    weights = np.array([0.1, 0.3, 0.2, 0.2, 0.2])
    chosen = bemps.select(n=1, strategy=name, weights=weights, **given)
    assert chosen.indices[0] == scores(given["probs"], weights).argmax()


def test_every_row_of_the_table_has_help_and_options():
    assert set(bemps.strategies()) == set(STRATEGIES) | set(ALIASES)
    for name, entry in STRATEGIES.items():
        assert entry.help, name
        assert "of" not in entry.options
    assert STRATEGIES["coremse"].options.keys() == {"T", "estimation_size", "compat"}


def test_names_of_the_design_are_there():
    wanted = {
        *("random", "least-confidence", "margin", "entropy", "bald", "batchbald", "mocu", "wmocu", "smocu", "badge"),
        *("alps", "bert-km", "coreset", "typiclust", "margin-km", "coremse", "corelog", "coremse-topk"),
        *("corelog-topk", "coremse-km", "corelog-km", "coremse-joint", "coremse-laplace", "corelog-laplace"),
        *("corelog-laplace-margin", "epig", "maxherding", "uncertainty-herding", "falcun", "parbals", "anchor-margin"),
    }
    assert wanted <= set(bemps.strategies())


def test_a_function_is_a_strategy():
    def last(context: bemps.Context) -> bemps.Selection:
        picks = np.arange(context.size - context.n, context.size)
        return bemps.Selection(picks, np.zeros(context.n))

    assert bemps.select(np.full((1, 9, 2), 0.5), 3, last).indices.tolist() == [6, 7, 8]


def test_no_model_yet():
    x = np.random.default_rng(0).normal(size=(30, 4))
    assert len(bemps.select(None, 5, "typiclust", embeddings=x)) == 5
    assert len(bemps.select(None, 5, "random", features=x)) == 5


def test_the_estimation_pool_is_whole_for_brier_and_a_sample_for_log():
    probs = predictions(np.random.default_rng(0), 4, 1500, 3, dtype=np.float32)
    whole = bemps.core_mse(probs).scores
    chosen = bemps.select(probs, 5, "coremse-topk")
    assert np.allclose(chosen.scores, np.sort(whole)[::-1][:5])
    sampled = bemps.select(probs, 5, "corelog-topk", seed=0)
    assert not np.allclose(sampled.scores, bemps.select(probs, 5, "corelog-topk", seed=1).scores, rtol=1e-6)
    exact = bemps.select(probs, 5, "corelog-topk", estimation=probs)
    assert np.allclose(exact.scores, np.sort(bemps.core_log(probs).scores)[::-1][:5])


@pytest.mark.parametrize("name", ["coremse", "corelog"])
def test_official_vectors_are_those_of_the_authors_code(name):
    """Their loop, in a few lines: sum over members of a distance to the updated prediction, with prior weights."""
    from bemps.gain.official import official_rows, official_scores

    rng = np.random.default_rng(0)
    p, x = predictions(rng, 3, 12, 4), predictions(rng, 3, 9, 4)
    q = p.mean(0)
    updated = np.einsum("eny,emz->nymz", p / p.sum(0), x)
    if name == "coremse":
        distance = ((x[None, None] - updated[:, :, None]) ** 2).sum(-1)
    else:
        distance = (x[None, None] * np.log(x[None, None] / updated[:, :, None])).sum(-1)
    rows = np.einsum("ny,nyem->nm", q, distance) / 3
    score = "brier" if name == "coremse" else "log"
    w = np.full(3, 1 / 3)
    assert np.allclose(official_scores(p, x, w, score), rows.mean(1))
    found = official_rows(p, x, w, score, np.arange(12))
    assert np.allclose(found, rows / np.linalg.norm(rows, axis=1, keepdims=True))
    assert len(bemps.select(p, 4, name, compat="official")) == 4


@pytest.mark.parametrize("name", ["bald", "coremse-topk", "margin"])
def test_stochastic_rules_differ_by_seed_and_prefer_high_scores(name):
    probs = predictions(np.random.default_rng(0), 5, 300, 3)
    picks = [bemps.select(probs, 20, name, rule="power", beta=4.0, seed=seed) for seed in range(20)]
    assert len({tuple(sorted(p.indices)) for p in picks}) == 20
    random = np.mean([bemps.select(probs, 20, name, rule="power", beta=0.0, seed=s).scores for s in range(20)])
    assert np.mean([p.scores for p in picks]) > random


@pytest.mark.parametrize("name", NAMES)
def test_the_number_of_threads_changes_nothing(name):
    given = everything(np.random.default_rng(4), N=300)
    picks = []
    for threads in (1, 3):
        with bemps.limits(threads=threads):
            picks.append(bemps.select(n=12, strategy=name, seed=1, **given).indices.tolist())
    assert picks[0] == picks[1]


def test_any_score_is_an_option_of_one_strategy():
    """`gain` with the Brier and the log score is CoreMSE and CoreLog; others are their own."""
    probs = np.random.default_rng(0).dirichlet(np.ones(4), size=(5, 80))
    picks = {
        score: bemps.select(probs, 6, "gain", score=score).indices.tolist() for score in ("brier", "log", "spherical")
    }
    assert picks["brier"] == bemps.select(probs, 6, "coremse").indices.tolist()
    assert picks["log"] == bemps.select(probs, 6, "corelog").indices.tolist()
    assert picks["spherical"] not in (picks["brier"], picks["log"])


@pytest.mark.parametrize("scale", [1e8, 1e13, 1e25, 1e60, 1e140])
@pytest.mark.parametrize("name", [name for name in NAMES if find_strategy(name).needs])
def test_features_of_any_scale_give_finite_scores_or_a_sentence(name, scale):
    """A time in milliseconds beside a share: no exception of NumPy, no NaN."""
    rng = np.random.default_rng(0)
    given = everything(rng, H=5) | {
        "labelled_probs": predictions(rng, 1, 10, 4)[0],
        "labelled_classes": np.arange(10) % 4,
    }
    columns = 10.0 ** rng.uniform(0, np.log10(scale), 5)
    for key in ("features", "embeddings", "labelled_features", "labelled_embeddings"):
        given[key] = given[key] * columns
        given[key][:, 3] = given[key][:, 2] + rng.normal(size=len(given[key]))
    try:
        chosen = bemps.select(n=5, strategy=name, **given)
    except bemps.InputError as error:
        assert "Scale the columns" in error.fix  # noqa: PT017
    else:
        assert np.isfinite(chosen.scores).all()


@pytest.mark.parametrize("seed", range(5))
def test_probabilities_too_small_for_their_product_give_finite_scores(seed):
    probs = np.random.default_rng(seed).dirichlet([1e-3, 1, 1e-3], size=(4, 30))
    probs[probs < 1e-300] = 5e-324
    assert np.isfinite(bemps.select(probs, 6, "batchbald").scores).all()
