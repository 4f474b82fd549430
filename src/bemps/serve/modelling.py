"""The coach of a project: its model, chosen by the project, on vectors that are made once."""

from collections.abc import Callable
from pathlib import Path

from bemps.project_models import cache_folder, project_model
from bemps.serve.coach import Coach
from bemps.store import Store


def coach_of(store: Store, where: str, say: Callable[[str], None]) -> Coach:
    """Make the vectors of the items that are looked at, saying how far it is."""

    def progress(_: str, done: int, total: int) -> None:
        say(f"model reads the items: {100 * done // max(total, 1)} %")

    file = None if "://" in where else Path(where)
    chosen = project_model(store.settings, cache=cache_folder(file), progress=progress)
    say("model gets ready")
    return Coach(store, chosen)
