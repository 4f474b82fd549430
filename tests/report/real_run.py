"""A small real run: digits, ActiveLearner, a few rounds, everything that a report can show."""

import time

import numpy as np
from making_runs import key_of, write

from bemps.data import initial_labels, load
from bemps.learner import ActiveLearner
from bemps.metrics import confidence_bins, expected_calibration_error
from bemps.models.linear.spectral_classifiers import SpectralLaplace
from bemps.results import training_dynamics


def real_run(folder, *, strategies=("coremse", "margin", "random"), seeds=3, rounds=6, batch=10):
    """Play the oracle and write results, acquired ids, timings, reliability, training dynamics and embeddings."""
    digits = load("digits")
    x, test = (np.asarray(part.items, dtype=float) / 16 for part in (digits.pool, digits.test))
    results, acquired, timings, reliability = [], [], [], []
    for strategy in strategies:
        for seed in range(seeds):
            key = {"dataset": "digits", "model": "spectral", "strategy": strategy, "batch_size": batch, "seed": seed}
            learner = ActiveLearner(
                SpectralLaplace(), x, ids=digits.pool.ids, classes=digits.classes, strategy=strategy, seed=seed
            )
            start = initial_labels(digits, seed=seed)
            learner.tell({digits.pool.ids[i]: digits.classes[digits.pool.labels[i]] for i in start})
            for number in range(rounds + 1):
                here = key | {"round": number}
                began = time.perf_counter()
                probs = learner.predict(test)
                trained = time.perf_counter()
                results.append(here | {"labels": len(learner.labels)} | _measures(probs, digits.test.labels))
                results[-1]["remaining_gain"] = learner.remaining_gain()
                chosen = learner.ask(batch)
                timings.append(
                    here | {"train_seconds": trained - began, "query_seconds": time.perf_counter() - trained}
                )
                if number < rounds:
                    acquired += [here | {"round": number + 1, "id": name} for name in chosen.items]
                    place = {name: i for i, name in enumerate(digits.pool.ids)}
                    told = [digits.classes[digits.pool.labels[place[name]]] for name in chosen.items]
                    learner.tell(chosen, told)
            reliability += [
                key_of(here) | dict(zip(("bin", "items", "confidence", "correct"), (number, *values), strict=True))
                for number, values in enumerate(confidence_bins(probs, digits.test.labels))
                if values[0]
            ]
    tables = {"results": results, "acquired": acquired, "timings": timings, "reliability": reliability}
    for name, rows in (tables | _pool(digits, x)).items():
        write(folder, name, rows)


def _measures(probs, labels):
    from sklearn.metrics import f1_score, log_loss

    predicted = probs.argmax(1)
    return {
        "accuracy": float((predicted == labels).mean()),
        "f1": float(f1_score(labels, predicted, average="weighted", zero_division=0)),
        "brier": float(((probs - np.eye(10)[labels]) ** 2).sum(1).mean()),
        "log_loss": float(log_loss(labels, probs, labels=range(10))),
        "ece": expected_calibration_error(probs, labels),
    }


def _pool(digits, x):
    true_class, correct = training_dynamics(x, digits.pool.labels, np.random.default_rng(0), epochs=10)
    dynamics = [
        {"dataset": "digits", "id": name, "epoch": epoch, "probability": float(p[i]), "correct": bool(c[i])}
        for epoch, (p, c) in enumerate(zip(true_class, correct, strict=True))
        for i, name in enumerate(digits.pool.ids)
    ]
    embeddings = [
        {"dataset": "digits", "id": name, "label": digits.classes[label], "vector": vector.tolist()}
        for name, label, vector in zip(digits.pool.ids, digits.pool.labels, x.astype(np.float32), strict=True)
    ]
    return {"dynamics": dynamics, "embeddings": embeddings}
