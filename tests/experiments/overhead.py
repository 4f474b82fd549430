"""What the harness costs over bare training and scoring, in CPU seconds: python tests/experiments/overhead.py

Bare: fit, predict the test set and the candidates, score them and select, in a loop. The learner adds the remaining
gain and the stopping signal; the harness adds the measures, the journal and the tables.
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import bemps
from bemps.data import initial_labels, load
from bemps.experiments.config import config_of
from bemps.experiments.grid import Cell
from bemps.experiments.models import MODELS
from bemps.experiments.play import one_thread, play
from bemps.experiments.progress import Silent
from bemps.experiments.runner import _work  # what `run` does before the cells
from bemps.experiments.sharing import share
from bemps.experiments.tables import write_tables


def bare(model, x, y, x_test, classes, start, batch, rounds):
    labelled = np.asarray(start)
    for number in range(rounds + 1):
        rng = np.random.default_rng(number)
        model.fit(x[labelled], y[labelled], classes, rng)
        model.predict(x_test)
        if number < rounds:
            pool = np.setdiff1d(np.arange(len(x)), labelled)
            chosen = bemps.select(model.predict(x[pool]), batch, "coremse", seed=rng)
            labelled = np.concatenate([labelled, pool[chosen.indices]])


def learner_only(model, x, digits, x_test, cell, start, batch, rounds):
    names = dict(zip(digits.pool.ids, [digits.classes[code] for code in digits.pool.labels], strict=True))
    learner = bemps.ActiveLearner(
        model, x, ids=digits.pool.ids, classes=digits.classes, explain=False, seed=cell.learner_seed
    )
    learner.tell({digits.pool.ids[i]: names[digits.pool.ids[i]] for i in start})
    for number in range(rounds + 1):
        learner.predict(x_test)
        learner.remaining_gain()
        if number < rounds:
            learner.tell({name: names[name] for name in learner.ask(batch).items})


def cpu(work, *arguments):
    start = time.process_time()
    work(*arguments)
    return time.process_time() - start


def overheads(model_name, *, batch=10, rounds=30, repeats=3):
    """Least CPU seconds of the bare loop, of the learner, and of a cell with its tables."""
    digits = load("digits")
    x, x_test = (np.asarray(part.items / 16, dtype=np.float32) for part in (digits.pool, digits.test))
    start = initial_labels(digits, seed=0)
    settings = {"dataset": "digits", "model": model_name, "strategies": "coremse", "seeds": 1, "full": False}
    config = config_of(settings | {"budget": batch * rounds, "batch_size": batch})
    cell = Cell("digits", model_name, "coremse", batch, 0)
    taken = []
    with tempfile.TemporaryDirectory() as name, one_thread():
        for number in range(repeats):
            out = Path(name) / str(number)
            work = _work(config, [cell], {"digits": digits}, out)
            share({("digits", "plain")}, {"digits": digits}, out, 1, Silent())
            make = lambda out=out: MODELS[model_name].make(x, out)  # noqa: E731

            def whole(out=out, work=work):
                play(cell, work[cell])
                write_tables(work, config, out)

            taken.append(
                (
                    cpu(bare, make(), x, digits.pool.labels, x_test, digits.classes, start, batch, rounds),
                    cpu(learner_only, make(), x, digits, x_test, cell, start, batch, rounds),
                    cpu(whole),
                )
            )
    return np.min(taken, axis=0)


if __name__ == "__main__":
    for name in sys.argv[1:] or ["logistic", "spectral"]:
        base, learner, harness = overheads(name)
        sys.stdout.write(
            f"{name}: bare {base:.2f} s, learner {learner:.2f} s ({learner / base - 1:+.1%}), cell {harness:.2f} s "
            f"({harness / base - 1:+.1%} over bare, {harness / learner - 1:+.1%} over the learner)\n"
        )
