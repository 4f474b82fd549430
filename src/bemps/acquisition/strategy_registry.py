"""The one table from a name to a strategy: a function of a `Context` that returns a `Selection`.

A row says everything about a strategy: what runs, one line of help, what it needs, how it runs over shards and how the
report draws it. To add a strategy, write a function and add a row.
"""

import inspect
from collections.abc import Mapping
from functools import partial

import numpy as np

from bemps import checks
from bemps.acquisition import baseline_strategies, baselines, closed_form, gain_strategies, herding
from bemps.acquisition.anchors import anchor_margin
from bemps.acquisition.context import Context
from bemps.acquisition.falcun import falcun
from bemps.acquisition.parbals import parbals
from bemps.acquisition.strategy_rows import DIVERSE, JOINT, RANDOM, TOP, ItemScore, ShardPlan, Strategy, StrategyEntry
from bemps.errors import InputError, unknown_name
from bemps.types import Selection

__all__ = [
    "ALIASES",
    "STRATEGIES",
    "ShardPlan",
    "Strategy",
    "StrategyEntry",
    "check_options",
    "find_strategy",
    "run_strategy",
    "strategies",
]


def _uncertainty(
    item_score: ItemScore, help_line: str, needs: tuple[str, ...] = (), *, style_index: int
) -> StrategyEntry:
    """The row of a strategy that scores each item by its own predictions, on shards as in memory."""
    run = partial(baseline_strategies.uncertainty, item_score=item_score)
    return StrategyEntry(run, help_line, needs, style_index, ShardPlan(TOP, item_score=item_score))


def _diverse(score: str, help_line: str, needs: tuple[str, ...], *, style_index: int) -> StrategyEntry:
    run = partial(gain_strategies.gain_diverse, score=score)
    return StrategyEntry(run, help_line, needs, style_index, ShardPlan(DIVERSE, gain=score))


def _topk(score: str, help_line: str, needs: tuple[str, ...], *, style_index: int) -> StrategyEntry:
    run = partial(gain_strategies.gain_topk, score=score)
    return StrategyEntry(run, help_line, needs, style_index, ShardPlan(TOP, gain=score))


_MEMBERS = ("disagreement",)
_SAMPLED = (*_MEMBERS, "estimation")
_LAPLACE = ("map", "features", "labelled_features", "labelled_probs", "estimation", "estimation_features")
_EMBEDDED = ("map", "embeddings", "labelled_embeddings", "labelled_probs")
_REPRESENTED = ("embeddings", "labelled_embeddings")

