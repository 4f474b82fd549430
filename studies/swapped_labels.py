"""How many swapped labels the list "Look again" has in its first tenth: BEMPS_DATA=... python studies/swapped_labels.py

One label in twenty of a random sample is swapped for another class. The model is that of `--model tfidf`.
"""

from collections.abc import Iterator

import numpy as np

from bemps.data import load
from bemps.models.content_models import ContentLaplace
from bemps.models.encoders.tfidf import tfidf_vectors
from bemps.server.review.doubts import doubted_labels

SETS, SIZES, SEEDS, POOL, SHARE = ("ag_news", "trec6"), (400, 1_000), range(3), 3_000, 20


def shares(name: str) -> Iterator[tuple[int, int, float]]:
    """Labels, seed, and the share of the swapped ones in the first tenth."""
    pool = load(name, max_pool=POOL).pool
    codes, texts = np.asarray(pool.labels), list(pool.items)
    vectors = tfidf_vectors(texts, rng=np.random.default_rng(0))(texts)
    for size in SIZES:
        for seed in SEEDS:
            rng = np.random.default_rng(seed)
            rows = rng.choice(len(texts), size, replace=False)
            labels, swapped = codes[rows].copy(), rng.choice(size, size // SHARE, replace=False)
            steps = rng.integers(1, len(pool.classes), len(swapped))
            labels[swapped] = (labels[swapped] + steps) % len(pool.classes)
            model = ContentLaplace()
            model.see_pool(vectors)
            doubts = doubted_labels(model, vectors[rows], labels, pool.classes)
            first = {doubt.row for doubt in doubts[: size // 10]}
            yield size, seed, float(np.mean([row in first for row in swapped.tolist()]))


if __name__ == "__main__":
    for name in SETS:
        for size, seed, share in shares(name):
            print(f"{name}, {size} labels, seed {seed}: {share:.0%}")  # noqa: T201
