"""`select`: choose a batch from the predictions of any model."""

from __future__ import annotations  # `help(select)` then says ArrayLike, not the thirty types that it stands for

import numpy as np
from numpy.typing import ArrayLike

from bemps import checks
from bemps.acquisition.context import Context
from bemps.acquisition.strategy_registry import Strategy, run_strategy
from bemps.errors import InputError, file_or_array
from bemps.types import Array, Seed, Selection

AUTO = "auto"
FEW_CLASSES = 10  # with more, margin-km was ahead of corelog-ties (docs/appendices/comparison.md)


def automatic(*, probs: bool, vectors: bool, labelled: bool = False, classes: int = 0) -> str:
    """Return the strategy that "auto" stands for.

    Parameters
    ----------
    probs : bool
        Whether there are probabilities.
    vectors : bool
        Whether there are vectors of the candidates.
    labelled : bool
        Whether there are vectors of the labelled items.
    classes : int
        The number of classes.

    Returns
    -------
    str
        The name of a strategy.

    Notes
    -----
    With vectors of candidates and of labelled items, and few classes, `corelog-ties`: near ties, chosen together by
    closed-form CoreLog. With vectors of the candidates `margin-km`: near ties, spread by k-means. With probabilities
    alone `margin`. All need one member only, and are ahead of random and of `coremse` in the project's own comparisons
    (docs/appendices/recipes.md, "What auto takes"). Without probabilities `typiclust`.
    """
    if not probs:
        return "typiclust"
    if vectors and labelled and classes <= FEW_CLASSES:
        return "corelog-ties"
    return "margin-km" if vectors else "margin"


def select(
    probs: ArrayLike | None,
    n: int,
    strategy: str | Strategy = AUTO,
    *,
    weights: ArrayLike | None = None,
    estimation: ArrayLike | None = None,
    features: ArrayLike | None = None,
    embeddings: ArrayLike | None = None,
    surprisal: ArrayLike | None = None,
    labelled_features: ArrayLike | None = None,
    labelled_embeddings: ArrayLike | None = None,
    labelled_probs: ArrayLike | None = None,
    labelled_classes: ArrayLike | None = None,
    estimation_features: ArrayLike | None = None,
    seed: Seed = 0,
    **options: object,
) -> Selection:
    """Choose n items to label next.

    Parameters
    ----------
    probs : array (E, N, K) or None
        Probabilities of E members for the N candidates. None for strategies that use embeddings only.
        Members come first: more than 100 of them, and more than candidates, are refused without `weights`.
    n : int
        The number of items to choose.
    strategy : str or callable
        A name from `bemps.strategies()`, or a function of a `Context` that returns a `Selection`. "auto" takes
        `margin` with probabilities alone, `margin-km` with embeddings or features, and `corelog-ties` with the
        embeddings of labelled items too and at most ten classes. The project's own comparisons support this choice.
    weights : array (E,), optional
        The probability of each member. The default is the same for all.
    estimation : array (E, M, K), optional
        Probabilities of the members for the estimation pool. By default it is drawn from the candidates.
    features : array (N, H), optional
        Features of the candidates from the current model.
    embeddings : array (N, J), optional
        Embeddings of the candidates from a pretrained model.
    surprisal : array (N, T), optional
        Surprisal vectors of the candidates from a masked language model.
    labelled_features, labelled_embeddings, labelled_probs : array (L, ...), optional
        The same of the labelled items.
    labelled_classes : array of int (L,), optional
        The labels, as positions of classes.
    estimation_features : array (M, H), optional
        Features of the estimation pool.
    seed : int or numpy.random.Generator
        Seed of all random choices. The same seed gives the same batch.
    **options
        Options of the strategy, for example T=0.5 for coremse. Unknown options are refused.

    Returns
    -------
    Selection
        The positions of the items with their scores, best first.

    Raises
    ------
    InputError
        If an argument is malformed, or one that the strategy needs is missing.

    Examples
    --------
    >>> import numpy as np, bemps
    >>> probs = np.random.default_rng(0).dirichlet(np.ones(3), size=(5, 100))
    >>> len(bemps.select(probs, 10, "coremse"))
    10
    """
    members = None if probs is None else checks.probabilities(probs)
    points = _estimation(members, estimation)
    w = None
    if members is not None:
        checks.refuse_one_class(members)
        w, (members, *rest) = checks.weighted_members(weights, members, *([] if points is None else [points]))
        points = rest[0] if rest else None
    vectors = {"features": features, "embeddings": embeddings, "surprisal": surprisal}
    size = _pool_size(members, vectors)
    if members is not None:
        shapes = [checks.numpy_array(value, name).shape for name, value in vectors.items() if value is not None]
        rows = next((shape[0] for shape in shapes if shape), None)  # a single number is refused below
        checks.refuse_exchanged_axes(members, rows=rows, known=weights is not None)
    own = {name: _rows(value, name, size) for name, value in vectors.items()}
    context = Context(
        n=checks.batch_size(n, size),
        size=size,
        rng=checks.generator(seed),
        probs=members,
        weights=w,
        estimation=points,
        features=own["features"],
        embeddings=own["embeddings"],
        surprisal=own["surprisal"],
        labelled_features=_like(labelled_features, "labelled_features", own["features"], "features"),
        labelled_embeddings=_like(labelled_embeddings, "labelled_embeddings", own["embeddings"], "embeddings"),
        labelled_probs=_labelled_probs(
            labelled_probs, labelled_embeddings if labelled_features is None else labelled_features, members
        ),
        labelled_classes=_labelled_classes(
            labelled_classes,
            labelled_features if labelled_embeddings is None else labelled_embeddings,
            None if members is None else members.shape[2],
        ),
        estimation_features=_estimation_features(estimation_features, points, own["features"]),
    )
    if strategy == AUTO:
        strategy = automatic(
            probs=members is not None,
            vectors=embeddings is not None or features is not None,
            labelled=embeddings is not None and labelled_embeddings is not None,
            classes=0 if members is None else members.shape[2],
        )
    return run_strategy(strategy, context, **options)


