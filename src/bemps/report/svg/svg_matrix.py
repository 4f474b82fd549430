"""A matrix of counts: darker where the row beats the column more often, totals at the right."""

from html import escape

from bemps.report.figures import Matrix
from bemps.report.svg.svg_parts import line, text, width_of_text

CELL, TOP = 42.0, 30.0
BLUE = "#0072b2"


def draw_matrix(figure: Matrix) -> tuple[float, float, str]:
    """Draw a matrix, and return width, height and the elements."""
    longest = max(width_of_text(name) for name in figure.names)
    left, top = longest + 14, TOP + longest * 0.72 + 14
    side = CELL * len(figure.names)
    parts = [text(8, 16, figure.title, bold=True)]
    for row, name in enumerate(figure.names):
        middle = (row + 0.5) * CELL
        parts.append(text(left - 8, top + middle + 4, name, anchor="end"))
        parts.append(text(left + middle - 2, top - 8, name, turn=-45))
        parts += [_cell(figure, (row, column), left, top) for column in range(len(figure.names))]
        total = str(figure.totals[row])
        parts.append(text(left + side + CELL / 2 + 6, top + middle + 4, total, anchor="middle", bold=True))
    parts.append(text(left + side + CELL / 2 + 4, top - 8, "total", turn=-45, bold=True))
    parts.append(line((left + side + 3, top), (left + side + 3, top + side), opacity=0.6))
    width = max(left + side + CELL + longest * 0.3 + 20, width_of_text(figure.title) + 16)
    return width, top + side + 10, "".join(parts)


def _cell(figure: Matrix, position: tuple[int, int], left: float, top: float) -> str:
    row, column = position
    x, y = left + column * CELL, top + row * CELL
    if row == column:
        return text(x + CELL / 2, y + CELL / 2 + 4, "–", anchor="middle")
    count = int(figure.counts[row, column])
    title = f"{figure.names[row]} beats {figure.names[column]} {count} of {figure.most} times"
    shade = 0.06 + 0.5 * count / max(figure.most, 1)
    return (
        f'<g><title>{escape(title)}</title><rect x="{x + 1:.1f}" y="{y + 1:.1f}" width="{CELL - 2}" '
        f'height="{CELL - 2}" rx="4" fill="{BLUE}" fill-opacity="{shade:.2f}"/>'
        f"{text(x + CELL / 2, y + CELL / 2 + 4, str(count), anchor='middle')}</g>"
    )
