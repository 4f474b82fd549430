"""Rules of recent papers against their literal loops, and what they do at the edges."""

import numpy as np
import pytest
import reference_rules as reference
from making import predictions

import bemps
from bemps._utils.numerics import curvature
from bemps.acquisition import anchors
from bemps.acquisition.batch_rules import unit_rows


@pytest.fixture
def pool():
    rng = np.random.default_rng(0)
    return {
        "probs": predictions(rng, 3, 40, 4),
        "embeddings": rng.normal(size=(40, 6)),
        "labelled_embeddings": rng.normal(size=(7, 6)),
        "features": rng.normal(size=(40, 5)),
        "labelled_features": rng.normal(size=(7, 5)),
        "labelled_classes": np.array([0, 0, 0, 0, 1, 1, 3]),
    }


def greedy_in_the_reference(chosen, vectors, weights, labelled, radius):
    """Every pick raises the coverage as much as the best candidate would, by as much as its score says."""
    covering = list(labelled)
    before = reference.coverage(vectors, weights, covering, radius)
    for step, pick in enumerate(chosen.indices):
        left = [i for i in range(len(vectors)) if i not in chosen.indices[:step]]
        raised = {i: reference.coverage(vectors, weights, [*covering, vectors[i]], radius) - before for i in left}
        assert raised[pick] == pytest.approx(max(raised.values()), abs=1e-6)
        assert chosen.scores[step] == pytest.approx(raised[pick], abs=1e-6)
        covering.append(vectors[pick])
        before += raised[pick]


@pytest.mark.parametrize("radius", [1.0, 0.3])
def test_maxherding_is_greedy_on_the_coverage(pool, radius):
    chosen = bemps.select(n=6, strategy="maxherding", radius=radius, **pool)
    weights = np.full(40, 1 / 40)
    greedy_in_the_reference(chosen, pool["embeddings"], weights, pool["labelled_embeddings"], radius)


@pytest.mark.parametrize("options", [{}, {"temperature": 3.0}, {"radius": 0.7}])
def test_uncertainty_herding_is_greedy_on_the_uncertain_coverage(pool, options):
    chosen = bemps.select(n=6, strategy="uncertainty-herding", **options, **pool)
    q = pool["probs"].mean(0)
    temperature = options.get("temperature", 1.0)
    weights = [reference.margin(reference.tempered(row, temperature)) / 40 for row in q]
    radius = options.get("radius", reference.labelled_radius(pool["labelled_embeddings"]))
    greedy_in_the_reference(chosen, pool["embeddings"], weights, pool["labelled_embeddings"], radius)


