"""Which waiting items are like some others, are represented by one, or are probable members of a class.

Runs in the model's process. Audit items are never among them: what is looked for must not change what measures it.

N  items looked at    n  waiting items    B  items in question    H  length of a vector
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from bemps.models.base import take
from bemps.server.model.likeness import unit
from bemps.server.queue.class_search import BY_EXAMPLES, BY_MODEL
from bemps.types import Array

if TYPE_CHECKING:
    from bemps.server.model.trainer import Trainer

MOST_EXAMPLES = 50  # of a class, the last that were labelled


def alike(trainer: "Trainer", names: Sequence[str], n: int) -> dict[str, Any]:
    """Return the waiting items that are most like any of these items.

    Parameters
    ----------
    trainer : Trainer
        The model.
    names : sequence of str
        The ids of the items in question.
    n : int
        The number of items to return.

    Returns
    -------
    dict
        `items`: pairs of an id and its likeness, the most alike first.
    """
    waiting = _waiting(trainer, names)
    vectors = _vectors(trainer, names)
    if not len(vectors) or not len(waiting):
        return {"items": []}
    return {"items": _best(trainer, waiting, _likeness(trainer, waiting, vectors), n)}


def represented(trainer: "Trainer", name: str, n: int) -> dict[str, Any]:
    """Return the waiting items that are more like an item than like anything labelled.

    Parameters
    ----------
    trainer : Trainer
        The model.
    name : str
        The id of the item in question.
    n : int
        The number of items to return.

    Returns
    -------
    dict
        `items`: pairs of an id and its likeness, the most alike first. It is empty while nothing is labelled, and for
        an item that is labelled itself.
    """
    if name in trainer.learner.pool.labels:
        return {"items": []}
    waiting, vectors = _waiting(trainer, [name]), _vectors(trainer, [name])
    labelled, _ = trainer.learner.pool.labelled()
    if not len(vectors) or not len(waiting) or not len(labelled):
        return {"items": []}
    scores = _likeness(trainer, waiting, vectors)
    inside = scores > trainer.likeness.nearest_labelled(labelled)[waiting]
    return {"items": _best(trainer, waiting[inside], scores[inside], n)}


def members(trainer: "Trainer", label: str, n: int) -> dict[str, Any]:
    """Return the waiting items that are probably of a class.

    Parameters
    ----------
    trainer : Trainer
        The model.
    label : str
        The name of the class.
    n : int
        The number of items to return.

    Returns
    -------
    dict
        `items`: pairs of an id and a score, the most probable first. `by`: `model` where the score is the probability
        of the class, `examples` where the model has not learnt the class yet and the score is the likeness to its
        labelled examples, and empty where there is no example.
    """
    learner = trainer.learner
    waiting = _waiting(trainer, ())
    _, codes = learner.pool.labelled()
    classes = list(learner.classes)
    if learner.fitted_model.ready and label in classes and classes.index(label) in codes:
        probs = learner.predict(take(learner.items, waiting)) if len(waiting) else np.zeros((0, len(classes)))
        return {"items": _best(trainer, waiting, probs[:, classes.index(label)], n), "by": BY_MODEL}
    current = trainer.store.current().items()
    examples = [name for name, answer in current if answer.label == label and name not in trainer.audit]
    like = alike(trainer, examples[-MOST_EXAMPLES:], n)["items"] if examples else []
    return {"items": like, "by": BY_EXAMPLES if examples else ""}


def _waiting(trainer: "Trainer", names: Iterable[str]) -> Int[Array, " n"]:
    """The rows of the items that wait, without these."""
    own = set(names)
    candidates = trainer.learner.pool.candidates()
    return np.array([row for row in candidates if trainer.ids[row] not in own], dtype=np.int64)


def _vectors(trainer: "Trainer", names: Sequence[str]) -> Float[Array, "B H"]:
    """The vectors of items, of length one; those that cannot be read are left out."""
    _, vectors = trainer.read(names)
    return unit(vectors) if len(vectors) else np.zeros((0, 0), np.float32)


def _likeness(trainer: "Trainer", waiting: Int[Array, " n"], vectors: Float[Array, "B H"]) -> Float[Array, " n"]:
    """The cosine of every waiting item with the item in question that is most like it."""
    return np.asarray((trainer.likeness.vectors[waiting] @ vectors.T).max(1))


def _best(trainer: "Trainer", rows: Int[Array, " n"], scores: Float[Array, " n"], n: int) -> list[list[Any]]:
    order = np.argsort(-scores, kind="stable")[:n]
    return [[trainer.ids[rows[i]], round(float(scores[i]), 4)] for i in order]
