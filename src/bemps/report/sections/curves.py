"""The section of learning curves: figures, area, final score, labels needed and saved."""

from collections.abc import Iterator

import numpy as np

from bemps.errors import unknown_name
from bemps.report.blocks import Block, Section, file_stem, filters_of, setting_stem
from bemps.report.figures import Lines, Series, evenly_spaced
from bemps.report.formatting import interval_words, p_value, percent, score
from bemps.report.html_tables import Table
from bemps.report.style import Styles
from bemps.results import (
    METRICS,
    Curve,
    PairTest,
    Results,
    RunFolder,
    Saving,
    Setting,
    area_under_curve,
    paired_tests,
    saving,
)
from bemps.results.learning_curves import interval

LEAD = "Mean over seeds after every round, with {band}. Point at a curve for the values."
AUTO = "auto"
BANDS = {
    "95": "its 95 % confidence band",
    "se": "one standard error to each side (of few seeds a 95 % band would cover the figure; the tables have it)",
}
ENOUGH_SEEDS = 5
DASHED = " The dashed line is the classifier trained on all labels."


def section(run: RunFolder, styles: Styles, band: str = AUTO) -> Section:
    """Make a block for every setting and metric.

    Parameters
    ----------
    run : RunFolder
        The run.
    styles : Styles
        The styles of the contestants.
    band : str
        A key of BANDS, or AUTO: the number of seeds decides.

    Returns
    -------
    Section
        The section.
    """
    shown = band_of(run.results) if band == AUTO else band
    if shown not in BANDS:
        raise unknown_name("band", band, (AUTO, *BANDS))
    lead = LEAD.format(band=BANDS[shown]) + (DASHED if run.full else "")
    return Section("Learning curves", lead, tuple(_blocks(run, styles, shown)))


def band_of(results: Results) -> str:
    """Choose the band: one standard error if some curve has few seeds, else the 95 % interval."""
    seeds = [len(curve.seeds) for curves in results.curves.values() for curve in curves.values()]
    return "se" if 1 < min(seeds) < ENOUGH_SEEDS else "95"


def _blocks(run: RunFolder, styles: Styles, band: str) -> Iterator[Block]:
    for setting in run.results.curves:
        for metric in run.results.metrics:
            curves = run.results.with_metric(setting, metric)
            if not curves:
                continue
            name = file_stem(setting_stem(setting), metric)
            tables = {}
            words = ""
            if METRICS[metric].better:
                saved = savings(curves, metric)
                tables[f"summary-{name}"] = _summary(run, setting, metric, saved)
                words = headline(setting, metric, saved)
            full = run.full.get(_key(setting), {}).get(metric)
            figure = curves_figure(str(setting), curves, metric, styles, full, band=band)
            yield Block(
                filters_of(setting, metric),
                {f"curves-{name}": figure},
                tables,
                {f"rounds-{name}": rounds_table(curves, metric)},
                words,
            )


def _key(setting: Setting) -> str:
    return f"{setting.dataset}/{setting.model}"


def curves_figure(
    title: str, curves: dict[str, Curve], metric: str, styles: Styles, full: float | None = None, *, band: str = "95"
) -> Lines:
    """Draw mean curves with bands, and a dashed line for a classifier trained on all labels.

    Parameters
    ----------
    title : str
        The title.
    curves : dict of str to Curve
        The curves by contestant.
    metric : str
        Name of the metric.
    styles : Styles
        The styles of the contestants.
    full : float, optional
        The value of the classifier trained on all labels.
    band : {'95', 'se'}
        The band.

    Returns
    -------
    Lines
        The figure.
    """
    series = []
    for name, curve in curves.items():
        mean = curve.mean_with_error(metric) if band == "se" else curve.mean(metric)
        series.append(Series(name, styles[name], mean.labels, mean.mean, mean.low, mean.high))
    level = None if full is None else ("all labels:", full)
    return Lines(title, "labels", METRICS[metric].title, tuple(series), level)


def baseline_of(curve: Curve, curves: dict[str, Curve]) -> Curve | None:
    """Return random under the same axes, or else random under any."""
    randoms = [other for other in curves.values() if other.strategy == "random"]
    same = [other for other in randoms if other.axes == curve.axes]
    return next(iter(same or randoms), None)


def savings(curves: dict[str, Curve], metric: str) -> dict[str, Saving]:
    """Against random, for everyone who shares a seed with it."""
    by_name = {}
    for name, curve in curves.items():
        random = baseline_of(curve, curves)
        if random is None:
            continue
        saved = saving(curve, random, metric)
        if saved is not None:
            by_name[name] = saved
    return by_name


