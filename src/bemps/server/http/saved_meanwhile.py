"""Values that somebody else has saved since a form was shown: none of them is replaced unseen."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bemps.errors import InputError

LONGEST_SHOWN = 100  # characters of a value


class SavedMeanwhile(InputError):
    """The error for values that are others now than in the form that changes them.

    Attributes
    ----------
    present : dict of str to str
        What these values are now, as the form shows them, by the names of its fields. A second try is about these.
    """

    def __init__(self, what: str, *, expected: str, got: str, fix: str, present: Mapping[str, str]) -> None:
        super().__init__(what, expected=expected, got=got, fix=fix)
        self.present = dict(present)


@dataclass(frozen=True)
class FormValue:
    """A value that a form changes.

    Attributes
    ----------
    field, label : str
        The name of its field, and what people call it.
    present : str
        What it is now, as the form shows it.
    seen : str or None
        What it was in the form. None if the form did not say that.
    """

    field: str
    label: str
    present: str
    seen: str | None


def refuse_unseen(values: Iterable[FormValue]) -> None:
    """Refuse changes of values that are others now than in the form; the refusal names all of them."""
    unseen = [value for value in values if value.seen not in (None, value.present)]
    if not unseen:
        return
    is_one = len(unseen) == 1
    shown = " and ".join(repr(value.present[:LONGEST_SHOWN]) for value in unseen)
    raise SavedMeanwhile(
        " and ".join(value.label for value in unseen),
        expected=f"the {'value' if is_one else 'values'} that you saw",
        got=f"{shown}, which {'was' if is_one else 'were'} saved meanwhile",
        fix=f"Save again to replace {'it' if is_one else 'them'}.",
        present={value.field: value.present for value in unseen},
    )
