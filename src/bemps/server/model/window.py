"""The items that the model looks at: all of them, or a random part of a larger pool."""

from bemps.server.queue.random_order import random_order
from bemps.store import Store
from bemps.store.project_settings import ProjectSettings

WINDOW = 20_000
ADAPTED_WINDOW = 5_000  # what a fine-tuned encoder reads in about a minute


def window_of(store: Store, settings: ProjectSettings, size: int = WINDOW) -> tuple[str, ...]:
    """Return the items that the model ranks: the first items of the random order, and the labelled items.

    The first items of the random order are also those that come while there is no model. Audit items are never
    included.

    Parameters
    ----------
    store : Store
        The database of the project.
    settings : ProjectSettings
        The settings, which contain the seed of the random order.
    size : int
        The number of items from the random order.

    Returns
    -------
    tuple of str
        The ids, in the order of the file.
    """
    audit = store.audit()
    order = [item for item in random_order(store.ids(), settings.seed) if item not in audit]
    drawn = {*order[:size], *store.current()}
    return tuple(item for item in store.ids() if item in drawn and item not in audit)


def audit_order(store: Store, settings: ProjectSettings) -> list[str]:
    """The audit items in the order in which they are asked."""
    audit = store.audit()
    return [name for name in random_order(store.ids(), settings.seed) if name in audit]
