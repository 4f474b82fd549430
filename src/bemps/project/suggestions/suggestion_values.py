"""The values of a column that suggests labels: which class one names, how many are classes, what the others are."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from bemps._utils.class_names import known_name
from bemps.project.suggestions.suggester_names import column_of
from bemps.store import Class, Store

SHOWN_VALUES = 5


def offered_classes(classes: Iterable[Class]) -> dict[str, str]:
    """Return the descriptions of the classes that people can choose, by name; empty where a class has none."""
    return {known.name: known.description for known in classes if not known.is_hidden}


def class_named_by(value: object, names: Collection[str]) -> str | None:
    """Return the class that a value names: a text, or a number that is written like the name; None if it names none."""
    if not isinstance(value, str | int) or isinstance(value, bool):
        return None
    name = known_name(str(value).strip(), names)
    return name if name in names else None


def unknown_values(store: Store, suggest: str) -> tuple[Counter[str], int]:
    """Return the values of a column that suggest nothing, and the number of items with a value that suggests a class.

    It goes through all items.
    """
    column, names = column_of(suggest), tuple(offered_classes(store.classes()))
    unknown: Counter[str] = Counter()
    usable = 0
    for item in store.items() if column is not None else ():
        value = item.columns.get(str(column))
        if class_named_by(value, names) is not None:
            usable += 1
        elif value is not None and (text := str(value).strip()):
            unknown[text[:100]] += 1
    return unknown, usable


def unknown_words(unknown: Mapping[str, int], usable: int, column: str) -> str:
    """Return a warning about values that are no class; empty if there are none. A column without any class says so.

    Parameters
    ----------
    unknown : mapping of str to int
        The values, and how many items have each.
    usable : int
        The number of items whose value is a class.
    column : str
        The name of the column.

    Returns
    -------
    str
        The warning.
    """
    if not unknown:
        return "" if usable else f"Column {column!r} has no value that is the name of a class. It suggests nothing."
    most = sorted(unknown.items(), key=lambda pair: -pair[1])
    parts = ", ".join(f"{value!r} ({count:,})" for value, count in most[:SHOWN_VALUES])
    rest = f" and {len(most) - SHOWN_VALUES:,} more values" if len(most) > SHOWN_VALUES else ""
    return (
        f"Column {column!r} suggests labels for {usable:,} items. In {sum(unknown.values()):,} others its value is no "
        f"class that is offered, and suggests nothing: {parts}{rest}."
    )
