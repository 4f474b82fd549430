"""The picture of the items as the panel draws it: a point for each, coloured by its label, else by the guess."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bemps.server.panels.class_view import ClassView
from bemps.store import COLOURS as COLOUR_NAMES
from bemps.store import Answer, Class

SIDE, MARGIN = 340.0, 8.0
COLOURS = 8  # classes with a colour of their own in page.css; the others are grey
SHOWN = 40
NO_CLASS = -1


@dataclass(frozen=True)
class Point:
    """An item on the map.

    Attributes
    ----------
    item : str
        The id of the item.
    x, y : float
        The position, between 0 and 1.
    name : str or None
        The class: the label, or else the guess of the model.
    labelled : bool
        Whether a person gave the class.
    colour : int
        The number of the colour.
    """

    item: str
    x: float
    y: float
    name: str | None
    labelled: bool
    colour: int

    @property
    def cx(self) -> float:
        """The horizontal position in the drawing."""
        return round(MARGIN + self.x * (SIDE - 2 * MARGIN), 1)

    @property
    def cy(self) -> float:
        """The vertical position in the drawing."""
        return round(MARGIN + self.y * (SIDE - 2 * MARGIN), 1)


@dataclass(frozen=True)
class Region:
    """A rectangle on the map.

    Attributes
    ----------
    left, right, top, bottom : float
        The sides, between 0 and 1.
    """

    left: float
    right: float
    top: float
    bottom: float

    def holds(self, point: Point) -> bool:
        """Whether a point lies in it."""
        return self.left <= point.x <= self.right and self.top <= point.y <= self.bottom


def colours_of(classes: Sequence[Class]) -> dict[str, int]:
    """The number of the colour of each class: the one that people chose, else one that is free, else grey."""
    colours = {known.name: COLOUR_NAMES.index(known.colour) for known in classes if known.colour in COLOUR_NAMES}
    free = [number for number in range(COLOURS) if number not in colours.values()]
    others = sorted((known.id, known.name) for known in classes if known.name not in colours)
    return colours | {name: free[row] if row < len(free) else COLOURS for row, (_, name) in enumerate(others)}


def present_points(picture: Mapping[str, Any], answers: Mapping[str, Answer], view: ClassView) -> list[Point]:
    """Return the points of the map with the classes as they are now.

    Parameters
    ----------
    picture : mapping
        The items, their positions, and the guesses of the model as numbers of classes that never change.
    answers : mapping of str to Answer
        The present answers by item.
    view : ClassView
        The classes.

    Returns
    -------
    list of Point
        The points.
    """
    positions = view.positions()
    guesses = [positions.get(number, NO_CLASS) for number in picture["guesses"]]
    return points_of({**picture, "guesses": guesses}, answers, view.names, colours_of(view.classes))


def points_of(
    picture: Mapping[str, Any], answers: Mapping[str, Answer], classes: Sequence[str], colours: Mapping[str, int]
) -> list[Point]:
    """Return the points of the map, with the labelled points last so that they lie on top.

    Parameters
    ----------
    picture : mapping
        The items, their positions and the guesses of the model.
    answers : mapping of str to Answer
        The present answers by item.
    classes : sequence of str
        The names of the classes, in order.
    colours : mapping of str to int
        The number of the colour of each class.

    Returns
    -------
    list of Point
        The points.
    """
    points = []
    for item, (x, y), code in zip(picture["items"], picture["positions"], picture["guesses"], strict=True):
        label = answers[item].label if item in answers else None
        guess = classes[code] if 0 <= code < len(classes) else None
        name = label or guess
        colour = COLOURS if name is None else colours.get(name, COLOURS)
        points.append(Point(item, x, y, name, label is not None, colour))
    return sorted(points, key=lambda point: point.labelled)


def legend_of(
    points: Sequence[Point], classes: Sequence[str], colours: Mapping[str, int]
) -> list[tuple[str, int, int, int]]:
    """Return each class with its colour, its labels and its guesses.

    Parameters
    ----------
    points : sequence of Point
        The points.
    classes : sequence of str
        The names of the classes, in order.
    colours : mapping of str to int
        The number of the colour of each class.

    Returns
    -------
    list of tuple
        Name, colour, number of labels and number of guesses.
    """
    labels = Counter(point.name for point in points if point.labelled)
    guesses = Counter(point.name for point in points if not point.labelled)
    return [(name, colours.get(name, COLOURS), labels[name], guesses[name]) for name in classes]


def selected(points: Sequence[Point], region: Region | None, name: str) -> list[Point]:
    """Return the points of a region or of a class, with the unlabelled points first.

    Parameters
    ----------
    points : sequence of Point
        All points.
    region : Region or None
        The region. None selects by class.
    name : str
        The class. It is ignored if there is a region.

    Returns
    -------
    list of Point
        The selected points.
    """
    inside = [point for point in points if (region.holds(point) if region is not None else point.name == name)]
    return sorted(inside, key=lambda point: point.labelled)
