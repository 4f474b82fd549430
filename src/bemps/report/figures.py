"""What a figure shows, apart from how it is drawn: `svg.draw` and `png.save` take these."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from bemps.report.style import Style
from bemps.types import Array


@dataclass(frozen=True, eq=False)
class Series:
    """One line; low and high are its band, None or NaN where there is none."""

    name: str
    style: Style
    x: Float[Array, " R"] | Int[Array, " R"]
    y: Float[Array, " R"]
    low: Float[Array, " R"] | None = None
    high: Float[Array, " R"] | None = None


@dataclass(frozen=True, eq=False)
class Lines:
    """Lines over one horizontal axis; `level` is a dashed horizontal line with its name."""

    title: str
    x_title: str
    y_title: str
    series: tuple[Series, ...]
    level: tuple[str, float] | None = None
    diagonal: bool = False
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class Matrix:
    """Counts of row against column, with a last column of totals; `most` is the largest possible cell."""

    title: str
    names: tuple[str, ...]
    counts: Int[Array, "C C"]
    totals: Int[Array, " C"]
    most: int


@dataclass(frozen=True, eq=False)
class Panel:
    """One of several scatter plots side by side: positions of marked points, by what the mark says."""

    title: str
    strong: Int[Array, " A"]
    faint: Int[Array, " F"]


@dataclass(frozen=True, eq=False)
class Points:
    """The same points in every panel, coloured by group, some of them marked."""

    title: str
    places: Float[Array, "N 2"]
    groups: Int[Array, " N"]
    group_names: tuple[str, ...]
    panels: tuple[Panel, ...]
    marks: tuple[str, str] = ("acquired last", "acquired before")
    x_title: str = ""
    y_title: str = ""


Figure = Lines | Matrix | Points


def extent(values: Float[Array, "..."], pad: float = 0.05) -> tuple[float, float]:
    """The range of the finite values with a margin; one unit where there is none."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    margin = pad * (high - low) or max(abs(high), 1.0) * pad
    return low - margin, high + margin


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers within the range: 1, 2 or 5 times a power of ten apart."""
    raw = (high - low) / about
    power = 10.0 ** np.floor(np.log10(raw))
    step = next(power * unit for unit in (1, 2, 5, 10) if power * unit >= raw * 0.999)
    first, last = int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9))
    return [float(round(number * step, 12)) for number in range(first, last + 1)]


def thinned(count: int, most: int = 60) -> Int[Array, " n"]:
    """Positions of at most that many of a row of things, evenly apart, the first and the last among them."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.int64))


def span(figure: Lines) -> tuple[tuple[float, float], tuple[float, float]]:
    """The ranges of both axes: those given, or what the lines and the level need; bands may be cut."""
    x = np.concatenate([np.asarray(series.x, dtype=float) for series in figure.series])
    heights = [series.y for series in figure.series]
    if figure.level is not None:
        heights.append(np.array([figure.level[1]]))
    across = figure.x_range or (float(x.min()), float(x.max()))
    if across[0] == across[1]:
        across = (across[0] - 0.5, across[1] + 0.5)
    return across, figure.y_range or extent(np.concatenate(heights))