STRATEGIES: dict[str, StrategyEntry] = {
    "random": StrategyEntry(
        baseline_strategies.at_random, "items drawn at random: the baseline", shards=ShardPlan(RANDOM)
    ),
    "least-confidence": _uncertainty(baselines.least_confidence, "1 - largest probability", style_index=20),
    "margin": _uncertainty(baselines.margin, "first two classes closest (breaking ties)", style_index=2),
    "entropy": _uncertainty(baselines.entropy, "entropy of the mean prediction", style_index=8),
    "bald": _uncertainty(baselines.bald, "mutual information of label and members", _MEMBERS, style_index=5),
    "batchbald": StrategyEntry(
        baseline_strategies.greedy_batchbald,
        "mutual information of the batch's labels and members, greedy",
        _MEMBERS,
        style_index=23,
    ),
    "mocu": StrategyEntry(
        gain_strategies.mocu,
        "expected gain in error rate (ELR)",
        _SAMPLED,
        style_index=10,
        shards=ShardPlan(DIVERSE, gain="zero-one"),
    ),
    "wmocu": StrategyEntry(
        gain_strategies.wmocu,
        "weighted MOCU (Zhao et al. 2021), c = 1",
        _SAMPLED,
        style_index=25,
        shards=ShardPlan(DIVERSE, gain="wmocu", option="c"),
    ),
    "smocu": StrategyEntry(
        gain_strategies.smocu,
        "soft MOCU, expected gain in a softened error rate, k = 10",
        _SAMPLED,
        style_index=16,
        shards=ShardPlan(DIVERSE, gain="smocu", option="k"),
    ),
    "badge": StrategyEntry(
        baseline_strategies.badge, "k-means++ seeds of gradient embeddings", ("features",), style_index=3
    ),
    "alps": StrategyEntry(
        baseline_strategies.surprisal_clusters,
        "k-means on surprisal vectors of a masked language model",
        ("surprisal",),
        style_index=9,
    ),
    "bert-km": StrategyEntry(
        baseline_strategies.embedding_clusters,
        "k-means on embeddings of the pretrained model",
        ("embeddings",),
        style_index=15,
    ),
    "coreset": StrategyEntry(
        baseline_strategies.coreset, "k-centre greedy on embeddings", _REPRESENTED, style_index=21
    ),
    "typiclust": StrategyEntry(
        baseline_strategies.typical_of_clusters,
        "typical items of unlabelled clusters; needs no labels",
        _REPRESENTED,
        style_index=22,
    ),
    "margin-km": StrategyEntry(
        baseline_strategies.near_tie_clusters,
        "k-means on embeddings of the 10 B smallest margins",
        ("embeddings",),
        style_index=14,
    ),
    "coremse": _diverse("brier", "expected gain in the Brier score, diverse batch", _MEMBERS, style_index=0),
    "corelog": _diverse("log", "expected gain in the log score, diverse batch", _SAMPLED, style_index=1),
    "gain": StrategyEntry(
        gain_strategies.gain_of_any_score,
        "expected gain in any score (option `score`), diverse batch",
        _SAMPLED,
        style_index=26,
    ),
    "coremse-topk": _topk("brier", "expected gain in the Brier score, the top B", _MEMBERS, style_index=18),
    "corelog-topk": _topk("log", "expected gain in the log score (EPIG), top B", _SAMPLED, style_index=19),
    "coremse-km": StrategyEntry(
        partial(gain_strategies.gain_clusters, score="brier"),
        "CoreMSE-weighted k-means on features",
        (*_MEMBERS, "features"),
        style_index=11,
    ),
    "corelog-km": StrategyEntry(
        partial(gain_strategies.gain_clusters, score="log"),
        "CoreLog-weighted k-means on features",
        (*_SAMPLED, "features"),
        style_index=17,
    ),
    "coremse-joint": StrategyEntry(
        gain_strategies.gain_joint,
        "joint expected gain of the batch in the Brier score, greedy",
        _MEMBERS,
        style_index=12,
        shards=ShardPlan(JOINT, gain="brier"),
    ),
    "coremse-laplace": StrategyEntry(
        partial(closed_form.laplace_batch, score="brier"),
        "closed-form CoreMSE of a linear head, greedy",
        _LAPLACE,
        style_index=6,
    ),
    "corelog-laplace": StrategyEntry(
        partial(closed_form.laplace_batch, score="log"),
        "closed-form CoreLog of a linear head, greedy",
        _LAPLACE,
        style_index=7,
    ),
    "corelog-ties": StrategyEntry(
        closed_form.near_tie_batch,
        "closed-form CoreLog on embeddings among near ties, classes balanced, greedy",
        _EMBEDDED,
        style_index=4,
    ),
    "corelog-margin-km": StrategyEntry(
        closed_form.margin_clusters,
        "k-means on embeddings of the 10 B smallest margins, weighted by closed-form CoreLog",
        (*_LAPLACE, "embeddings"),
        style_index=27,
    ),
    "coremse-laplace-margin": StrategyEntry(
        partial(closed_form.laplace_batch, score="brier", near_ties=True),
        "coremse-laplace among the smallest margins",
        _LAPLACE,
        style_index=24,
    ),
    "corelog-laplace-margin": StrategyEntry(
        partial(closed_form.laplace_batch, score="log", near_ties=True),
        "corelog-laplace among the smallest margins",
        _LAPLACE,
        style_index=13,
    ),
    "maxherding": StrategyEntry(
        herding.maxherding, "covers the pool by a kernel, greedy; needs no labels", _REPRESENTED, style_index=30
    ),
    "uncertainty-herding": StrategyEntry(
        herding.uncertainty_herding,
        "covers the uncertain part of the pool by a kernel, greedy",
        _REPRESENTED,
        style_index=28,
    ),
    "falcun": StrategyEntry(falcun, "uncertain items whose predictions differ, drawn one by one", style_index=31),
    "parbals": StrategyEntry(
        parbals, "EPIG of a linear head over drawn labels of the batch, greedy", _LAPLACE, style_index=29
    ),
    "anchor-margin": StrategyEntry(
        anchor_margin,
        "margin in a window around labelled items of every class",
        (*_REPRESENTED, "labelled_classes"),
        style_index=32,
    ),
}
ALIASES = {"epig": "corelog-topk"}


