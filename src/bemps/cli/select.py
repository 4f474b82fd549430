"""`bemps select`: probabilities in, the items to label next out."""

import csv
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated
from zipfile import BadZipFile

import numpy as np
import typer

from bemps.cli.failures import plainly, writable
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
RESERVED = {*ARRAYS, "n", "strategy", "seed"}  # what has a flag of its own
Given = Annotated[Path | None, typer.Option(help=".npy file; see the array of that name below")]


def select(
    probs: Annotated[Path, typer.Argument(help="(E, N, K) probabilities: .npy, or .npz with the arrays named below")],
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
        arrays = _arrays(probs) | {name: _single(path, name) for name, path in files.items() if path is not None}
        options = dict(_option(text) for text in option or [])
        chosen = select_items(n=n, strategy=strategy, seed=seed, **arrays, **options)  # type: ignore[arg-type]
        text = writer(chosen)
        if out is None:
            sys.stdout.write(text)
        else:
            out.write_text(text)


def _arrays(path: Path) -> dict[str, Array | None]:
    """The arrays of the main file: probs alone (.npy), or by name (.npz)."""
    loaded = _load(path, "PROBS")
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
    loaded = _load(path, name)
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


def _load(path: Path, what: str) -> Array | dict[str, Array]:
    """A .npy or .npz file, never unpickled."""
    try:
        with path.open("rb") as file:
            loaded = np.load(file, allow_pickle=False)
            return loaded if isinstance(loaded, np.ndarray) else {name: loaded[name] for name in loaded.files}
    except (OSError, ValueError, EOFError, BadZipFile) as error:
        raise InputError(
            what,
            expected="a .npy or .npz file of numbers",
            got=f"{path}: {error}",
            fix="Check the path, and save arrays with np.save or np.savez.",
        ) from error


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
    except json.JSONDecodeError:
        return name.strip(), value


def _writer(out: Path | None) -> Callable[[Selection], str]:
    if out is not None:
        writable(out)
    if out is None or out.suffix == ".csv":
        return as_csv
    if out.suffix == ".json":
        return as_json
    raise InputError("--out", expected="a file ending in .csv or .json", got=str(out), fix="Choose one of the two.")


def as_csv(chosen: Selection) -> str:
    """Rank, index, score and, where known, the positions that each stands for, separated by spaces."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    header = ["rank", "index", "score"]
    rows.writerow(header if chosen.clusters is None else [*header, "stands_for"])
    for rank, (index, score) in enumerate(zip(chosen.indices.tolist(), chosen.scores.tolist(), strict=True)):
        stands = [] if chosen.clusters is None else [" ".join(map(str, chosen.clusters[rank].tolist()))]
        rows.writerow([rank, index, repr(score), *stands])
    return text.getvalue()


def as_json(chosen: Selection) -> str:
    """One object with indices, scores and clusters."""
    clusters = None if chosen.clusters is None else [cluster.tolist() for cluster in chosen.clusters]
    parts = {"indices": chosen.indices.tolist(), "scores": chosen.scores.tolist(), "clusters": clusters}
    return json.dumps(parts, allow_nan=False) + "\n"
