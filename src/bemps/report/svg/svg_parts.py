"""Parts of SVG that every kind of figure uses."""

from html import escape

import numpy as np
from jaxtyping import Float, Int

from bemps.types import Array

SIZE = 13  # of text, in the units of the drawing
INK = "var(--text, #222)"
PAPER = "var(--back, #fff)"


def text(
    x: float, y: float, words: str, *, anchor: str = "start", size: float = SIZE, bold: bool = False, turn: float = 0
) -> str:
    """A text element.

    Parameters
    ----------
    x, y : float
        The position.
    words : str
        The text. It is escaped.
    anchor : {'start', 'middle', 'end'}
        The part of the text that is at the position.
    size : float
        The size of the text. The default is that of the drawing.
    bold : bool
        Whether the text is bold.
    turn : float
        The rotation in degrees.

    Returns
    -------
    str
        The element.
    """
    sized = f' font-size="{size:g}"' if size != SIZE else ""
    anchored = f' text-anchor="{anchor}"' if anchor != "start" else ""
    weight = ' font-weight="600"' if bold else ""
    turned = f' transform="rotate({turn:g} {x:.1f} {y:.1f})"' if turn else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{sized}{anchored}{weight}{turned}>{escape(words)}</text>'


def line(start: tuple[float, float], end: tuple[float, float], *, opacity: float = 0.15, dash: str = "") -> str:
    """A thin line in the colour of the text.

    Parameters
    ----------
    start, end : tuple of float
        Both ends.
    opacity : float
        The opacity.
    dash : str
        The dashes, as in SVG.

    Returns
    -------
    str
        The element.
    """
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<line x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}" stroke="{INK}" '
        f'opacity="{opacity:g}"{dashed}/>'
    )


def polyline(x: Float[Array, " R"], y: Float[Array, " R"]) -> str:
    """The coordinates of a path."""
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))


def mark(kind: str, x: float, y: float, r: float, colour: str) -> str:
    """A filled mark.

    Parameters
    ----------
    kind : str
        One of `style.MARKS`.
    x, y : float
        The position.
    r : float
        The radius.
    colour : str
        The colour.

    Returns
    -------
    str
        The element.
    """
    if kind == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r:g}" fill="{colour}"/>'
    corners = {
        "square": [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
        "triangle": [(0, -1.2), (1.1, 0.8), (-1.1, 0.8)],
        "wedge": [(0, 1.2), (1.1, -0.8), (-1.1, -0.8)],
        "hexagon": [(-0.6, -1.0), (0.6, -1.0), (1.2, 0), (0.6, 1.0), (-0.6, 1.0), (-1.2, 0)],
        "diamond": [(0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)],
    }[kind]
    points = " ".join(f"{x + r * a:.1f},{y + r * b:.1f}" for a, b in corners)
    return f'<polygon points="{points}" fill="{colour}"/>'


def width_of_text(words: str, size: float = SIZE) -> float:
    """About the width of a text in a sans-serif font."""
    return 0.58 * size * len(words)


def wrap_rows(widths: list[float], room: float) -> list[list[int]]:
    """Put elements side by side. A new row starts if the next element does not fit."""
    rows: list[list[int]] = [[]]
    used = 0.0
    for index, width in enumerate(widths):
        if rows[-1] and used + width > room:
            rows.append([])
            used = 0.0
        rows[-1].append(index)
        used += width
    return rows


def tick_label(value: float) -> str:
    """A number without needless digits."""
    return f"{np.round(value, 10):.6g}"


def rescale(
    values: Float[Array, " R"] | Int[Array, " R"], source: tuple[float, float], target: tuple[float, float]
) -> Float[Array, " R"]:
    """Map values linearly from one range to another. Values outside stay at the ends.

    Parameters
    ----------
    values : array of numbers (R,)
        The values.
    source : tuple of float
        The range of the values.
    target : tuple of float
        The new range.

    Returns
    -------
    array of float (R,)
        The new values.
    """
    inside = np.clip(np.asarray(values, dtype=float), *source)
    return target[0] + (inside - source[0]) / (source[1] - source[0]) * (target[1] - target[0])