def _pool_size(probs: Array | None, vectors: dict[str, ArrayLike | None]) -> int:
    if probs is not None:
        return int(probs.shape[1])
    for name, value in vectors.items():
        if value is not None:
            return len(checks.matrix(value, name))
    raise InputError(
        "probs",
        expected="probabilities (E, N, K), or features, embeddings or surprisal of the candidates",
        got="none of them",
        fix="Without a model yet, try select(None, n, 'typiclust', embeddings=...).",
    )


def _rows(value: ArrayLike | None, name: str, size: int) -> Array | None:
    return None if value is None else checks.matrix(value, name, rows=size)


def _like(value: ArrayLike | None, name: str, candidates: Array | None, kind: str) -> Array | None:
    """The same kind of vector for other items: as many columns as the candidates have."""
    if value is None:
        return None
    if candidates is None:
        raise InputError(
            name,
            expected=f"{kind} of the candidates beside it",
            got="none",
            fix=f"Pass {file_or_array(kind)}, or leave {name} out.",
        )
    return checks.matrix(value, name, columns=candidates.shape[1])


def _estimation_features(value: ArrayLike | None, points: Array | None, features: Array | None) -> Array | None:
    if value is not None and points is None:
        fix = "Pass estimation=..., or leave estimation_features out."
        raise InputError("estimation_features", expected="the estimation pool beside it", got="none", fix=fix)
    rows = _like(value, "estimation_features", features, "features")
    return rows if rows is None or points is None else checks.matrix(rows, "estimation_features", rows=points.shape[1])


def _estimation(probs: Array | None, estimation: ArrayLike | None) -> Array | None:
    if estimation is None:
        return None
    points = checks.probabilities(estimation, "estimation")
    if probs is not None:
        checks.same_members_and_classes(probs, points, "estimation")
    return points


def _labelled_probs(value: ArrayLike | None, labelled: ArrayLike | None, probs: Array | None) -> Array | None:
    if value is None:
        return None
    rows = checks.matrix(
        value,
        "labelled_probs",
        rows=None if labelled is None else len(np.asarray(labelled)),
        columns=None if probs is None else probs.shape[2],
    )
    return checks.probabilities(rows[None], "labelled_probs")[0].astype(np.float64) if len(rows) else rows


def _labelled_classes(value: ArrayLike | None, labelled: ArrayLike | None, K: int | None) -> Array | None:
    """The labels as positions of classes. `K` is the number of classes, where probabilities say it."""
    if value is None:
        return None
    codes = checks.numpy_array(value, "labelled_classes")
    rows = None if labelled is None else len(np.asarray(labelled))
    if codes.ndim != 1 or codes.dtype.kind not in "iu" or rows not in (None, len(codes)):
        got = f"an array of shape {codes.shape} and type {codes.dtype}"
    elif codes.size and (codes.min() < 0 or (K is not None and codes.max() >= K)):
        got = f"numbers from {codes.min()} to {codes.max()}"
    else:
        return codes.astype(np.intp)
    numbers = "one whole number from 0 on" if K is None else f"one whole number from 0 to {K - 1}"
    raise InputError(
        "labelled_classes",
        expected=f"{numbers} for each of the {'' if rows is None else f'{rows} '}labelled items",
        got=got,
        fix="Give each label as the position of its class, in the order of the labelled vectors.",
    )
