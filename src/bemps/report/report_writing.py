"""`write_report`: the page of a run, and its figures and tables in the folder `report`."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bemps._utils.files import check_output, folder_kind, mark_folder, marker_lines, written_whole
from bemps._utils.protected_files import PAGE
from bemps.errors import InputError
from bemps.report.blocks import Section
from bemps.report.page import SIGNATURE, page
from bemps.report.sections import about, calibration, comparison, costs, curves, data_map_figures, projections
from bemps.report.style import Styles
from bemps.report.svg.svg_figure import draw
from bemps.results import RunFolder, read_run
from bemps.results.run_analysis import analyse_run

SECTION_MAKERS: tuple[Callable[..., Section | None], ...] = (
    curves.section,
    comparison.section,
    calibration.section,
    data_map_figures.section,
    projections.section,
    costs.section,
    about.section,
)
ProgressFunction = Callable[[str], None]
KIND = "report"  # what the marker of the folder of figures says; its other lines are the files that belong to it


def write_report(
    path: str | os.PathLike[str],
    *,
    band: str = curves.AUTO,
    progress: ProgressFunction | None = None,
    force: bool = False,
) -> Path:
    """Write report.html, report/*.svg and report/*.csv.

    Parameters
    ----------
    path : str or path
        The folder of a run. Files of an earlier report are replaced.
    band : str
        Around the mean of the learning curves: "95" for the confidence interval, "se" for one standard error, "auto"
        for "se" where there are fewer than five seeds.
    progress : function of a str, optional
        Called with what is being done.
    force : bool
        Whether to replace a report.html that bemps did not write.

    Returns
    -------
    Path
        The page.
    """
    report_progress = progress or (lambda words: None)
    report_progress("reading")
    run = read_run(path)
    _check_targets(run.path / "report", run.path / "report.html", force)
    sections = sections_of(run, report_progress, band)
    try:
        _write_files(run.path / "report", sections, report_progress)
        target = run.path / "report.html"
        _write(target, page(f"bemps: {run.path.resolve().name}", _lead(run), sections))
    except OSError as error:
        raise InputError(
            str(run.path),
            expected="a folder that can be written to",
            got=str(error),
            fix="Make room or give write permission, then run `bemps report` again.",
        ) from error
    return target


def _check_targets(folder: Path, target: Path, force: bool) -> None:
    """Refuse to replace anything but an earlier report, which needs no force."""
    ours = target.is_file() and SIGNATURE in target.read_text(encoding="utf-8", errors="replace")
    if not (ours and folder.is_dir() and folder_kind(folder) is None):  # so earlier releases left it
        check_output(folder, option="report", folder=KIND, resume=True)
    check_output(target, option="report", file=PAGE, force=force or ours)


def sections_of(run: RunFolder, report_progress: ProgressFunction, band: str = curves.AUTO) -> list[Section]:
    """Make every section that the data of a run allow.

    Parameters
    ----------
    run : RunFolder
        The run.
    report_progress : callable
        Is called with words for what is being done.
    band : str
        As in `write_report`.

    Returns
    -------
    list of Section
        The sections.
    """
    styles, analysis = Styles(run.results.contestants), analyse_run(run, report_progress)
    further: dict[Any, tuple[Any, ...]] = {
        curves.section: (band,),
        data_map_figures.section: (analysis,),
        projections.section: (analysis,),
    }
    sections = []
    for part in SECTION_MAKERS:
        report_progress(part.__module__.rsplit(".", 1)[1].replace("_", " "))
        section = part(run, styles, *further.get(part, ()))
        if section is not None:
            sections.append(section)
    return sections


def _lead(run: RunFolder) -> str:
    curves_by_setting = run.results.curves
    datasets = dict.fromkeys(setting.dataset for setting in curves_by_setting)
    seeds = {seed for by_name in curves_by_setting.values() for curve in by_name.values() for seed in curve.seeds}
    strategies = ", ".join(run.results.contestants)
    return f"{', '.join(datasets)}. {len(seeds)} seed{'s' * (len(seeds) > 1)}. Compared: {strategies}."


def _write_files(folder: Path, sections: list[Section], report_progress: ProgressFunction) -> None:
    blocks = [block for section in sections for block in section.blocks]
    figures = {name: figure for block in blocks for name, figure in block.figures.items()}
    tables = {name: table for block in blocks for name, table in (block.tables | block.folded).items()}
    _clear(folder, [*(f"{name}.svg" for name in figures), *(f"{name}.csv" for name in tables)])
    for number, (name, figure) in enumerate(figures.items(), start=1):
        report_progress(f"figure {number} of {len(figures)}")
        _write(folder / f"{name}.svg", draw(figure, alone=True))
    for name, table in tables.items():
        _write(folder / f"{name}.csv", table.csv())


def _clear(folder: Path, names: list[str]) -> None:
    """Remove the files of the earlier report, and note those of the new one. Other files stay."""
    folder.mkdir(exist_ok=True)
    for name in marker_lines(folder)[1:]:
        if Path(name).name == name:
            (folder / name).unlink(missing_ok=True)
    mark_folder(folder, KIND, *names)


def _write(path: Path, text: str) -> None:
    """Write a file atomically: a reader never sees half a page."""
    with written_whole(path) as draft:
        draft.write_text(text, encoding="utf-8")
