"""The drawing: valid XML, escaped, values where they belong."""

from xml.etree import ElementTree

import numpy as np
import pytest

from bemps.report.figures import Lines, Matrix, Panel, Points, Series, axis_ranges, evenly_spaced, extent, ticks
from bemps.report.style import MARKS, Style
from bemps.report.svg.svg_figure import draw, width_of
from bemps.report.svg.svg_parts import mark

NASTY = "<b>&\"'</b>"
X = np.array([20, 30, 40])


def lines(name="coremse", **more):
    y = np.array([0.5, 0.7, 0.8])
    series = (Series(name, Style("#0072b2", "7 3", "square"), X, y, y - 0.1, y + 0.1),)
    return Lines("a title", "labels", "accuracy", series, **more)


def matrix(names=("coremse", "random")):
    return Matrix("wins", names, np.array([[0, 3], [1, 0]]), np.array([3, 1]), 4)


def points(names=("a", "b")):
    rng = np.random.default_rng(0)
    panels = tuple(Panel(name, np.array([0, 1]), np.array([2])) for name in ("coremse", "random", "margin", "badge"))
    return Points("pool", rng.standard_normal((30, 2)), np.arange(30) % 2, names, panels)


FIGURES = {
    "lines": lines(level=("all labels:", 0.9)),
    "diagonal": lines(diagonal=True, x_range=(0.0, 1.0), y_range=(0.0, 1.0)),
    "matrix": matrix(),
    "points": points(),
    "nasty lines": lines(NASTY),
    "nasty matrix": matrix((NASTY, "random")),
    "nasty points": points((NASTY, "b")),
}


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("alone", [False, True])
def test_every_figure_is_xml_with_its_title(name, alone):
    figure = FIGURES[name]
    root = ElementTree.fromstring(draw(figure, alone=alone))
    assert root.get("aria-label") == figure.title
    assert figure.title in "".join(root.itertext())
    assert ("nasty" in name) == (NASTY in "".join(root.itertext()))


def test_alone_it_brings_its_own_colours_for_light_and_dark():
    text = draw(lines(), alone=True)
    assert "prefers-color-scheme: dark" in text
    assert 'xmlns="http://www.w3.org/2000/svg"' in text


def test_hovering_tells_every_value_best_first():
    y = np.array([0.5, 0.6, 0.7])
    low = Series("low", Style("#000"), X, y - 0.2)
    high = Series("high", Style("#111"), X, y, y - 0.05, y + 0.05)
    root = ElementTree.fromstring(draw(Lines("t", "labels", "f1", (low, high))))
    told = [title.text for title in root.iter("title")]
    assert told[1] == "30 labels\nhigh  0.6000  [0.550, 0.650]\nlow  0.4000"
    assert len(told) == 3


def test_curves_of_different_lengths():
    short = Series("short", Style("#000"), X[:2], np.array([0.1, 0.2]))
    long = Series("long", Style("#111"), X, np.array([0.1, 0.2, 0.3]))
    told = [t.text for t in ElementTree.fromstring(draw(Lines("t", "x", "y", (short, long)))).iter("title")]
    assert "short" not in told[2]


def test_one_round_and_a_flat_curve():
    one = Series("one", Style("#000"), np.array([20]), np.array([0.5]))
    ElementTree.fromstring(draw(Lines("t", "labels", "f1", (one,))))
    flat = Series("flat", Style("#000"), X, np.zeros(3), np.full(3, np.nan), np.full(3, np.nan))
    assert "nan" not in draw(Lines("t", "labels", "f1", (flat,)))


def test_bands_stay_within_the_plot():
    y = np.array([0.5, 0.6, 0.7])
    wild = Series("wild", Style("#000"), X, y, y - 5, y + 5)
    root = ElementTree.fromstring(draw(Lines("t", "labels", "f1", (wild,))))
    heights = [float(pair.split(",")[1]) for pair in root.find("polygon").get("points").split()]
    assert min(heights) >= 30
    assert max(heights) <= 280


@pytest.mark.parametrize(
    ("ends", "expected"),
    [((0.0, 1.0), [0, 0.2, 0.4, 0.6, 0.8, 1.0]), ((20, 120), [20, 40, 60, 80, 100, 120]), ((0.71, 0.79), None)],
)
def test_ticks_are_round_and_inside(ends, expected):
    found = ticks(*ends)
    assert all(ends[0] <= tick <= ends[1] for tick in found)
    assert 3 <= len(found) <= 7
    assert expected is None or found == pytest.approx(expected)


def test_ranges():
    assert extent(np.array([np.nan])) == (0.0, 1.0)
    assert axis_ranges(lines())[0] == (20.0, 40.0)
    assert axis_ranges(lines(level=("all", 0.99)))[1][1] > 0.99


@pytest.mark.parametrize("count", [1, 5, 60, 61, 251])
def test_thinning_keeps_both_ends(count):
    found = evenly_spaced(count)
    assert (found[0], found[-1]) == (0, count - 1)
    assert len(found) == min(count, 60)


def test_long_curves_are_hovered_at_some_places_only():
    long = Series("long", Style("#000"), np.arange(251), np.linspace(0, 1, 251))
    root = ElementTree.fromstring(draw(Lines("t", "labels", "f1", (long,))))
    told = [title.text for title in root.iter("title")]
    assert len(told) == 60
    assert told[-1].startswith("250 labels")


def test_widths_follow_the_content():
    assert width_of(points()) > width_of(lines()) > width_of(matrix())


@pytest.mark.parametrize("kind", MARKS)
def test_every_mark_is_drawn(kind):
    assert mark(kind, 1.0, 2.0, 3.0, "#123456").count("#123456") == 1
