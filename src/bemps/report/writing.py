"""`write_report`: the page into the folder of a run, figures and tables into its folder `report`."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from bemps.errors import InputError
from bemps.report import png
from bemps.report.blocks import Section
from bemps.report.page import page
from bemps.report.sections import about, calibration, comparison, costs, curves, data_maps, projections
from bemps.report.style import Styles
from bemps.report.svg import draw
from bemps.statistics import RunFolder, read_run

PARTS = (
    curves.section,
    comparison.section,
    calibration.section,
    data_maps.section,
    projections.section,
    costs.section,
    about.section,
)
Progress = Callable[[str], None]


def write_report(path: str | os.PathLike[str], *, images: bool = True, progress: Progress | None = None) -> Path:
    """Write report.html, and report/*.svg, *.csv and, where matplotlib is installed and `images`, *.png.

    Files of an earlier report are replaced. Returns the path of the page.
    """
    tell = progress or (lambda words: None)
    tell("reading")
    run = read_run(path)
    sections = sections_of(run, tell)
    endings = ["svg", "csv", *(["png"] if images and png.available() else [])]
    try:
        _write_files(run.path / "report", sections, endings, tell)
        target = run.path / "report.html"
        _write(target, page(f"bemps: {run.path.resolve().name}", _lead(run), sections, endings))
    except OSError as error:
        raise InputError(
            str(run.path),
            expected="a folder that can be written to",
            got=str(error),
            fix="Make room or give write permission, then run `bemps report` again.",
        ) from error
    return target


def sections_of(run: RunFolder, tell: Progress) -> list[Section]:
    """Everything that the data allow."""
    styles = Styles(run.results.contestants)
    found = []
    for part in PARTS:
        tell(part.__module__.rsplit(".", 1)[1].replace("_", " "))
        section = part(run, styles)
        if section is not None:
            found.append(section)
    return found


def _lead(run: RunFolder) -> str:
    places = run.results.curves
    datasets = dict.fromkeys(place.dataset for place in places)
    seeds = {seed for found in places.values() for curve in found.values() for seed in curve.seeds}
    strategies = ", ".join(run.results.contestants)
    return f"{', '.join(datasets)}. {len(seeds)} seed{'s' * (len(seeds) > 1)}. Compared: {strategies}."


def _write_files(folder: Path, sections: list[Section], endings: list[str], tell: Progress) -> None:
    folder.mkdir(exist_ok=True)
    for old in _own_files(folder):
        old.unlink()
    blocks = [block for section in sections for block in section.blocks]
    figures = {name: figure for block in blocks for name, figure in block.figures.items()}
    for place, (name, figure) in enumerate(figures.items(), start=1):
        tell(f"figure {place} of {len(figures)}")
        _write(folder / f"{name}.svg", draw(figure, alone=True))
        if "png" in endings:
            png.save(figure, folder / f"{name}.png")
    for block in blocks:
        for name, table in (block.tables | block.folded).items():
            _write(folder / f"{name}.csv", table.csv())


def _own_files(folder: Path) -> Iterator[Path]:
    for ending in ("svg", "png", "csv"):
        yield from folder.glob(f"*.{ending}")


def _write(path: Path, text: str) -> None:
    """Whole or not at all: a reader never meets half a page."""
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)
