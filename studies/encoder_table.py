"""What encoders are worth with random labels: python studies/encoder_table.py

Weighted F1 of `SpectralLaplace` (ten members) after 76, 126, 276 and 526 random labels on each kind of vectors, with
the standard error over seeds: the random curves of the studies that were run on the same items and seeds. Then the
differences of some of them, paired over seeds.
"""

import sys

import numpy as np
from table_parts import SETS, markdown, set_title
from tables import METRIC, RESULTS, results_of, with_error

from bemps.results import Curve

LABELS = (76, 126, 276, 526)
STUDIES = {
    "tfidf": ("encoders",),
    "minilm": ("fresh", "fresh-trec6"),
    "minilm-words": ("words-fresh", "words-trec6"),
    "bge": ("encoders",),
    "bge-words": ("bge-fresh",),
}

DIFFERENCES = {
    "words and a middle layer beside bge-small bring": ("bge-words", "bge"),
    "bge-small alone is ahead of MiniLM alone by": ("bge", "minilm"),
}


def random_curves(encoder: str) -> dict[str, Curve]:
    """By dataset; where a study has several encoders, that of this one."""
    names = [name for name in STUDIES[encoder] if (RESULTS / f"{name}.parquet").exists()]
    found = {}
    for place, curves in results_of(*names).curves.items() if names else ():
        for name, curve in curves.items():
            if name == "random" or encoder in dict(curve.axes).values():
                found[place.dataset] = curve
    return found


def cell(curve: Curve, labels: int) -> str:
    values = curve.values_of(METRIC)[:, list(curve.labels).index(labels)]
    return f"{values.mean():.3f} ± {values.std(ddof=1) / np.sqrt(len(values)):.3f}".replace("0.", ".")


def table() -> str:
    head = " | ".join(f"{labels} labels" for labels in LABELS)
    lines = [f"| set | encoder | seeds | {head} |", "|---|---|---|" + "---|" * len(LABELS)]
    by_encoder = {encoder: random_curves(encoder) for encoder in STUDIES}
    for dataset in sorted({name for curves in by_encoder.values() for name in curves}):
        for encoder, curves in by_encoder.items():
            if dataset in curves:
                cells = " | ".join(cell(curves[dataset], labels) for labels in LABELS)
                lines.append(f"| {dataset} | `{encoder}` | {len(curves[dataset].seeds)} | {cells} |")
    return "\n".join(lines)


def differences() -> str:
    """What one encoder is ahead of another with the most labels, seed by seed, on the sets where both were run."""
    pairs = {title: [random_curves(name) for name in names] for title, names in DIFFERENCES.items()}
    sets = [name for name in SETS if all(name in curves for pair in pairs.values() for curves in pair)]
    rows = [[title, *(_last_gap(ours[name], base[name]) for name in sets)] for title, (ours, base) in pairs.items()]
    return markdown([f"with {LABELS[-1]} labels", *map(set_title, sets)], rows)


def _last_gap(curve: Curve, base: Curve) -> str:
    seeds = sorted(set(curve.seeds) & set(base.seeds))
    ours, others = (each.values_of(METRIC, seeds)[:, list(each.labels).index(LABELS[-1])] for each in (curve, base))
    return with_error((ours - others).tolist())


if __name__ == "__main__":
    sys.stdout.write(f"{table()}\n\n{differences()}\n")
