"""The words of a text that speak for a class: those whose removal lowers its probability most.

Each word is left out by itself, everywhere in the text. It is an approximation, because words work together.

n  texts    K  classes
"""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bemps.types import Array

Predict = Callable[[list[str]], Float[Array, "n K"]]
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"  # scripts without spaces
WORD = re.compile(rf"[{UNSPACED}]{{1,2}}|[^\W_{UNSPACED}]+(?:[\'’\-][^\W_{UNSPACED}]+)*")
MOST_WORDS = 40  # that are left out one by one; of a longer text first whole parts
PARTS = 16
BATCH = 8  # texts between two looks at the clock
LISTED = 8
LEAST_DROP = 0.005


@dataclass(frozen=True)
class GuessReasons:
    """The words that speak for a class.

    Attributes
    ----------
    words : list of (str, float)
        The words, and by how much the probability falls without each, the largest first.
    tried : int
        The number of words that were left out.
    total : int
        The number of different words of the text.
    """

    words: list[tuple[str, float]]
    tried: int
    total: int


def words_for_class(text: str, code: int, predict: Predict, seconds: float = 1.0) -> GuessReasons:
    """Return the words of a text that speak most for a class.

    Parameters
    ----------
    text : str
        The text.
    code : int
        The number of the class.
    predict : callable
        From texts to probabilities of the classes.
    seconds : float
        The time after which no further word is tried.

    Returns
    -------
    GuessReasons
        At most eight words.
    """
    deadline = time.monotonic() + seconds
    spans: dict[str, list[tuple[int, int]]] = {}
    for match in WORD.finditer(text):
        spans.setdefault(match[0].casefold(), []).append(match.span())
    words = list(spans)
    if len(words) < 2:  # without its only word nothing is left to judge
        return GuessReasons([], 0, len(words))
    base = float(predict([text])[0, code])

    def drops(groups: list[list[str]]) -> list[float]:
        """By how much the probability falls without each group of words, until the time is over."""
        falls: list[float] = []
        for start in range(0, len(groups), BATCH):
            if start and time.monotonic() > deadline:
                break
            variants = [
                _without(text, [span for word in group for span in spans[word]])
                for group in groups[start : start + BATCH]
            ]
            falls += (base - np.asarray(predict(variants))[:, code]).tolist()
        return falls

    candidates = words if len(words) <= MOST_WORDS else _strongest(words, drops)
    falls = drops([[word] for word in candidates])
    ranked = sorted(zip(candidates, falls, strict=False), key=lambda pair: -pair[1])
    best = [(_as_written(text, spans[word][0]), fall) for word, fall in ranked[:LISTED] if fall >= LEAST_DROP]
    return GuessReasons(best, len(falls), len(words))


def _strongest(words: list[str], drops: Callable[[list[list[str]]], list[float]]) -> list[str]:
    """The words of those parts of a long text without which the class is least probable."""
    parts = [part.tolist() for part in np.array_split(np.array(words, dtype=object), PARTS)]
    order = sorted(zip(parts, drops(parts), strict=False), key=lambda pair: -pair[1])
    return [word for part, _ in order for word in part][:MOST_WORDS]


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    pieces, end = [], 0
    for start, stop in sorted(spans):
        pieces.append(text[end:start])
        end = stop
    return "".join([*pieces, text[end:]])


def _as_written(text: str, span: tuple[int, int]) -> str:
    return text[span[0] : span[1]]
