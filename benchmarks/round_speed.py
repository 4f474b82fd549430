"""One full round: retrain on 500 labels, predict 20,000 items of 384 features, score, select 50, with five members."""

from collections.abc import Callable
from importlib import import_module

import numpy as np
from jaxtyping import Float, Int

from bemps.acquisition.selection import select
from bemps.types import Array
from benchmarks.measuring import seconds

N, H, K, LABELS, BATCH, MEMBERS = 20_000, 384, 4, 500, 50, 5
Round = Callable[[], object]


def problem(width: int = H) -> tuple[Float[Array, "N H"], Int[Array, " N"]]:
    """Vectors and labels of four classes, with the falling spectrum of text embeddings; the labels fit any width."""
    rng = np.random.default_rng(0)
    spread = (1 / np.sqrt(1 + np.arange(width))).astype(np.float32)
    y = rng.integers(K, size=N)
    centres = rng.standard_normal((K, width), np.float32) * spread
    return (centres[y] + 1.5 * rng.standard_normal((N, width), np.float32) * spread).astype(np.float32), y


def rounds() -> list[tuple[str, float | None, str]]:
    """(what, seconds or None, note) of bemps and of the libraries that are installed, all on the same vectors."""
    x, y = problem()
    makers: dict[str, Callable[[Array, Array], Round]] = {
        "bemps, spectral Laplace, coremse": _spectral("coremse"),
        "bemps, spectral Laplace, corelog-laplace-margin": _closed_form,
        "bemps, MLP heads, coremse": _heads,
        "scikit-activeml, logistic regression, margin": _skactiveml,
        "small-text, logistic regression, breaking ties": _small_text,
    }
    rows: list[tuple[str, float | None, str]] = []
    for name, make in makers.items():
        try:
            rows.append((name, seconds(make(x, y), 3), ""))
        except ImportError as cause:
            rows.append((name, None, f"not measured: {cause}"))
    return rows


def _spectral(strategy: str) -> Callable[[Array, Array], Round]:
    def make(x: Array, y: Array) -> Round:
        from bemps.models.linear.spectral_classifiers import SpectralLaplace

        model = SpectralLaplace(x, members=MEMBERS)
        model.fit(x[:10], y[:10], names(), np.random.default_rng(0))  # the pool is seen once, not every round

        def work() -> object:
            model.fit(x[:LABELS], y[:LABELS], names(), np.random.default_rng(0))
            return select(model.predict(x[LABELS:]), BATCH, strategy)

        return work

    return make


def _closed_form(x: Array, y: Array) -> Round:
    from bemps.models.linear.spectral_classifiers import SpectralLogistic

    model = SpectralLogistic(x)
    model.fit(x[:10], y[:10], names(), np.random.default_rng(0))

    def work() -> object:
        model.fit(x[:LABELS], y[:LABELS], names(), np.random.default_rng(0))
        return select(
            model.predict(x[LABELS:]),
            BATCH,
            "corelog-laplace-margin",
            features=model.features(x[LABELS:]).astype(np.float32),
            labelled_features=model.labelled_features_,
            labelled_probs=model.labelled_probs_,
        )

    return work


def _heads(x: Array, y: Array) -> Round:
    from bemps.models.heads.head_classifier import HeadClassifier

    model = HeadClassifier(x, members=MEMBERS)
    model.fit(x[:10], y[:10], names(), np.random.default_rng(0))

    def work() -> object:
        model.fit(x[:LABELS], y[:LABELS], names(), np.random.default_rng(0))
        return select(model.predict(x[LABELS:]), BATCH, "coremse")

    return work


def _skactiveml(x: Array, y: Array) -> Round:
    pool = import_module("skactiveml.pool")
    classifier = import_module("skactiveml.classifier")
    from sklearn.linear_model import LogisticRegression

    labels = np.where(np.arange(N) < LABELS, y, np.nan)

    def work() -> object:
        model = classifier.SklearnClassifier(LogisticRegression(max_iter=1_000), classes=list(range(K)))
        strategy = pool.UncertaintySampling(method="margin_sampling", random_state=0)
        return strategy.query(X=x, y=labels, clf=model, batch_size=BATCH)

    return work


def _small_text(x: Array, y: Array) -> Round:
    small_text = import_module("small_text")
    from sklearn.linear_model import LogisticRegression

    dataset = small_text.SklearnDataset(x, y, target_labels=np.arange(K))
    factory = small_text.SklearnClassifierFactory(LogisticRegression(max_iter=1_000), K)

    def work() -> object:
        learner = small_text.PoolBasedActiveLearner(factory, small_text.BreakingTies(), dataset)
        learner.initialize_data(np.arange(LABELS), y[:LABELS])
        return learner.query(num_samples=BATCH)

    return work


def names() -> list[str]:
    """The names of the classes."""
    return [str(k) for k in range(K)]
