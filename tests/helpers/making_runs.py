"""Run folders with known answers."""

import json
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

KEYS = ("dataset", "model", "strategy", "batch_size", "seed")
LEVELS = {"coremse": 0.10, "margin": 0.05, "random": 0.0}  # how much higher each curve ends than random's


def write(folder, name, rows):
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), folder / f"{name}.parquet")


def row(strategy, seed, number, value, *, batch=10, dataset="digits", model="logistic", start=20, **more):
    measures = {
        "accuracy": value,
        "f1": value - 0.01,
        "brier": 1 - value,
        "log_loss": 2 - 2 * value,
        "ece": 0.2 * (1 - value),
        "remaining_gain": 0.3 / (1 + number),
    }
    key = dict(zip(KEYS, (dataset, model, strategy, batch, seed), strict=True))
    return key | more | {"round": number, "labels": start + batch * number} | measures


def curve_value(strategy, seed, number, rounds, *, level=None):
    """0.5 at the start for all; every seed has its own offset, every strategy its own wobble."""
    level = LEVELS[strategy] if level is None else level
    wobble = 0.004 * np.sin(3.0 * number + len(strategy))
    return 0.5 + (0.3 + level) * number / max(rounds, 1) + (0.01 * seed + wobble) * (number > 0)


def grid(*, datasets=("digits",), batches=(10,), seeds=3, rounds=10, strategies=tuple(LEVELS)):
    return [
        row(strategy, seed, number, curve_value(strategy, seed, number, rounds), batch=batch, dataset=dataset)
        for dataset, batch, strategy, seed, number in product(
            datasets, batches, strategies, range(seeds), range(rounds + 1)
        )
    ]


def key_of(found):
    return {name: found[name] for name in (*KEYS, "round")}


def synthetic_run(folder, *, analysis=True, **sizes):
    """A whole folder, with everything that a report can show."""
    rows = grid(**sizes)
    rng = np.random.default_rng(0)
    write(folder, "results", rows)
    write(
        folder,
        "timings",
        [
            key_of(found)
            | {"train_seconds": 0.5, "query_seconds": 0.1 * len(found["strategy"]), "peak_memory_mb": 99.0}
            for found in rows
        ],
    )
    acquired = []
    for found in rows:
        if found["round"]:
            first = 7 * found["seed"] + found["batch_size"] * found["round"]
            acquired += [key_of(found) | {"id": f"i{(first + step) % 200}"} for step in range(found["batch_size"])]
    write(folder, "acquired", acquired)
    datasets = sorted({found["dataset"] for found in rows})
    if analysis:
        _analysis(folder, rows, datasets, rng)
    full = {f"{name}/logistic": {"accuracy": 0.95, "f1": 0.94} for name in datasets}
    (folder / "full.json").write_text(json.dumps(full))
    (folder / "config.json").write_text(json.dumps({"datasets": datasets, "budget": 100, "note": "<script>"}))


def _analysis(folder, rows, datasets, rng):
    dynamics, embeddings = [], []
    for name, place in product(datasets, range(200)):
        for epoch in range(4):
            probability = float(np.clip(place / 200 + 0.05 * epoch, 0, 1))
            dynamics.append(
                {"dataset": name, "id": f"i{place}", "epoch": epoch, "probability": probability}
                | {"correct": probability > 0.5}
            )
        vector = (rng.standard_normal(8) + 4 * (place % 3)).astype(np.float32).tolist()
        embeddings.append({"dataset": name, "id": f"i{place}", "label": "abc"[place % 3], "vector": vector})
    write(folder, "dynamics", dynamics)
    write(folder, "embeddings", embeddings)
    last = max(found["round"] for found in rows)
    write(
        folder,
        "reliability",
        [
            key_of(found) | {"bin": bin_, "items": 10.0, "confidence": (bin_ + 0.5) / 2, "correct": float(bin_ // 2)}
            for found in rows
            if found["round"] == last
            for bin_ in range(8, 20)
        ],
    )
