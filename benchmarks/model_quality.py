"""The quality of each family of models with few labels, against logistic regression on the same vectors.

Random labels from the pool, weighted F1 on the real test set, mean over seeds. Texts are MiniLM vectors, MNIST its
pixels, CIFAR10 EfficientNet-Lite0 vectors. `python -m benchmarks --part quality --data-dir DIR` runs it;
`--part networks` does the same for networks that learn from the texts and images themselves, which takes minutes for
each fit, and `--part words` for texts with two views, the default of labelling projects.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from bemps.models.base import Model, take
from bemps.types import Array

LABELS = (50, 100, 250, 500)
BASELINE = "logistic regression, C = 1"


@dataclass(frozen=True)
class Quality:
    """Mean weighted F1 of a family at each number of labels, and its paired difference to the baseline."""

    dataset: str
    family: str
    f1: tuple[float, ...]
    difference: tuple[float, ...]
    error: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Problem:
    """A dataset as vectors, and the items themselves."""

    pool: Float[Array, "N H"]
    labels: Int[Array, " N"]
    test: Float[Array, "M H"]
    truth: Int[Array, " M"]
    classes: tuple[str, ...]
    items: Any
    test_items: Any


@dataclass(frozen=True)
class Family:
    """A family of models. `make` returns a model from the vectors of the pool, or with `raw` from the items."""

    make: Callable[[Any], Model]
    raw: bool = False


def families(name: str) -> dict[str, Family]:
    """Each family of models on vectors, with the settings that it ships with; torch only where it is used."""
    from sklearn.linear_model import LogisticRegression

    from bemps.models.heads.head_classifier import HeadClassifier
    from bemps.models.linear.spectral_classifiers import SpectralLaplace, SpectralLogistic
    from bemps.models.scikit_learn.sklearn_ensemble import SklearnEnsemble

    regression = LogisticRegression(C=1.0, max_iter=1_000)
    return _baseline() | {
        "spectral logistic (default, one model)": Family(SpectralLogistic),
        "spectral Laplace, 10 members": Family(lambda pool: SpectralLaplace(pool, members=10)),
        "logistic ensemble, 5 members": Family(lambda pool: SklearnEnsemble(regression, members=5)),
        "linear heads, 5 members": Family(lambda pool: HeadClassifier(pool, hidden=0)),
        "heads, 5 members": Family(HeadClassifier),
        "heads, MC-dropout, 5 masks": Family(lambda pool: HeadClassifier(pool, posterior="dropout")),
    }


def networks(name: str) -> dict[str, Family]:
    """The networks that read the items of this dataset."""
    if name == "mnist":
        from bemps.models.images.image_classifier import ImageClassifier

        return _baseline() | {"MNIST BNN, 5 masks": Family(lambda pool: ImageClassifier("mnist-bnn"), raw=True)}
    if name == "cifar10":
        from bemps.models.images.image_classifier import ImageClassifier

        vgg = Family(lambda pool: ImageClassifier("vgg16bn"), raw=True)
        return _baseline() | {"VGG-16bn from scratch, 5 masks": vgg}
    from bemps.models.text.text_classifier import TextClassifier

    top = Family(lambda pool: TextClassifier(top_layers=2, posterior="dropout", validation="none"), raw=True)
    return _baseline() | {"MiniLM, top 2 layers fine-tuned, 5 masks": top}


def words(name: str) -> dict[str, Family]:
    """MiniLM alone, and beside a middle layer and the words (`bemps.models.encoders.text_views`)."""
    from bemps.models.content_models import ContentLaplace, MiniLMAndWords
    from bemps.models.encoders.text_views import MEANING
    from bemps.models.linear.spectral_classifiers import SpectralLaplace

    def both(texts: Any) -> Model:
        model = ContentLaplace(MiniLMAndWords(), members=10, first_view=MEANING)
        model.see_pool(texts)
        return model

    return _baseline() | {
        "spectral Laplace, 10 members": Family(lambda pool: SpectralLaplace(pool, members=10)),
        "the same with a middle layer and words": Family(both, raw=True),
    }


def _baseline() -> dict[str, Family]:
    from sklearn.linear_model import LogisticRegression

    from bemps.models.scikit_learn.sklearn_ensemble import SklearnEnsemble

    regression = LogisticRegression(C=1.0, max_iter=1_000)
    return {BASELINE: Family(lambda pool: SklearnEnsemble(regression, members=1, resample="none", smoothing=0.0))}


def problem(name: str, data_dir: str | None, most: int) -> Problem:
    """A dataset by name, with at most `most` items in its pool and test set."""
    from bemps.data import load
    from bemps.models.encoders.feature_cache import CachedEncoder

    data = load(name, data_dir=data_dir, max_pool=most)
    rng = np.random.default_rng(0)
    keep = np.sort(rng.permutation(len(data.test))[:most])
    pool, test = data.pool, data.test[keep]
    if data.kind == "text":
        from bemps.models.encoders.text_encoder import TextEncoder

        encode: Callable[[Any], Array] = CachedEncoder(TextEncoder())
    elif name == "cifar10":
        from bemps.models.images.efficientnet import EfficientNetLite0

        encode = CachedEncoder(EfficientNetLite0())
    else:
        encode = _pixels
    assert pool.labels is not None
    assert test.labels is not None
    vectors, seen = encode(pool.items), encode(test.items)
    return Problem(vectors, pool.labels, seen, test.labels, data.classes, pool.items, test.items)


def _pixels(items: Any) -> Float[Array, "N H"]:
    rows = np.asarray(items)
    return (rows.reshape(len(rows), -1) / max(float(rows.max()), 1.0)).astype(np.float32)


def measure(
    name: str,
    data_dir: str | None,
    seeds: int = 5,
    most: int = 8_000,
    *,
    progress: Callable[[str], None] | None = None,
    families_of: Callable[[str], dict[str, Family]] = families,
) -> Iterator[Quality]:
    """Every family on one dataset."""
    data = problem(name, data_dir, most)
    tables: dict[str, Float[Array, "S R"]] = {}
    for family, how in families_of(name).items():
        if progress is not None:
            progress(f"{name}: {family}")
        model = how.make(data.items if how.raw else data.pool)
        tables[family] = np.array(
            [[_f1(model, data, labels, seed, how.raw) for labels in LABELS] for seed in range(seeds)]
        )
        paired = tables[family] - tables[BASELINE]
        error = paired.std(0, ddof=1) / np.sqrt(seeds)
        yield Quality(
            name, family, *(tuple(map(float, row)) for row in (tables[family].mean(0), paired.mean(0), error))
        )


def _f1(model: Model, data: Problem, labels: int, seed: int, raw: bool) -> float:
    from sklearn.metrics import f1_score

    rng = np.random.default_rng([seed, labels])
    labelled = rng.permutation(len(data.pool))[:labels]
    pool, test = (data.items, data.test_items) if raw else (data.pool, data.test)
    model.fit(take(pool, labelled), data.labels[labelled], data.classes, rng)
    predicted = model.predict(test).mean(0).argmax(1)
    return float(f1_score(data.truth, predicted, average="weighted", zero_division=0))


def as_markdown(rows: list[Quality]) -> str:
    """A table: F1 at each number of labels, and the difference to the baseline where it matters."""
    head = " | ".join(f"{n} labels" for n in LABELS)
    lines = [f"| data | model | {head} |", "|---|---|" + "---|" * len(LABELS)]
    for row in rows:
        is_baseline = row.family == BASELINE
        cells = " | ".join(
            f"{value:.3f}" if is_baseline else f"{value:.3f} ({gap:+.3f} ± {error:.3f})"
            for value, gap, error in zip(row.f1, row.difference, row.error, strict=True)
        )
        lines.append(f"| {row.dataset} | {row.family} | {cells} |")
    return "\n".join(lines)
