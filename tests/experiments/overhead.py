"""What the harness costs over bare training and scoring, in CPU seconds: python tests/experiments/overhead.py

Bare: fit, predict the test set and the pool, score and select, in a loop, with the same random numbers, so that all
three label the same items and do the same work. The learner adds its bookkeeping, the remaining gain and the stopping
signal; the harness adds the measures, the journal and the tables.
"""

import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import bemps
from bemps._utils.watchers import Silent
from bemps.data import initial_labels, load
from bemps.experiments.cell import one_thread, run_cell
from bemps.experiments.config import config_of
from bemps.experiments.grid import Cell
from bemps.experiments.inputs import run_data as materials
from bemps.experiments.inputs.preparation import write_shared_data
from bemps.experiments.result_tables import write_tables
from bemps.experiments.run_plan import _work  # what `run` does before the cells
from bemps.learner.fitted_model import CHOOSE, FIT
from bemps.models.model_registry import MODELS


def bare(model, x, data, x_test, cell, start, batch, rounds):
    labelled, y = np.sort(start), data.pool.labels
    for number in range(rounds + 1):
        rng = [np.random.default_rng([cell.learner_seed, purpose, number + 1]) for purpose in (FIT, CHOOSE)]
        model.fit(x[labelled], y[labelled], data.classes, rng[0])
        model.predict(x_test)
        if number < rounds:
            probs, pool = model.predict(x), np.setdiff1d(np.arange(len(x)), labelled)
            chosen = bemps.select(probs[:, pool], batch, "coremse", seed=rng[1])
            labelled = np.sort(np.concatenate([labelled, pool[chosen.indices]]))
    return {data.pool.ids[row] for row in labelled}


def learner_only(model, x, data, x_test, cell, start, batch, rounds):
    names = dict(zip(data.pool.ids, [data.classes[code] for code in data.pool.labels], strict=True))
    options = {"ids": data.pool.ids, "classes": data.classes, "explain": False, "seed": cell.learner_seed}
    learner = bemps.ActiveLearner(model, x, strategy="coremse", **options)
    learner.tell({data.pool.ids[i]: names[data.pool.ids[i]] for i in start})
    for number in range(rounds + 1):
        learner.predict(x_test)
        learner.remaining_gain()
        if number < rounds:
            learner.tell({name: names[name] for name in learner.ask(batch).items})
    return set(learner.labels)


def cpu(work, *arguments):
    """CPU seconds, and what came out."""
    start = time.process_time()
    found = work(*arguments)
    return time.process_time() - start, found


def overheads(data, model_name, *, batch=10, rounds=30, repeats=5):
    """Median CPU seconds of the bare loop, and median ratios of the learner and of a cell with its tables to it."""
    settings = {"dataset": data.name, "model": model_name, "strategies": "coremse", "seeds": 1, "full": False}
    config = config_of(settings | {"budget": batch * rounds, "batch_size": batch})
    cell = Cell(data.name, model_name, "coremse", batch, 0)
    taken = []
    with tempfile.TemporaryDirectory() as name, one_thread():
        for number in range(repeats):
            out = Path(name) / str(number)
            work = {cell: replace(_work(config, [cell], {data.name: data}, out)[cell], form="plain")}
            write_shared_data({(data.name, "plain"): None}, {data.name: data}, out, 1, Silent())
            material = materials.load(materials.folder_of(out, data.name), "plain")
            x, x_test = np.array(material.items), np.array(material.test_items)
            start = initial_labels(data, seed=0)

            def whole(out=out, work=work):
                run_cell(cell, work[cell])
                write_tables(work, config, out)

            arguments = (x, data, x_test, cell, start, batch, rounds)
            base, expected = cpu(bare, MODELS[model_name].make(x, out), *arguments)
            learner, found = cpu(learner_only, MODELS[model_name].make(x, out), *arguments)
            assert found == expected, "the bare loop and the learner labelled different items"
            taken.append((base, learner, cpu(whole)[0]))
    seconds = np.array(taken)
    return np.median(seconds[:, 0]), *np.median(seconds[:, 1:] / seconds[:, :1], axis=0)


if __name__ == "__main__":
    for name, data, rounds in (("digits", load("digits"), 30), ("mnist", load("mnist", max_pool=8_000), 6)):
        for model in sys.argv[1:] or ["spectral"]:
            base, learner, harness = overheads(data, model, rounds=rounds)
            sys.stdout.write(
                f"{name}, {model}: bare {base:.2f} s, learner {learner - 1:+.1%}, cell {harness - 1:+.1%} over bare, "
                f"{harness / learner - 1:+.1%} over the learner\n"
            )
            sys.stdout.flush()
