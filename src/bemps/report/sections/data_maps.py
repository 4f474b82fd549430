"""Data maps: how learnable the items are, and which kinds of items each strategy acquires.

From dynamics.parquet (dataset, model (optional), id, epoch, probability of the true class, correct); where a dataset
has none there, from a softmax regression on the vectors of its pool, trained here.
"""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from bemps.analysis.data_maps import REGIONS, DataMap, acquired_shares, data_map, training_dynamics
from bemps.errors import InputError
from bemps.report.blocks import Block, Section, of, stem, where
from bemps.report.figures import Figure, Lines, Panel, Points, Series
from bemps.report.sections import epochs
from bemps.report.sections.cells import acquired_ids, belongs
from bemps.report.sections.pools import Key, PoolItems, pools_of
from bemps.report.style import Styles
from bemps.report.tables import Table
from bemps.report.words import score
from bemps.statistics import RunFolder, Setting
from bemps.types import Array

LEAD = (
    "Over the epochs of a training run on all labels: confidence is the mean true-class probability, variability "
    "its standard deviation. By the share of epochs with the right prediction an item is easy (at least .75), medium "
    "(.5), hard (.25) or impossible. The lines show the share of each kind in what is acquired, averaged over seeds. "
    "Where the run left no training dynamics, a softmax regression is trained on the vectors of the pool. "
    "Beside a map: the expected calibration error (ECE) of such a regression on the test set after every epoch, and "
    "the mean over the epochs so far; where it falls, confidence comes closer to accuracy as the classifier learns."
)
SHOWN = 3000


def section(run: RunFolder, styles: Styles) -> Section | None:
    """Nothing without training dynamics, vectors or calibration over epochs."""
    maps = maps_of(run)
    blocks = (*_maps(maps, _errors(run, maps)), *_shares(run, maps, styles))
    return Section("Data maps", LEAD, blocks) if blocks else None


def maps_of(run: RunFolder) -> dict[Key, tuple[list[str], DataMap]]:
    """Ids and map for each dataset and model of dynamics.parquet."""
    rows = run.tables.get("dynamics", {})
    models = rows.get("model", [None] * len(rows.get("id", ())))
    groups: dict[Key, list[int]] = {}
    for row, (dataset, model) in enumerate(zip(rows.get("dataset", ()), models, strict=True)):
        groups.setdefault((str(dataset), model), []).append(row)
    found = {key: _map(run, key, numbers) for key, numbers in groups.items()}
    if not run.tables.get("acquired"):
        return found
    trained = {key: items for key, items in pools_of(run).items() if not any(key[0] == other[0] for other in found)}
    return found | {key: _trained(items) for key, items in trained.items()}


def _trained(items: PoolItems) -> tuple[list[str], DataMap]:
    """The map of a softmax regression on the vectors."""
    _, codes = np.unique(np.array(items.labels), return_inverse=True)
    dynamics = training_dynamics(np.asarray(items.vectors, dtype=float), codes, np.random.default_rng(0))
    return list(items.ids), data_map(*dynamics)


def _map(run: RunFolder, key: Key, numbers: list[int]) -> tuple[list[str], DataMap]:
    rows = run.tables["dynamics"]
    ids = list(dict.fromkeys(str(rows["id"][row]) for row in numbers))
    epochs = sorted({rows["epoch"][row] for row in numbers})
    if len(numbers) != len(ids) * len(epochs):
        raise InputError(
            str(run.path / "dynamics.parquet"),
            expected=f"one row for every item and epoch of {key[0]}",
            got=f"{len(numbers)} rows of {len(ids)} items and {len(epochs)} epochs",
            fix="Write every epoch of every item, or remove the file.",
        )
    place, when = {name: i for i, name in enumerate(ids)}, {epoch: i for i, epoch in enumerate(epochs)}
    true_class, correct = np.zeros((len(epochs), len(ids))), np.zeros((len(epochs), len(ids)), dtype=bool)
    for row in numbers:
        spot = when[rows["epoch"][row]], place[str(rows["id"][row])]
        true_class[spot], correct[spot] = rows["probability"][row], bool(rows["correct"][row])
    return ids, data_map(true_class, correct)


def _errors(run: RunFolder, maps: dict[Key, tuple[list[str], DataMap]]) -> dict[Key, epochs.Errors]:
    """The calibration errors over epochs that the run left, and those of the maps that were trained here."""
    found = epochs.errors_of(run)
    given = {str(dataset) for dataset in run.tables.get("dynamics", {}).get("dataset", ())}
    here = [key for key in maps if key not in found and key[0] not in given]
    trained = {key: epochs.trained(pools_of(run)[key]) for key in here}
    return found | {key: errors for key, errors in trained.items() if errors is not None}


