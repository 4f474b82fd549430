"""What the model's process computes when a panel asks for it, beside orders and single items."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from bemps.server.model import likely_items
from bemps.server.model.messages import Ask, Looked

if TYPE_CHECKING:
    from bemps.server.model.trainer import Trainer

NO_GUESS = -1


def answer_of(trainer: "Trainer", ask: Ask) -> Looked:
    """Return the answer of a task; an error becomes part of the answer, because a panel must not end the model."""
    try:
        return Looked(ask.call, TASKS[ask.task](trainer, ask))
    except Exception as error:  # noqa: BLE001 -- the server logs it
        return Looked(ask.call, {"item": ask.task}, f"{type(error).__name__}: {error}")


def review(trainer: "Trainer") -> dict[str, Any]:
    """Return labels to look at again: `doubts` (item, guess, probabilities of label and guess) and `pairs` of items."""
    from bemps.models.base import take
    from bemps.server.review.doubts import contradicting_pairs, doubted_labels

    learner = trainer.learner
    if not learner.fitted_model.ready:
        return {"judged": 0, "doubts": [], "pairs": []}
    rows, codes = learner.pool.labelled()
    names, classes = [trainer.ids[row] for row in rows], list(learner.classes)
    doubts = doubted_labels(trainer.measures.spare, take(learner.items, rows), codes, classes)
    pairs = contradicting_pairs(trainer.likeness.vectors[rows], codes)
    return {
        "judged": len(rows),
        "doubts": [
            [names[doubt.row], classes[doubt.guess], doubt.label_probability, doubt.guess_probability]
            for doubt in doubts
        ],
        "pairs": [[names[first], names[second], like] for first, second, like in pairs],
    }


def item_map(trainer: "Trainer") -> dict[str, Any]:
    """Return a map of the items: names, positions, and the numbers of the classes that the model gives them."""
    from bemps.models.base import take
    from bemps.server.review.item_map import ItemMap

    learner = trainer.learner
    if trainer.drawn is None or trainer.drawn[0] is not trainer.likeness:
        trainer.drawn = trainer.likeness, ItemMap(trainer.likeness.vectors)
    labelled, _ = learner.pool.labelled()
    rows, positions = trainer.drawn[1].draw(labelled.tolist())
    guesses = np.full(len(rows), NO_GUESS)
    if learner.fitted_model.ready and len(rows):
        guesses = np.array(trainer.numbers)[learner.predict(take(learner.items, rows)).argmax(1)]
    names = [trainer.ids[row] for row in rows]
    return {"items": names, "positions": positions.round(4).tolist(), "guesses": guesses.tolist()}


TASKS: dict[str, Callable[["Trainer", Ask], dict[str, Any]]] = {
    "review": lambda trainer, _: review(trainer),
    "map": lambda trainer, _: item_map(trainer),
    "alike": lambda trainer, ask: likely_items.alike(trainer, ask.items, ask.n),
    "represented": lambda trainer, ask: likely_items.represented(trainer, ask.items[0], ask.n),
    "guess-words": lambda trainer, ask: trainer.guess_words(ask.items[0]),
    "members": lambda trainer, ask: likely_items.members(trainer, ask.label, ask.n),
}
