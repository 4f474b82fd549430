"""`bemps select`: probabilities in, the items to label next out."""

import csv
import io
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import Progress

from bemps._io import check_output, written_whole
from bemps.cli.arguments import Force
from bemps.cli.failures import plainly
from bemps.data.arrays import read_arrays
from bemps.errors import InputError
from bemps.selection import select as select_items
from bemps.types import Array, Selection

ARRAYS = (
    "probs",
    "weights",
    "estimation",
    "features",
    "embeddings",
    "surprisal",
    "labelled_features",
    "labelled_embeddings",
    "labelled_probs",
    "estimation_features",
)
RESERVED = {*ARRAYS, "n", "strategy", "seed", "on", "work", "id", "skip_corrupt"}  # what has a flag of its own
Given = Annotated[Path | None, typer.Option(help=".npy file; see the array of that name below")]


def select(
    probs: Annotated[
        str,
        typer.Argument(help="(E, N, K) probabilities: .npy, .npz with the arrays named below, or shards with --on"),
    ],
    n: Annotated[int, typer.Option("--n", "-n", help="how many items to choose")],
    strategy: Annotated[str, typer.Option(help="a name from `bemps strategies`")] = "coremse",
    weights: Given = None,
    estimation: Given = None,
    features: Given = None,
    embeddings: Given = None,
    surprisal: Given = None,
    labelled_features: Given = None,
    labelled_embeddings: Given = None,
    labelled_probs: Given = None,
    estimation_features: Given = None,
    option: Annotated[
        list[str] | None, typer.Option("--option", "-o", help="the strategy's own, e.g. -o T=0.3 (repeatable)")
    ] = None,
    seed: Annotated[int, typer.Option(help="the same seed gives the same items")] = 0,
    out: Annotated[Path | None, typer.Option(help="a .csv or .json file; standard output as CSV if left out")] = None,
    on: Annotated[
        str | None,
        typer.Option(help="PROBS is a folder or URL of Parquet shards: ray, host:port, ray://host:port, or here"),
    ] = None,
    work: Annotated[str | None, typer.Option(help="with --on: folder or URL to go on from after a stop")] = None,
    id_: Annotated[str | None, typer.Option("--id", help="with --on: a column of ids to report")] = None,
    skip_corrupt: Annotated[bool, typer.Option(help="with --on: leave damaged shards out")] = False,
    force: Force = False,
) -> None:
    """Choose the items to label next from predicted probabilities.

    PROBS holds the predictions of E ensemble members for N unlabelled items over K classes: probabilities, never
    logits. The answer lists positions in the pool, best first, each with its score and, for strategies that cluster,
    the positions that it stands for.

    \b
    Arrays (as options, or by name in one .npz):
      weights (E,)                 probability of each member
      estimation (E, M, K)         the same members' predictions at the items whose accuracy matters
      features (N, H)              of the current model: badge, *-km, *-laplace
      embeddings (N, H)            of a pretrained model: bert-km, margin-km, coreset, typiclust
      surprisal (N, T)             of a masked language model: alps
      labelled_features (L, H), labelled_embeddings (L, H), labelled_probs (L, K), estimation_features (M, H)

    \b
    Examples:
      bemps select probs.npy -n 50
      bemps select probs.npy -n 50 --strategy corelog --out next.json
      bemps select probs.npy -n 20 --strategy badge --features h.npy --seed 7
      bemps select s3://bucket/pool -n 100 --on ray://head:10001 --work s3://bucket/work   (docs/scale.md)
    """
    files = {
        "weights": weights,
        "estimation": estimation,
        "features": features,
        "embeddings": embeddings,
        "surprisal": surprisal,
        "labelled_features": labelled_features,
        "labelled_embeddings": labelled_embeddings,
        "labelled_probs": labelled_probs,
        "estimation_features": estimation_features,
    }
    with plainly():
        writer = _writer(out)
        if out is not None:
            check_output(out, inputs=[Path(probs), *filter(None, files.values())], force=force)
        beside = {name: _single(path, name) for name, path in files.items() if path is not None}
        options = dict(_option(text) for text in option or [])
        if on is None:
            _refuse_without_on(work, id_, skip_corrupt)
            chosen = select_items(n=n, strategy=strategy, seed=seed, **_arrays(Path(probs)) | beside, **options)  # type: ignore[arg-type]
        else:
            places = {"on": on, "work": work, "id": id_, "skip_corrupt": skip_corrupt}
            chosen = _from_shards(probs, n, strategy, seed, beside, options | places)
        text = writer(chosen)
        if out is None:
            sys.stdout.write(text)
        else:
            with written_whole(out) as draft:
                draft.write_text(text, encoding="utf-8")


