"""Every encoder with random labels: studies/encoder_quality.py run|table [--data FOLDER]

run    one encoder and set after the other, on the items of studies/adapted.py: 2,000 pool items and 800 test items. The
       labels are the first 50, 100, 250 and 500 of a random order of the pool, 20 orders. The rows of an encoder and a
       set go into studies/results/texts/encoder-quality.parquet as soon as they are there, and are not made again.
table  the mean weighted F1 of `SpectralLaplace` with its standard error over the orders, and the seconds that one core
       takes to read the texts

`-words` means two views: a middle layer and TF-IDF stand beside the last layer. An encoder reads a set once for
both of its rows, so its seconds include the middle layer. Weights come by `bemps weights`.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from adapted import SETS, Cell, drawn, f1
from jaxtyping import Float

from bemps._utils.files import written_whole
from bemps.limits import limits
from bemps.models import SpectralLaplace
from bemps.models.content_models import TfidfVectors
from bemps.models.encoders import OnnxTextEncoder
from bemps.models.encoders.encoder_files import layer_width, view_layers
from bemps.models.encoders.text_views import side_by_side, spreads, views_of
from bemps.types import Array

RESULTS = Path(__file__).parent / "results" / "texts" / "encoder-quality.parquet"
KEY = ["encoder", "dataset"]
LABELS, SEEDS, MEMBERS = (50, 100, 250, 500), 20, 10
WORDS = "-words"
ENCODERS = (
    "tfidf",
    "multilingual",
    "multilingual-words",
    "minilm",
    "minilm-words",
    "bge-small",
    "bge-small-words",
    "gte-small",
    "gte-small-words",
    "mpnet",
    "mpnet-words",
)
TITLES = {"bge-small": "bge", "bge-small-words": "bge-words"}  # as models of projects are called


@lru_cache(maxsize=1)
def layers_of(encoder: str, texts: tuple[str, ...]) -> tuple[Float[Array, "N H"], float]:
    """The layers of both views side by side, the last one first, and the CPU seconds."""
    start = time.process_time()
    layers = OnnxTextEncoder(encoder, layer=view_layers(encoder)).embeddings(texts)
    return layers, time.process_time() - start


def vectors_of(encoder: str, pool: Sequence[str], test: Sequence[str]) -> tuple[Float[Array, "N H"], float, int | None]:
    """The vectors of pool and test, the CPU seconds, and the columns of the first of two views."""
    name, texts, start = encoder.removesuffix(WORDS), (*pool, *test), time.process_time()
    words = TfidfVectors()
    if name == encoder != "tfidf":
        layers, seconds = layers_of(name, texts)
        return layers[:, : layer_width(name)], seconds, None
    words.see_pool(pool)
    vectors, seconds = words(texts), time.process_time() - start
    if name == "tfidf":
        return vectors, seconds, None
    (layers, reading), width = layers_of(name, texts), layer_width(name)
    scales = spreads(views_of(layers[: len(pool)], vectors[: len(pool)], width))
    return side_by_side(layers, vectors, scales, width), seconds + reading, width


def rows_of(encoder: str, dataset: str, data: Path) -> list[dict[str, Any]]:
    """A row for each order and number of labels."""
    first = drawn(Cell(dataset, 0, 0), data)
    vectors, seconds, first_view = vectors_of(encoder, first.pool, first.test)
    row_of = {text: row for row, text in enumerate(first.pool)}
    pool, test = vectors[: len(first.pool)], vectors[len(first.pool) :]
    classes, rows = [str(code) for code in range(first.K)], []
    for seed in range(SEEDS):
        draw = drawn(Cell(dataset, seed, 0), data)
        order = np.array([row_of[text] for text in draw.pool])
        for labels in LABELS:
            model = SpectralLaplace(members=MEMBERS, first_view=first_view)
            model.see_pool(pool)
            model.fit(pool[order[:labels]], draw.codes[:labels], classes, np.random.default_rng(seed))
            quality = f1(model.predict_map(test), draw.truth)
            rows.append({"encoder": encoder, "dataset": dataset, "seed": seed, "labels": labels, "f1": quality})
    return [{**row, "cpu_seconds": seconds} for row in rows]


def run(data: Path, encoders: Sequence[str], sets: Sequence[str]) -> None:
    """Make what is missing."""
    import pandas as pd

    for dataset in sets:
        for encoder in encoders:
            table = pd.read_parquet(RESULTS) if RESULTS.exists() else pd.DataFrame(columns=KEY)
            if ((table.encoder == encoder) & (table.dataset == dataset)).any():
                continue
            rows = pd.DataFrame(rows_of(encoder, dataset, data))
            with written_whole(RESULTS) as draft:
                pd.concat([table, rows] if len(table) else [rows], ignore_index=True).to_parquet(draft, index=False)
            sys.stdout.write(f"{dataset}, {encoder}\n")
            sys.stdout.flush()


def table() -> str:
    """A line for each set and encoder."""
    import pandas as pd

    rows = pd.read_parquet(RESULTS)
    head = " | ".join(f"{labels} labels" for labels in LABELS)
    lines = [f"| set | encoder | {head} | CPU s |", "|---|---|" + "---|" * (len(LABELS) + 1)]
    for dataset in SETS:
        for encoder in ENCODERS:
            part = rows[(rows.dataset == dataset) & (rows.encoder == encoder)]
            if len(part):
                values = [part[part.labels == labels].f1.to_numpy() for labels in LABELS]
                cells = [f"{value.mean():.3f} ± {value.std(ddof=1) / np.sqrt(len(value)):.3f}" for value in values]
                cells = [cell.replace("0.", ".") for cell in cells]
                lines.append(_line(dataset, encoder, cells, part.cpu_seconds.iloc[0]))
    means = rows.groupby(["encoder", "labels"]).f1.mean().unstack()
    sets = rows.groupby("encoder").dataset.nunique()
    seconds = rows.drop_duplicates(KEY).groupby("encoder").cpu_seconds.sum()
    for encoder in ENCODERS:
        if encoder in means.index and sets[encoder] == sets.max() > 1:
            cells = [f"{means.loc[encoder, labels]:.3f}".replace("0.", ".") for labels in LABELS]
            lines.append(_line(f"mean of {sets.max()} sets", encoder, cells, seconds[encoder]))
    return "\n".join(lines)


def _line(what: str, encoder: str, cells: list[str], seconds: float) -> str:
    return f"| {what} | `{TITLES.get(encoder, encoder)}` | {' | '.join(cells)} | {seconds:.0f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("run", "table"))
    parser.add_argument("--data", type=Path, default=Path("datasets"))
    parser.add_argument("--encoders", nargs="+", choices=ENCODERS, default=list(ENCODERS))
    parser.add_argument("--sets", nargs="+", choices=tuple(SETS), default=list(SETS))
    options = parser.parse_args()
    if options.action == "run":
        with limits(threads=1):
            run(options.data, options.encoders, options.sets)
    else:
        sys.stdout.write(table() + "\n")


if __name__ == "__main__":
    main()
