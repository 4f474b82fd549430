"""t-SNE of the pool, one projection for all strategies, with what each acquired."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bemps.analysis.projection import projection, shown_items
from bemps.report.blocks import Block, Section, of, stem, where
from bemps.report.figures import Panel, Points
from bemps.report.sections.cells import acquired_ids, belongs
from bemps.report.sections.pools import Key, PoolItems, pools_of
from bemps.report.style import Styles
from bemps.report.tables import Table
from bemps.statistics import RunFolder, Setting
from bemps.types import Array

LEAD = (
    "One t-SNE projection of the pool for all panels, coloured by true class: crosses mark the last batch that was "
    "acquired, rings what was acquired before it (first seed)."
)
LIMIT = 1500
PREFERRED = ("coremse", "corelog")
Batches = dict[str, dict[int, list[list[str]]]]


@dataclass(frozen=True, eq=False)
class Pool:
    """The projected items of a dataset."""

    positions: dict[str, int]
    places: Float[Array, "N 2"]
    labels: tuple[str, ...]


def section(run: RunFolder, styles: Styles) -> Section | None:
    """Nothing without vectors and acquired ids."""
    acquired = acquired_ids(run)
    blocks: list[Block] = []
    for key, items in pools_of(run).items() if acquired else ():
        here = {place: found for place, found in acquired.items() if place.dataset == key[0] and belongs(key[1], place)}
        if here:
            pool = _pool(items, here)
            blocks += [*_by_strategy(pool, here), *_by_batch_size(pool, here), _table(pool, key)]
    return Section("Where the batches lie", LEAD, tuple(blocks)) if blocks else None


def _pool(items: PoolItems, acquired: dict[Setting, Batches]) -> Pool:
    """Everything that the panels mark, and a draw of the rest, projected."""
    place = {name: i for i, name in enumerate(items.ids)}
    marked = {
        place[name]
        for found in acquired.values()
        for seeds in found.values()
        for batch in seeds[min(seeds)]
        for name in batch
        if name in place
    }
    rng = np.random.default_rng(0)
    chosen = shown_items(len(place), marked, LIMIT, rng)
    places = projection(np.asarray(items.vectors[chosen], dtype=float), rng)
    kept = chosen.tolist()
    return Pool({items.ids[row]: i for i, row in enumerate(kept)}, places, tuple(items.labels[row] for row in kept))


def _by_strategy(pool: Pool, acquired: dict[Setting, Batches]) -> Iterator[Block]:
    for setting, names in acquired.items():
        panels = tuple(_panel(name, pool, seeds[min(seeds)]) for name, seeds in names.items())
        yield Block(where(setting), {f"tsne-{of(setting)}": _points(str(setting), pool, panels)})


def _by_batch_size(pool: Pool, acquired: dict[Setting, Batches]) -> Iterator[Block]:
    """The same strategy with several batch sizes, side by side."""
    for model in dict.fromkeys(setting.model for setting in acquired):
        places = [setting for setting in acquired if setting.model == model]
        names = [name for name in acquired[places[0]] if all(name in acquired[place] for place in places)]
        if len(places) < 2 or not names:
            continue
        name = next((wished for wished in PREFERRED if wished in names), names[0])
        panels = []
        for place in places:
            seeds = acquired[place][name]
            panels.append(_panel(f"batches of {place.batch_size}", pool, seeds[min(seeds)]))
        dataset = places[0].dataset
        figure = _points(f"{name} with several batch sizes: {dataset}, {model}", pool, tuple(panels))
        yield Block({"dataset": dataset, "model": model}, {stem("tsne", "sizes", dataset, model): figure})


def _panel(title: str, pool: Pool, batches: list[list[str]]) -> Panel:
    def positions(names: list[str]) -> list[int]:
        return [pool.positions[name] for name in names if name in pool.positions]

    before = positions([name for batch in batches[:-1] for name in batch])
    return Panel(title, np.array(positions(batches[-1]), dtype=np.int64), np.array(before, dtype=np.int64))


def _points(title: str, pool: Pool, panels: tuple[Panel, ...]) -> Points:
    names = sorted(set(pool.labels))
    code = {name: i for i, name in enumerate(names)}
    groups = np.array([code[label] for label in pool.labels])
    return Points(title, pool.places, groups, tuple(names), panels)


def _table(pool: Pool, key: Key) -> Block:
    """The coordinates, in the CSV only."""
    raw = tuple(
        (name, pool.labels[i], float(pool.places[i, 0]), float(pool.places[i, 1])) for name, i in pool.positions.items()
    )
    count = Table(("projected items", "number"), (("t-SNE", str(len(raw))),), ("id", "label", "x", "y"), raw)
    shown = {"dataset": key[0]} | ({"model": key[1]} if key[1] else {})
    return Block(shown, {}, {}, {stem("tsne", *shown.values()): count})
