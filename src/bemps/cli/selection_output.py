"""A selection as CSV and as JSON."""

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

from bemps.types import Selection


def as_csv(selection: Selection, ids: Sequence[str] | None = None) -> str:
    """One line for each item, best first: rank, score and, where known, index, id, shard and row.

    `stands_for` is how many candidates an item stands for, itself among them; `cluster` their positions.
    """
    columns = _columns(selection, ids)
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(columns)
    lines.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def _columns(selection: Selection, ids: Sequence[str] | None) -> dict[str, Sequence[Any]]:
    columns: dict[str, Sequence[Any]] = {"rank": range(len(selection))}
    if _has_positions(selection):
        columns["index"] = selection.indices.tolist()
    columns["score"] = [repr(score) for score in selection.scores.tolist()]
    columns |= _locations(selection) or {}
    if ids is not None:
        columns["id"] = [ids[index] for index in selection.indices.tolist()]
    if selection.clusters is not None:
        columns["stands_for"] = [len(cluster) for cluster in selection.clusters]
    if selection.clusters is not None and _has_positions(selection):
        columns["cluster"] = [" ".join(map(str, cluster.tolist())) for cluster in selection.clusters]
    return columns


def as_json(selection: Selection, ids: Sequence[str] | None = None) -> str:
    """One object with indices, scores, clusters and, where known, ids; from shards shard, row and id of each item."""
    indices = selection.indices.tolist() if _has_positions(selection) else None
    parts: dict[str, Any] = {"indices": indices, "scores": selection.scores.tolist()}
    locations = _locations(selection)
    if locations is None:
        parts["clusters"] = None if selection.clusters is None else [cluster.tolist() for cluster in selection.clusters]
    else:
        parts["items"] = [dict(zip(locations, row, strict=True)) for row in zip(*locations.values(), strict=True)]
        parts |= {name: getattr(selection, name) for name in ("candidates", "sampled", "skipped")}
    if ids is not None:
        parts["ids"] = [ids[index] for index in selection.indices.tolist()]
    return json.dumps(parts, allow_nan=False) + "\n"


def _has_positions(selection: Selection) -> bool:
    """Whether positions in the whole pool are known: not where it is unknown how many rows a skipped shard has."""
    return not getattr(selection, "uncounted", ())


def _locations(selection: Selection) -> dict[str, Sequence[Any]] | None:
    """Where the items of a batch from shards are; None for a batch from one file."""
    shards = getattr(selection, "shards", None)
    if shards is None:
        return None
    columns: dict[str, Sequence[Any]] = {"shard": shards, "row": selection.rows.tolist()}  # type: ignore[attr-defined]
    for name, values in (("id", "ids"), ("stands_for", "cluster_sizes")):
        known = getattr(selection, values)
        if known is not None:
            columns[name] = [value if isinstance(value, str) else int(value) for value in known]
    return columns
