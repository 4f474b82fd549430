"""The one table from a name to a strategy: a function of a `Context` that returns a `Selection`."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Float

from bemps import baselines, batch, checks, closed_form, clusters, herding
from bemps.anchors import anchor_margin
from bemps.batchbald import batchbald
from bemps.context import ESTIMATION_SIZE, Context
from bemps.errors import InputError, unknown_name
from bemps.falcun import falcun
from bemps.gain import Gain, expected_gain
from bemps.gain.compat import official_rows, official_scores
from bemps.gain.joint import brier_half, joint_greedy
from bemps.gain.quadratic import quadratic_scores
from bemps.parbals import parbals
from bemps.scores import ScoreLike, SoftZeroOne, quadratic_root
from bemps.scores import score as find_score
from bemps.types import Array, Selection

Strategy = Callable[..., Selection]


@dataclass(frozen=True)
class Entry:
    """A row of the table.

    needs   what a learner should bring beside `probs`: fields of `Context`; "map" for strategies that want the single
            most probable model's predictions in place of the members'; "disagreement" for those that compare members
    """

    run: Strategy
    help: str
    needs: tuple[str, ...] = ()

    @property
    def disagreement(self) -> bool:
        """Whether one member, or members that all agree, leave the strategy nothing to choose by."""
        return "disagreement" in self.needs

    @property
    def options(self) -> dict[str, object]:
        """The strategy's own options with their defaults."""
        given = self.run.keywords if isinstance(self.run, partial) else {}
        parameters = inspect.signature(self.run).parameters.values()
        return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY and p.name not in given}


# -- from scores of the candidates ------------------------------------------------------------------------------------


def _random(context: Context) -> Selection:
    return Selection(context.rng.choice(context.size, context.n, replace=False), np.zeros(context.n))


def _by_rule(scores: Float[Array, " N"], context: Context, rule: str, beta: float) -> Selection:
    if rule == "top":
        picks = batch.top(scores, context.n, context.rng)
    elif isinstance(rule, str) and rule in batch.STOCHASTIC:
        picks = batch.stochastic(scores, context.n, context.rng, kind=rule, beta=beta)
    else:
        raise unknown_name("rule", rule, ["top", *batch.STOCHASTIC])
    return Selection(picks, scores[picks].astype(np.float64))


def _uncertainty(
    context: Context,
    *,
    of: Callable[[Float[Array, "E N K"], Float[Array, " E"]], Float[Array, " N"]],
    rule: str = "top",
    beta: float = 1.0,
) -> Selection:
    return _by_rule(of(*context.members()), context, rule, beta)


def _batchbald(context: Context, *, samples: int = 10_000) -> Selection:
    probs, weights = context.members()
    size = checks.whole(samples, "samples", 1)
    return Selection(*batchbald(probs, weights, context.n, context.rng, samples=size))


# -- from expected gains ----------------------------------------------------------------------------------------------


def _points(context: Context, score: ScoreLike, estimation_size: int | None) -> Float[Array, "E M K"]:
    """The estimation pool: the one given; else all candidates where that is free; else a sample of them.

    Free means a quadratic score with no more pairs of members than a sample would have points.
    """
    if context.estimation is not None:
        return context.estimation
    probs = context.need("probs")
    pairs = len(probs) * (len(probs) - 1) // 2
    if estimation_size is None:
        free = quadratic_root(find_score(score), probs.shape[2]) is not None and pairs <= ESTIMATION_SIZE
        estimation_size = context.size if free else ESTIMATION_SIZE
    size = checks.whole(estimation_size, "estimation_size", 1)
    return probs if size >= context.size else probs[:, context.sample(size)]


def _gain(context: Context, score: ScoreLike, estimation_size: int | None) -> Gain:
    probs, weights = context.members()
    return expected_gain(probs, _points(context, score, estimation_size), score=score, weights=weights)


def _diverse(context: Context, gain: Gain, T: float) -> Selection:
    return batch.diverse(gain.scores, gain.rows, context.n, context.rng, T=T)


def _gain_diverse(
    context: Context,
    *,
    score: ScoreLike,
    T: float = 0.5,
    estimation_size: int | None = None,
    compat: str | None = None,
) -> Selection:
    if compat is None:
        return _diverse(context, _gain(context, score, estimation_size), T)
    if compat != "official":
        raise unknown_name("compat", compat, ["official"])
    probs, weights = context.members()
    points = _points(context, score, estimation_size)
    scores = official_scores(probs, points, weights, score)
    rows = partial(official_rows, probs, points, weights, score)
    return batch.diverse(scores, rows, context.n, context.rng, T=T)


def _gain_of_score(
    context: Context, *, score: ScoreLike = "spherical", T: float = 0.5, estimation_size: int | None = None
) -> Selection:
    return _gain_diverse(context, score=score, T=T, estimation_size=estimation_size)


def _gain_topk(
    context: Context,
    *,
    score: ScoreLike,
    rule: str = "top",
    beta: float = 1.0,
    estimation_size: int | None = None,
) -> Selection:
    return _by_rule(_gain(context, score, estimation_size).scores, context, rule, beta)