def _refuse_without_on(work: str | None, id_: str | None, skip_corrupt: bool) -> None:
    given = [name for name, value in (("--work", work), ("--id", id_), ("--skip-corrupt", skip_corrupt)) if value]
    if given:
        fix = "Add --on ray (or --on here), or leave it out."
        raise InputError(given[0], expected="shards, with --on", got="one file of arrays", fix=fix)


def _from_shards(
    source: str, n: int, strategy: str, seed: int, arrays: Mapping[str, Any], options: dict[str, Any]
) -> Selection:
    """From Parquet shards, with a bar on the terminal."""
    from bemps.cli.run import Shown
    from bemps.distributed import select as select_from_shards

    other = sorted(set(arrays) - {"weights", "estimation"})
    if other:
        fix = "Strategies on shards need probabilities alone."
        raise InputError(f"--{other[0]}", expected="only --weights and --estimation with --on", got=other[0], fix=fix)
    with Progress(console=Console(stderr=True, soft_wrap=True), transient=True) as bar:
        return select_from_shards(source, None, n, strategy, seed=seed, watcher=Shown(bar), **arrays, **options)


def _arrays(path: Path) -> dict[str, Array | None]:
    """The arrays of the main file: probs alone (.npy), or by name (.npz)."""
    loaded = read_arrays(path, "PROBS")
    if isinstance(loaded, np.ndarray):
        return {"probs": loaded}
    if not loaded or set(loaded) - set(ARRAYS):
        raise InputError(
            str(path),
            expected=f"arrays named {', '.join(ARRAYS)}",
            got=", ".join(sorted(loaded)) or "no array",
            fix="Save it with np.savez(file, probs=..., features=...).",
        )
    return {"probs": None} | loaded


def _single(path: Path, name: str) -> Array:
    loaded = read_arrays(path, f"--{name.replace('_', '-')}")
    if isinstance(loaded, np.ndarray):
        return loaded
    if name in loaded or len(loaded) == 1:
        return loaded.get(name, next(iter(loaded.values())))
    raise InputError(
        str(path),
        expected=f"one array, or one named {name}",
        got=", ".join(sorted(loaded)) or "no array",
        fix="Save it with np.save.",
    )


def _option(text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if not equals or name.strip() in RESERVED:
        raise InputError(
            "--option",
            expected="NAME=VALUE with an option of the strategy",
            got=repr(text),
            fix="For example: --option T=0.3; what bemps select has a flag for is given by that.",
        )
    try:
        return name.strip(), json.loads(value)
    except (ValueError, RecursionError):
        return name.strip(), value


def _writer(out: Path | None) -> Callable[[Selection], str]:
    if out is None or out.suffix == ".csv":
        return as_csv
    if out.suffix == ".json":
        return as_json
    raise InputError("--out", expected="a file ending in .csv or .json", got=str(out), fix="Choose one of the two.")


def as_csv(chosen: Selection) -> str:
    """Rank, index, score and, where known, shard, row and id, or the positions that each stands for."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    further = _places(chosen)
    if further is None:
        spaced = [[" ".join(map(str, cluster.tolist()))] for cluster in chosen.clusters or ()]
        further = [] if chosen.clusters is None else ["stands_for"], spaced or [[] for _ in chosen.indices]
    rows.writerow(["rank", "index", "score", *further[0]])
    for rank, (index, score) in enumerate(zip(chosen.indices.tolist(), chosen.scores.tolist(), strict=True)):
        rows.writerow([rank, index, repr(score), *further[1][rank]])
    return text.getvalue()


def as_json(chosen: Selection) -> str:
    """One object with indices, scores and clusters; from shards, with shard, row and id of each item instead."""
    parts: dict[str, Any] = {"indices": chosen.indices.tolist(), "scores": chosen.scores.tolist()}
    further = _places(chosen)
    if further is None:
        parts["clusters"] = None if chosen.clusters is None else [cluster.tolist() for cluster in chosen.clusters]
    else:
        parts["items"] = [dict(zip(further[0], row, strict=True)) for row in further[1]]
        parts |= {name: getattr(chosen, name) for name in ("candidates", "sampled", "skipped")}
    return json.dumps(parts, allow_nan=False) + "\n"


def _places(chosen: Selection) -> tuple[list[str], list[list[Any]]] | None:
    """Where the items of a batch from shards are: the names of the columns, and a row for each."""
    shards = getattr(chosen, "shards", None)
    if shards is None:
        return None
    columns: dict[str, Any] = {"shard": shards, "row": chosen.rows.tolist()}  # type: ignore[attr-defined]
    for name, values in (("id", "ids"), ("stands_for", "cluster_sizes")):
        found = getattr(chosen, values)
        if found is not None:
            columns[name] = [value if isinstance(value, str) else int(value) for value in found]
    return list(columns), [list(row) for row in zip(*columns.values(), strict=True)]
