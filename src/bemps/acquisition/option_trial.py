"""Options of a strategy, tried on a few items: the strategy itself says what it refuses."""

from collections.abc import Mapping

import numpy as np

from bemps.acquisition.context import Context
from bemps.acquisition.strategy_registry import run_strategy

SIZE, LABELLED, MEMBERS, CLASSES, COLUMNS = 12, 4, 3, 3, 4


def try_options(strategy: str, options: Mapping[str, object]) -> None:
    """Choose two of a few random items.

    Parameters
    ----------
    strategy : str
        The name of the strategy.
    options : mapping
        Its options.

    Raises
    ------
    InputError
        The strategy refuses an option, as it would in the first round.
    """
    run_strategy(strategy, _few_items(), **options)


def _few_items() -> Context:
    """A context with everything that a strategy may need."""
    rng = np.random.default_rng(0)
    vectors, labelled = rng.normal(size=(SIZE, COLUMNS)), rng.normal(size=(LABELLED, COLUMNS))
    return Context(
        n=2,
        size=SIZE,
        rng=rng,
        probs=rng.dirichlet(np.ones(CLASSES), size=(MEMBERS, SIZE)),
        features=vectors,
        embeddings=vectors,
        surprisal=vectors,
        labelled_features=labelled,
        labelled_embeddings=labelled,
        labelled_probs=rng.dirichlet(np.ones(CLASSES), size=LABELLED),
        labelled_classes=np.arange(LABELLED) % CLASSES,
    )
