"""Scatter plots side by side: the same points, with other marked points in each panel."""

import numpy as np
from jaxtyping import Float, Int

from bemps.report.figures import Points, extent
from bemps.report.style import COLOURS, GREY
from bemps.report.svg.svg_parts import INK, PAPER, rescale, text, width_of_text, wrap_rows
from bemps.types import Array

SIDE, GAP, TOP, ROW = 300.0, 16.0, 26.0, 20.0
PER_ROW = 3
NAMED = 20  # more names than that would hide the points
GROUP_COLOURS = (*COLOURS, GREY, "#f0e442")


def draw_points(figure: Points) -> tuple[float, float, str]:
    """Draw points, and return width, height and the elements."""
    columns = min(PER_ROW, len(figure.panels))
    rows = -(-len(figure.panels) // columns)
    width = max(columns * (SIDE + GAP) + GAP, 460.0 if columns > 1 else SIDE + 2 * GAP)
    places = _placed(figure.places)
    dots = _dots(places, figure.groups) + (
        _names(figure, places) if figure.marks[0] and len(figure.group_names) <= NAMED else ""
    )
    parts = [text(8, 17, figure.title, bold=True)]
    for number, panel in enumerate(figure.panels):
        x, y = GAP + (number % columns) * (SIDE + GAP), TOP + (number // columns) * (SIDE + TOP + ROW)
        inside = [dots, _rings(places[panel.faint]), _crosses(places[panel.strong])]
        parts.append(f'<g transform="translate({x:.0f} {y + TOP:.0f})">{text(0, -7, panel.title)}{_frame(figure)}')
        parts += [*inside, "</g>"]
    legend, lines = _legend(figure, width, TOP + rows * (SIDE + TOP + ROW) + 12)
    return width, TOP + rows * (SIDE + TOP + ROW) + 12 + ROW * lines, "".join([*parts, legend])


def _placed(places: Float[Array, "N 2"]) -> Float[Array, "N 2"]:
    x, y = places[:, 0], places[:, 1]
    return np.column_stack([rescale(x, extent(x), (0.0, SIDE)), rescale(y, extent(y), (SIDE, 0.0))])


def _frame(figure: Points) -> str:
    """The border; where the axes mean something, their names and ends."""
    border = f'<rect width="{SIDE:g}" height="{SIDE:g}" fill="none" stroke="{INK}" stroke-opacity=".25"/>'
    if not figure.x_title:
        return border
    names = text(SIDE / 2, SIDE + 15, figure.x_title, anchor="middle", size=12)
    names += text(-4, SIDE / 2, figure.y_title, anchor="middle", size=12, turn=-90)
    (low, high), (left, right) = extent(figure.places[:, 1]), extent(figure.places[:, 0])
    names += text(0, SIDE + 15, _end(left), size=11) + text(SIDE, SIDE + 15, _end(right), size=11, anchor="end")
    names += text(3, SIDE - 4, _end(low), size=11) + text(3, 12, _end(high), size=11)
    return border + names


def _end(value: float) -> str:
    return f"{round(value, 2) + 0.0:.2f}"  # adding zero takes the sign from a negative zero


def _dots(places: Float[Array, "N 2"], groups: Int[Array, " N"]) -> str:
    """One path for each group: a dot is a line of no length with a round end, a tenth of the size of a circle."""
    return "".join(
        f'<path d="{_path(places[groups == group])}" stroke="{colour_of(int(group))}" stroke-width="3.4" '
        'stroke-linecap="round" opacity=".55"/>'
        for group in np.unique(groups)
    )


def _names(figure: Points, places: Float[Array, "N 2"]) -> str:
    """The name of every group at its middle: colours repeat after eight, and not everyone tells them apart."""
    parts = []
    for group in np.unique(figure.groups).tolist():
        x, y = np.median(places[figure.groups == group], axis=0).tolist()
        halo = f'paint-order="stroke" stroke="{PAPER}" stroke-width="3"'
        parts.append(
            text(x, y + 4, figure.group_names[group], anchor="middle", bold=True).replace("<text", f"<text {halo}")
        )
    return "".join(parts)


def _path(places: Float[Array, "n 2"]) -> str:
    return "".join(f"M{x:.0f} {y:.0f}h0" for x, y in places)


def _rings(places: Float[Array, "n 2"]) -> str:
    return "".join(
        f'<circle cx="{x:.0f}" cy="{y:.0f}" r="3.5" fill="none" stroke="{INK}" stroke-opacity=".55"/>'
        for x, y in places
    )


def _crosses(places: Float[Array, "n 2"]) -> str:
    """Crosses with a halo in the colour of the paper, so that they show on any dot."""
    path = "".join(f"M{x - 4:.0f} {y - 4:.0f}l8 8m0-8l-8 8" for x, y in places)
    return (
        f'<path d="{path}" stroke="{PAPER}" stroke-width="4.5" fill="none"/>'
        f'<path d="{path}" stroke="{INK}" stroke-width="2" fill="none"/>'
    )


def _legend(figure: Points, width: float, start: float) -> tuple[str, int]:
    """The groups, then the two marks; also how many rows that is."""
    strong, faint = figure.marks
    names = [*figure.group_names, *([strong, faint] if strong else [])]
    widths = [width_of_text(name) + 28 for name in names]
    rows, parts = wrap_rows(widths, width - 16), []
    for number, row in enumerate(rows):
        x, y = 8.0, start + ROW * number
        for index in row:
            spot = np.array([[x + 7, y - 4]])
            if index < len(figure.group_names):
                parts.append(f'<circle cx="{x + 7}" cy="{y - 4}" r="4.5" fill="{colour_of(index)}"/>')
            else:
                parts.append(_crosses(spot) if index == len(figure.group_names) else _rings(spot))
            parts.append(text(x + 17, y, names[index]))
            x += widths[index]
    return "".join(parts), len(rows)


def colour_of(group: int) -> str:
    """The colour of a class or region. Colours repeat after eight."""
    return GROUP_COLOURS[group % len(GROUP_COLOURS)]
