"""The schedule of a project as its log leaves it, when a server starts."""

import numpy as np

from bemps.server.queue.random_order import random_order
from bemps.server.queue.schedule import Schedule
from bemps.store import Answer, Store
from bemps.store.project_settings import ProjectSettings


def schedule_of(store: Store, settings: ProjectSettings, rng: np.random.Generator) -> Schedule:
    """Return the schedule of a project.

    Parameters
    ----------
    store : Store
        The database of the project.
    settings : ProjectSettings
        Its settings.
    rng : numpy Generator
        Draws among audit items and others.

    Returns
    -------
    Schedule
        The schedule, with all that people have answered and put off.
    """
    ids = random_order(store.ids(), settings.seed)
    audit = store.audit()
    schedule = Schedule(
        ids,
        [item for item in ids if item in audit],
        settings.audit_share,
        settings.overlap_share,
        rng,
        settings.answers_per_item,
    )
    schedule.set_assignment(store.assignment())
    answers: dict[str, list[Answer]] = {}
    for answer in store.answers():
        answers.setdefault(answer.item, []).append(answer)
    for item, own in answers.items():
        schedule.set_answers(item, own)
    for annotator, items in store.postponed().items():
        schedule.set_postponed(annotator, items)
    shared = store.overlap()
    schedule.mark_overlap(item for item in ids if item in shared)
    return schedule
