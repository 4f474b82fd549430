"""Print the sentences of the docs that count committed results: python studies/sentences.py

People write these sentences into the pages, and a test compares. Tables are written by appendix_tables.py.
"""

import sys
from collections.abc import Callable

import numpy as np
import systems_table
from appendix_tables import BGE, BGE_TOGETHER, KM, TIES
from findings import heights, labels_saved
from table_parts import wins_and_losses

WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
TIMES = {0: "never", 1: "once", 2: "twice"}


def word(number: float) -> str:
    """A small number as a word."""
    return WORDS[round(number)] if round(number) < len(WORDS) else f"{number:.0f}"


def losses(many: int) -> str:
    return f"{word(many)} {'losses' if many > 1 else 'loss'}"


def times(many: int) -> str:
    return TIMES.get(many, f"{many} times")


def default_saves() -> str:
    """Of finding 1: on how many sets even the lower end of the interval is a saving."""
    shares = [rules[TIES].share for rules in labels_saved().values() if rules[TIES].low > 0]
    mean = np.mean(shares)
    saved = "about half" if 0.45 < mean < 0.55 else f"{100 * mean:.0f} %"
    return f"It saves {saved} of the labels on {word(len(shares))} sets."


def default_wins() -> str:
    counts = wins_and_losses(BGE_TOGETHER.results)
    won, lost = counts[TIES]
    return (
        f"We compared its mean curve with those of {word(len(counts) - 1)} baselines at {word(len(BGE))} batch sizes. "
        f"It wins {times(won)} and loses {times(lost)}."
    )


def vectors_bring() -> str:
    ratios = [(vectors - before) / (chosen - vectors) for before, vectors, chosen in heights().values()]
    return f"They bring {word(min(ratios))} to {word(max(ratios))} times as much as a good choice of items."


def small_text_lies_between() -> str:
    """F1 of three systems on TREC-6 with the labels that all systems have."""
    systems = systems_table.curves()["trec6"]
    labels = systems_table.most_shared(systems)
    frozen, tuned, other = (
        systems[name].f1[:, systems[name].at(labels)].mean() for name in ("bemps", "bemps-adapted", "small-text")
    )
    side = {True: "above", False: "below"}
    return (
        f"On TREC-6 with {labels} labels, its mean is {side[other > frozen]} frozen bemps "
        f"and {side[other > tuned]} fine-tuned bemps."
    )


def default_wins_together() -> str:
    won, lost = wins_and_losses(BGE_TOGETHER.results)[TIES]
    sizes = ", ".join(map(str, list(BGE)[:-1])) + f" and {list(BGE)[-1]}"
    return f"over batches of {sizes} together: {won} wins and {losses(lost)} in the paper's count."


def smallest_and_largest_batches() -> str:
    (least, small), *_, (most, large) = ((size, wins_and_losses(study.results)) for size, study in BGE.items())
    return (
        f"With batches of {least} it has {small[TIES][0]} wins and {losses(small[TIES][1])}. "
        f"With batches of {most} `{KM}` is level: {word(large[KM][0])} wins and {losses(large[KM][1])}, "
        f"where `{TIES}` has {word(large[TIES][0])} and {word(large[TIES][1])}."
    )


SENTENCES: dict[str, tuple[Callable[[], str], ...]] = {
    "docs/results.md": (default_saves, default_wins, vectors_bring, small_text_lies_between),
    "docs/appendices/default.md": (default_wins_together, smallest_and_largest_batches),
}

if __name__ == "__main__":
    for page, sentences in SENTENCES.items():
        sys.stdout.write("".join(f"{page}: {sentence()}\n" for sentence in sentences))
