"""Pools in shards, and models that leave a trace of what they were asked."""

import os
import time
import uuid
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from making import predictions

from bemps.distributed import write_shard

STORE = 200 * 2**20
NODE = {"object_store_memory": STORE, "node_ip_address": "127.0.0.1"}
EDGES = (0, 170, 171, 300, 600)


def pool(seed=0, N=600, *, E=4, K=3, dtype=np.float64, **more):
    return predictions(np.random.default_rng(seed), E, N, K, dtype=dtype, **more)


def write(folder, probs, edges=EDGES):
    """The pool in shards of very different sizes."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for number, (start, stop) in enumerate(pairwise(edges)):
        write_shard(folder / f"part-{number}.parquet", probs[:, start:stop], [f"i{i}" for i in range(start, stop)])
    return folder


def write_numbers(folder, N, shards):
    """Shards whose items are numbers, for the models below."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for number, part in enumerate(np.array_split(np.arange(N), shards)):
        pq.write_table(pa.table({"item": part}), folder / f"part-{number:03d}.parquet")
    return folder


class Looked:
    """Item i is column i of an array; every call leaves a file that says who was asked for what."""

    def __init__(self, probs, log, seconds=0.0):
        self.probs, self.log, self.seconds = probs, Path(log), seconds

    def predict(self, items):
        note(self.log, f"{os.getpid()} {items[0]} {len(items)}")
        time.sleep(self.seconds)
        return self.probs[:, items]


class Made:
    """A factory: the model is made on the worker."""

    def __init__(self, probs, log):
        self.probs, self.log = probs, Path(log)

    def __call__(self):
        note(self.log / "made", str(os.getpid()))
        return Looked(self.probs, self.log / "asked")


def note(log, text):
    log.mkdir(parents=True, exist_ok=True)
    (log / uuid.uuid4().hex).write_text(text)


def notes(log):
    log = Path(log)
    return sorted(path.read_text() for path in log.iterdir()) if log.is_dir() else []


def napping(shared, folder, number):
    """How many of its kind run at the same time."""
    mark = Path(folder) / str(number)
    mark.touch()
    time.sleep(0.05)
    return len(list(Path(folder).iterdir()))


def dying(shared, name):
    """Takes its process down."""
    os._exit(1)
