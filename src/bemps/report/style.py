"""Colours, dashes and marks: a strategy has its own everywhere, by its name.

The colours are those of Okabe and Ito, distinguishable for colour-blind readers; yellow and black are left out, which
vanish on light or on dark paper. Strategies beyond the first six repeat colours with another dash and mark, so that no
two are alike. Random is grey.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from zlib import crc32

from bemps.acquisition.strategy_registry import STRATEGIES

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
GREY = "#808080"
DASHES = ("", "7 3", "2 3", "9 3 2 3", "14 5", "5 2 1 2 1 2")
MARKS = ("circle", "square", "triangle", "diamond", "wedge", "hexagon")
SLOTS = len(COLOURS) * len(DASHES)


def styled_strategies() -> tuple[str, ...]:
    """The strategies that have a style of their own in the table of strategies, in its order."""
    indices = {name: entry.style_index for name, entry in STRATEGIES.items() if entry.style_index is not None}
    return tuple(sorted(indices, key=lambda name: indices[name]))


@dataclass(frozen=True)
class Style:
    """How one contestant is drawn.

    Attributes
    ----------
    colour : str
        The colour of the line.
    dash : str
        The dashes of the line, as in SVG.
    mark : str
        The kind of its marks.
    """

    colour: str
    dash: str = ""
    mark: str = "circle"


class Styles:
    """Styles of contestants: known strategies by the fixed order, others by their name, no two alike.

    A variant (`coremse members=10`) keeps its strategy's colour and takes a dash of its own.

    Parameters
    ----------
    names : iterable of str
        Names of the contestants: strategies, or strategies with options.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._styles: dict[str, Style] = {}
        names = list(dict.fromkeys(names))
        known = set(styled_strategies())
        for name in sorted(names, key=lambda name: (name not in known, " " in name, name)):
            self._styles[name] = self._free(name)

    def __getitem__(self, name: str) -> Style:
        return self._styles[name]

    def _free(self, name: str) -> Style:
        """The name's own slot, or the nearest one after it that is not taken."""
        strategy, variant = name.split(" ", maxsplit=1)[0], " " in name
        if strategy == "random":
            choices = [Style(GREY, dash, mark) for dash, mark in zip(DASHES, MARKS, strict=True)]
        else:
            first = _style_index(strategy)
            step = len(COLOURS) if variant else 1
            choices = [_slot((first + step * k) % SLOTS) for k in range(len(DASHES) if variant else SLOTS)]
        taken = set(self._styles.values())
        return next((style for style in choices if style not in taken), choices[0])


def _style_index(strategy: str) -> int:
    style_index = STRATEGIES[strategy].style_index if strategy in STRATEGIES else None
    return crc32(strategy.encode()) % SLOTS if style_index is None else style_index


def _slot(index: int) -> Style:
    row = index // len(COLOURS)
    return Style(COLOURS[index % len(COLOURS)], DASHES[row], MARKS[row])