def _gain_km(context: Context, *, score: ScoreLike, pool: int = 10, estimation_size: int | None = None) -> Selection:
    gain = _gain(context, score, estimation_size)
    vectors = context.features if context.features is not None else context.representation()[0]
    return batch.weighted_representatives(gain.scores, vectors, context.n, context.rng, pool=pool)


def _gain_joint(context: Context, *, samples: int = 256, candidates: int | None = None) -> Selection:
    probs, weights = context.members()
    points = _points(context, "brier", None)
    half = brier_half(points, weights)
    alone = quadratic_scores(probs, half.T @ half, weights)
    size = max(1_000, 20 * context.n)
    if candidates is not None:
        size = max(context.n, checks.whole(candidates, "candidates", 1))
    checks.whole(samples, "samples", 1)
    kept = batch.top(alone, min(size, context.size), context.rng)
    picks, values = joint_greedy(probs[:, kept], context.n, half, weights, samples=samples, rng=context.rng)
    return Selection(kept[picks], values)


def _smocu(context: Context, *, k: float = 10.0, T: float = 0.5, estimation_size: int | None = None) -> Selection:
    return _diverse(context, _gain(context, SoftZeroOne(k), estimation_size), T)


def _wmocu(context: Context, *, c: float = 1.0, T: float = 0.5, estimation_size: int | None = None) -> Selection:
    probs, weights = context.members()
    points = _points(context, "zero-one", estimation_size)
    uniform = np.full(points.shape[1], 1 / points.shape[1])
    gain = baselines.wmocu_gain(probs, points, weights, uniform, c=checks.within(c, "c", 0))
    return _diverse(context, gain, T)


# -- from features and embeddings -------------------------------------------------------------------------------------


def _badge(context: Context) -> Selection:
    probs, weights = context.members()
    return Selection(*baselines.badge(probs, weights, context.need("features"), context.n, context.rng))


def _embedding_km(context: Context) -> Selection:
    return clusters.nearest_to_centres(context.representation()[0], context.n, context.rng)


def _alps(context: Context) -> Selection:
    return clusters.nearest_to_centres(batch.unit_rows(context.need("surprisal")), context.n, context.rng)


def _margin_km(context: Context, *, pool: int = 10) -> Selection:
    margins = baselines.margin(*context.members())
    if context.n == 1:
        return _by_rule(margins, context, "top", 1.0)
    size = max(context.n, checks.whole(pool, "pool", 1) * context.n)
    near = batch.top(margins, min(size, context.size), context.rng)
    return clusters.nearest_to_centres(context.representation()[0], context.n, context.rng, near)


def _coreset(context: Context) -> Selection:
    vectors, labelled = context.representation()
    return Selection(*baselines.coreset(vectors, labelled, context.n, context.rng))


def _typiclust(context: Context) -> Selection:
    vectors, labelled = context.representation()
    return clusters.typiclust(vectors, labelled, context.n, context.rng)


# -- the table --------------------------------------------------------------------------------------------------------

_MEMBERS = ("disagreement",)
_SAMPLED = (*_MEMBERS, "estimation")
_LAPLACE = ("map", "features", "labelled_features", "labelled_probs", "estimation", "estimation_features")
_EMBEDDED = ("map", "embeddings", "labelled_embeddings", "labelled_probs")
_REPRESENTED = ("embeddings", "labelled_embeddings")

