"""Lines with bands: axes, curves, a legend below, and the values of every curve on hovering."""

from html import escape

import numpy as np
from jaxtyping import Float, Int

from bemps.report.figures import Lines, Series, axis_ranges, evenly_spaced, ticks
from bemps.report.svg.svg_parts import (
    INK,
    line,
    mark,
    polyline,
    rescale,
    text,
    tick_label,
    width_of_text,
    wrap_rows,
)
from bemps.types import Array

WIDTH, TOP, LEFT, RIGHT, PLOT, ROW = 460.0, 30.0, 58.0, 14.0, 250.0, 20.0
BASE = TOP + PLOT
Ends = tuple[float, float]


def draw_lines(figure: Lines) -> tuple[float, float, str]:
    """Draw lines, and return width, height and the elements."""
    across, up = axis_ranges(figure)
    legend, height = _legend(figure)
    parts = [
        text(8, 16, figure.title, bold=True),
        _axes(figure, across, up),
        *_references(figure, across, up),
        *(_band(series, across, up) for series in figure.series),
        *(_curve(series, across, up) for series in figure.series),
        legend,
        *_strips(figure, across),
    ]
    return WIDTH, height, "".join(parts)


def _x(values: Float[Array, " R"] | Int[Array, " R"], across: Ends) -> Float[Array, " R"]:
    return rescale(values, across, (LEFT, WIDTH - RIGHT))


def _y(values: Float[Array, " R"], up: Ends) -> Float[Array, " R"]:
    return rescale(values, up, (BASE, TOP))


def _axes(figure: Lines, across: Ends, up: Ends) -> str:
    heights, positions = np.array(ticks(*up)), np.array(ticks(*across))
    rows = [
        line((LEFT, y), (WIDTH - RIGHT, y)) + text(LEFT - 6, y + 4, tick_label(v), anchor="end")
        for v, y in zip(heights, _y(heights, up), strict=True)
    ]
    columns = [
        line((x, BASE), (x, BASE + 4), opacity=0.5) + text(x, BASE + 18, tick_label(v), anchor="middle")
        for v, x in zip(positions, _x(positions, across), strict=True)
    ]
    titles = [
        text((LEFT + WIDTH - RIGHT) / 2, BASE + 36, figure.x_title, anchor="middle"),
        text(14, (TOP + BASE) / 2, figure.y_title, anchor="middle", turn=-90),
    ]
    return "".join([*rows, line((LEFT, BASE), (WIDTH - RIGHT, BASE), opacity=0.5), *columns, *titles])


def _references(figure: Lines, across: Ends, up: Ends) -> list[str]:
    """The dashed level with its name, and the diagonal."""
    parts = []
    if figure.level is not None:
        name, value = figure.level
        (y,) = _y(np.array([value]), up).tolist()
        parts.append(line((LEFT, y), (WIDTH - RIGHT, y), opacity=0.7, dash="6 4"))
        parts.append(text(LEFT + 4, y - 4, f"{name} {value:.3f}", size=11))
    if figure.diagonal:
        ends = np.array([max(across[0], up[0]), min(across[1], up[1])])
        x, y = _x(ends, across), _y(ends, up)
        parts.append(line((float(x[0]), float(y[0])), (float(x[1]), float(y[1])), opacity=0.6, dash="6 4"))
    return parts


def _band(series: Series, across: Ends, up: Ends) -> str:
    if series.low is None or series.high is None or np.isnan(series.low).any():
        return ""
    x = _x(series.x, across)
    edge = polyline(np.concatenate([x, x[::-1]]), np.concatenate([_y(series.high, up), _y(series.low[::-1], up)]))
    return f'<polygon points="{edge}" fill="{series.style.colour}" opacity=".14"/>'


def _curve(series: Series, across: Ends, up: Ends) -> str:
    style, x, y = series.style, _x(series.x, across), _y(series.y, up)
    dash = f' stroke-dasharray="{style.dash}"' if style.dash else ""
    path = f'<polyline points="{polyline(x, y)}" fill="none" stroke="{style.colour}" stroke-width="2"{dash}/>'
    step = max(1, len(x) // 12)  # marks enough to tell lines apart, not a chain of beads
    return path + "".join(mark(style.mark, a, b, 3.2, style.colour) for a, b in zip(x[::step], y[::step], strict=True))


def _legend(figure: Lines) -> tuple[str, float]:
    """Name and look of every line, in as many rows as they need; also the height of the whole figure."""
    widths = [width_of_text(series.name) + 40 for series in figure.series]
    start, parts = BASE + 58, []
    rows = wrap_rows(widths, WIDTH - 16)
    for number_of_row, row in enumerate(rows):
        x, y = 8.0, start + ROW * number_of_row
        for index in row:
            style = figure.series[index].style
            dash = f' stroke-dasharray="{style.dash}"' if style.dash else ""
            parts.append(
                f'<path d="M{x:.1f} {y - 4:.1f}h24" stroke="{style.colour}" stroke-width="2" fill="none"{dash}/>'
            )
            parts.append(mark(style.mark, x + 12, y - 4, 3.2, style.colour))
            parts.append(text(x + 29, y, figure.series[index].name))
            x += widths[index]
    return "".join(parts), start + ROW * len(rows) - 8


def _strips(figure: Lines, across: Ends) -> list[str]:
    """Under the pointer, at every place or 60 of them: a line, and the values of all curves, the highest on top."""
    positions = np.unique(np.concatenate([np.asarray(series.x, dtype=float) for series in figure.series]))
    positions = positions[evenly_spaced(len(positions))]
    x = _x(positions, across)
    edges = np.concatenate([[LEFT], (x[1:] + x[:-1]) / 2, [WIDTH - RIGHT]])
    return [
        f'<g class="strip"><title>{escape(_values(figure, value))}</title>'
        f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{BASE}" stroke="{INK}"/>'
        f'<rect x="{left:.1f}" y="{TOP}" width="{right - left:.1f}" height="{PLOT}" fill="#000" fill-opacity="0"/></g>'
        for value, at, left, right in zip(positions.tolist(), x, edges[:-1], edges[1:], strict=True)
    ]


def _values(figure: Lines, x: float) -> str:
    entries = []
    for series in figure.series:
        for row in np.flatnonzero(np.asarray(series.x, dtype=float) == x):
            value = float(series.y[row])
            band = (
                ""
                if series.low is None or series.high is None or np.isnan(series.low[row])
                else (f"  [{series.low[row]:.3f}, {series.high[row]:.3f}]")
            )
            entries.append((value, f"{series.name}  {value:.4f}{band}"))
    lines = [label for _, label in sorted(entries, key=lambda pair: -pair[0])]
    return "\n".join([f"{tick_label(x)} {figure.x_title}", *lines])
