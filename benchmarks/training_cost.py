"""The cost of members: heads, masks, frozen features and fine-tuning, in CPU seconds of one thread."""

import time
from collections.abc import Callable

import numpy as np

from bemps.limits import limits
from bemps.types import Array
from benchmarks.round_speed import LABELS, H, K, N, names, problem

SENTENCES, TUNED = 256, 352
LABELLED, WINDOW, READ = 300, 5_000, 1_000
WORD_COLUMNS = 200  # of the words in `bge-words`
WORDS = ["film", "story", "the", "a", "of", "and", "actor", "long", "bright", "scene", "never", "music", "plot", "slow"]
REPEATS = 3


def members() -> list[tuple[str, float, str]]:
    """(what, number, unit or aim); the texts are made up, of the length of a short sentence."""
    with limits(threads=1):
        return [*_heads(), *_text(), *_adapting(), *_following()]


def _cpu_seconds(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """The smallest CPU time of some repetitions; other processes do not count."""
    taken = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def _heads() -> list[tuple[str, float, str]]:
    from bemps.models.heads.head_classifier import HeadClassifier

    x, y = problem()

    def fit(model: HeadClassifier) -> HeadClassifier:
        return model.fit(x[:LABELS], y[:LABELS], names(), np.random.default_rng(0))

    one_member, five_members = (_cpu_seconds(lambda e=e: fit(HeadClassifier(x[:LABELS], members=e))) for e in (1, 5))  # type: ignore[misc]
    masks = [fit(HeadClassifier(x, members=e, posterior="dropout", hidden=256)) for e in (1, 5, 20)]
    passes = [_cpu_seconds(lambda m=m: m.predict(x)) for m in masks]  # type: ignore[misc]
    return [
        (
            f"five heads of 64 units against one, {LABELS} labels, {H} features",
            five_members / one_member,
            "times; at most 3",
        ),
        (f"5 masks of a head of 256 units against one, {N:,} items", passes[1] / passes[0], "times; at most 1.3"),
        (f"20 masks of it, K = {K}", passes[2] / passes[0], "times; at most 1.3"),
    ]


def _text() -> list[tuple[str, float, str]]:
    from bemps.models._torch.training_loop import TrainingRecipe
    from bemps.models.encoders.text_encoder import TextEncoder
    from bemps.models.text.text_classifier import TextClassifier

    texts, labels = sentences(TUNED)
    encoder = TextEncoder()
    encoder.embeddings(texts[:8])
    speed = SENTENCES / _cpu_seconds(lambda: encoder.embeddings(texts[:SENTENCES]))

    def epoch(top: int | None) -> float:
        model = TextClassifier(
            members=1, validation="none", recipe=TrainingRecipe(learning_rate=1e-4, epochs=1), top_layers=top
        )
        model.fit(texts, labels, names(), np.random.default_rng(0))  # states below the top layers are computed once
        return _cpu_seconds(lambda: model.fit(texts, labels, names(), np.random.default_rng(0)), 1)

    return [
        ("frozen MiniLM vectors", speed, "sentences a second"),
        (f"fine-tuning MiniLM, one epoch over {TUNED} sentences", epoch(None), "seconds"),
        (f"its two top layers alone, one epoch over {TUNED} sentences", epoch(2), "seconds"),
    ]


def _adapting() -> list[tuple[str, float, str]]:
    """A whole training, and the time of a window scaled from the first READ texts of it."""
    from bemps.models.text.finetuned_laplace import FineTunedLaplace

    texts, labels = sentences(READ)
    known, rng = (texts[:LABELLED], labels[:LABELLED], names()), np.random.default_rng(0)
    model = FineTunedLaplace(device="cpu").fit_encoder(*known, rng)  # the first training also loads the weights
    trained = _cpu_seconds(lambda: model.fit_encoder(*known, rng), 1)
    headed = _cpu_seconds(lambda: model.fit_head(*known, rng), 1)  # reads the labelled texts
    read = _cpu_seconds(lambda: model.features(texts[LABELLED:]), 1)
    window = read * WINDOW / (READ - LABELLED)
    return [
        (f"fine-tuning all layers of MiniLM on {LABELLED} labels", trained, "seconds; at most 60"),
        ("the head on its features, their texts read once", headed, "seconds"),
        (f"encoding {WINDOW:,} texts with it (from {READ - LABELLED})", window, "seconds; at most 60"),
    ]


def _following() -> list[tuple[str, float, str]]:
    """The heads that follow each answer once an encoder has learnt, on vectors as wide as those of `bge-words`."""
    from bemps.models.encoders.text_views import MEANING
    from bemps.models.pool_weights import PoolWeights
    from bemps.models.text.adapted_vectors import AdaptedVectors

    frozen, labels = problem(2 * MEANING + WORD_COLUMNS)
    tuned, _ = problem()
    rows = np.hstack([frozen[:WINDOW], tuned[:WINDOW]])
    model = AdaptedVectors(tuned.shape[1], PoolWeights(0.5), first_view=MEANING)
    model.see_pool(rows)

    def fit() -> object:
        return model.fit(rows[:LABELLED], labels[:LABELLED], names(), np.random.default_rng(0))

    first = _cpu_seconds(fit, 1)
    return [
        (f"`AdaptedVectors.fit` on {LABELLED} labels, first with its pool of {WINDOW:,}", first, "seconds"),
        ("`AdaptedVectors.fit` after each further answer", _cpu_seconds(fit), "seconds; at most 1"),
    ]


def sentences(count: int) -> tuple[list[str], Array]:
    """Sentences of 5 to 35 words, as SST5 has them."""
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(WORDS, size=rng.integers(5, 36))) for _ in range(count)], rng.integers(K, size=count)
