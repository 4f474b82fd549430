"""Benchmarks of pools larger than memory: `python -m benchmarks.scale`.

A selection of 100 from ten million synthetic items, predicted shard by shard, with CoreMSE: time against shards and
workers, and the memory of every worker. One million items in shards of probabilities against the same million in
memory. An estimate for a billion items from the cost of an item.
"""

import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import typer
from jaxtyping import Float
from rich.console import Console

from bemps.acquisition.selection import select as select_in_memory
from bemps.distributed import Cluster, select, write_shard
from bemps.distributed.cluster import connected
from bemps.types import Array
from benchmarks.measuring import ensemble

E, K, BATCH = 5, 4, 100
SAMPLE = 16 * 2**20  # bytes of vectors that k-means sees in the large runs: 200,000 of the top fraction
PASSES = ("predicting", "scoring", "ranking", "collecting", "assigning")


class Synthetic:
    """A model with random predictions, the same for the same items in the same batch."""

    def predict(self, items: Any) -> Float[Array, "E n K"]:
        return ensemble(E, len(items), K, seed=int(items[0]))


@dataclass
class Clock:
    """A watcher that adds up the seconds of each stage. The work of the driver itself is the rest."""

    seconds: dict[str, float] = field(default_factory=dict)
    _stage: str = ""
    _since: float = 0.0
    _left: int = 0

    def stage(self, name: str, total: int) -> None:
        self._stage, self._since, self._left = name, time.perf_counter(), total

    def progress(self, done: int) -> None:
        if done == self._left:
            spent = time.perf_counter() - self._since
            self.seconds[self._stage] = self.seconds.get(self._stage, 0.0) + spent

    def note(self, text: str) -> None:
        """Nothing to measure."""


@dataclass(frozen=True)
class Run:
    """A selection: its size, seconds in all and by stage, and peak bytes of each worker."""

    items: int
    shards: int
    workers: int
    seconds: float
    stages: dict[str, float]
    peaks: tuple[int, ...]


def write_numbers(folder: Path, items: int, shards: int) -> None:
    """Write shards that hold only the numbers of the items."""
    edges = np.linspace(0, items, shards + 1).astype(np.int64)
    for number, (start, stop) in enumerate(pairwise(edges)):
        pq.write_table(pa.table({"item": np.arange(start, stop)}), folder / f"{number:06d}.parquet")


def write_probabilities(folder: Path, items: int, shards: int) -> Float[Array, "E N K"]:
    """Write shards of probabilities, and return the same in memory."""
    probs = ensemble(E, items, K)
    edges = np.linspace(0, items, shards + 1).astype(np.int64)
    for number, (start, stop) in enumerate(pairwise(edges)):
        write_shard(folder / f"{number:06d}.parquet", probs[:, start:stop])
    return probs


def peak_bytes() -> tuple[int, ...]:
    """The peak resident memory of each Ray worker below this process."""
    peaks = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":\t", 1) for line in status.read_text().splitlines() if ":\t" in line)
        except (FileNotFoundError, ProcessLookupError):
            continue
        if fields["Name"].startswith("ray::") and "Agent" not in fields["Name"] and _is_mine(int(fields["Pid"])):
            peaks.append(int(fields["VmHWM"].split()[0]) * 1024)
    return tuple(sorted(peaks, reverse=True))


def _is_mine(pid: int) -> bool:
    while pid > 1:
        if pid == os.getpid():
            return True
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            return False
    return False


def large(items: int, shards: int, workers: int) -> Run:
    """A selection from shards that a model predicts."""
    with tempfile.TemporaryDirectory() as folder, connected(Cluster.parse("ray"), cpus=workers) as ray:
        write_numbers(Path(folder), items, shards)
        ray.get([ray.remote(_warm).remote() for _ in range(workers)])
        clock, start = Clock(), time.perf_counter()
        selection = select(folder, Synthetic(), BATCH, items="item", cluster_memory=SAMPLE, watcher=clock)
        seconds = time.perf_counter() - start
        assert len(set(selection.indices.tolist())) == BATCH
        return Run(items, shards, workers, seconds, clock.seconds, peak_bytes())


