"""What the log of a project says now: its classes, its answers, and the marks of its items."""

from collections.abc import Iterable

from bemps.store.events import ADJUDICATE, LABEL, Answer, Class, Disagreement
from bemps.store.log import Log
from bemps.store.state import State
from bemps.store.stored_items import StoredItems


class StateQueries:
    """Questions to the present state of a project.

    Parameters
    ----------
    log : Log
        The log of the project.
    items : StoredItems
        Its items.
    """

    def __init__(self, log: Log, items: StoredItems) -> None:
        self._log, self._items = log, items

    def classes(self) -> tuple[Class, ...]:
        """Return the classes in order, hidden ones too; without those that were merged or deleted."""
        with self._log.state() as state:
            return tuple(state.classes)

    def merged_classes(self) -> tuple[tuple[Class, Class], ...]:
        """Return each merged class, and the class that it was merged into."""
        with self._log.state() as state:
            return tuple(state.classes.merged())

    def counted_classes(self) -> tuple[int, ...]:
        """Return for the number of every class that ever was the number of the class that it counts as."""
        with self._log.state() as state:
            return tuple(map(state.classes.counted, range(state.classes.count)))

    def used_classes(self) -> frozenset[int]:
        """Return the numbers of the classes that an answer has, also one that undo or redo could bring back."""
        with self._log.state() as state:
            return state.used_classes()

    def current(self, annotator: str | None = None) -> dict[str, Answer]:
        """The present answer to each answered item.

        Parameters
        ----------
        annotator : str, optional
            Whose answers. None resolves the answers of all: the adjudicated label, else the label of most annotators,
            else the latest of the labels with most votes. Without any label it is the latest answer.

        Returns
        -------
        dict of str to Answer
            The answers by item.
        """
        return dict(self._log.resolved_answers()) if annotator is None else self._log.own_answers(annotator)

    def answers(self) -> list[Answer]:
        """Return the present answers of all annotators and the adjudications, in the order of the log."""
        with self._log.state() as state:
            stored = [answer for slot in state.slots if (answer := state.stored_answer(slot)) is not None]
            return [state.answer(answer) for answer in sorted(stored, key=lambda answer: answer.seq)]

    def answers_of(self, item: str) -> tuple[Answer, ...]:
        """Return the present answers to one item, the adjudication last."""
        original = self._items.original_of(item)
        with self._log.state() as state:
            return tuple(map(state.answer, state.stored_answers(original)))

    def annotators(self) -> tuple[str, ...]:
        """Return the annotators who have answered, in the order of their first answers."""
        with self._log.state() as state:
            return tuple(state.people)

    def postponed(self, annotator: str | None = None) -> dict[str, dict[str, int]]:
        """Return the items that people want to be asked later, or those of one annotator.

        Returns
        -------
        dict of str to dict
            By annotator and item: how many answers the annotator has given since.
        """
        with self._log.state() as state:
            people = list(state.done) if annotator is None else [annotator]
            return {who: items for who in people if (items := state.postponed(who))}

    def audit(self) -> frozenset[str]:
        """Return the ids of the items of the audit slice."""
        with self._log.state() as state:
            return frozenset(state.audit)

    def overlap(self) -> frozenset[str]:
        """Return the ids of the items that several annotators answer independently."""
        with self._log.state() as state:
            return frozenset(state.overlap)

    def disagreements(self) -> list[Disagreement]:
        """Return the items on which annotators differ and that nobody has adjudicated, in the order of the items."""
        with self._log.state() as state:
            answers = {item: tuple(map(state.answer, state.stored_answers(item))) for item in disputed(state)}
        return [Disagreement(item, answers[item]) for item in self._items.in_order(answers)]

    def confirmed(self) -> frozenset[str]:
        """Items whose label was given twice: by one person in a row, by two people, or by an adjudication."""
        with self._log.state() as state:
            return frozenset(item for item, people in state.by_item.items() if _is_confirmed(state, item, people))


def disputed(state: State) -> list[str]:
    """Return the items with labels of different classes and no adjudication."""
    items = []
    for item, people in state.by_item.items():
        if len(people) > 1:
            answers = state.stored_answers(item)
            classes = {state.class_of(answer) for answer in answers if answer.kind == LABEL}
            if len(classes) > 1 and answers[-1].kind != ADJUDICATE:
                items.append(item)
    return items


def _is_confirmed(state: State, item: str, people: Iterable[str | None]) -> bool:
    stacks = [state.slots[person, item] for person in people if state.slots[person, item]]
    latest = [stack[-1] for stack in stacks if stack[-1].kind in (LABEL, ADJUDICATE)]
    twice = [stack[-2:] for stack in stacks if [answer.kind for answer in stack[-2:]] == [LABEL, LABEL]]
    again = any(state.class_of(first) == state.class_of(second) and first.seq != second.seq for first, second in twice)
    agreed = len(latest) > 1 and len({state.class_of(answer) for answer in latest}) == 1
    return again or agreed or any(answer.kind == ADJUDICATE for answer in latest)
