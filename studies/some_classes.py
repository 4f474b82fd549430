"""Banking77 with 10, 20 and 40 of its 77 classes, as files for some-classes.toml: studies/some_classes.py

The smaller sets are parts of the larger ones.
"""

import csv
import sys
from pathlib import Path

import numpy as np

from bemps.data import load

SIZES = (10, 20, 40)
OUT = Path("runs/classes")


def main() -> None:
    data = load("banking77")
    order = np.random.default_rng(0).permutation(len(data.classes))
    OUT.mkdir(parents=True, exist_ok=True)
    for size in SIZES:
        kept = set(order[:size].tolist())
        for part, table in (("pool", data.pool), ("test", data.test)):
            assert table.labels is not None
            rows = [
                (text, data.classes[code]) for text, code in zip(table.items, table.labels, strict=True) if code in kept
            ]
            with (OUT / f"banking{size}-{part}.csv").open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows([("text", "intent"), *rows])
            sys.stdout.write(f"{size} classes, {part}: {len(rows)} rows\n")


if __name__ == "__main__":
    main()
