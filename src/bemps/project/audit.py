"""The audit slice: items drawn at random and never used in training, and the quality of a classifier on them.

n  items    K  classes
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from bemps.metrics import Share, brier, weighted_f1, wilson
from bemps.project.confusion import confusion_counts
from bemps.store import Store
from bemps.store.events import SOURCE
from bemps.store.project_settings import ProjectSettings
from bemps.types import Array

LARGEST_AUDIT = 2_000


@dataclass(frozen=True, eq=False)
class AuditReport:
    """The metrics on the audit slice.

    Attributes
    ----------
    size : int
        The number of audit items with a label.
    drawn : int
        The number of audit items.
    accuracy : Share
        The accuracy and its interval.
    f1 : float
        The weighted F1.
    brier : float
        The Brier score.
    confusion : int array of shape (K, K)
        The number of items of each class (rows) that the model takes for each class (columns).
    """

    size: int
    drawn: int
    accuracy: Share
    f1: float
    brier: float
    confusion: Int[Array, "K K"]

    def __str__(self) -> str:
        return f"accuracy {self.accuracy}, weighted F1 {self.f1:.1%}, on {self.size} of {self.drawn} audit items"


def audit_report(probs: Float[Array, "n K"], codes: Int[Array, " n"], drawn: int) -> AuditReport:
    """Return accuracy with Wilson's interval, weighted F1, and the Brier score.

    F1 has no interval: a bootstrap of few items without an error would give one of no width.

    Parameters
    ----------
    probs : float array of shape (n, K)
        The predicted probabilities.
    codes : int array of shape (n,)
        The classes that people gave.
    drawn : int
        The number of audit items, labelled or not.

    Returns
    -------
    AuditReport
        The metrics.
    """
    K, guess = probs.shape[1], probs.argmax(1)
    accuracy, f1 = wilson(int((guess == codes).sum()), len(codes)), weighted_f1(codes, guess, K)
    return AuditReport(len(codes), drawn, accuracy, f1, brier(probs, codes), confusion_counts(codes, guess, K))


def draw_audit(store: Store, settings: ProjectSettings, key: Callable[[str], str]) -> int:
    """Set the audit slice aside before anything is chosen by the model: a fair sample of what can be asked.

    Items of the same content are drawn together: else the model would learn the answer from a twin.

    Parameters
    ----------
    store : Store
        The database of the project.
    settings : ProjectSettings
        Its settings.
    key : callable
        The same for items of the same content.

    Returns
    -------
    int
        The number of items that were drawn.
    """
    drawn, size = store.audit(), _audit_size(store, settings)
    if size <= 0 and (settings.duplicates == "once" or not drawn):
        return 0
    answered, groups = store.current(), _alike(store, settings, key)
    twins = [item for group in groups if not drawn.isdisjoint(group) for item in group if item not in drawn]
    out = drawn | answered.keys()
    free = [group for group in groups if out.isdisjoint(group)]
    return store.mark_audit([*twins, *_sample(free, size - len(twins), [settings.seed, len(drawn)])])


def _audit_size(store: Store, settings: ProjectSettings) -> int:
    """How many items to draw: a share of those that people are asked. What comes with a label is not asked."""
    drawn = store.audit()
    labelled = store.current(SOURCE if drawn else None)  # before the first draw nothing was asked
    asked = store.count() - len(labelled)
    return min(LARGEST_AUDIT, round(settings.audit_share * asked)) - len(drawn)


def _alike(store: Store, settings: ProjectSettings, key: Callable[[str], str]) -> list[list[str]]:
    """The items of each content; each by itself where contents are asked once."""
    if settings.duplicates == "once":
        return [[item] for item in store.ids()]
    groups: dict[str, list[str]] = {}
    for item in store.items():
        groups.setdefault(key(item.content), []).append(item.id)
    return list(groups.values())


def _sample(groups: list[list[str]], size: int, seed: list[int]) -> list[str]:
    """Items of random groups, as many as asked for; a group that has more would leave too little to learn from."""
    groups = [group for group in groups if len(group) <= size]
    if not groups:
        return []
    rows = np.random.default_rng(seed).choice(len(groups), min(size, len(groups)), replace=False)
    items: list[str] = []
    for row in rows:
        items += groups[row] if len(items) < size else ()
    return items
