"""Labels that the default of text projects needs for what the earlier one has with 526: labels_needed.py [FIGURE.png]

The goal on each set is the weighted F1 that 526 random labels reach on `minilm-words` (words-fresh, words-trec6). The
table has the labels that are needed for it, with the 95 % interval over ten seeds, on `bge-words` (bge-fresh; bge-imdb
with a smaller pool and test set, where bge-fresh has no IMDB): random items and those of each strategy. The last column
is the mean over the sets, where all were run; a goal that is not reached counts with the 526 labels that were there.
Where a file is named, the curves of both are drawn.
"""

import sys

import numpy as np
from table_parts import read
from tables import METRIC

from bemps.results import Curve, Saving, saving

BEFORE, AFTER = ("words-fresh", "words-trec6"), ("bge-fresh", "bge-imdb")
FIRST = ("random", "corelog-ties")
COLOURS = {"random": "#808080", "margin-km": "#009e73", "corelog-ties": "#e69f00"}


def by_dataset(*names: str) -> dict[str, dict[str, Curve]]:
    """Of a set that several studies have, the curves of the first."""
    places = [pair for name in reversed(names) for pair in read(name).curves.items()]
    found = {place.dataset: curves for place, curves in places}
    return dict(sorted(found.items()))


def shown(found: Saving | None) -> str:
    if found is None:
        return ""
    ends = ["never" if np.isinf(end) else f"{end:.0f}" for end in (found.needed_low, found.needed_high)]
    return f"{'not reached' if np.isinf(found.needed) else f'{found.needed:.0f}'} ({ends[0]} to {ends[1]})"


def line(name: str, title: str, after: dict[str, dict[str, Curve]], before: dict[str, dict[str, Curve]]) -> str:
    found = [
        saving(curves[name], before[dataset]["random"], METRIC) if name in curves else None
        for dataset, curves in after.items()
    ]
    needed = [min(saved.needed, 526) for saved in found if saved is not None]
    total = f"{np.mean(needed):.0f}" if len(needed) == len(found) else ""
    return f"| {title} | {' | '.join(map(shown, found))} | {total} |"


def table() -> str:
    before, after = by_dataset(*BEFORE), by_dataset(*AFTER)
    goals = [f"{dataset}, {before[dataset]['random'].values_of(METRIC)[:, -1].mean():.3f}" for dataset in after]
    lines = [f"| labels for | {' | '.join(goals)} | mean |", "|---|" + "---|" * (len(goals) + 1)]
    names = sorted({name for curves in after.values() for name in curves}, key=lambda name: (name not in FIRST, name))
    lines += [line(name, f"{name}, `bge-words`", after, before) for name in names]
    there = {dataset: before[dataset] for dataset in after}
    return "\n".join([*lines, line("corelog-ties", "corelog-ties, `minilm-words`", there, before)])


def draw(path: str) -> None:
    import matplotlib.pyplot as plt

    before, after = by_dataset(*BEFORE), by_dataset(*AFTER)
    figure, axes = plt.subplots(1, len(after), figsize=(3.2 * len(after), 3.2), constrained_layout=True)
    for axis, dataset in zip(axes, after, strict=True):
        for side, dash, vectors in ((before, ":", "minilm-words"), (after, "-", "bge-words")):
            for name, colour in COLOURS.items():
                if name in side[dataset]:
                    curve = side[dataset][name]
                    title = f"{name}, {vectors}"
                    axis.plot(curve.labels, curve.values_of(METRIC).mean(0), dash, color=colour, label=title)
        goal = before[dataset]["random"].values_of(METRIC)[:, -1].mean()
        axis.axhline(goal, color="#cccccc", linewidth=0.8, zorder=0)
        axis.set(title=dataset, xlabel="labels")
    axes[0].set_ylabel("weighted F1")
    handles = {title: handle for axis in axes for handle, title in zip(*axis.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")
    if len(sys.argv) > 1:
        draw(sys.argv[1])
