"""Looking for more of a class: for a while a person is asked items that are probably members of it.

The model's process says which items are probable. Audit items come at their usual share all the same, so that the
accuracy stays honest. The search is that of one person, ends after some items, and is not part of the log.
"""

from dataclasses import dataclass, field
from typing import Any

from bemps.errors import InputError

BY_MODEL, BY_EXAMPLES = "model", "examples"  # what makes an item probable
SIZE = 20  # items that are asked
SPARE = 60  # further ones, as others may have some
PATIENCE = 15.0  # seconds that a person waits for the model


@dataclass
class ClassSearch:
    """A search of one person.

    Attributes
    ----------
    label : str
        The name of the class.
    items : dict of str to float
        The ids of probable members with their scores, the most probable first.
    by : {'model', 'examples'}
        Whether a score is the probability of the class, or the likeness to its labelled examples.
    size : int
        The number of items after which it ends.
    asked : int
        The number of items that were answered so far.
    """

    label: str
    items: dict[str, float] = field(default_factory=dict)
    by: str = BY_MODEL
    size: int = SIZE
    asked: int = 0

    def renew(self, answer: dict[str, Any]) -> None:
        """Take the probable members that the model names now."""
        self.items, self.by = dict(answer["items"]), answer["by"]

    def count(self) -> bool:
        """Note that one of its items was answered, and return whether it goes on."""
        self.asked += 1
        return self.asked < self.size

    def reason(self, item: str) -> dict[str, Any]:
        """Return why an item is asked, for the panel that explains it."""
        return {"search": {"label": self.label, "score": self.items.get(item), "by": self.by}}

    def as_json(self) -> dict[str, Any]:
        """Return what the page says of it."""
        return {"label": self.label, "asked": self.asked, "size": self.size}


def first_members(label: str, answer: dict[str, Any] | None) -> dict[str, Any]:
    """Return the answer of the model to a new search; one that names no item is refused.

    Raises
    ------
    InputError
        The model has no time, the class has no example, or nothing waits.
    """
    if not answer or "by" not in answer:
        raise InputError(
            "search", expected="a model that answers", got="one that is busy", fix="Try again in a moment."
        )
    if not answer["by"]:
        raise InputError(
            f"search for {label}",
            expected="an item of it that was labelled, and that does not measure accuracy",
            got="none",
            fix="Find the first one by its words: search the unanswered items under Labelled.",
        )
    if not answer["items"]:
        raise InputError(f"search for {label}", expected="items that wait", got="none", fix="Everything is answered.")
    return answer
