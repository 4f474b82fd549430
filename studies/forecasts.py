"""Simulated projects: what the forecast promised, and what came. `python studies/forecasts.py simulate FOLDER`

Rounds of 20 labels as the page asks for them, until 320. After each fit the predictions for test items that are never
labelled are kept item by item, so that audits of any size can be drawn from them later (`studies/audits.py`).
Resumable: a project that is there is passed over. `python studies/forecasts.py table FOLDER` writes the table
that the package's constants were fitted to (studies/forecasts.parquet).
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bemps.data import load
from bemps.learner import ActiveLearner
from bemps.learner.stopping import forecast
from bemps.models import ForestMembers
from bemps.models.base import take
from bemps.models.encoders.feature_cache import CachedEncoder
from bemps.project.project_models import project_model
from bemps.store.project_settings import ProjectSettings

ROUND, ROUNDS, SEEDS = 20, 16, range(4)
BASE, POOL, TEST = 3_000, 2_000, 1_500
TEXTS = ("sst5", "trec6", "csabstruct", "ag_news", "imdb", "banking20")
TEXT_MODELS = ("tfidf", "minilm-words", "tfidf-ensemble", "tfidf-forest")
IMAGE_MODELS = {
    "digits": ("pixels", "pixels-forest"),
    "mnist": ("pixels", "pixels-forest"),
    "cifar10": ("efficientnet", "efficientnet-forest", "efficientnet-heads"),
}
CROSS_VALIDATED = (100, 200, 300)  # labels
LETTERS = 1_000  # of a text: IMDB's reviews are longer than MiniLM reads


def main() -> None:
    what, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    if what == "simulate":
        for seed, dataset, model in _projects():
            path = folder / f"{dataset}.{model}.{seed}.npz"
            if not path.exists():
                simulate(folder, dataset, model, seed, path)
    else:
        raise SystemExit("simulate FOLDER")


def _projects() -> Iterator[tuple[int, str, str]]:
    for seed in SEEDS:
        for dataset in (*TEXTS, *IMAGE_MODELS):
            for model in TEXT_MODELS if dataset in TEXTS else IMAGE_MODELS[dataset]:
                yield seed, dataset, model


def simulate(folder: Path, dataset: str, model: str, seed: int, path: Path) -> None:
    """One project from its first label on."""
    pool, codes, test, truth, K = vectors(folder, dataset, model, seed)
    names = [str(code) for code in range(K)]
    learner = learner_on(pool, model, names, seed)
    before: np.ndarray | None = None
    rows: list[dict[str, Any]] = []
    for _ in range(ROUNDS + 1):
        order = learner.pool.positions(learner.ask(ROUND).items)
        if learner.fitted_model.ready:
            rows.append(_round(learner, order, codes[order], before, (test, truth)))
            before = rows[-1]["points"]
        learner.tell({str(row): names[codes[row]] for row in order})
    kept = {key: np.array([row[key] for row in rows]) for key in rows[0] if key != "points"}
    np.savez_compressed(path, K=K, **kept)
    falls = np.round(-np.diff(kept["brier"].mean(1)), 3)
    sys.stdout.write(f"{path.name} promised {kept['gain'][:-1].round(3)} came {falls}\n")
    sys.stdout.flush()


def learner_on(pool: np.ndarray, model: str, names: list[str], seed: int) -> ActiveLearner:
    if model.endswith("forest"):
        from sklearn.ensemble import RandomForestClassifier

        members, strategy = ForestMembers(RandomForestClassifier(100, n_jobs=1)), "margin-km"
    else:
        chosen = project_model(ProjectSettings(kind="text" if model in TEXT_MODELS else "image", model=model))
        members, strategy = chosen.on_vectors(pool), chosen.strategy(len(names))
    return ActiveLearner(members, pool, classes=names, strategy=strategy, explain=False, seed=seed)


def _round(
    learner: ActiveLearner,
    order: np.ndarray,
    codes: np.ndarray,
    before: np.ndarray | None,
    held_out: tuple[np.ndarray, np.ndarray],
) -> dict[str, Any]:
    """Everything that the page could know at this point, and what only the test items tell."""
    fitted_model, (test, truth) = learner.fitted_model, held_out
    probs, weights = fitted_model.members(order)
    at, _ = fitted_model.members(learner.estimation_rows())
    told = forecast(probs, at, weights, np.arange(len(order)), labels=len(learner.labels), seed=learner.seed)
    mean, batch, outside = np.tensordot(weights, at, 1), np.tensordot(weights, probs, 1), learner.predict(test)
    labels = len(learner.labels)
    return {
        "points": mean,
        "labels": labels,
        "gain": told.gain,
        "error": told.standard_error,
        "remaining": told.remaining,
        "moved": np.nan if before is None else ((mean - before) ** 2).sum(1).mean(),
        "same": np.nan if before is None else (mean.argmax(1) == before.argmax(1)).mean(),
        "confidence_pool": mean.max(1).mean(),
        "expected_brier_pool": (1 - (mean**2).sum(1)).mean(),
        "batch_confidence": batch.max(1),
        "batch_right": batch.argmax(1) == codes,
        "batch_expected_brier": (1 - (batch**2).sum(1)).mean(),
        "batch_brier": brier(batch, codes).mean(),
        "cross_validated": _cross_validated(learner) if labels in CROSS_VALIDATED else np.full((2, 300), np.nan),
        "confidence": outside.max(1).astype(np.float32),
        "right": outside.argmax(1) == truth,
        "brier": brier(outside, truth).astype(np.float32),
        "expected_brier": (1 - (outside**2).sum(1)).astype(np.float32),
    }


def _cross_validated(learner: ActiveLearner, folds: int = 5) -> np.ndarray:
    """Confidence on the labels that were chosen, by models that did not learn from them, and whether it was right."""
    rows, codes = learner.pool.labelled()
    fold = np.random.default_rng(0).permutation(len(rows)) % folds
    found = np.full((2, max(CROSS_VALIDATED)), np.nan)
    for part in range(folds):
        learn, rest = rows[fold != part], rows[fold == part]
        learner.model.fit(
            take(learner.items, learn), codes[fold != part], list(learner.classes), np.random.default_rng(0)
        )
        probs = learner.model.predict(take(learner.items, rest)).mean(0)
        found[:, np.flatnonzero(fold == part)] = probs.max(1), probs.argmax(1) == codes[fold == part]
    learner.fitted_model._version = -1  # what is fitted now is not the learner's model
    return found


def brier(probs: np.ndarray, codes: np.ndarray) -> np.ndarray:
    return ((probs - np.eye(probs.shape[1])[codes]) ** 2).sum(1)


# -- vectors ---------------------------------------------------------------------------------------------------------


def vectors(
    folder: Path, dataset: str, model: str, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, int]:
    """Pool and test of a project: vectors and codes, and the number of classes."""
    base, codes, test, truth, K = _items(dataset)
    drawn = np.sort(np.random.default_rng(seed).permutation(len(codes))[: min(POOL, len(codes))])
    if dataset in TEXTS:
        name = "tfidf" if model.endswith("forest") else model
        chosen = project_model(ProjectSettings(kind="text", model=name), cache=folder / "vectors")
        pool = [base[row] for row in drawn]
        chosen.see_pool(pool)
        return chosen.encode(pool), codes[drawn], chosen.encode(test), truth, K
    if model.startswith("efficientnet"):
        from bemps.models.images.efficientnet import EfficientNetLite0

        encode = CachedEncoder(EfficientNetLite0(size=128), str(folder / "vectors"))
        return encode(base)[drawn], codes[drawn], encode(test), truth, K
    return _flat(base)[drawn], codes[drawn], _flat(test), truth, K


def _flat(items: Any) -> np.ndarray:
    images = items if isinstance(items, np.ndarray) else items.load(size=(32, 32))
    return images.reshape(len(images), -1) / 255.0


def _items(dataset: str) -> tuple[Any, np.ndarray, Any, np.ndarray, int]:
    if dataset == "digits":
        from sklearn.datasets import load_digits

        images, codes = load_digits(return_X_y=True)
        rows = np.random.default_rng(0).permutation(len(codes))
        images = images * 16
        return images[rows[:1_000]], codes[rows[:1_000]], images[rows[1_000:]], codes[rows[1_000:]], 10
    data = load("banking77" if dataset == "banking20" else dataset)
    parts, K = [], len(data.classes)
    wanted = np.arange(K)
    if dataset == "banking20":
        wanted, K = np.sort(np.random.default_rng(0).permutation(K)[:20]), 20
    for table, size in ((data.pool, BASE), (data.test, TEST)):
        rows = np.flatnonzero(np.isin(table.labels, wanted))
        rows = np.sort(np.random.default_rng(0).permutation(rows)[:size])
        items = (
            [table.items[row][:LETTERS] for row in rows] if isinstance(table.items, list) else table.items.take(rows)
        )
        parts += [items, np.searchsorted(wanted, table.labels[rows])]
    return parts[0], parts[1], parts[2], parts[3], K


if __name__ == "__main__":
    main()
