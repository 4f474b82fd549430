"""Print the table of labels saved that the README shows: python studies/readme_table.py

The goal on each set is what 526 random labels reach on MiniLM's sentence vectors (`fresh`). Saved is the share of those
labels that is not needed for the goal: by bemps' default for texts (`corelog-ties` on `bge-words`, `bge-fresh`), and
by uncertainty sampling with diverse batches (`margin-km`) on the sentence vectors. Both on the same ten seeds.
"""

import sys

import numpy as np
from better_vectors import curves
from tables import METRIC

from bemps.results import Curve, saving

TITLES = {
    "ag_news": "AG NEWS: topic of a news item, 4 classes",
    "csabstruct": "csabstruct: role of a sentence, 5 classes",
    "sst5": "SST5: opinion of a sentence, 5 grades",
    "trec6": "TREC-6: kind of a question, 6 classes",
}


def percent_saved(curve: Curve, baseline: Curve) -> str:
    """Share of the baseline's labels that the curve does not need for the baseline's last value."""
    result = saving(curve, baseline, METRIC)
    assert result is not None
    return f"{result.share:.0%}".replace("%", " %") if np.isfinite(result.share) else "none"


def table() -> str:
    sentence_vectors, default = curves("fresh") | curves("fresh-trec6"), curves("bge-fresh")
    lines = ["| labels saved | bemps | uncertainty sampling on sentence vectors |", "|---|---|---|"]
    for dataset, title in TITLES.items():
        random = sentence_vectors[dataset]["random"]
        ours = percent_saved(default[dataset]["corelog-ties"], random)
        usual = percent_saved(sentence_vectors[dataset]["margin-km"], random)
        lines.append(f"| {title} | **{ours}** | {usual} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")
