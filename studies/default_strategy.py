"""Which strategy suits as a default: the README's TF-IDF ensemble, logistic regressions and Laplace members on vectors.

    BEMPS_DATA=... python studies/default_strategy.py --seeds 3

Prints the mean weighted F1 over the rounds of each strategy, by dataset and model. Pools of 2,000 items, 1,000 to test,
the first 20 labels by the cold start, then four batches of 20.
"""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from pyarrow import parquet
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from bemps.learner import ActiveLearner
from bemps.models import Model, SklearnEnsemble, SpectralLaplace, SpectralLogistic, tfidf_classifier
from bemps.models.encoders.text_encoder import TextEncoder

STRATEGIES = ("random", "coremse", "margin", "margin-km", "corelog-ties")
SETS = {"ag_news": ("train_subset", "test"), "trec6": ("train", "test"), "sst5": ("train", "test")}
MODELS: dict[str, tuple[bool, Callable[[], Model]]] = {  # whether on vectors, and the model
    "texts, TF-IDF ensemble": (False, lambda: SklearnEnsemble(tfidf_classifier())),
    "MiniLM, logistic ensemble": (True, lambda: SklearnEnsemble(LogisticRegression(C=10.0, max_iter=300))),
    "MiniLM, Laplace members": (True, SpectralLaplace),
    "MiniLM, one model": (True, SpectralLogistic),
}


def read(name: str, split: str, size: int, seed: int) -> tuple[list[str], np.ndarray]:
    table = parquet.read_table(Path(os.environ["BEMPS_DATA"]) / name / f"{split}.parquet").to_pydict()
    rows = np.random.default_rng(seed).permutation(len(table["text"]))[:size]
    return [table["text"][row] for row in rows], np.array(table["label"])[rows]


def curve(make: Callable[[], Model], strategy: str, pool: tuple, test: tuple, seed: int) -> float:
    items, labels = pool
    classes = [str(code) for code in range(labels.max() + 1)]
    learner = ActiveLearner(make(), items, classes=classes, strategy=strategy, explain=False, seed=seed)
    scores = []
    for _ in range(5):
        batch = learner.ask(20)
        learner.tell(batch, [str(labels[int(name)]) for name in batch.items])
        scores.append(f1_score(test[1], learner.predict(test[0]).argmax(1), average="weighted"))
    return float(np.mean(scores[1:]))


def compare(name: str, seeds: int, encode: TextEncoder) -> None:
    found: dict[tuple[str, str], list[float]] = {}
    for seed in range(seeds):
        pool, test = (read(name, split, size, seed) for split, size in zip(SETS[name], (2_000, 1_000), strict=True))
        vectors = [(encode.embeddings(texts), labels) for texts, labels in (pool, test)]
        for model, (on_vectors, make) in MODELS.items():
            data = vectors if on_vectors else (pool, test)
            for strategy in STRATEGIES:
                if not ("one model" in model and strategy == "coremse"):
                    found.setdefault((model, strategy), []).append(curve(make, strategy, *data, seed))
    for model in MODELS:
        means = {s: np.mean(found[model, s]) for s in STRATEGIES if (model, s) in found}
        columns = " | ".join(f"{s} {mean:.4f}" for s, mean in means.items())
        sys.stdout.write(f"| {name} | {model} | {columns} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=3)
    encoder = TextEncoder()
    for dataset in SETS:
        compare(dataset, parser.parse_args().seeds, encoder)
