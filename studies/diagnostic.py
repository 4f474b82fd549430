"""Does a posterior know what a batch will bring? Predicted against realised gain on the vectors of a run.

    bemps run studies/main/main.toml          # makes the vectors
    python studies/diagnostic.py [runs/main [minilm]]
    python studies/diagnostic.py runs/words minilm-words

For each dataset, posterior and number of random labels: 30 batches of 50, half of them drawn evenly, half by expected
gain; the rank correlation of the joint gain that CoreMSE predicts with the fall of the Brier score after retraining,
and both means. A negative realised mean says that 50 more labels made the Brier score worse.
"""

import sys
from pathlib import Path

import numpy as np

from bemps.experiments.inputs.pool_encoding import view_options
from bemps.experiments.inputs.run_data import CellData, folder_of, load
from bemps.limits import library_threads
from bemps.models.model_registry import MODELS
from bemps.results import gain_diagnostic

DATASETS = ("ag_news", "csabstruct", "imdb", "sst5")
LABELS = (76, 276)
MEMBERS = {"spectral": 10, "heads": 5, "heads-mc": 5}
TEST = 2_000


def row(material: CellData, encoder: str, model: str, labels: int) -> str:
    rng = np.random.default_rng(labels)
    order = rng.permutation(len(material.ids))
    start, rest = order[:labels], order[labels:]
    some = rng.permutation(len(material.test_labels))[:TEST]
    options = view_options(encoder, MODELS[model], {})
    found = gain_diagnostic(
        MODELS[model].make(material.items, Path(), members=MEMBERS[model], **options),
        (material.items[start], material.labels[start]),
        (material.items[rest], material.labels[rest]),
        (material.test_items[some], material.test_labels[some]),
        material.classes,
        batch_size=50,
    )
    means = f"{found.predicted.mean():.4f} | {found.realised.mean():+.4f}"
    return f"{found.correlation:+.2f} (p = {found.p_value:.2g}) | {means}"


def main(run: str = "runs/main", encoder: str = "minilm") -> None:
    tell("| data | posterior | labels | rank correlation | predicted | realised |")
    tell("|---|---|---|---|---|---|")
    with library_threads(1):
        for name in DATASETS:
            material = load(folder_of(Path(run), name), encoder)
            for model in MEMBERS:
                for labels in LABELS:
                    tell(f"| {name} | {model} | {labels} | {row(material, encoder, model, labels)} |")


def tell(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
