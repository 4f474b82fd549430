"""The contents of figures. `svg.draw` draws them."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from bemps.report.style import Style
from bemps.types import Array


@dataclass(frozen=True, eq=False)
class Series:
    """One line of a figure.

    Parameters
    ----------
    name : str
        Name in the legend.
    style : Style
        Colour, dash and mark.
    x, y : array of numbers
        Coordinates of the points.
    low, high : array of numbers, optional
        Ends of the band around the line; None or NaN for no band.
    """

    name: str
    style: Style
    x: Float[Array, " R"] | Int[Array, " R"]
    y: Float[Array, " R"]
    low: Float[Array, " R"] | None = None
    high: Float[Array, " R"] | None = None


@dataclass(frozen=True, eq=False)
class Lines:
    """Lines over one horizontal axis.

    Parameters
    ----------
    title, x_title, y_title : str
        Titles of the figure and of both axes.
    series : tuple of Series
        The lines.
    level : pair of str and float, optional
        Name and height of a dashed horizontal line.
    diagonal : bool
        Whether to draw the dashed diagonal.
    x_range, y_range : pair of floats, optional
        Ends of the axes; None for what the lines need.
    """

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
    """Counts of row against column, with a last column of totals.

    Parameters
    ----------
    title : str
        Title of the figure.
    names : tuple of str
        Names of the rows, which are also those of the columns.
    counts : square array of int
        How often the row beats the column.
    totals : array of int
        Total of each row.
    most : int
        Largest possible count.
    """

    title: str
    names: tuple[str, ...]
    counts: Int[Array, "C C"]
    totals: Int[Array, " C"]
    most: int


@dataclass(frozen=True, eq=False)
class Panel:
    """One of several scatter plots side by side.

    Attributes
    ----------
    title : str
        Its title.
    strong : array of int (A,)
        Positions of points with the strong mark.
    faint : array of int (F,)
        Positions of points with the faint mark.
    """

    title: str
    strong: Int[Array, " A"]
    faint: Int[Array, " F"]


@dataclass(frozen=True, eq=False)
class Points:
    """The same points in every panel, coloured by group, some of them marked.

    Parameters
    ----------
    title : str
        Title of the figure.
    places : array with two columns
        Coordinates of the points.
    groups : array of int
        Group of each point, a position in `group_names`.
    group_names : tuple of str
        Names in the legend.
    panels : tuple of Panel
        The scatter plots, with the points that each of them marks.
    marks : pair of str
        Meaning of the strong and of the faint mark.
    x_title, y_title : str
        Titles of the axes.
    """

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
    """The range of the finite values with a margin; one unit if there are none."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    margin = pad * (high - low) or max(abs(high), 1.0) * pad
    return low - margin, high + margin


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers within a range: 1, 2 or 5 times a power of ten apart.

    Parameters
    ----------
    low : float
        The lower end.
    high : float
        The upper end.
    count : int
        About how many.

    Returns
    -------
    list of float
        The numbers.
    """
    raw = (high - low) / count
    power = 10.0 ** np.floor(np.log10(raw))
    step = next(power * unit for unit in (1, 2, 5, 10) if power * unit >= raw * 0.999)
    first, last = int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9))
    return [float(round(number * step, 12)) for number in range(first, last + 1)]


def evenly_spaced(count: int, most: int = 60) -> Int[Array, " n"]:
    """At most `most` positions of `count`, evenly spaced, with the first and the last."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.int64))


def axis_ranges(figure: Lines) -> tuple[tuple[float, float], tuple[float, float]]:
    """The ranges of both axes: those of the figure, or what the lines and the level need. Bands may be cut."""
    x = np.concatenate([np.asarray(series.x, dtype=float) for series in figure.series])
    heights = [series.y for series in figure.series]
    if figure.level is not None:
        heights.append(np.array([figure.level[1]]))
    across = figure.x_range or (float(x.min()), float(x.max()))
    if across[0] == across[1]:
        across = (across[0] - 0.5, across[1] + 0.5)
    return across, figure.y_range or extent(np.concatenate(heights))
