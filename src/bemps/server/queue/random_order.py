"""The order of items that no model has ordered: the same for every server and for the model's window."""

from collections.abc import Iterable

import numpy as np


def random_order(ids: Iterable[str], seed: int) -> list[str]:
    """Return the order in which every server, and the model's window, goes through the items of a project."""
    order = list(ids)
    np.random.default_rng(seed).shuffle(order)
    return order