def test_maxherding_needs_neither_a_model_nor_a_label():
    centres = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [-1, 0, 0]])
    x = np.repeat(centres, 10, axis=0) + 0.05 * np.random.default_rng(0).normal(size=(40, 3))
    picks = bemps.select(None, 4, "maxherding", embeddings=x).indices
    assert sorted(int(i) // 10 for i in picks) == [0, 1, 2, 3]
    picks = bemps.select(None, 3, "maxherding", embeddings=x, labelled_embeddings=centres[:1]).indices
    assert sorted(int(i) // 10 for i in picks) == [1, 2, 3]


def test_uncertainty_herding_with_a_narrow_radius_asks_for_the_smallest_margins(pool):
    chosen = bemps.select(n=8, strategy="uncertainty-herding", radius=0.01, **pool)
    margins = [reference.margin(row) for row in pool["probs"].mean(0)]
    assert set(chosen.indices.tolist()) == set(np.argsort(margins)[::-1][:8].tolist())


def test_copies_among_the_labelled_items_do_not_make_the_radius_zero(pool):
    once = bemps.select(n=6, strategy="uncertainty-herding", **pool)
    copied = {key: np.repeat(value, 3, axis=0) if "labelled" in key else value for key, value in pool.items()}
    twice = bemps.select(n=6, strategy="uncertainty-herding", **copied)
    assert once.indices.tolist() == twice.indices.tolist()


def test_coverage_is_the_same_in_little_memory(pool):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(900, 8))
    probs = predictions(rng, 2, 900, 3)
    plenty = bemps.select(probs, 20, "uncertainty-herding", embeddings=x)
    with bemps.limits(memory=2**20):
        little = bemps.select(probs, 20, "uncertainty-herding", embeddings=x)
    assert plenty.indices.tolist() == little.indices.tolist()


def test_points_of_the_coverage_can_be_a_sample(pool):
    chosen = [
        bemps.select(n=5, strategy="maxherding", estimation_size=size, **pool).indices.tolist() for size in (12, 40)
    ]
    assert chosen[0] != chosen[1]


@pytest.mark.parametrize("gamma", [0.0, 1.0, 10.0])
def test_falcun_is_its_definition(pool, gamma):
    chosen = bemps.select(n=12, strategy="falcun", gamma=gamma, seed=5, **pool)
    picks, values = reference.falcun(pool["probs"].mean(0), 12, gamma, np.random.default_rng(5))
    assert chosen.indices.tolist() == picks
    assert chosen.scores == pytest.approx(values, abs=1e-12)


def test_falcun_with_a_large_gamma_takes_the_most_relevant(pool):
    chosen = bemps.select(n=1, strategy="falcun", gamma=1e6, **pool)
    margins = [reference.margin(row) for row in pool["probs"].mean(0)]
    assert chosen.indices[0] == np.argmax(margins)


@pytest.mark.parametrize("draws", [1, 4])
@pytest.mark.parametrize("K", [2, 4, 7])  # seven classes: no factors of the traces with twenty points
def test_parbals_is_its_definition(draws, K):
    rng = np.random.default_rng(2)
    h, labelled, q = rng.normal(size=(25, 5)), rng.normal(size=(6, 5)), predictions(rng, 1, 25, K)[0]
    known = predictions(rng, 1, 6, K)[0]
    points, points_q = rng.normal(size=(20, 5)), predictions(rng, 1, 20, K)[0]
    chosen = bemps.select(
        q[None], 6, "parbals", features=h, labelled_features=labelled, labelled_probs=known, seed=3,
        draws=draws, l2=2.0, estimation=points_q[None], estimation_features=points,
    )  # fmt: skip
    precision = labelled.T @ np.diag(curvature(known)) @ labelled + 2.0 * np.eye(5)
    uniforms = np.random.default_rng(3)
    uniforms.choice(np.zeros(1), 1, replace=False)  # the draw among equal values that keeps all candidates
    picks, values = reference.parbals(h, q, points, points_q, precision, 6, draws, uniforms)
    assert chosen.indices.tolist() == picks
    assert chosen.scores == pytest.approx(values, rel=1e-4)


def test_parbals_looks_at_the_best_candidates_only_and_fits_the_memory():
    rng = np.random.default_rng(0)
    given = {
        "probs": predictions(rng, 1, 300, 3),
        "features": rng.normal(size=(300, 4)),
        "labelled_features": rng.normal(size=(5, 4)),
    }
    alone = bemps.select(n=30, strategy="corelog-laplace", estimation_size=300, **given)
    few = bemps.select(n=10, strategy="parbals", candidates=10, **given)
    assert few.indices[0] == alone.indices[0]
    with bemps.limits(memory=2**20):
        assert len(bemps.select(n=30, strategy="parbals", **given)) == 30


def test_the_window_is_around_the_anchors(pool):
    rng = np.random.default_rng(0)
    labelled = unit_rows(pool["labelled_embeddings"])
    drawn = anchors.draw_anchors(labelled, pool["labelled_classes"], 4, rng)
    assert len(drawn) == 7  # no class has more than four labelled items
    context = bemps.Context(n=3, size=40, rng=rng, **pool)
    window = anchors.anchor_window(context, anchors=4, neighbours=5, window=9)
    assert set(window.tolist()) == reference.anchor_window(pool["embeddings"], drawn, 5, 9)
    chosen = bemps.select(n=3, strategy="anchor-margin", anchors=4, neighbours=5, window=9, **pool)
    margins = np.array([reference.margin(row) for row in pool["probs"].mean(0)])
    assert chosen.indices.tolist() == sorted(window.tolist(), key=lambda i: -margins[i])[:3]
    assert chosen.scores == pytest.approx(margins[chosen.indices])


def test_anchors_are_as_many_for_a_rare_class_as_for_a_common_one():
    x = np.random.default_rng(0).normal(size=(200, 3))
    classes = np.r_[np.zeros(190, int), np.ones(10, int)]
    drawn = anchors.draw_anchors(x, classes, 10, np.random.default_rng(1))
    assert len(drawn) == 20
    assert {tuple(row) for row in x[190:]} <= {tuple(row) for row in drawn}


def test_the_window_finds_a_rare_class_that_margin_misses():
    """Twelve rare items, one of them labelled; the model is sure that they are common ones."""
    rng = np.random.default_rng(0)
    common, rare = rng.normal(size=(988, 2)), [8.0, 0] + 0.3 * rng.normal(size=(12, 2))
    x = np.c_[np.concatenate([common, rare]), np.full(1000, 3.0)]
    sure = np.clip(0.5 + 0.4 * rng.random(1000), 0, 0.99)
    sure[988:] = 0.95
    given = {
        "probs": np.stack([sure, 1 - sure], axis=1)[None],
        "embeddings": x,
        "labelled_embeddings": np.array([[0.0, 0, 3], [0, 1, 3], [8, 0, 3]]),
        "labelled_classes": np.array([0, 0, 1]),
    }
    found = [
        (bemps.select(n=30, strategy=name, **options, **given).indices >= 988).sum()
        for name, options in (("margin", {}), ("anchor-margin", {"neighbours": 12}))
    ]
    assert found[0] == 0
    assert found[1] >= 6


def test_classes_of_labelled_items_are_checked(pool):
    for wrong in ([0, 1], np.zeros((7, 1), int), np.full(7, 0.5), np.full(7, -1)):
        with pytest.raises(bemps.InputError, match="labelled_classes"):
            bemps.select(n=2, strategy="anchor-margin", **{**pool, "labelled_classes": wrong})
    pool.pop("labelled_classes")
    with pytest.raises(bemps.InputError, match="labelled_classes"):
        bemps.select(n=2, strategy="anchor-margin", **pool)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("maxherding", {"radius": 0.0}),
        ("maxherding", {"estimation_size": 0}),
        ("uncertainty-herding", {"radius": -1.0}),
        ("uncertainty-herding", {"temperature": 0}),
        ("falcun", {"gamma": -1}),
        ("parbals", {"draws": 0}),
        ("parbals", {"candidates": 0}),
        ("parbals", {"l2": 0}),
        ("anchor-margin", {"anchors": 0}),
        ("anchor-margin", {"neighbours": 0}),
        ("anchor-margin", {"window": 0}),
        ("falcun", {"gama": 1}),
    ],
)
def test_options_are_checked(pool, name, options):
    with pytest.raises(bemps.InputError, match=next(iter(options))):
        bemps.select(n=3, strategy=name, **options, **pool)