STRATEGIES: dict[str, Entry] = {
    "random": Entry(_random, "items drawn at random: the baseline"),
    "least-confidence": Entry(partial(_uncertainty, of=baselines.least_confidence), "1 - largest probability"),
    "margin": Entry(partial(_uncertainty, of=baselines.margin), "first two classes closest (breaking ties)"),
    "entropy": Entry(partial(_uncertainty, of=baselines.entropy), "entropy of the mean prediction"),
    "bald": Entry(partial(_uncertainty, of=baselines.bald), "mutual information of label and members", _MEMBERS),
    "batchbald": Entry(_batchbald, "mutual information of the batch's labels and members, greedy", _MEMBERS),
    "mocu": Entry(partial(_gain_diverse, score="zero-one", compat=None), "expected gain in error rate (ELR)", _SAMPLED),
    "wmocu": Entry(_wmocu, "weighted MOCU (Zhao et al. 2021), c = 1", _SAMPLED),
    "smocu": Entry(_smocu, "soft MOCU, expected gain in a softened error rate, k = 10", _SAMPLED),
    "badge": Entry(_badge, "k-means++ seeds of gradient embeddings", ("features",)),
    "alps": Entry(_alps, "k-means on surprisal vectors of a masked language model", ("surprisal",)),
    "bert-km": Entry(_embedding_km, "k-means on embeddings of the pretrained model", ("embeddings",)),
    "coreset": Entry(_coreset, "k-centre greedy on embeddings", _REPRESENTED),
    "typiclust": Entry(_typiclust, "typical items of unlabelled clusters; needs no labels", _REPRESENTED),
    "margin-km": Entry(_margin_km, "k-means on embeddings of the 10 B smallest margins", ("embeddings",)),
    "coremse": Entry(
        partial(_gain_diverse, score="brier"), "expected gain in the Brier score, diverse batch", _MEMBERS
    ),
    "corelog": Entry(partial(_gain_diverse, score="log"), "expected gain in the log score, diverse batch", _SAMPLED),
    "gain": Entry(_gain_of_score, "expected gain in any score (option `score`), diverse batch", _SAMPLED),
    "coremse-topk": Entry(partial(_gain_topk, score="brier"), "expected gain in the Brier score, the top B", _MEMBERS),
    "corelog-topk": Entry(partial(_gain_topk, score="log"), "expected gain in the log score (EPIG), top B", _SAMPLED),
    "coremse-km": Entry(
        partial(_gain_km, score="brier"), "CoreMSE-weighted k-means on features", (*_MEMBERS, "features")
    ),
    "corelog-km": Entry(
        partial(_gain_km, score="log"), "CoreLog-weighted k-means on features", (*_SAMPLED, "features")
    ),
    "coremse-joint": Entry(_gain_joint, "joint expected gain of the batch in the Brier score, greedy", _MEMBERS),
    "coremse-laplace": Entry(
        partial(closed_form.laplace_batch, score="brier"), "closed-form CoreMSE of a linear head, greedy", _LAPLACE
    ),
    "corelog-laplace": Entry(
        partial(closed_form.laplace_batch, score="log"), "closed-form CoreLog of a linear head, greedy", _LAPLACE
    ),
    "corelog-ties": Entry(
        closed_form.ties, "closed-form CoreLog on embeddings among near ties, classes balanced, greedy", _EMBEDDED
    ),
    "corelog-margin-km": Entry(
        closed_form.margin_clusters,
        "k-means on embeddings of the 10 B smallest margins, weighted by closed-form CoreLog",
        (*_LAPLACE, "embeddings"),
    ),
    "coremse-laplace-margin": Entry(
        partial(closed_form.laplace_batch, score="brier", near_ties=True),
        "coremse-laplace among the smallest margins",
        _LAPLACE,
    ),
    "corelog-laplace-margin": Entry(
        partial(closed_form.laplace_batch, score="log", near_ties=True),
        "corelog-laplace among the smallest margins",
        _LAPLACE,
    ),
    "maxherding": Entry(herding.maxherding, "covers the pool by a kernel, greedy; needs no labels", _REPRESENTED),
    "uncertainty-herding": Entry(
        herding.uncertainty_herding, "covers the uncertain part of the pool by a kernel, greedy", _REPRESENTED
    ),
    "falcun": Entry(falcun, "uncertain items whose predictions differ, drawn one by one"),
    "parbals": Entry(parbals, "EPIG of a linear head over drawn labels of the batch, greedy", _LAPLACE),
    "anchor-margin": Entry(
        anchor_margin, "margin in a window around labelled items of every class", (*_REPRESENTED, "labelled_classes")
    ),
}
ALIASES = {"epig": "corelog-topk"}


def strategies() -> dict[str, str]:
    """The names of the strategies, each with one line of help."""
    rows = {name: entry.help for name, entry in STRATEGIES.items()}
    return rows | {alias: f"another name of {name}" for alias, name in ALIASES.items()}


def find(strategy: str | Strategy) -> Entry:
    """The row of a name; a function becomes a row of its own, its needs taken from an attribute `needs`."""
    if callable(strategy):
        return Entry(strategy, getattr(strategy, "__doc__", None) or "", getattr(strategy, "needs", ()))
    name = ALIASES.get(strategy, strategy)
    if name not in STRATEGIES:
        raise unknown_name("strategy", strategy, strategies(), "bemps.strategies() lists them with one line each.")
    return STRATEGIES[name]


def name_for(strategy: str | Strategy) -> str:
    """The name of a strategy, for messages and batches."""
    return strategy if isinstance(strategy, str) else str(getattr(strategy, "__name__", "own"))


def check_options(strategy: str | Strategy, options: Mapping[str, object]) -> None:
    """Refuse options that a strategy does not have, or whose kind is not that of their default."""
    known = find(strategy).options
    for name, value in options.items() if isinstance(strategy, str) else ():
        if name not in known:
            raise unknown_name(f"option of {strategy}", name, known)
        default = known[name]
        number = isinstance(default, int | float) and not isinstance(default, bool)
        if number and (isinstance(value, bool) or not isinstance(value, int | float | np.number)):
            fix = f"Its default is {default}."
            raise InputError(f"option {name} of {strategy}", expected="a number", got=repr(value), fix=fix)


def run(strategy: str | Strategy, context: Context, **options: object) -> Selection:
    """Run a strategy with its own options; what it returns is checked to be a batch."""
    entry = find(strategy)
    check_options(strategy, options)
    chosen = _checked(entry.run(context, **options), context)
    if entry.disagreement and context.n < context.size:  # asking for everything is no choice
        checks.disagreement(context.need("probs"), name_for(strategy))
    return chosen


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
    return selection
