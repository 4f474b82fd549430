"""Figures as PNG, drawn by matplotlib where it is installed."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from bemps.report.figures import Figure, Lines, Matrix, Panel, Points, span
from bemps.report.svg_points import colour_of

MARKS = {"circle": "o", "square": "s", "triangle": "^", "diamond": "D", "wedge": "v", "hexagon": "H"}
RESOLUTION = 160


def available() -> bool:
    """Whether matplotlib is there."""
    return find_spec("matplotlib") is not None


def save(figure: Figure, path: Path) -> None:
    """Write the figure; no display and no global state of matplotlib is touched."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    if isinstance(figure, Points):
        columns = min(3, len(figure.panels))
        rows = -(-len(figure.panels) // columns)
        canvas = Canvas(figsize=(4 * columns, 4.2 * rows + 0.5), layout="constrained")
        _points(canvas, figure, rows, columns)
    else:
        side = 2.5 + 0.45 * len(figure.names) if isinstance(figure, Matrix) else 0.0
        canvas = Canvas(figsize=(side, side) if side else (7, 5), layout="constrained")
        axes = canvas.add_subplot()
        axes.set_title(figure.title, fontsize=11)
        _lines(axes, figure) if isinstance(figure, Lines) else _matrix(axes, figure)
    FigureCanvasAgg(canvas)
    canvas.savefig(path, dpi=RESOLUTION, metadata={"Software": None})


def _lines(axes: Any, figure: Lines) -> None:
    across, up = span(figure)
    for series in figure.series:
        style = series.style
        dash = (0, tuple(float(part) / 2 for part in style.dash.split())) if style.dash else "-"
        axes.plot(
            series.x, series.y, color=style.colour, linestyle=dash, marker=MARKS[style.mark], markersize=4,
            markevery=max(1, len(series.x) // 12), label=series.name,
        )  # fmt: skip
        if series.low is not None and not np.isnan(series.low).any():
            axes.fill_between(series.x, series.low, series.high, color=style.colour, alpha=0.14, linewidth=0)
    if figure.level is not None:
        axes.axhline(figure.level[1], color="#444", linestyle="--", linewidth=1, label=figure.level[0].rstrip(":"))
    if figure.diagonal:
        axes.axline((0, 0), (1, 1), color="#444", linestyle="--", linewidth=1)
    axes.set(xlabel=figure.x_title, ylabel=figure.y_title, ylim=up)
    axes.set_xlim(*across) if figure.x_range else None
    axes.grid(alpha=0.25)
    axes.legend(fontsize=8)


def _matrix(axes: Any, figure: Matrix) -> None:
    size = len(figure.names)
    shown = figure.counts / max(figure.most, 1)
    axes.imshow(shown, cmap="Blues", vmin=0, vmax=2.2)
    for row in range(size):
        for column in range(size):
            axes.text(column, row, "–" if row == column else str(figure.counts[row, column]), ha="center", va="center")
        axes.text(size, row, str(figure.totals[row]), ha="center", va="center", weight="bold")
    axes.set_xlim(-0.5, size + 0.5)
    axes.set_xticks(range(size + 1), [*figure.names, "total"], rotation=45, ha="right")
    axes.set_yticks(range(size), figure.names)


def _points(canvas: Any, figure: Points, rows: int, columns: int) -> None:
    canvas.suptitle(figure.title, fontsize=11)
    for number, panel in enumerate(figure.panels, start=1):
        axes = canvas.add_subplot(rows, columns, number)
        for group, name in enumerate(figure.group_names):
            places = figure.places[figure.groups == group]
            axes.scatter(places[:, 0], places[:, 1], s=6, color=colour_of(group), alpha=0.55, label=name)
        _marked(axes, figure, panel)
        axes.set_title(panel.title, fontsize=10)
        axes.set(xlabel=figure.x_title, ylabel=figure.y_title)
        if not figure.x_title:
            axes.set(xticks=[], yticks=[])
    handles, names = canvas.axes[0].get_legend_handles_labels()
    canvas.legend(handles, names, loc="outside lower center", ncols=6, fontsize=8)


def _marked(axes: Any, figure: Points, panel: Panel) -> None:
    for positions, mark, name in ((panel.faint, "o", figure.marks[1]), (panel.strong, "x", figure.marks[0])):
        if len(positions):
            places = figure.places[positions]
            look = {"facecolors": "none", "edgecolors": "#222", "s": 16} if mark == "o" else {"color": "#000", "s": 30}
            axes.scatter(
                places[:, 0], places[:, 1], marker=mark, linewidths=0.8 if mark == "o" else 1.5, label=name, **look
            )
