"""`write_report`: the page into the folder of a run, figures and tables into its folder `report`."""

import os
from collections.abc import Callable
from pathlib import Path

from bemps._io import check_output, folder_kind, mark_folder, marker_lines, written_whole
from bemps.errors import InputError
from bemps.report import png
from bemps.report.blocks import Section
from bemps.report.page import SIGNATURE, page
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
KIND = "report"  # what the marker of the folder of figures says; its other lines are the files that belong to it


def write_report(
    path: str | os.PathLike[str],
    *,
    images: bool = True,
    band: str = curves.AUTO,
    progress: Progress | None = None,
    force: bool = False,
) -> Path:
    """Write report.html, and report/*.svg, *.csv and, where matplotlib is installed and `images`, *.png.

    Parameters
    ----------
    path
        The folder of a run. Files of an earlier report are replaced.
    images
        Whether to write every figure as PNG too.
    band
        Around the mean of the learning curves: "95" for the confidence interval, "se" for one standard error, "auto"
        for "se" where there are fewer than five seeds.
    progress
        Called with what is being done.
    force
        Whether to replace a report.html that bemps did not write.

    Returns
    -------
    Path
        The page.
    """
    tell = progress or (lambda words: None)
    tell("reading")
    run = read_run(path)
    _check_places(run.path / "report", run.path / "report.html", force)
    sections = sections_of(run, tell, band)
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


def _check_places(folder: Path, target: Path, force: bool) -> None:
    """A report is made anew without a question; what is not a report stays as it is."""
    ours = target.is_file() and SIGNATURE in target.read_text(encoding="utf-8", errors="replace")
    if not (ours and folder.is_dir() and folder_kind(folder) is None):  # so earlier releases left it
        check_output(folder, folder=KIND, resume=True)
    check_output(target, force=force or ours)


def sections_of(run: RunFolder, tell: Progress, band: str = curves.AUTO) -> list[Section]:
    """Everything that the data allow."""
    styles = Styles(run.results.contestants)
    found = []
    for part in PARTS:
        tell(part.__module__.rsplit(".", 1)[1].replace("_", " "))
        section = curves.section(run, styles, band) if part is curves.section else part(run, styles)
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
    blocks = [block for section in sections for block in section.blocks]
    figures = {name: figure for block in blocks for name, figure in block.figures.items()}
    tables = {name: table for block in blocks for name, table in (block.tables | block.folded).items()}
    drawings = [f"{name}.{ending}" for name in figures for ending in endings if ending != "csv"]
    _clear(folder, [*drawings, *(f"{name}.csv" for name in tables)])
    for place, (name, figure) in enumerate(figures.items(), start=1):
        tell(f"figure {place} of {len(figures)}")
        _write(folder / f"{name}.svg", draw(figure, alone=True))
        if "png" in endings:
            png.save(figure, folder / f"{name}.png")
    for name, table in tables.items():
        _write(folder / f"{name}.csv", table.csv())


def _clear(folder: Path, names: list[str]) -> None:
    """Take away what the earlier report noted as its own, and note what will be there: files of others stay."""
    folder.mkdir(exist_ok=True)
    for name in marker_lines(folder)[1:]:
        if Path(name).name == name:
            (folder / name).unlink(missing_ok=True)
    mark_folder(folder, KIND, *names)


def _write(path: Path, text: str) -> None:
    """Whole or not at all: a reader never meets half a page."""
    with written_whole(path) as draft:
        draft.write_text(text, encoding="utf-8")
