"""Times of the data room, as printed in docs/reference/data.md: `python tests/data/measure.py`.

Each line runs in a process of its own. CPU seconds, so that other work on the machine does not count; peak memory
of the process. The datasets are those found in BEMPS_DATA.
"""

import csv
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bemps import data

MILLION = 1_000_000


def write_million(path: Path) -> None:
    """A million different texts of about 110 characters, with ids and five classes."""
    words = np.array(["the", "film", "plot", "actor", "is", "was", "not", "very", "good", "bad", "dull", "story"])
    rng = np.random.default_rng(0)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "body", "topic"])
        for n, row in enumerate(rng.integers(len(words), size=(MILLION, 22))):
            writer.writerow([f"r{n}", f"{' '.join(words[row])} {n}", f"class {n % 5}"])


def link_million(folder: Path) -> None:
    """A million names of twenty-five image files, a thousand to a subfolder."""
    from PIL import Image

    (folder / "originals").mkdir()
    for n in range(25):
        Image.fromarray(np.full((32, 32, 3), n, np.uint8)).save(folder / "originals" / f"{n}.png")
    for n in range(MILLION - 25):
        if n % 1000 == 0:
            (folder / f"{n // 1000:04}").mkdir()
        os.link(folder / "originals" / f"{n % 25}.png", folder / f"{n // 1000:04}" / f"{n}.png")


def measured(what: str, action: Callable[[], object]) -> None:
    before = time.process_time()
    result = action()
    seconds = time.process_time() - before
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sys.stdout.write(f"| {what} | {seconds:.2f} | {memory:,.0f} | {result} |\n")
    sys.stdout.flush()


def apart(what: str, action: Callable[[], object]) -> None:
    process = multiprocessing.get_context("fork").Process(target=measured, args=(what, action))
    process.start()
    process.join()


def main() -> None:
    sys.stdout.write("| what | CPU s | peak MB | result |\n|---|---|---|---|\n")
    sys.stdout.flush()
    apart("nothing (imports only)", lambda: "")
    with tempfile.TemporaryDirectory() as place:
        file, folder = Path(place) / "million.csv", Path(place) / "images"
        write_million(file)
        apart("CSV, 1,000,000 rows, content ids", lambda: data.read(file, text="body", label="topic"))
        apart("the same, given ids", lambda: data.read(file, text="body", label="topic", id="id"))
        folder.mkdir()
        link_million(folder)
        apart("folder, 1,000,000 images, ids by path", lambda: data.read(folder, label="folder", id="path"))
        apart("the same, content ids", lambda: data.read(folder, label="folder"))
    there = [name for name in data.datasets() if name == "digits" or (Path(os.environ["BEMPS_DATA"]) / name).is_dir()]
    for name in there:
        apart(f"load({name!r})", lambda name=name: data.load(name))


if __name__ == "__main__":
    main()
