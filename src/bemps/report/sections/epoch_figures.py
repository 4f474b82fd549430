"""Figures of calibration over the epochs of a training run on all labels."""

import numpy as np

from bemps.metrics import BIN_KINDS, running_average
from bemps.report.figures import Lines, Series
from bemps.report.formatting import score
from bemps.report.html_tables import Table
from bemps.report.style import COLOURS, DASHES, MARKS, Style
from bemps.results.run_epochs import Errors


def figure(dataset: str, errors: Errors) -> Lines:
    """Draw the error in bins of equal mass after every epoch, and its running mean."""
    values = errors["equal-mass"]
    epochs = np.arange(1, len(values) + 1)
    after, mean = Style(COLOURS[0], DASHES[2], MARKS[0]), Style(COLOURS[1], DASHES[0], MARKS[1])
    series = (
        Series("ECE after the epoch", after, epochs, values),
        Series("running mean", mean, epochs, running_average(values)),
    )
    highest = max(float(values.max()), 0.01)
    return Lines(
        f"Calibration over epochs: {dataset}", "epoch", "ECE on the test set", series, y_range=(0.0, 1.05 * highest)
    )


def table(errors: Errors) -> Table:
    """The table of the error and its running mean, for all kinds of bins."""
    means = {kind: running_average(values) for kind, values in errors.items()}
    columns = ("epoch", *(f"{what} {kind}" for kind in BIN_KINDS for what in ("ECE", "mean")))
    epochs = range(len(errors[BIN_KINDS[0]]))
    raw = tuple(
        (epoch + 1, *(float(of[kind][epoch]) for kind in BIN_KINDS for of in (errors, means))) for epoch in epochs
    )
    rows = tuple((str(number), *map(score, values)) for number, *values in raw)
    names = ("epoch", *(f"{what}_{kind.replace('-', '_')}" for kind in BIN_KINDS for what in ("ece", "running_ece")))
    return Table(columns, rows, names, raw)
