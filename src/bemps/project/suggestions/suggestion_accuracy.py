"""How often suggestions are right: measured on the audit items, which are answered without seeing one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bemps.metrics import Share, wilson
from bemps.project.accuracy import FEWEST_AUDITED
from bemps.project.suggestions.chat_prompt import prompt_of
from bemps.project.suggestions.suggester_names import column_of, suggester_name
from bemps.project.suggestions.suggestion_values import class_named_by, offered_classes
from bemps.store import Answer, Item, Store
from bemps.store.project_settings import BY_MODEL, ProjectSettings


@dataclass(frozen=True)
class SuggestionAccuracy:
    """The accuracy of what suggests.

    Attributes
    ----------
    name : str
        What suggests, as the name of an annotator.
    right : int
        The number of audit items whose suggestion is the label that people gave.
    size : int
        The number of audit items with a label and a suggestion.
    without : int
        The number of audit items with a label and no suggestion.
    """

    name: str
    right: int
    size: int
    without: int

    @property
    def accuracy(self) -> Share | None:
        """The share that is right, with its interval; None with too few items."""
        return wilson(self.right, self.size) if self.size >= FEWEST_AUDITED else None


def suggestion_accuracy(
    store: Store,
    settings: ProjectSettings,
    answers: Mapping[str, Answer],
    opinion: Callable[[Item], str | None],
    model: tuple[int, int],
) -> SuggestionAccuracy | None:
    """Return how often suggestions are right, as an annotator's answers would be measured; None if nothing suggests.

    Parameters
    ----------
    store : Store
        The database of the project.
    settings : ProjectSettings
        The settings of the project.
    answers : mapping of str to Answer
        The present answers by item.
    opinion : callable
        The class that a column or an address suggests for an item; None where it suggests none.
    model : (int, int)
        The number of audit items that the model is right on, and of those that measure it.
    """
    if not settings.suggest:
        return None
    name = suggester_name(settings)
    if settings.suggest == BY_MODEL:
        return SuggestionAccuracy(name, *model, without=0)
    drawn = store.audit()
    truth = {id: answer.label for id, answer in answers.items() if id in drawn and answer.label is not None}
    opinions = {item.id: opinion(item) for item in store.items(truth)}
    size = sum(opinion is not None for opinion in opinions.values())
    right = sum(truth[id] == opinion for id, opinion in opinions.items())
    return SuggestionAccuracy(name, right, size, len(truth) - size)


def stored_opinions(store: Store, settings: ProjectSettings) -> Callable[[Item], str | None]:
    """Return a function from an item to the class that a column suggests, or that an address has answered."""
    classes = store.classes()
    names, prompt = tuple(offered_classes(classes)), prompt_of(settings, classes)
    cache = {} if prompt is None else store.suggestions(prompt.version)
    return lambda item: opinion_of(item, settings, names, cache)


def opinion_of(
    item: Item, settings: ProjectSettings, names: tuple[str, ...], cache: Mapping[str, str | None]
) -> str | None:
    """Return the class that a column or an address suggests for an item; None where it suggests none."""
    column = column_of(settings.suggest)
    return class_named_by(cache.get(item.id) if column is None else item.columns.get(column), names)
