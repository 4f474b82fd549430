"""`bemps run`: a grid of experiments with the true labels, from flags or a TOML file."""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from bemps.cli.command_errors import command_line, print_errors
from bemps.cli.options.shared_arguments import option_value
from bemps.cli.terminal_progress import ShownProgress
from bemps.errors import InputError
from bemps.experiments.run_errors import Failure
from bemps.experiments.workers import Executor
from bemps.models.model_registry import grid_models

DATA, GRID, RUN = "Data", "Grid", "Run"


def run(
    file: Annotated[Path | None, typer.Argument(help="a TOML file with the settings; flags override it")] = None,
    dataset: Annotated[
        list[str] | None,
        typer.Option(help="a known name, or a labelled file of your own (repeatable)", rich_help_panel=DATA),
    ] = None,
    text: Annotated[str | None, typer.Option(help="your file: column of the texts", rich_help_panel=DATA)] = None,
    image: Annotated[str | None, typer.Option(help="your file: column of image paths", rich_help_panel=DATA)] = None,
    label: Annotated[
        str | None,
        typer.Option(help="your file: column of the labels; `folder` in a folder of images", rich_help_panel=DATA),
    ] = None,
    id_: Annotated[str | None, typer.Option("--id", help="your file: column of ids", rich_help_panel=DATA)] = None,
    test: Annotated[
        str | None, typer.Option(help="a second file to test on; without it a part of your file", rich_help_panel=DATA)
    ] = None,
    holdout: Annotated[
        float | None, typer.Option(help="your file: the share to test on (default: 0.2)", rich_help_panel=DATA)
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option(help="your file: separator of a CSV, if not a comma", rich_help_panel=DATA)
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(help="your file: its encoding, if not UTF-8", rich_help_panel=DATA)
    ] = None,
    data_dir: Annotated[
        str | None, typer.Option(help="folder of the known datasets (default: BEMPS_DATA)", rich_help_panel=DATA)
    ] = None,
    max_pool: Annotated[
        int | None, typer.Option(help="at most this many items of each pool", rich_help_panel=DATA)
    ] = None,
    max_test: Annotated[
        int | None, typer.Option(help="at most this many items of each test set", rich_help_panel=DATA)
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(help=f"{', '.join(grid_models())}; several with commas, or repeated", rich_help_panel=GRID),
    ] = None,
    strategies: Annotated[
        list[str] | None,
        typer.Option(
            help="names from `bemps strategies` or of the plugin, with commas, or repeated", rich_help_panel=GRID
        ),
    ] = None,
    batch_size: Annotated[
        list[str] | None, typer.Option(help="labels per round, e.g. 10 or 1,10,50", rich_help_panel=GRID)
    ] = None,
    budget: Annotated[
        int | None, typer.Option(help="labels acquired beyond the initial ones (default: 100)", rich_help_panel=GRID)
    ] = None,
    initial: Annotated[
        int | None,
        typer.Option(help="labels at the start (default: 26 for texts, 20 otherwise)", rich_help_panel=GRID),
    ] = None,
    seeds: Annotated[
        str | None, typer.Option(help="how many seeds (default: 5), or which: 3,4", rich_help_panel=GRID)
    ] = None,
    axis: Annotated[
        list[str] | None, typer.Option(help="a further axis, e.g. --axis T=0.3,0.5 (repeatable)", rich_help_panel=GRID)
    ] = None,
    full: Annotated[
        bool | None,
        typer.Option(
            "--full/--no-full",
            help="also train on the whole pool, as the line to reach (default: yes)",
            rich_help_panel=GRID,
        ),
    ] = None,
    plugin: Annotated[
        str | None, typer.Option(help="a Python file with strategies of your own", rich_help_panel=GRID)
    ] = None,
    out: Annotated[Path | None, typer.Option(help="folder of the results", rich_help_panel=RUN)] = None,
    shared: Annotated[
        Path | None, typer.Option(help="folder for data and vectors that several runs use", rich_help_panel=RUN)
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(help="cells at a time (default: one for each core)", rich_help_panel=RUN)
    ] = None,
    on: Annotated[
        str | None,
        typer.Option(
            help="compute on Ray: ray, host:port or ray://host:port (docs/howto/cluster.md)", rich_help_panel=RUN
        ),
    ] = None,
) -> None:
    """Compare strategies on labelled data: every dataset x model x strategy x batch size x seed.

    The true labels play the annotator. Each round is on the disk before the next one starts. Stop with Ctrl-C, run the
    same command again, and it goes on to the same results. docs/reference/experiments.md says what is in the files.

    \b
    Examples:
      bemps run --dataset digits --strategies coremse,margin,random --batch-size 10 --budget 100 --seeds 5 --out runs/digits
      bemps run --dataset my.csv --text body --label topic --strategies coremse,random --out runs/mine
      bemps run --dataset digits --plugin my.py --strategies mine,random --out runs/plugin
      bemps run --dataset digits --strategies coremse --axis T=0.3,0.5,1.0 --out runs/ablation
      bemps run experiment.toml --jobs 2
      bemps run experiment.toml --on ray://head:10001

    \b
    The same as a file, experiment.toml (every setting is a value or a list; names are those of the flags):
      out = "runs/paper"
      dataset = ["digits", {path = "my.csv", text = "body", label = "topic"}]
      model = ["logistic", "heads"]
      strategies = ["coremse", "corelog", "margin", "random"]
      batch_size = [10, 50]
      budget = 500
      seeds = 5
      # ablations: options of models and strategies, each a list
      axes.members = [5, 10]
      axes.T = [0.3, 0.5]
      axes.estimation_size = [200, 1000]
    """  # noqa: E501
    flags = {
        **{"dataset": dataset, "text": text, "image": image, "label": label, "id": id_, "test": test},
        **{"holdout": holdout, "delimiter": delimiter, "encoding": encoding},
        **{
            "data_dir": data_dir,
            "max_pool": max_pool,
            "max_test": max_test,
            "budget": budget,
            "initial": initial,
            "full": full,
        },
        **{"model": _split(model) if model else None, "plugin": plugin},
        "strategies": _split(strategies) if strategies else None,
        **{"batch_size": _values(batch_size) if batch_size else None, "seeds": _seeds(seeds), "axes": _axes(axis)},
        **{"out": None if out is None else str(out), "jobs": jobs},
        **{"shared": None if shared is None else str(shared), "on": on},
    }
    with print_errors(run):
        run_shown({name: value for name, value in flags.items() if value is not None}, file)