def headline(setting: Setting, metric: str, saved: dict[str, Saving]) -> str:
    """Say in one sentence which strategy saves most.

    Parameters
    ----------
    setting : Setting
        The setting.
    metric : str
        Name of the metric.
    saved : dict of str to Saving
        The savings by contestant.

    Returns
    -------
    str
        The sentence; empty if there is none.
    """
    others = {
        name: saving for name, saving in saved.items() if not name.startswith("random") and np.isfinite(saving.share)
    }
    if not others:
        return ""
    name = max(others, key=lambda name: others[name].share)
    best = others[name]
    title = METRICS[metric].title.removesuffix(" (lower is better)")
    sentence = f"{name} needs {best.needed:.0f} labels for the {title} of {best.goal:.3f} that random has at its end"
    more = "fewer" if best.share >= 0 else "more"
    change = f"{abs(best.share):.0%} {more} than random's {best.baseline:.0f}"
    interval_text = f"interval of the saving: {interval_words(best.low, best.high)} ({best.interval_note})"
    sure = "" if np.isnan(best.low) else f"; {interval_text}"
    return f"{setting}: {sentence}, {change}{sure}."


def _summary(run: RunFolder, setting: Setting, metric: str, saved: dict[str, Saving]) -> Table:
    curves = run.results.with_metric(setting, metric)
    tests = paired_tests(run.results, metric, [setting])
    goal = next(iter(saved.values())).goal if saved else np.nan
    rows, raw = [], []
    for name, curve in curves.items():
        area, final = area_under_curve(curve.labels, curve.values[metric]), curve.values[metric][:, -1]
        (mean, low, high), test = interval(area), _against_random(tests, name)
        saving = saved.get(name)
        rows.append((
            name, str(len(curve.seeds)), score(float(mean)), score(float(final.mean())), *_saved_words(name, saving),
            *(("–", "–") if test is None else (f"{test[0]:+.3f}", p_value(test[1]))),
        ))  # fmt: skip
        counts = (None,) * 3 if saving is None else (saving.goal, saving.needed, saving.baseline)
        shares = (None,) * 3 if saving is None or name == "random" else (saving.share, saving.low, saving.high)
        numbers = *counts, *shares
        raw.append((name, len(curve.seeds), float(mean), float(low), float(high), float(final.mean()), *numbers,
                    *(test or (None, None))))  # fmt: skip
    columns = ("strategy", "seeds", "area", "at the end", f"labels to {goal:.3f}", "saved", "interval",
               "better than random by", "p (Holm)")  # fmt: skip
    raw_columns = ("strategy", "seeds", "area", "area_low", "area_high", "final", "goal", "labels_needed",
                   "labels_random", "saving", "saving_low", "saving_high", "better_than_random_by",
                   "p_holm")  # fmt: skip
    order = sorted(range(len(rows)), key=lambda i: -METRICS[metric].better * raw[i][2])
    return Table(columns, tuple(rows[i] for i in order), raw_columns, tuple(raw[i] for i in order))


def _saved_words(name: str, saving: Saving | None) -> tuple[str, str, str]:
    if saving is None:
        return "–", "–", "–"
    if name == "random":
        return f"{saving.needed:.0f}", "–", "–"
    needed = "not reached" if np.isinf(saving.needed) else f"{saving.needed:.0f}"
    return needed, percent(saving.share), interval_words(saving.low, saving.high)


def _against_random(tests: list[PairTest], name: str) -> tuple[float, float] | None:
    """Difference in area and corrected p against random, where there was a test."""
    for test in tests:
        if test.first == name and test.second == "random":
            return test.difference, test.corrected
        if test.second == name and test.first == "random":
            return -test.difference, test.corrected
    return None


def rounds_table(curves: dict[str, Curve], metric: str) -> Table:
    """The means after every round (of very many, some). The CSV has every contestant and round, with the band."""
    labels = sorted({int(count) for curve in curves.values() for count in curve.labels})
    labels = [labels[index] for index in evenly_spaced(len(labels)).tolist()]
    means = {name: curve.mean(metric) for name, curve in curves.items()}
    at = {name: dict(zip(mean.labels.tolist(), mean.mean.tolist(), strict=True)) for name, mean in means.items()}
    rows = tuple((str(n), *(score(mean_at[n]) if n in mean_at else "–" for mean_at in at.values())) for n in labels)
    raw = tuple(
        (name, *values)
        for name, mean in means.items()
        for values in zip(*(part.tolist() for part in (mean.labels, mean.mean, mean.low, mean.high)), strict=True)
    )
    return Table(("labels", *curves), rows, ("strategy", "labels", "mean", "low", "high"), raw)
