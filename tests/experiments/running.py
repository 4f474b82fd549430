"""Small runs for tests: in this process, or as the command that a user types, which can be killed."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq

from bemps.experiments import config_of, run

SAME = (
    "results.parquet",
    "acquired.parquet",
    "reliability.parquet",
    "epochs.parquet",
    "full.json",
    "config.json",
)  # what a resumed run must give byte by byte
COMMAND = [sys.executable, "-c", "import typer; from bemps.cli.run import run; typer.run(run)"]
SMALL = {"dataset": "digits", "strategies": ["coremse", "margin", "random"], "seeds": 2, "budget": 20}
SMALL |= {"axes": {"members": 3}}


def play(out, jobs=1, watcher=None, **settings):
    return run(config_of(SMALL | settings), out, jobs=jobs, watcher=watcher)


def rows(out, name="results"):
    return pq.read_table(Path(out) / f"{name}.parquet").to_pylist()


def bytes_of(out):
    return {name: (Path(out) / name).read_bytes() for name in SAME}


def without_data(out):
    return sum(path.read_bytes().count(b"\n") for path in (Path(out) / "journals").glob("*.jsonl"))


class Notes:
    """A watcher that remembers."""

    def __init__(self):
        self.notes, self.stages, self.done = [], [], []

    def stage(self, name, total):
        self.stages.append((name, total))

    def progress(self, done):
        self.done.append(done)

    def note(self, text):
        self.notes.append(text)


def command(out, *arguments, **options):
    """The command as a process; its group is its own, so that nothing else is hit by a signal."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "200"}
    return subprocess.Popen(
        [*COMMAND, "--out", str(out), *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def finished(out, *arguments, **options):
    """Run the command to its end."""
    process = command(out, *arguments, **options)
    stdout, stderr = process.communicate(timeout=300)
    return process.returncode, stdout, stderr


def killed(out, *arguments, lines, delay):
    """SIGKILL the command `delay` seconds after its journals have `lines` more lines; False if it was over before."""
    aim = without_data(out) + lines
    process = command(out, *arguments)
    while process.poll() is None and without_data(out) < aim:
        time.sleep(0.01)
    time.sleep(delay)
    over = process.poll() is not None
    process.kill()
    process.communicate(timeout=60)
    return not over
