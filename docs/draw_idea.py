"""Draw the picture of docs/idea.md: python docs/draw_idea.py [FILE]

Real computations on made-up points: three groups in the plane, nine labels, twelve members. Left: where each member
changes its mind. Middle and right: the expected gain of each label, and the ten that two strategies pick.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt

import bemps
from bemps.models import SklearnEnsemble

IMAGE = Path(__file__).parent / "images" / "idea.png"
CENTRES = ((-1.6, 0.0), (1.6, 0.2), (0.0, 2.2))
COLOURS = ("#0072b2", "#d55e00", "#009e73")
BATCH = 10


def points() -> tuple[Any, Any, Any]:
    """Points, their true groups, and the positions of the labelled ones."""
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(3), 80)
    places = np.asarray(CENTRES)[groups] + rng.normal(0, 0.85, (len(groups), 2))
    return places, groups, np.concatenate([rng.choice(np.flatnonzero(groups == k), 3, replace=False) for k in range(3)])


def draw(path: Path) -> None:
    from sklearn.linear_model import LogisticRegression

    places, groups, labelled = points()
    model = SklearnEnsemble(LogisticRegression(C=3.0), members=12)
    model.fit(places[labelled], groups[labelled], ("a", "b", "c"), np.random.default_rng(0))
    pool = np.setdiff1d(np.arange(len(places)), labelled)
    probs = model.predict(places[pool])
    gain = bemps.core_mse(probs).scores
    figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained", sharex=True, sharey=True)
    boundaries(axes[0], model)
    for axis, strategy, title in (
        (axes[1], "coremse-topk", "the ten largest gains"),
        (axes[2], "coremse", "ten that differ"),
    ):
        shown = axis.scatter(*places[pool].T, c=gain, s=22, cmap="Greys", edgecolors="#bbbbbb", linewidths=0.4)
        picks = pool[bemps.select(probs, BATCH, strategy, seed=0).indices]
        axis.scatter(*places[picks].T, s=110, facecolors="none", edgecolors="#cc0000", linewidths=1.8)
        axis.set_title(title)
    figure.colorbar(shown, ax=axes[2], label="expected gain of the label")
    for axis in axes:
        axis.scatter(
            *places[labelled].T, c=[COLOURS[k] for k in groups[labelled]], marker="s", s=55, edgecolors="black"
        )
        axis.set(xticks=[], yticks=[])
    figure.savefig(path, dpi=90)


def boundaries(axis: Any, model: Any) -> None:
    """Where each member changes its mind."""
    side = np.linspace(-4, 4.6, 160)
    x, y = np.meshgrid(side, side)
    for member in model.predict(np.column_stack([x.ravel(), y.ravel()])):
        axis.contour(x, y, member.argmax(axis=1).reshape(x.shape), levels=[0.5, 1.5], colors="#888888", linewidths=0.8)
    axis.set_title("twelve members, nine labels")


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGE)