def _warm() -> None:
    """Import everything on a worker before times are taken."""
    import bemps.distributed.pools.shard_pass  # noqa: F401


@dataclass(frozen=True)
class Both:
    """A strategy on one pool: seconds in memory and from shards."""

    strategy: str
    items: int
    memory: float
    shards: float


def against_memory(items: int, shards: int, workers: int, strategies: tuple[str, ...]) -> Iterator[Both]:
    """The same selection in memory and from shards, in one run; the batches must be equal."""
    with tempfile.TemporaryDirectory() as folder, connected(Cluster.parse("ray"), cpus=workers) as ray:
        probs = write_probabilities(Path(folder), items, shards)
        ray.get([ray.remote(_warm).remote() for _ in range(workers)])
        for strategy in strategies:
            start = time.perf_counter()
            expected = select_in_memory(probs, BATCH, strategy)
            memory = time.perf_counter() - start
            start = time.perf_counter()
            selection = select(folder, None, BATCH, strategy)
            seconds = time.perf_counter() - start
            assert (selection.indices == expected.indices).all()
            yield Both(strategy, items, memory, seconds)


def run_table(runs: list[Run]) -> str:
    """Markdown: a row for each run."""
    head = ["items", "shards", "workers", *PASSES, "k-means and rest", "all, s", "µs per item", "peak of a worker"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for run in runs:
        spent = [run.stages.get(name, 0.0) for name in PASSES]
        rest = run.seconds - sum(spent)
        cells = [f"{run.items:,}", run.shards, run.workers, *(f"{value:.1f}" for value in (*spent, rest, run.seconds))]
        cells += [f"{1e6 * run.seconds / run.items:.2f}", f"{max(run.peaks) / 2**20:.0f} MiB"]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def memory_table(pairs: list[Both]) -> str:
    """Markdown: in memory against shards."""
    lines = ["| strategy | items | in memory, s | from shards, s | ratio |", "|---|---|---|---|---|"]
    for pair in pairs:
        ratio = pair.shards / pair.memory
        lines.append(f"| {pair.strategy} | {pair.items:,} | {pair.memory:.2f} | {pair.shards:.2f} | {ratio:.2f} |")
    return "\n".join(lines)


def billion(run: Run) -> str:
    """What a billion items take at the costs of a run: passes grow with the items, k-means sees the same sample."""
    passes = sum(run.stages.get(name, 0.0) for name in PASSES) * run.workers / run.items
    rest = run.seconds - sum(run.stages.get(name, 0.0) for name in PASSES)
    hours = passes * 1e9 / 3600
    disk = 1e9 * (E * K * 4 + 8) / 1e9
    return (
        f"One billion: {1e6 * passes:.2f} µs of a core per item, {hours:.1f} core-hours of passes "
        f"({hours * 60 / 100:.1f} minutes on 100 cores), {rest:.0f} s of k-means on the driver, "
        f"{disk:.0f} GB of predictions and scores in the work folder; the model's own predictions come on top."
    )


def main(
    items: Annotated[int, typer.Option(help="of the large pool")] = 10_000_000,
    shards: Annotated[list[int] | None, typer.Option(help="how many, repeatable")] = None,
    workers: Annotated[list[int] | None, typer.Option(help="how many, repeatable")] = None,
    compared: Annotated[int, typer.Option(help="items of the pool that is also held in memory")] = 1_000_000,
) -> None:
    """Print the tables of docs/howto/cluster.md."""
    console = Console(soft_wrap=True, highlight=False)
    runs = []
    for count in shards or [40, 160]:
        for cores in workers or [1, 2]:
            runs.append(large(items, count, cores))
            console.print(run_table(runs), markup=False)
    console.print(billion(runs[-1]), markup=False)
    pairs = []
    for pair in against_memory(compared, 20, max(workers or [2]), ("coremse", "coremse-topk", "bald")):
        pairs.append(pair)
        console.print(memory_table(pairs), markup=False)


if __name__ == "__main__":
    typer.run(main)
