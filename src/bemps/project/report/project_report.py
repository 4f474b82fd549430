"""The report of a project: one HTML file that needs nothing else, for those who were not there.

What was labelled, how good the model is, class by class, who agreed, and how items were chosen. The page is written by
hand from escaped parts; figures and style are those of `bemps.report`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from importlib import metadata
from importlib.resources import files
from math import isnan

import numpy as np

from bemps.metrics import Share
from bemps.project.accuracy import FEWEST_AUDITED
from bemps.project.audit import AuditReport
from bemps.project.confusion import ClassQuality, class_qualities
from bemps.project.history import Round
from bemps.project.suggestions.suggestion_accuracy import SuggestionAccuracy
from bemps.report.figures import Lines, Series
from bemps.report.html_tables import Table
from bemps.report.style import COLOURS, Style
from bemps.report.svg.svg_figure import draw
from bemps.store import SOURCE, Answer
from bemps.store.events import ADJUDICATE, LABEL, SKIP, SUGGESTED, UNSURE

SIGNATURE = "<footer>Written by bemps {version} on {date}.</footer>"
LAYOUT = """
main, header, footer { max-width: 60rem } .cards { display: flex; flex-wrap: wrap; gap: 1rem; margin: 1rem 0 }
.cards div { background: var(--card); border-radius: .6rem; padding: .7rem 1.1rem; flex: 1 1 11rem }
.cards b { display: block; font-size: 1.5rem; line-height: 1.3 } figure { margin-top: 1rem; --wide: 42rem; --least: 0 }
.made td, .made th { text-align: left; white-space: normal }
td.hit { background: color-mix(in srgb, var(--link) 16%, transparent) } td.miss { font-weight: 700 }
"""


@dataclass(frozen=True)
class Quality:
    """The quality of the model.

    Attributes
    ----------
    audit : AuditReport
        The metrics on the audit items.
    accuracy : Share
        The accuracy as estimated from the audit items and the other labels together.
    curve : sequence of tuple
        For each round: the round, its accuracy on the same audit items, and how many these are.
    """

    audit: AuditReport
    accuracy: Share
    curve: Sequence[tuple[Round, Share, int]]  # accuracy of each round on the same audit items, how many these are


@dataclass(frozen=True)
class Pair:
    """The agreement of two annotators.

    Attributes
    ----------
    first, second : str
        The names of the annotators.
    kappa : float
        Cohen's kappa.
    items : int
        The number of items that both labelled.
    """

    first: str
    second: str
    kappa: float
    items: int


@dataclass(frozen=True)
class ReportContent:
    """Everything that a report says.

    Attributes
    ----------
    title, kind : str
        The title of the project and the kind of its items.
    items, copies : int
        The number of items that are asked, and of further rows with the same text as one that has a label.
    classes : tuple of str
        The classes, in order.
    current : mapping of str to Answer
        The answer that counts for each item.
    answers : sequence of Answer
        The answers of all annotators.
    quality : Quality or str
        The quality of the model, or why it is not known.
    suggestions : SuggestionAccuracy or None
        How often suggestions are right; None if nothing suggests.
    alpha : float
        Krippendorff's alpha; NaN if nothing was labelled twice.
    shared : int
        The number of items that at least two people labelled.
    pairs : sequence of Pair
        The agreement of each two annotators.
    method : mapping of str to str
        How items were chosen, in lines of a name and words.
    """

    title: str
    kind: str
    items: int
    copies: int
    classes: tuple[str, ...]
    current: Mapping[str, Answer]
    answers: Sequence[Answer]
    quality: Quality | str
    suggestions: SuggestionAccuracy | None
    alpha: float
    shared: int
    pairs: Sequence[Pair]
    method: Mapping[str, str]


def report_page(content: ReportContent) -> str:
    """Return the report as HTML."""
    style = (files("bemps.report") / "page.css").read_text(encoding="utf-8") + LAYOUT
    title = content.title or "Labels"
    body = "".join((_summary(content), _good(content), _labelled(content), _agreed(content), _method(content)))
    today = datetime.now(UTC).date().isoformat()
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}: report</title><style>{style}</style></head>\n<body>"
        f"<header><h1>{escape(title)}</h1></header>\n<main>{body}</main>\n"
        f"{SIGNATURE.format(version=escape(metadata.version('bemps')), date=today)}</body></html>\n"
    )


# -- sections --------------------------------------------------------------------------------------------------------


def _summary(content: ReportContent) -> str:
    labels = _labels(content)
    people = {answer.annotator for answer in content.answers if answer.annotator != SOURCE}
    who = "person" if len(people) == 1 else "people"
    cards = {"labelled": f"{len(labels):,} of {content.items:,}", who: f"{len(people):,}"}
    if isinstance(content.quality, Quality):
        cards["of the items the model is right on, about"] = percent(content.quality.accuracy.value)
    boxes = "".join(f"<div><b>{escape(value)}</b>{escape(name)}</div>" for name, value in cards.items())
    return f'<div class="cards">{boxes}</div>'


def _good(content: ReportContent) -> str:
    quality = content.quality
    if isinstance(quality, str):
        return _section("How good is it?", _words(quality), _suggestions(content.suggestions))
    audit = quality.audit
    words = (
        f"The model is right on about {percent(quality.accuracy.value)} of the items (95 % interval "
        f"{percent(quality.accuracy.low)} to {percent(quality.accuracy.high)}). "
        f"It was measured on {audit.size:,} items that were drawn at random from those without a label. The model "
        f"never learnt from them, and it gets {round(audit.accuracy.value * audit.size):,} of them right "
        f"({percent(audit.accuracy.value)})."
    )
    if quality.accuracy != audit.accuracy:
        words += " The first figure also weighs what the model gets wrong among the other labels."
    parts = [_words(words), _class_table(class_qualities(audit.confusion, content.classes)), _confusion(content, audit)]
    return _section("How good is it?", *parts, _curve(quality.curve), _suggestions(content.suggestions))


def _suggestions(measured: SuggestionAccuracy | None) -> str:
    if measured is None:
        return ""
    if measured.accuracy is None:
        so_far = f"; so far {measured.size}" if measured.size else ""
        words = f"To say how often {measured.name} is right takes {FEWEST_AUDITED} such items{so_far}."
    else:
        words = f"On {measured.size:,} of them {measured.name} is right on {measured.right:,}: "
        words += f"{interval(measured.accuracy)}."
    if measured.without:
        words += f" It has no suggestion for {measured.without:,} more."
    lead = "Suggestions are measured on items that were drawn at random and answered without seeing one."
    return f"<h3>How good were the suggestions?</h3>{_words(f'{lead} {words}')}"


def _class_table(qualities: Sequence[ClassQuality]) -> str:
    rows = tuple(
        (each.name, f"{each.labelled}", interval(each.recall), f"{each.predicted}", interval(each.precision))
        for each in qualities
    )
    columns = ("Class", "Items of it", "of these recognised (recall)", "Predicted", "of these right (precision)")
    note = "Intervals of 95 %. A dash: no such item among those that measure it."
    return f"<h3>Class by class</h3>{Table(columns, rows).html()}{_words(note, 'lead')}"


def _confusion(content: ReportContent, audit: AuditReport) -> str:
    """Rows are what people said, columns what the model says."""
    head = "".join(f"<th scope=col>{escape(name)}</th>" for name in content.classes)
    lines = []
    for row, name in enumerate(content.classes):
        cells = "".join(_cell(int(count), row == column) for column, count in enumerate(audit.confusion[row]))
        lines.append(f"<tr><th scope=row>{escape(name)}</th>{cells}</tr>")
    table = f"<table><thead><tr><td></td>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
    words = _words("A row is what people said, a column what the model says.", "lead")
    return f'<h3>Which class it takes for which</h3>{words}<div class="table">{table}</div>'


def _cell(count: int, right: bool) -> str:
    kind = ' class="hit"' if right else ' class="miss"' if count else ""
    return f"<td{kind}>{count or '·'}</td>"


def _curve(points: Sequence[tuple[Round, Share, int]]) -> str:
    """A line for each kind of model: rounds of different kinds are not compared."""
    if len(points) < 2:
        return ""
    kinds = list(dict.fromkeys(round_.model for round_, _, _ in points))
    series = tuple(
        _series([(r.labels, share) for r, share, _ in points if r.model == kind], kind, COLOURS[i % len(COLOURS)])
        for i, kind in enumerate(kinds)
    )
    figure = Lines("Share right, by labels", "labels learnt from", "share right", series, y_range=(0.0, 1.0))
    words = f"Every model so far on the same {points[-1][2]:,} items, with 95 % intervals."
    return f"<h3>While it was labelled</h3><figure>{draw(figure)}</figure>{_words(words, 'lead')}"


def _series(points: Sequence[tuple[int, Share]], kind: str, colour: str) -> Series:
    shares = [share for _, share in points]
    return Series(
        kind or "right",
        Style(colour),
        np.array([labels for labels, _ in points]),
        np.array([share.value for share in shares]),
        np.array([share.low for share in shares]),
        np.array([share.high for share in shares]),
    )


def _labelled(content: ReportContent) -> str:
    labels = Counter(_labels(content).values())
    total = max(labels.total(), 1)
    classes = tuple((name, f"{labels[name]:,}", percent(labels[name] / total)) for name in content.classes)
    kinds = Counter(answer.kind for answer in content.current.values())
    words = (
        f"{labels.total():,} of {content.items:,} {content.kind}s have a label; {_were(kinds[SKIP])} skipped, "
        f"{_were(kinds[UNSURE])} left as unsure."
    )
    if accepted := sum(answer.method == SUGGESTED for answer in content.current.values()):
        words += f" {_were(accepted)} suggested, and accepted by a person."
        if (everybody := sum(answer.method == SUGGESTED for answer in content.answers)) != accepted:
            words += f" This counts the label that holds for each item; people accepted {everybody:,} in all."
    if content.copies:
        words += f" {content.copies:,} further rows have the same text as one of them, and its label."
    words += " Items were chosen to teach the model, so these shares are not those of the file."
    return _section(
        "What was labelled", _words(words), Table(("Class", "Labels", "Share"), classes).html(), _people(content)
    )


def _people(content: ReportContent) -> str:
    counts = Counter(answer.annotator for answer in content.answers if answer.kind == LABEL)
    decided = Counter(answer.annotator for answer in content.answers if answer.kind == ADJUDICATE)
    rows = tuple((_person(name), f"{count:,}") for name, count in counts.most_common())
    times = sorted(answer.time for answer in content.answers)
    when = f"Between {times[0]:%Y-%m-%d %H:%M} and {times[-1]:%Y-%m-%d %H:%M} (UTC)." if times else "Nobody yet."
    if decided:
        when += f" Disagreements decided: {', '.join(f'{count:,} by {name}' for name, count in decided.most_common())}."
    return f"<h3>By whom</h3>{_words(when)}{Table(('Person', 'Labels'), rows).html()}"


def _person(name: str) -> str:
    return "labels that came with the file" if name == SOURCE else name


def _agreed(content: ReportContent) -> str:
    if not content.shared:
        return _section("Who agreed?", _words("No item has labels of two people, so that is not known."))
    words = (
        f"{content.shared:,} items have labels of at least two people. Krippendorff’s alpha is {number(content.alpha)}"
    )
    words += " (1: they always agree; 0: no more than by chance)."
    rows = tuple((f"{pair.first}, {pair.second}", number(pair.kappa), f"{pair.items:,}") for pair in content.pairs)
    return _section("Who agreed?", _words(words), Table(("Two people", "Cohen’s kappa", "Items of both"), rows).html())


def _method(content: ReportContent) -> str:
    rows = tuple(content.method.items())
    table = Table(("What", "How"), rows).html()
    return _section("How it was made", f'<div class="made">{table}</div>')


# -- words -----------------------------------------------------------------------------------------------------------


def _labels(content: ReportContent) -> dict[str, str]:
    return {item: answer.label for item, answer in content.current.items() if answer.label is not None}


def _section(title: str, *parts: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{''.join(parts)}</section>\n"


def _words(words: str, kind: str = "") -> str:
    return f"<p{f' class={kind}' if kind else ''}>{escape(words)}</p>"


def _were(count: int) -> str:
    return f"{count:,} {'was' if count == 1 else 'were'}"


def percent(share: float) -> str:
    """Return a share in words."""
    return f"{100 * share:.0f} %"


def interval(share: Share | None) -> str:
    """Return a share and its interval in words, or a dash if there is none."""
    return "–" if share is None else f"{percent(share.value)} ({percent(share.low)} to {percent(share.high)})"


def number(value: float) -> str:
    """Return a number with two digits, or a dash if there is none."""
    return "–" if isnan(value) else f"{value:.2f}"


def too_few(labelled: int) -> str:
    """Return the reason why the accuracy is not reported."""
    return (
        f"This needs {FEWEST_AUDITED} labelled items that were drawn at random to measure the model; "
        f"there are {labelled:,}."
    )
