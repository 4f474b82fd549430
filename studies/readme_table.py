"""Print the table of labels saved that the README shows: python studies/readme_table.py [--vectors]

Whole systems on the same texts (studies/results/systems.jsonl). The goal on each set is what scikit-activeml reaches
with 526 random labels on MiniLM's sentence vectors. Saved is the share of those labels that is not needed for the goal.

`--vectors` prints the table of Appendix 9, by one learner on ten seeds. Its goal is what 526 random labels reach on
MiniLM's vectors (`fresh`). It has what bemps' default for texts saves (`corelog-ties` on `bge-words`, `bge-fresh`),
random labels on the same vectors, and margin sampling with diverse batches (`margin-km`) on MiniLM's vectors.
"""

import sys

import numpy as np
import systems_table
from table_parts import markdown, study
from tables import METRIC, percent, share_saved

from bemps.results import Saving, labels_to_reach, saving

TITLES = {
    "ag_news": "AG NEWS: topic of a news item, 4 classes",
    "imdb": "IMDB: opinion of a review, 2 classes",
    "csabstruct": "csabstruct: role of a sentence, 5 classes",
    "sst5": "SST5: opinion of a sentence, 5 grades",
    "trec6": "TREC-6: kind of a question, 6 classes",
}

SYSTEMS = {
    "bemps": "bemps",
    "skactiveml-bge": "scikit-activeml, margin on bge-small",
    "skactiveml-margin": "scikit-activeml, margin on MiniLM",
}


def rows() -> dict[str, tuple[Saving, Saving, Saving]]:
    """By set: what bemps saves, random labels on its vectors, and margin-km on MiniLM's."""
    usual, default = study("fresh", "fresh-trec6").by_set, study("bge-fresh").by_set
    found = {}
    for dataset in (name for name in TITLES if name in default):
        three = default[dataset]["corelog-ties"], default[dataset]["random"], usual[dataset]["margin-km"]
        found[dataset] = tuple(saving(curve, usual[dataset]["random"], METRIC) for curve in three)
    return found


def labels_of(found: Saving) -> str:
    return f"{found.needed:.0f} labels" if np.isfinite(found.needed) else "not reached"


def by_title(head: tuple[str, ...], cells: dict[str, tuple[str, ...]]) -> str:
    return markdown(head, ((TITLES[dataset], *row) for dataset, row in cells.items()))


def by_vectors() -> str:
    """For Appendix 9: all intervals, and the labels themselves."""
    cells = {
        dataset: tuple(f"{share_saved(each)}; {labels_of(each)}" for each in found) for dataset, found in rows().items()
    }
    head = "corelog-ties, `bge-words`", "random, `bge-words`", "margin-km, `minilm`"
    return by_title(("saved of 526 labels", *head), cells)


def table() -> str:
    """bemps and scikit-activeml, on the sets where all of these were run."""
    found, cells = systems_table.curves(), {}
    for dataset in TITLES:
        here = found.get(dataset, {})
        if {*SYSTEMS, systems_table.COMMON} <= here.keys():
            goal, last = systems_table.goal(here), here[systems_table.COMMON].labels[-1]
            needed = (labels_to_reach(here[name].labels, here[name].f1.mean(0), goal) for name in SYSTEMS)
            ours, *others = (percent(1 - labels / last) for labels in needed)
            cells[dataset] = (f"**{ours}**", *others)
    return by_title(("labels saved", *SYSTEMS.values()), cells)


if __name__ == "__main__":
    sys.stdout.write((by_vectors() if "--vectors" in sys.argv else table()) + "\n")
