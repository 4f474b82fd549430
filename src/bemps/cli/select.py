"""`bemps select`: probabilities in, the items to label next out."""

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress

from bemps._utils.files import check_output, written_whole
from bemps.acquisition.selection import select as select_items
from bemps.cli.command_errors import print_errors
from bemps.cli.options.shared_arguments import Force, option_value
from bemps.cli.select_files import ARRAYS, read_pool, single_array
from bemps.cli.selection_output import as_csv, as_json
from bemps.cli.terminal_progress import ShownProgress
from bemps.errors import InputError
from bemps.types import Selection

if TYPE_CHECKING:
    from bemps.distributed import PoolSelection

DEFAULT = inspect.signature(select_items).parameters["strategy"].default
# what has a flag of its own
RESERVED = {*ARRAYS, "n", "strategy", "seed", "ids", "labelled", "members", "on", "work", "id", "skip_corrupt"}
ArrayFile = Annotated[Path | None, typer.Option(help=".npy file; see the array of that name above")]
SHOWN_SHARDS = 5  # names of damaged shards on the screen


def select(
    probs: Annotated[
        str,
        typer.Argument(
            help="(E, N, K) probabilities, or (N, K) of one model: .npy, .npz with the arrays named above, or shards "
            "with --on"
        ),
    ],
    n: Annotated[int, typer.Option("--n", "-n", help="how many items to choose")],
    strategy: Annotated[
        str | None, typer.Option(help=f"a name from `bemps strategies` (default: {DEFAULT})", show_default=False)
    ] = None,
    ids: Annotated[
        Path | None,
        typer.Option(help="one id for each item: a text file of one id a line, or .npy", show_default=False),
    ] = None,
    labelled: Annotated[
        Path | None,
        typer.Option(help="a file of items that have a label, which are left out: ids or positions, one a line"),
    ] = None,
    members: Annotated[
        int | None, typer.Option(help="the number of members E, needed with more members than items")
    ] = None,
    weights: ArrayFile = None,
    estimation: ArrayFile = None,
    features: ArrayFile = None,
    embeddings: ArrayFile = None,
    surprisal: ArrayFile = None,
    labelled_features: ArrayFile = None,
    labelled_embeddings: ArrayFile = None,
    labelled_probs: ArrayFile = None,
    labelled_classes: ArrayFile = None,
    estimation_features: ArrayFile = None,
    option: Annotated[
        list[str] | None, typer.Option("--option", "-o", help="an option of the strategy, e.g. -o T=0.3 (repeatable)")
    ] = None,
    seed: Annotated[int, typer.Option(help="the same seed gives the same items")] = 0,
    out: Annotated[Path | None, typer.Option(help="a .csv or .json file; without it CSV on standard output")] = None,
    on: Annotated[
        str | None,
        typer.Option(
            help="compute here, or on Ray: ray, host:port, ray://host:port; PROBS is a folder or URL of Parquet shards"
        ),
    ] = None,
    work: Annotated[
        str | None, typer.Option(help="with --on: folder or URL of what is finished, to go on from it after a stop")
    ] = None,
    id_: Annotated[str | None, typer.Option("--id", help="with --on: a column of ids to report")] = None,
    skip_corrupt: Annotated[bool, typer.Option(help="with --on: leave damaged shards out")] = False,
    force: Force = False,
) -> None:
    """Choose the items to label next from predicted probabilities.

    PROBS holds the predictions of E ensemble members for N unlabelled items over K classes: probabilities, never
    logits. A single model, (N, K), counts as one member. The answer lists positions in the pool, best first, with
    scores and, where there are any, ids. Strategies that cluster also say how many items each one stands for
    (`stands_for`) and which (`cluster`).

    \b
    Arrays (as options, or by name in one .npz):
      weights (E,)                 probability of each member
      estimation (E, M, K)         the same members' predictions at the items whose accuracy matters
      features (N, H)              of the current model: badge, *-km, *-laplace
      embeddings (N, H)            of a pretrained model: bert-km, margin-km, coreset, typiclust, *herding
      surprisal (N, T)             of a masked language model: alps
      ids (N,)                     in a .npz: names of the items, as text; else --ids FILE
      labelled_features (L, H), labelled_embeddings (L, H), labelled_probs (L, K), labelled_classes (L,),
      estimation_features (M, H)

    \b
    Examples:
      bemps select probs.npy -n 50
      bemps select probs.npy -n 50 --strategy corelog --out next.json
      bemps select probs.npy -n 20 --strategy badge --features h.npy --seed 7
      bemps select probs.npy -n 20 --ids ids.txt --labelled done.txt --out next.csv
      bemps select pool.parquet -n 20 --on here --id id
      bemps select s3://bucket/pool -n 100 --on ray://head:10001 --work s3://bucket/work   (docs/howto/cluster.md)
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
        "labelled_classes": labelled_classes,
        "estimation_features": estimation_features,
    }
    with print_errors(select):
        writer = _writer(out)
        if out is not None:
            check_output(out, inputs=[Path(probs), *filter(None, (*files.values(), ids, labelled))], force=force)
        beside = {name: single_array(path, name) for name, path in files.items() if path is not None}
        named = {} if strategy is None else {"strategy": strategy}
        options = dict(_option(text) for text in option or []) | named
        if on is None:
            _refuse_without_on(work, id_, skip_corrupt)
            pool = read_pool(Path(probs), beside, ids=ids, labelled=labelled, members=members)
            selection = select_items(n=n, seed=seed, **pool.arrays, **options)  # type: ignore[arg-type]
            text = writer(pool.named(selection), pool.ids)
        else:
            _refuse_with_on(ids, labelled, members)
            shard_options = {"on": on, "work": work, "id": id_, "skip_corrupt": skip_corrupt}
            batch = _from_shards(probs, n, seed, beside, options | shard_options)
            text = writer(batch, None)
            _say_skipped(batch)
        if out is None:
            sys.stdout.write(text)
        else:
            with written_whole(out) as draft:
                draft.write_text(text, encoding="utf-8")


def _refuse_without_on(work: str | None, id_: str | None, skip_corrupt: bool) -> None:
    options = [name for name, value in (("--work", work), ("--id", id_), ("--skip-corrupt", skip_corrupt)) if value]
    if options:
        fix = (
            "Name the items with --ids FILE."
            if options[0] == "--id"
            else "Add --on ray (or --on here), or leave it out."
        )
        raise InputError(options[0], expected="shards, with --on", got="one file of arrays", fix=fix)


def _refuse_with_on(ids: Path | None, labelled: Path | None, members: int | None) -> None:
    for name, value in (("--ids", ids), ("--labelled", labelled), ("--members", members)):
        if value is not None:
            fix = "With --on, ids are a column of the shards: --id COLUMN." if name == "--ids" else "Leave it out."
            raise InputError(name, expected="one file of arrays", got="shards, with --on", fix=fix)


def _say_skipped(batch: "PoolSelection") -> None:
    """Name the damaged shards that were left out, and say what positions count."""
    if not batch.skipped:
        return
    names = ", ".join(batch.skipped[:SHOWN_SHARDS]) + (", ..." if len(batch.skipped) > SHOWN_SHARDS else "")
    positions = "index counts their items too."
    if batch.uncounted:
        positions = "How many items they hold is not known, so index is left out. Use shard and row, or --id COLUMN."
    typer.echo(f"Damaged shards left out: {len(batch.skipped)} ({names}). {positions}", err=True)


def _from_shards(source: str, n: int, seed: int, arrays: Mapping[str, Any], options: dict[str, Any]) -> "PoolSelection":
    """From Parquet shards, with a bar on the terminal."""
    from bemps.distributed import select as select_from_shards

    other = sorted(set(arrays) - {"weights", "estimation"})
    if other:
        fix = "Strategies on shards need probabilities alone."
        raise InputError(f"--{other[0]}", expected="only --weights and --estimation with --on", got=other[0], fix=fix)
    with Progress(console=Console(stderr=True, soft_wrap=True), transient=True) as bar:
        return select_from_shards(source, None, n, seed=seed, watcher=ShownProgress(bar), **arrays, **options)


def _option(text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if not equals or name.strip() in RESERVED:
        raise InputError(
            "--option",
            expected="NAME=VALUE with an option of the strategy",
            got=repr(text),
            fix="For example: --option T=0.3. Where bemps select has a flag, use the flag.",
        )
    return name.strip(), option_value(value)


def _writer(out: Path | None) -> Callable[[Selection, Sequence[str] | None], str]:
    if out is None or out.suffix.lower() == ".csv":
        return as_csv
    if out.suffix.lower() == ".json":
        return as_json
    raise InputError("--out", expected="a file ending in .csv or .json", got=str(out), fix="Choose one of the two.")
