"""The section of data maps: how learnable the items are, and which kinds of items each strategy acquires.

They are computed by `bemps.results.run_analysis`.
"""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from bemps.report.blocks import Block, Section, file_stem, filters_of, setting_stem
from bemps.report.figures import Figure, Lines, Panel, Points, Series
from bemps.report.formatting import score
from bemps.report.html_tables import Table
from bemps.report.sections import epoch_figures
from bemps.report.style import Styles
from bemps.results import RunFolder, Setting
from bemps.results.data_maps import REGIONS, DataMap, acquired_shares
from bemps.results.run_analysis import RunAnalysis, pool_matches
from bemps.results.run_cells import acquired_ids
from bemps.results.run_epochs import Errors, ItemMap
from bemps.results.run_pools import PoolKey
from bemps.types import Array

LEAD = (
    "Over the epochs of a training run on all labels, confidence is the mean true-class probability, and variability "
    "its standard deviation. An item is easy if the prediction is right in at least .75 of the epochs, medium from .5, "
    "hard from .25, else impossible. The lines show the share of each kind in what is acquired, averaged over seeds. "
    "Where the run left no training dynamics, a softmax regression is trained on the vectors of the pool. "
    "Beside a map: the expected calibration error (ECE) of such a regression on the test set after every epoch, and "
    "the mean over the epochs so far. Where it falls, confidence comes closer to accuracy as the classifier learns."
)
SHOWN = 3000


def section(run: RunFolder, styles: Styles, analysis: RunAnalysis) -> Section | None:
    """Make the section, if there are training dynamics, vectors or calibration over epochs.

    Parameters
    ----------
    run : RunFolder
        The run.
    styles : Styles
        The styles of the contestants.
    analysis : RunAnalysis
        The data maps and errors.

    Returns
    -------
    Section or None
        The section.
    """
    blocks = (*_maps(analysis.maps, analysis.errors), *_shares(run, analysis.maps, styles))
    return Section("Data maps", LEAD, blocks) if blocks else None


def _maps(maps: dict[PoolKey, ItemMap], errors: dict[PoolKey, Errors]) -> Iterator[Block]:
    """A map with the calibration over epochs beside it, or one of the two."""
    for key in dict.fromkeys((*maps, *errors)):
        filters = {"dataset": key[0]} | ({"model": key[1]} if key[1] else {})
        figures: dict[str, Figure] = {}
        tables, folded = dict[str, Table](), dict[str, Table]()
        if key in maps:
            name = file_stem("data_map", *filters.values())
            figures[name], tables[name] = _map_figure(key[0], *maps[key])
        if key in errors:
            name = file_stem("epochs", *filters.values())
            figures[name], folded[name] = epoch_figures.figure(key[0], errors[key]), epoch_figures.table(errors[key])
        yield Block(filters, figures, tables, folded)


def _map_figure(dataset: str, ids: list[str], item_map: DataMap) -> tuple[Points, Table]:
    """Confidence over variability, and how many items each region has; every item in the CSV."""
    shown = np.linspace(0, len(ids) - 1, min(SHOWN, len(ids))).astype(int)
    coordinates = np.column_stack([item_map.variability, item_map.confidence])[shown]
    counts = np.bincount(item_map.regions, minlength=len(REGIONS))
    names = tuple(f"{name} {count}" for name, count in zip(REGIONS, counts.tolist(), strict=True))
    none = np.empty(0, dtype=np.int64)
    figure = Points(
        f"Data map of {dataset}", coordinates, item_map.regions[shown], names, (Panel("", none, none),), ("", ""),
        "variability", "confidence",
    )  # fmt: skip
    rows = zip(
        ids, *(v.tolist() for v in (item_map.confidence, item_map.variability, item_map.correctness)), strict=True
    )
    raw = tuple((*row, REGIONS[code]) for row, code in zip(rows, item_map.regions.tolist(), strict=True))
    region_rows = tuple(
        (name, str(count), f"{count / len(ids):.1%}") for name, count in zip(REGIONS, counts, strict=True)
    )
    columns = ("id", "confidence", "variability", "correctness", "region")
    return figure, Table(("region", "items", "share"), region_rows, columns, raw)


def _shares(run: RunFolder, maps: dict[PoolKey, ItemMap], styles: Styles) -> Iterator[Block]:
    for setting, names in acquired_ids(run).items():
        key = next((key for key in maps if pool_matches(key, setting)), None)
        if key is None:
            continue
        ids, item_map = maps[key]
        positions = {name: i for i, name in enumerate(ids)}
        shares = {name: _mean_share(item_map, positions, seeds) for name, seeds in names.items()}
        regions = {
            f"acquired-{region}-{setting_stem(setting)}": _region(run, setting, number, shares, styles)
            for number, region in enumerate(REGIONS)
        }
        figures: dict[str, Figure] = {name: figure for name, figure in regions.items() if figure.series}
        if not figures:
            continue
        yield Block(
            filters_of(setting), figures, {}, {f"acquired-{setting_stem(setting)}": _table(run, setting, shares)}
        )


def _mean_share(item_map: DataMap, positions: dict[str, int], seeds: dict[int, list[list[str]]]) -> Float[Array, "R 4"]:
    """Mean over seeds for each round, as far as all of them go; items that the map does not know are left out."""
    rounds = min(map(len, seeds.values()))
    shares = [
        acquired_shares(
            item_map.regions,
            [
                np.array([positions[name] for name in batch if name in positions], dtype=np.int64)
                for batch in batches[:rounds]
            ],
        )
        for batches in seeds.values()
    ]
    return np.mean(shares, axis=0)


def _labels(run: RunFolder, setting: Setting, name: str, rounds: int) -> list[int]:
    return run.results.curves[setting][name].labels[1 : rounds + 1].tolist()


def _region(
    run: RunFolder, setting: Setting, number: int, shares: dict[str, Float[Array, "R 4"]], styles: Styles
) -> Lines:
    series = []
    for name, share in shares.items():
        labels = _labels(run, setting, name, len(share))
        height = share[: len(labels), number]
        known = np.isfinite(height)
        series.append(Series(name, styles[name], np.array(labels)[known], height[known]))
    lines = tuple(line for line in series if len(line.x))
    highest = max((float(line.y.max()) for line in lines), default=0.0)
    return Lines(
        f"{REGIONS[number]}: {setting}", "labels", "share of the batch", lines, y_range=(0.0, max(1.05 * highest, 0.05))
    )


def _table(run: RunFolder, setting: Setting, shares: dict[str, Float[Array, "R 4"]]) -> Table:
    """Mean share over the whole run on the page; every round in the CSV."""
    rows = tuple((name, *(score(float(v)) for v in np.nanmean(share, axis=0))) for name, share in shares.items())
    raw = tuple(
        (name, labels, *share[number].tolist())
        for name, share in shares.items()
        for number, labels in enumerate(_labels(run, setting, name, len(share)))
    )
    return Table(("strategy", *REGIONS), rows, ("strategy", "labels", *REGIONS), raw)
