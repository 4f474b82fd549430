"""A small page from arrays alone: one figure of learning curves and their values."""

import numpy as np
from jaxtyping import Float, Int

from bemps.report.blocks import Block, Section
from bemps.report.page import page
from bemps.report.sections.curves import curves_figure, rounds_table
from bemps.report.style import Styles
from bemps.statistics import Curve
from bemps.types import Array


def curves_page(
    title: str,
    lead: str,
    labels: Int[Array, " R"],
    curves: dict[str, Float[Array, "S R"]],
    *,
    metric: str = "accuracy",
    note: str = "",
) -> str:
    """Mean curves over seeds with their 95 % bands, and the means as a table, as one self-contained page."""
    found = {
        name: Curve(name, name, (), tuple(range(len(values))), labels, {metric: np.asarray(values, dtype=float)})
        for name, values in curves.items()
    }
    figure = curves_figure(title, found, metric, Styles(found))
    block = Block({}, {"curves": figure}, {"rounds": rounds_table(found, metric)}, {}, lead)
    return page(title, "", [Section("Learning curves", note, (block,))])
