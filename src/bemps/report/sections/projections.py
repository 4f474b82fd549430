"""The section of t-SNE projections: one projection of the pool, with the items that each strategy acquired."""

from collections.abc import Iterator

import numpy as np

from bemps.report.blocks import Block, Section, file_stem, filters_of, setting_stem
from bemps.report.figures import Panel, Points
from bemps.report.html_tables import Table
from bemps.report.style import Styles
from bemps.results import RunFolder, Setting
from bemps.results.run_analysis import Projection, RunAnalysis, pool_matches
from bemps.results.run_cells import Batches, acquired_ids
from bemps.results.run_pools import PoolKey

LEAD = (
    "One t-SNE projection of the pool for all panels, coloured by true class. Crosses mark the last batch that was "
    "acquired, and rings what was acquired before it (first seed)."
)
PREFERRED = ("coremse", "corelog")


def section(run: RunFolder, styles: Styles, analysis: RunAnalysis) -> Section | None:
    """Make the section, if there are vectors and acquired ids.

    Parameters
    ----------
    run : RunFolder
        The run.
    styles : Styles
        The styles of the contestants.
    analysis : RunAnalysis
        The projections.

    Returns
    -------
    Section or None
        The section.
    """
    acquired = acquired_ids(run)
    blocks: list[Block] = []
    for key, pool in analysis.projections.items():
        settings = {setting: names for setting, names in acquired.items() if pool_matches(key, setting)}
        blocks += [*_by_strategy(pool, settings), *_by_batch_size(pool, settings), _table(pool, key)]
    return Section("Where the batches lie", LEAD, tuple(blocks)) if blocks else None


def _by_strategy(pool: Projection, acquired: dict[Setting, Batches]) -> Iterator[Block]:
    for setting, names in acquired.items():
        panels = tuple(_panel(name, pool, seeds[min(seeds)]) for name, seeds in names.items())
        yield Block(filters_of(setting), {f"tsne-{setting_stem(setting)}": _points(str(setting), pool, panels)})


def _by_batch_size(pool: Projection, acquired: dict[Setting, Batches]) -> Iterator[Block]:
    """The same strategy with several batch sizes, side by side."""
    for model in dict.fromkeys(setting.model for setting in acquired):
        settings = [setting for setting in acquired if setting.model == model]
        names = [name for name in acquired[settings[0]] if all(name in acquired[setting] for setting in settings)]
        if len(settings) < 2 or not names:
            continue
        name = next((wished for wished in PREFERRED if wished in names), names[0])
        panels = []
        for setting in settings:
            seeds = acquired[setting][name]
            panels.append(_panel(f"batches of {setting.batch_size}", pool, seeds[min(seeds)]))
        dataset = settings[0].dataset
        figure = _points(f"{name} with several batch sizes: {dataset}, {model}", pool, tuple(panels))
        yield Block({"dataset": dataset, "model": model}, {file_stem("tsne", "sizes", dataset, model): figure})


def _panel(title: str, pool: Projection, batches: list[list[str]]) -> Panel:
    def positions(names: list[str]) -> list[int]:
        return [pool.positions[name] for name in names if name in pool.positions]

    before = positions([name for batch in batches[:-1] for name in batch])
    return Panel(title, np.array(positions(batches[-1]), dtype=np.int64), np.array(before, dtype=np.int64))


def _points(title: str, pool: Projection, panels: tuple[Panel, ...]) -> Points:
    names = sorted(set(pool.labels))
    code = {name: i for i, name in enumerate(names)}
    groups = np.array([code[label] for label in pool.labels])
    return Points(title, pool.points, groups, tuple(names), panels)


def _table(pool: Projection, key: PoolKey) -> Block:
    """The coordinates, in the CSV only."""
    raw = tuple(
        (name, pool.labels[i], float(pool.points[i, 0]), float(pool.points[i, 1])) for name, i in pool.positions.items()
    )
    count = Table(("projected items", "number"), (("t-SNE", str(len(raw))),), ("id", "label", "x", "y"), raw)
    shown = {"dataset": key[0]} | ({"model": key[1]} if key[1] else {})
    return Block(shown, {}, {}, {file_stem("tsne", *shown.values()): count})
