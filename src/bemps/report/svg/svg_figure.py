"""Figures as SVG, without a library. Text stays text, and colours follow the light or dark page."""

from html import escape

from bemps.report.figures import Figure, Lines, Matrix
from bemps.report.svg import svg_lines, svg_matrix, svg_points
from bemps.report.svg.svg_parts import INK, SIZE

ALONE = """<style>
svg { --text: #222; --back: #fff; background: var(--back); font-family: system-ui, sans-serif }
@media (prefers-color-scheme: dark) { svg { --text: #e8e8e8; --back: #15171b } }
.strip line { opacity: 0 } .strip:hover line { opacity: .5 }
</style>"""


def draw(figure: Figure, *, alone: bool = False) -> str:
    """Draw a figure as one svg element.

    Parameters
    ----------
    figure : Lines, Matrix or Points
        Lines, a matrix or points.
    alone : bool
        Whether the element is a file of its own, with style and size, instead of a part of a page.

    Returns
    -------
    str
        The element.
    """
    if isinstance(figure, Lines):
        width, height, body = svg_lines.draw_lines(figure)
    elif isinstance(figure, Matrix):
        width, height, body = svg_matrix.draw_matrix(figure)
    else:
        width, height, body = svg_points.draw_points(figure)
    namespace = f' xmlns="http://www.w3.org/2000/svg" width="{2 * width:.0f}"' if alone else ""
    return (
        f'<svg{namespace} viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{escape(figure.title)}" '
        f'font-size="{SIZE}" fill="{INK}">'
        f"{ALONE if alone else ''}{body}</svg>"
    )


def width_of(figure: Figure) -> float:
    """The natural width of a figure, for the page's layout."""
    if isinstance(figure, Lines):
        return svg_lines.WIDTH
    return svg_matrix.draw_matrix(figure)[0] if isinstance(figure, Matrix) else svg_points.draw_points(figure)[0]