def run_shown(flags: dict[str, Any], file: Path | None = None) -> None:
    """Run the settings of a file and of flags, which go first, with a bar on the terminal."""
    from bemps.experiments import config_of, read_toml
    from bemps.experiments import run as run_experiment

    written = read_toml(file) if file is not None else {}
    settings = written | flags
    if isinstance(written.get("axes"), dict) and "axes" in flags:
        settings["axes"] = written["axes"] | flags["axes"]  # an axis of a flag replaces the axis of the same name only
    out, jobs = settings.pop("out", None), settings.pop("jobs", None)
    data_dir, shared = settings.pop("data_dir", None), settings.pop("shared", None)
    on = settings.pop("on", None)
    for name, value in (("data_dir", data_dir), ("shared", shared), ("on", on)):
        if value is not None and not isinstance(value, str):
            raise InputError(name, expected="a text", got=repr(value)[:60], fix="Correct it.")
    if not isinstance(out, str):
        raise InputError(
            "--out", expected="a folder for the results", got=repr(out), fix="For example: --out runs/digits"
        )
    jobs = _jobs(jobs)
    executor = None if on is None else _on_ray(str(on), jobs)
    config = config_of(settings)
    console = Console(soft_wrap=True)
    with _stoppable(console, out), _bar(console) as bar:
        outcome = run_experiment(
            config, out, jobs=jobs, executor=executor, data_dir=data_dir, shared=shared, watcher=ShownProgress(bar)
        )
    _report_failures(outcome.failures)
    console.print(f"{outcome.rounds} of {outcome.planned} rounds: [bold]{out}[/]/results.parquet", highlight=False)
    if outcome.failures:
        raise typer.Exit(1)


def _on_ray(on: str, jobs: int) -> Executor:
    from bemps.distributed import Cluster, RayCells

    return RayCells(Cluster.parse(on), jobs)


def _bar(console: Console) -> Progress:
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    # cells differ in speed: an estimate over the last minutes is steadier than one over seconds
    return Progress(*columns, TextColumn("left"), TimeRemainingColumn(), console=console, speed_estimate_period=300)


@contextmanager
def _stoppable(console: Console, out: str) -> Iterator[None]:
    """On Ctrl-C, say what is saved and how to continue."""
    start = time.monotonic()
    try:
        yield
    except KeyboardInterrupt:
        console.print(
            f"Stopped after {time.monotonic() - start:.0f} s. Every finished round is safe in {out}; to continue:\n"
            f"  {command_line()}",
            markup=False,
            highlight=False,
        )
        raise typer.Exit(130) from None


def _report_failures(failures: tuple[Failure, ...]) -> None:
    """Each cause once, with the cells that ended in it; a traceback only of what bemps does not refuse itself."""
    console = Console(stderr=True, soft_wrap=True)
    causes: dict[str, list[Failure]] = {}
    for failure in failures:
        causes.setdefault(failure.cause, []).append(failure)
    for same in causes.values():
        console.print(f"[red]failed:[/] {len(same)} cell(s)", highlight=False)
        for failure in same:
            console.print("  " + _words(failure.key), markup=False, highlight=False)
        console.print(same[0].refusal or same[0].traceback, markup=False, highlight=False)


def _words(key: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in key.items())


def _jobs(jobs: object) -> int:
    if jobs is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        raise InputError("--jobs", expected="a whole number, 1 or more", got=repr(jobs), fix="Correct it.")
    return jobs


def _split(texts: list[str]) -> list[str]:
    """The parts between commas of a flag that may be repeated."""
    return [part.strip() for text in texts for part in text.split(",") if part.strip()]


def _values(texts: list[str]) -> list[Any]:
    """The same as values: numbers, true and false as such, everything else as text."""
    return [option_value(part) for part in _split(texts)]


def _seeds(text: str | None) -> Any:
    """`5` is five seeds, `5,` and `3,7` are those seeds."""
    if text is None:
        return None
    values = _values([text])
    return values[0] if len(values) == 1 and "," not in text else values


def _axes(texts: list[str] | None) -> dict[str, list[Any]] | None:
    if texts is None:
        return None
    axes: dict[str, list[Any]] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        if not equals:
            raise typer.BadParameter(f"expected NAME=VALUE,VALUE; got {text!r}. For example: --axis T=0.3,0.5")
        axes.setdefault(name.strip(), []).extend(_values([values]))
    return axes