def strategies() -> dict[str, str]:
    """List the strategies.

    Returns
    -------
    dict[str, str]
        One line of help for each name.
    """
    rows = {name: entry.help for name, entry in STRATEGIES.items()}
    return rows | {alias: f"another name of {name}" for alias, name in ALIASES.items()}


def find_strategy(strategy: str | Strategy, what: str = "strategy") -> StrategyEntry:
    """Return the row of a name. A function becomes a row; its attribute `needs` says what it needs."""
    if callable(strategy):
        return StrategyEntry(strategy, getattr(strategy, "__doc__", None) or "", getattr(strategy, "needs", ()))
    name = ALIASES.get(strategy, strategy)
    if name not in STRATEGIES:
        raise unknown_name(what, strategy, strategies(), "bemps.strategies() lists them with one line each.")
    return STRATEGIES[name]


def strategies_on_shards() -> list[str]:
    """Return the names of the strategies that run over shards."""
    return [name for name, entry in STRATEGIES.items() if entry.shards is not None]


def strategy_name(strategy: str | Strategy) -> str:
    """Return the name of a strategy, for messages and batches."""
    return strategy if isinstance(strategy, str) else str(getattr(strategy, "__name__", "own"))


def check_options(strategy: str | Strategy, options: Mapping[str, object]) -> None:
    """Refuse options that a strategy does not have, or whose kind is not that of their default."""
    entry = find_strategy(strategy)
    if not isinstance(strategy, str):
        _check_own_options(strategy, options)
        return
    known = entry.options
    for name, value in options.items():
        if entry.option_name(name) not in known:
            raise unknown_name(f"option of {strategy}", name, known)
        default = known[entry.option_name(name)]
        if isinstance(default, bool) and not isinstance(value, bool | np.bool):
            fix = f"Its default is {str(default).lower()}."
            raise InputError(f"option {name} of {strategy}", expected="true or false", got=repr(value), fix=fix)
        number = isinstance(default, int | float) and not isinstance(default, bool)
        if number and (isinstance(value, bool) or not isinstance(value, int | float | np.number)):
            fix = f"Its default is {default}."
            raise InputError(f"option {name} of {strategy}", expected="a number", got=repr(value), fix=fix)


def _check_own_options(strategy: Strategy, options: Mapping[str, object]) -> None:
    """Refuse options that a function of the user does not take."""
    parameters = list(inspect.signature(strategy).parameters.values())[1:] if options else []
    if options and not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        known = [parameter.name for parameter in parameters]
        for name in options:
            if name not in known:
                raise unknown_name(f"option of {strategy_name(strategy)}", name, known)


def run_strategy(strategy: str | Strategy, context: Context, **options: object) -> Selection:
    """Run a strategy with its options, and check that it returns a batch."""
    entry = find_strategy(strategy)
    check_options(strategy, options)
    selection = _checked(entry.run(context, **entry.with_present_names(options)), context)
    if entry.disagreement and context.n < context.size:  # asking for everything is no choice
        checks.require_disagreement(context.need("probs"), strategy_name(strategy))
    return selection


def _checked(selection: Selection, context: Context) -> Selection:
    if not isinstance(selection, Selection):
        got, fix = type(selection).__name__, "A strategy returns Selection(indices, scores)."
        raise InputError("strategy", expected="a Selection", got=got, fix=fix)
    indices, scores = np.asarray(selection.indices), np.asarray(selection.scores)
    fits = indices.shape == scores.shape == (context.n,) and indices.dtype.kind in "iu"
    if not fits or len(np.unique(indices)) != context.n or indices.min() < 0 or indices.max() >= context.size:
        raise InputError(
            "strategy",
            expected=f"{context.n} different positions from 0 to {context.size - 1}",
            got=np.array2string(indices, threshold=8),
            fix="A strategy returns Selection(indices, scores).",
        )
    if np.isnan(scores).any():
        got = f"{np.isnan(scores).sum()} that are not a number (NaN)"
        raise InputError("strategy", expected="a number as the score of each item", got=got, fix="Correct the scores.")
    return selection
