"""Learning curves as one self-contained HTML page: inline SVG, no library, light and dark."""

from html import escape

import numpy as np
from jaxtyping import Float, Int

from bemps.types import Array

COLOURS = ("#0072b2", "#d55e00", "#7a7a7a", "#009e73", "#cc79a7", "#e69f00")  # Okabe and Ito: safe for the colour-blind
WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 720, 400, 56, 44, 12, 16

_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; --line: #8884; --text: #222; --back: #fff; }}
@media (prefers-color-scheme: dark) {{ :root {{ --text: #eee; --back: #16181c; }} }}
body {{ font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--back); max-width: 760px;
        margin: 2rem auto; padding: 0 1rem; }}
svg {{ width: 100%; height: auto; }}
svg text {{ fill: var(--text); font: 13px system-ui, sans-serif; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
td, th {{ padding: .2rem .8rem; text-align: right; border-bottom: 1px solid var(--line); }}
th:first-child, td:first-child {{ text-align: left; }}
</style>
<h1>{title}</h1>
<p>{lead}</p>
{figure}
{table}
<p><small>{note}</small></p>
</html>
"""


def page(
    title: str,
    lead: str,
    note: str,
    labels: Int[Array, " R"],
    curves: dict[str, Float[Array, "S R"]],
) -> str:
    """The page: mean curves with a band of one standard error over seeds, and the numbers as a table."""
    return _PAGE.format(
        title=escape(title),
        lead=escape(lead),
        note=escape(note),
        figure=figure(labels, curves),
        table=table(labels, curves),
    )


def figure(labels: Int[Array, " R"], curves: dict[str, Float[Array, "S R"]]) -> str:
    """The curves as SVG; hovering over a point shows its value."""
    values = np.concatenate([c.mean(0) for c in curves.values()])
    low, high = np.floor(values.min() * 20) / 20, np.ceil(values.max() * 20) / 20
    x = np.interp(labels, [labels[0], labels[-1]], [LEFT, WIDTH - RIGHT])

    def y(v: Float[Array, " V"]) -> Float[Array, " V"]:
        return HEIGHT - BOTTOM - (v - low) / max(high - low, 1e-9) * (HEIGHT - BOTTOM - TOP)

    ticks = np.linspace(low, high, round((high - low) / 0.05) + 1)
    parts = [_axes(labels, x, ticks, y(ticks))]
    for place, (name, runs) in enumerate(curves.items()):
        mean, error = runs.mean(0), runs.std(0, ddof=min(1, len(runs) - 1)) / np.sqrt(len(runs))
        colour = COLOURS[place % len(COLOURS)]
        band = _points(np.concatenate([x, x[::-1]]), np.concatenate([y(mean + error), y(mean - error)[::-1]]))
        parts.append(f'<polygon points="{band}" fill="{colour}" opacity=".15"/>')
        parts.append(f'<polyline points="{_points(x, y(mean))}" fill="none" stroke="{colour}" stroke-width="2.5"/>')
        parts += [
            f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3.5" fill="{colour}"><title>{escape(name)}: {v:.3f} at {n} labels'
            "</title></circle>"
            for a, b, v, n in zip(x, y(mean), mean, labels, strict=True)
        ]
        row = HEIGHT - BOTTOM - 20 * (len(curves) - place)
        parts.append(f'<rect x="{WIDTH - 150}" y="{row - 10}" width="12" height="12" fill="{colour}"/>')
        parts.append(f'<text x="{WIDTH - 132}" y="{row}">{escape(name)}</text>')
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="learning curves">{"".join(parts)}</svg>'


def _axes(
    labels: Int[Array, " R"], x: Float[Array, " R"], ticks: Float[Array, " V"], heights: Float[Array, " V"]
) -> str:
    """Grid lines with their values, and every second number of labels."""
    lines = [
        f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{h:.1f}" y2="{h:.1f}" stroke="currentColor" opacity=".15"/>'
        f'<text x="{LEFT - 8}" y="{h + 4:.1f}" text-anchor="end">{v:.2f}</text>'
        for v, h in zip(ticks, heights, strict=True)
    ]
    numbers = [
        f'<text x="{a:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{n}</text>'
        for a, n in zip(x[::2], labels[::2], strict=True)
    ]
    middle = (LEFT + WIDTH - RIGHT) / 2
    title = f'<text x="{middle:.0f}" y="{HEIGHT - 6}" text-anchor="middle">labels</text>'
    return "".join([*lines, *numbers, title])


def table(labels: Int[Array, " R"], curves: dict[str, Float[Array, "S R"]]) -> str:
    """Mean values after each round."""
    head = "".join(f"<th>{escape(name)}</th>" for name in curves)
    rows = "".join(
        f"<tr><td>{n}</td>{''.join(f'<td>{c.mean(0)[i]:.3f}</td>' for c in curves.values())}</tr>"
        for i, n in enumerate(labels)
    )
    return f"<table><tr><th>labels</th>{head}</tr>{rows}</table>"


def _points(x: Float[Array, " R"], y: Float[Array, " R"]) -> str:
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
