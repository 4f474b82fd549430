"""A selection as CSV and as JSON."""

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

from bemps.types import Selection


def as_csv(chosen: Selection, ids: Sequence[str] | None = None) -> str:
    """One line for each item, best first: rank, index, score and, where known, id, shard and row.

    `stands_for` is how many candidates an item stands for, itself among them; `cluster` their positions.
    """
    columns = _columns(chosen, ids)
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(columns)
    lines.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def _columns(chosen: Selection, ids: Sequence[str] | None) -> dict[str, Sequence[Any]]:
    columns: dict[str, Sequence[Any]] = {
        "rank": range(len(chosen)),
        "index": chosen.indices.tolist(),
        "score": [repr(score) for score in chosen.scores.tolist()],
    }
    columns |= _places(chosen) or {}
    if ids is not None:
        columns["id"] = [ids[index] for index in chosen.indices.tolist()]
    if chosen.clusters is not None:
        columns["stands_for"] = [len(cluster) for cluster in chosen.clusters]
        columns["cluster"] = [" ".join(map(str, cluster.tolist())) for cluster in chosen.clusters]
    return columns


def as_json(chosen: Selection, ids: Sequence[str] | None = None) -> str:
    """One object with indices, scores, clusters and, where known, ids; from shards shard, row and id of each item."""
    parts: dict[str, Any] = {"indices": chosen.indices.tolist(), "scores": chosen.scores.tolist()}
    places = _places(chosen)
    if places is None:
        parts["clusters"] = None if chosen.clusters is None else [cluster.tolist() for cluster in chosen.clusters]
    else:
        parts["items"] = [dict(zip(places, row, strict=True)) for row in zip(*places.values(), strict=True)]
        parts |= {name: getattr(chosen, name) for name in ("candidates", "sampled", "skipped")}
    if ids is not None:
        parts["ids"] = [ids[index] for index in chosen.indices.tolist()]
    return json.dumps(parts, allow_nan=False) + "\n"


def _places(chosen: Selection) -> dict[str, Sequence[Any]] | None:
    """Where the items of a batch from shards are; None for a batch from one file."""
    shards = getattr(chosen, "shards", None)
    if shards is None:
        return None
    columns: dict[str, Sequence[Any]] = {"shard": shards, "row": chosen.rows.tolist()}  # type: ignore[attr-defined]
    for name, values in (("id", "ids"), ("stands_for", "cluster_sizes")):
        known = getattr(chosen, values)
        if known is not None:
            columns[name] = [value if isinstance(value, str) else int(value) for value in known]
    return columns