def _maps(maps: dict[Key, tuple[list[str], DataMap]], errors: dict[Key, epochs.Errors]) -> Iterator[Block]:
    """A map with the calibration over epochs beside it, or one of the two."""
    for key in dict.fromkeys((*maps, *errors)):
        place = {"dataset": key[0]} | ({"model": key[1]} if key[1] else {})
        figures: dict[str, Figure] = {}
        tables, folded = dict[str, Table](), dict[str, Table]()
        if key in maps:
            name = stem("data_map", *place.values())
            figures[name], tables[name] = _drawn(key[0], *maps[key])
        if key in errors:
            name = stem("epochs", *place.values())
            figures[name], folded[name] = epochs.figure(key[0], errors[key]), epochs.table(errors[key])
        yield Block(place, figures, tables, folded)


def _drawn(dataset: str, ids: list[str], found: DataMap) -> tuple[Points, Table]:
    """Confidence over variability, and how many items each region has; every item in the CSV."""
    shown = np.linspace(0, len(ids) - 1, min(SHOWN, len(ids))).astype(int)
    places = np.column_stack([found.variability, found.confidence])[shown]
    counts = np.bincount(found.regions, minlength=len(REGIONS))
    names = tuple(f"{name} {count}" for name, count in zip(REGIONS, counts.tolist(), strict=True))
    none = np.empty(0, dtype=np.int64)
    figure = Points(
        f"Data map of {dataset}", places, found.regions[shown], names, (Panel("", none, none),), ("", ""),
        "variability", "confidence",
    )  # fmt: skip
    rows = zip(ids, *(v.tolist() for v in (found.confidence, found.variability, found.correctness)), strict=True)
    raw = tuple((*row, REGIONS[code]) for row, code in zip(rows, found.regions.tolist(), strict=True))
    told = tuple((name, str(count), f"{count / len(ids):.1%}") for name, count in zip(REGIONS, counts, strict=True))
    columns = ("id", "confidence", "variability", "correctness", "region")
    return figure, Table(("region", "items", "share"), told, columns, raw)


def _shares(run: RunFolder, maps: dict[Key, tuple[list[str], DataMap]], styles: Styles) -> Iterator[Block]:
    for setting, names in acquired_ids(run).items():
        key = next((k for k in maps if k[0] == setting.dataset and belongs(k[1], setting)), None)
        if key is None:
            continue
        ids, found = maps[key]
        place = {name: i for i, name in enumerate(ids)}
        shares = {name: _mean_share(found, place, seeds) for name, seeds in names.items()}
        regions = {
            f"acquired-{region}-{of(setting)}": _region(run, setting, number, shares, styles)
            for number, region in enumerate(REGIONS)
        }
        figures: dict[str, Figure] = {name: figure for name, figure in regions.items() if figure.series}
        if not figures:
            continue
        yield Block(where(setting), figures, {}, {f"acquired-{of(setting)}": _table(run, setting, shares)})


def _mean_share(found: DataMap, place: dict[str, int], seeds: dict[int, list[list[str]]]) -> Float[Array, "R 4"]:
    """Mean over seeds for each round, as far as all of them go; items that the map does not know are left out."""
    rounds = min(map(len, seeds.values()))
    shares = [
        acquired_shares(
            found.regions,
            [np.array([place[name] for name in batch if name in place], dtype=np.int64) for batch in batches[:rounds]],
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
    for name, found in shares.items():
        labels = _labels(run, setting, name, len(found))
        height = found[: len(labels), number]
        known = np.isfinite(height)
        series.append(Series(name, styles[name], np.array(labels)[known], height[known]))
    kept = tuple(one for one in series if len(one.x))
    highest = max((float(one.y.max()) for one in kept), default=0.0)
    return Lines(
        f"{REGIONS[number]}: {setting}", "labels", "share of the batch", kept, y_range=(0.0, max(1.05 * highest, 0.05))
    )


def _table(run: RunFolder, setting: Setting, shares: dict[str, Float[Array, "R 4"]]) -> Table:
    """Mean share over the whole run on the page; every round in the CSV."""
    rows = tuple((name, *(score(float(v)) for v in np.nanmean(found, axis=0))) for name, found in shares.items())
    raw = tuple(
        (name, labels, *found[place].tolist())
        for name, found in shares.items()
        for place, labels in enumerate(_labels(run, setting, name, len(found)))
    )
    return Table(("strategy", *REGIONS), rows, ("strategy", "labels", *REGIONS), raw)
