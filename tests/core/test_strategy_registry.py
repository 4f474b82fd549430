"""One row says everything about a strategy: adding one is a function and a row."""

import numpy as np
import pytest
from making import predictions
from typer.testing import CliRunner

import bemps
from bemps import distributed
from bemps.acquisition import baselines
from bemps.acquisition.strategy_registry import STRATEGIES, ShardPlan, StrategyEntry, strategies_on_shards
from bemps.cli import app
from bemps.errors import InputError
from bemps.experiments.config import config_of
from bemps.experiments.grid import Cell, cells
from bemps.gain.expected import gain_of_valid_arrays
from bemps.report.style import COLOURS, DASHES, Style, Styles, styled_strategies

LOOKS = (  # published figures are drawn with them
    *("coremse", "corelog", "margin", "badge", "corelog-ties", "bald"),
    *("coremse-laplace", "corelog-laplace", "entropy", "alps", "mocu", "coremse-km"),
    *("coremse-joint", "corelog-laplace-margin", "margin-km", "bert-km", "smocu", "corelog-km"),
    *("coremse-topk", "corelog-topk", "least-confidence", "coreset", "typiclust", "batchbald"),
    *("coremse-laplace-margin", "wmocu", "gain", "corelog-margin-km", "uncertainty-herding", "parbals"),
    *("maxherding", "falcun", "anchor-margin"),
)
GRID = {"dataset": "digits", "model": "logistic", "seeds": 1, "batch_size": 10, "budget": 20}
WITH_CANDIDATES = ["margin-km", "coremse-km", "corelog-km", "corelog-margin-km"]


def inputs(N=60):
    rng = np.random.default_rng(0)
    vectors, labelled = rng.normal(size=(N, 5)), rng.normal(size=(10, 5))
    return {
        "probs": predictions(rng, 5, N, 3),
        "features": vectors,
        "labelled_features": labelled,
        "embeddings": vectors,
    }


def gini(probs, weights):
    mean = np.einsum("enk,e->nk", probs, weights)
    return 1 - (mean**2).sum(1)


def by_gini(context):
    scores = gini(*context.members())
    picks = np.argsort(-scores)[: context.n]
    return bemps.Selection(picks, scores[picks])


def test_every_strategy_keeps_the_look_of_published_figures():
    assert styled_strategies() == LOOKS
    assert [STRATEGIES[name].style_index for name in LOOKS] == list(range(len(LOOKS)))


def test_a_strategy_is_added_by_one_function_and_one_row(monkeypatch, tmp_path):
    plan = ShardPlan("top", item_score=gini)
    monkeypatch.setitem(
        STRATEGIES, "gini", StrategyEntry(by_gini, "largest Gini impurity", style_index=33, shards=plan)
    )
    probs = inputs()["probs"]
    expected = np.argsort(-gini(probs, np.full(5, 0.2)))[:4].tolist()
    assert bemps.select(probs, 4, "gini").indices.tolist() == expected
    assert bemps.strategies()["gini"] == "largest Gini impurity"
    assert "largest Gini impurity" in CliRunner().invoke(app, ["strategies"]).stdout
    distributed.write_shard(tmp_path / "part.parquet", probs, [f"i{i}" for i in range(60)])
    assert distributed.select(tmp_path, None, 4, "gini", on="here").indices.tolist() == expected
    assert "gini" in strategies_on_shards()
    assert styled_strategies()[-1] == "gini"
    assert Styles(["random", "gini"])["gini"] == Style(COLOURS[33 % 6], DASHES[33 // 6], "hexagon")
    assert {cell.strategy for cell in cells(config_of({**GRID, "strategies": ["gini"]}))} == {"gini"}


@pytest.mark.parametrize("name", WITH_CANDIDATES)
def test_the_earlier_name_of_an_option_gives_the_same_batch(name, recwarn):
    assert STRATEGIES[name].options["candidates_per_item"] == 10
    now, before = (
        bemps.select(n=6, strategy=name, **inputs(), **{option: 3}) for option in ("candidates_per_item", "pool")
    )
    assert now.indices.tolist() == before.indices.tolist()
    assert not [warning for warning in recwarn if warning.category is DeprecationWarning]
    with pytest.raises(InputError, match="candidates_per_item and pool"):
        bemps.select(n=6, strategy=name, **inputs(), candidates_per_item=3, pool=3)


def test_a_grid_that_says_pool_keeps_its_cells():
    config = config_of({**GRID, "strategies": ["margin-km"], "axes": {"pool": [4]}})
    [cell] = cells(config)
    assert cell == Cell("digits", "logistic", "margin-km", 10, 0, (("pool", 4),))
    assert Cell("digits", "logistic", "margin-km", 5, 0, (("pool", 4),)).slug.endswith("c57463af03e91495")
    with pytest.raises(InputError, match="axis"):
        cells(config_of({**GRID, "strategies": ["margin"], "axes": {"pool": [4]}}))


def test_a_plugin_may_have_an_option_called_pool():
    def mine(context, *, pool=2):
        return bemps.Selection(np.arange(pool, pool + context.n), np.zeros(context.n))

    assert bemps.select(inputs()["probs"], 3, mine, pool=7).indices.tolist() == [7, 8, 9]


def test_probabilities_are_checked_once_for_a_selection(monkeypatch):
    calls = []
    check = bemps.checks.probabilities
    monkeypatch.setattr(bemps.checks, "probabilities", lambda *a, **k: calls.append(a) or check(*a, **k))
    bemps.select(inputs()["probs"], 4, "coremse")
    assert len(calls) == 1


def test_the_gain_of_checked_arrays_is_the_expected_gain():
    probs = inputs()["probs"]
    w, v = np.full(5, 0.2), np.full(60, 1 / 60)
    for score in ("brier", "log", "spherical"):
        expected = bemps.expected_gain(probs, score=score).scores
        np.testing.assert_array_equal(gain_of_valid_arrays(probs, probs, score, w, v).scores, expected)


def test_names_that_score_an_item_alone_are_those_of_the_baselines():
    plans = {name: STRATEGIES[name].shards for name in strategies_on_shards()}
    assert plans["margin"].item_score is baselines.margin
    assert all(plan.item_score is None or plan.gain is None for plan in plans.values())
