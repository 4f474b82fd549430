"""What better vectors bring, beside what a better choice of items does: studies/better_vectors.py [FIGURE.png]

Labels that strategies on `minilm-words` (words-fresh) need for what 526 random labels reach on MiniLM's vectors
(fresh), as a share saved with its 95 % interval; and, where a file is named, the curves of both.
"""

import sys

from table_parts import study
from table_shapes import against_random_elsewhere
from tables import METRIC

BEFORE, AFTER = "fresh", "words-fresh"
SHOWN = {"random": "#808080", "margin-km": "#009e73", "corelog-ties": "#e69f00"}


def table() -> str:
    return against_random_elsewhere(study(AFTER), study(BEFORE))


def draw(path: str) -> None:
    import matplotlib.pyplot as plt

    before, after = study(BEFORE).by_set, study(AFTER).by_set
    figure, axes = plt.subplots(1, len(after), figsize=(3.4 * len(after), 3.2), constrained_layout=True)
    for axis, dataset in zip(axes, after, strict=True):
        for side, dash, where in ((before, ":", "MiniLM"), (after, "-", "MiniLM and words")):
            for strategy, colour in SHOWN.items():
                if strategy in side[dataset]:
                    curve = side[dataset][strategy]
                    label = f"{strategy}, {where}"
                    axis.plot(curve.labels, curve.values_of(METRIC).mean(0), dash, color=colour, label=label)
        axis.set(title=dataset, xlabel="labels")
    axes[0].set_ylabel("weighted F1")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")
    if len(sys.argv) > 1:
        draw(sys.argv[1])
