"""The tables and figures of docs/results.md from the committed results: python studies/findings.py

Each finding has a table, which is written into its block of the page, and a figure, docs/images/finding-N.png.
`python studies/findings.py --tables` prints the tables and draws nothing.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from table_parts import SETS, markdown, read
from tables import METRIC, gaps, only, share_saved, with_error

from bemps.results import Curve, Results, Saving, pairwise_matrix, saving

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.document_blocks import with_block  # noqa: E402

DEFAULT, SENTENCES = ("bge-fresh",), ("fresh", "fresh-trec6")  # ten fresh seeds of both kinds of vectors
MINILM = ("tiny-batches", "small-batches", "main")
WORDS = ("words-5", "words-10", "words", "words-100")
AT_EVERY_SIZE = ("corelog-ties", "margin-km", "margin", "badge", "coremse", "random")
COLOURS = {"corelog-ties": "#d55e00", "margin-km": "#0072b2", "coremse": "#009e73", "random": "#808080"}
SIZE = (8.0, 3.0)


def curves(*names: str) -> dict[str, dict[str, Curve]]:
    """By dataset and strategy."""
    return {place.dataset: found for place, found in read(*names).curves.items()}


def sets() -> dict[str, str]:
    """The sets on which the default was run, with their titles."""
    return {name: title for name, title in SETS.items() if name in curves(*DEFAULT)}


def legend(axis: Any) -> None:
    """Above the figure, where nothing is drawn."""
    axis.legend(frameon=False, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))


def labels_saved() -> dict[str, dict[str, Saving]]:
    """Of the default and of the usual rule on the same vectors, by set."""
    names = ("corelog-ties", "margin-km")
    default = curves(*DEFAULT)
    return {
        dataset: {name: saving(default[dataset][name], default[dataset]["random"], METRIC) for name in names}
        for dataset in sets()
    }


def first_table() -> str:
    found = labels_saved()
    rows = (
        (title, share_saved(found[name]["corelog-ties"]), share_saved(found[name]["margin-km"]))
        for name, title in sets().items()
    )
    return markdown(("labels saved against random", "corelog-ties, the default", "margin-km"), rows)


def first_figure(axis: Any) -> None:
    found = labels_saved()
    for shift, name in ((-0.18, "corelog-ties"), (0.18, "margin-km")):
        for row, dataset in enumerate(found):
            part = found[dataset][name]
            share, low, high = (
                100 * (value if np.isfinite(value) else 0.0) for value in (part.share, part.low, part.high)
            )
            axis.barh(row + shift, share, 0.34, color=COLOURS[name], label=name if row == 0 else None)
            axis.plot([low, high], [row + shift] * 2, color="black", lw=1)
    axis.set(
        yticks=range(len(found)),
        yticklabels=[SETS[name] for name in found],
        xlabel="% of random's labels saved, with 95 % interval",
    )
    axis.invert_yaxis()
    legend(axis)


def heights() -> dict[str, tuple[float, float, float]]:
    """Mean weighted F1 over the curve: random on sentence vectors, random and the default on better ones."""
    before, after = curves(*SENTENCES), curves(*DEFAULT)
    return {
        name: (
            float(before[name]["random"].values_of(METRIC).mean()),
            float(after[name]["random"].values_of(METRIC).mean()),
            float(after[name]["corelog-ties"].values_of(METRIC).mean()),
        )
        for name in sets()
    }


def second_table() -> str:
    rows = ((SETS[name], *(f"{value:.3f}".removeprefix("0") for value in row)) for name, row in heights().items())
    return markdown(
        (
            "weighted F1, mean over the curve",
            "random, sentence vectors",
            "random, better vectors",
            "chosen, better vectors",
        ),
        rows,
    )


def second_figure(axis: Any) -> None:
    for row, (before, vectors, chosen) in enumerate(heights().values()):
        axis.barh(row, 100 * (vectors - before), 0.5, color="#808080", label="better vectors" if row == 0 else None)
        step = 100 * (chosen - vectors)
        axis.barh(
            row,
            step,
            0.5,
            100 * (vectors - before),
            color=COLOURS["corelog-ties"],
            label="choice of items" if row == 0 else None,
        )
    axis.set(
        yticks=range(len(sets())),
        yticklabels=list(sets().values()),
        xlabel="points of weighted F1 above random labels on sentence vectors",
    )
    axis.invert_yaxis()
    legend(axis)


def wins() -> dict[str, tuple[int, int, int, int]]:
    """Wins and losses of the six rules, on sentence vectors and on better ones."""
    counts = []
    for names in (MINILM, WORDS):
        count = pairwise_matrix(only(read(*names), ",".join(AT_EVERY_SIZE), None), METRIC)
        counts.append(
            {n: (int(w), int(x)) for n, w, x in zip(count.names, count.totals, count.wins.sum(0), strict=True)}
        )
    return {name: (*counts[0][name], *counts[1][name]) for name in AT_EVERY_SIZE}


def third_table() -> str:
    rows = ((name, f"{a} to {b}", f"{c} to {d}") for name, (a, b, c, d) in wins().items())
    return markdown(("wins to losses", "sentence vectors", "better vectors"), rows)


def third_figure(axis: Any) -> None:
    found = wins()
    place = np.arange(len(found))
    axis.bar(place - 0.2, [a - b for a, b, _, _ in found.values()], 0.38, color="#999999", label="sentence vectors")
    axis.bar(
        place + 0.2, [c - d for *_, c, d in found.values()], 0.38, color=COLOURS["corelog-ties"], label="better vectors"
    )
    axis.axhline(0, color="black", lw=0.8)
    axis.set(xticks=place, xticklabels=list(found), ylabel="wins minus losses")
    legend(axis)


def brier() -> dict[str, tuple[list[float], list[float]]]:
    """How far the Brier score over the curve is above that of random, by seed, on both kinds of vectors."""
    return {name: (_mean_gaps(read(*MINILM), name), _mean_gaps(read(*WORDS), name)) for name in AT_EVERY_SIZE[:-1]}


def _mean_gaps(found: Results, name: str) -> list[float]:
    by_place = [gaps(place[name], place["random"], "brier") for place in found.curves.values()]
    seeds = sorted(set.intersection(*map(set, by_place)))
    return [float(np.mean([gap[seed] for gap in by_place])) for seed in seeds]


def fourth_table() -> str:
    rows = ((name, with_error(before), with_error(after)) for name, (before, after) in brier().items())
    return markdown(("Brier score against random, lower is better", "sentence vectors", "better vectors"), rows)


def fourth_figure(axis: Any) -> None:
    found = brier()
    place = np.arange(len(found))
    for shift, column, colour, label in (
        (-0.2, 0, "#999999", "sentence vectors"),
        (0.2, 1, COLOURS["corelog-ties"], "better vectors"),
    ):
        values = [row[column] for row in found.values()]
        errors = [np.std(row, ddof=1) / np.sqrt(len(row)) for row in values]
        axis.bar(place + shift, [np.mean(row) for row in values], 0.38, yerr=errors, color=colour, label=label)
    axis.axhline(0, color="black", lw=0.8)
    axis.set(xticks=place, xticklabels=list(found), ylabel="Brier score minus random's")
    legend(axis)


def many_classes() -> dict[int, tuple[Saving, Saving]]:
    """Labels saved by both rules, by the number of classes of Banking77."""
    found = {}
    for name in ("some-classes", "many-classes-words"):
        for place, rules in read(name).curves.items():
            classes = int("".join(filter(str.isdigit, Path(place.dataset).stem)) or 77)
            found[classes] = tuple(
                saving(rules[rule], rules["random"], METRIC) for rule in ("margin-km", "corelog-ties")
            )
    return dict(sorted(found.items()))


def fifth_table() -> str:
    rows = ((str(classes), share_saved(km), share_saved(ties)) for classes, (km, ties) in many_classes().items())
    return markdown(("classes", "margin-km", "corelog-ties"), rows)


def fifth_figure(axis: Any) -> None:
    found = many_classes()
    for column, name in enumerate(("margin-km", "corelog-ties")):
        axis.plot(
            list(found), [100 * row[column].share for row in found.values()], "o-", color=COLOURS[name], label=name
        )
    axis.set(xlabel="classes of Banking77", ylabel="% of random's labels saved", ylim=(0, 80), xticks=list(found))
    legend(axis)


FINDINGS: tuple[tuple[Callable[[], str], Callable[[Any], None]], ...] = (
    (first_table, first_figure),
    (second_table, second_figure),
    (third_table, third_figure),
    (fourth_table, fourth_figure),
    (fifth_table, fifth_figure),
)


def with_tables(text: str) -> str:
    """The page with its tables."""
    for number, (table, _) in enumerate(FINDINGS, 1):
        text = with_block(text, f"finding {number}", table(), "generated")
    return text


def draw(folder: Path) -> None:
    from figures import save
    from matplotlib import pyplot as plt

    for number, (_, figure) in enumerate(FINDINGS, 1):
        drawing, axis = plt.subplots(figsize=SIZE, layout="constrained")
        axis.spines[["top", "right"]].set_visible(False)
        figure(axis)
        save(drawing, folder / f"finding-{number}.png")


if __name__ == "__main__":
    if "--tables" in sys.argv:
        sys.stdout.write("\n\n".join(table() for table, _ in FINDINGS) + "\n")
    else:
        page = ROOT / "docs" / "results.md"
        page.write_text(with_tables(page.read_text(encoding="utf-8")), encoding="utf-8")
        draw(ROOT / "docs" / "images")
