"""What the report of a project says, gathered from the project."""

from typing import TYPE_CHECKING

import numpy as np

from bemps.errors import BempsError, without_folder
from bemps.learner.cross_validation import cross_validate
from bemps.metrics import Share
from bemps.models.base import take
from bemps.project.accuracy import FEWEST_AUDITED, FEWEST_LABELS, accuracy_from, estimated_accuracy
from bemps.project.audit import AuditReport
from bemps.project.history import History
from bemps.project.report.project_report import Pair, Quality, ReportContent, percent, too_few
from bemps.project.suggestions.suggestion_accuracy import stored_opinions, suggestion_accuracy
from bemps.store.events import LISTED
from bemps.store.project_settings import ProjectSettings

if TYPE_CHECKING:
    from bemps.project.project import Project


def report_content(project: "Project") -> ReportContent:
    """Return everything that a report says; the model is fitted and cross-validated for it."""
    store, agreement, current = project.store, project.agreement(), project.store.current()
    labelled = {name for name, answer in current.items() if answer.label is not None}
    settings = store.read_settings()
    quality = _quality(project, settings)
    return ReportContent(
        title=settings.title,
        kind=settings.kind,
        items=store.count(),
        copies=sum(original in labelled for original in store.copies().values()),
        classes=project.classes,
        current=current,
        answers=store.answers(),
        quality=quality,
        suggestions=suggestion_accuracy(store, settings, current, stored_opinions(store, settings), _right_of(quality)),
        alpha=agreement.alpha,
        shared=agreement.items,
        pairs=[Pair(*names, kappa, items) for names, (kappa, items) in sorted(agreement.kappa.items())],
        method=_how(project, settings),
    )


def _quality(project: "Project", settings: ProjectSettings) -> Quality | str:
    truth = _truth(project)
    if settings.no_model:
        return "There is no model: items came at random, and nothing was learnt."
    if len(truth) < FEWEST_AUDITED:
        return too_few(len(truth))
    try:
        audit = project.audit_report()
    except BempsError as error:  # too few labels to learn from, a package that is missing
        return f"There is no model to measure. {without_folder(str(error))}"
    history = History(settings.history)
    history.counted = dict(enumerate(project.store.counted_classes()))
    curve = history.accuracies(truth)
    return Quality(audit, _accuracy(project, audit), curve)


def _right_of(quality: Quality | str) -> tuple[int, int]:
    """How many audit items the model is right on, and how many measure it."""
    if isinstance(quality, str):
        return 0, 0
    return round(quality.audit.accuracy.value * quality.audit.size), quality.audit.size


def _truth(project: "Project") -> dict[str, int]:
    """The numbers of the classes of the labelled audit items."""
    drawn, numbers = project.store.audit(), {known.name: known.id for known in project.store.classes()}
    answers = project.store.current()
    return {id: numbers[a.label] for id, a in answers.items() if id in drawn and a.label is not None}


def _accuracy(project: "Project", audit: AuditReport) -> Share:
    """As the page has it: the audit, and what the model gets wrong among the other labels but those given at once."""
    learner, answers = project.current_learner(), project.store.current()
    rows, codes = learner.pool.labelled()
    single = np.array([answers[learner.pool.ids[row]].method != LISTED for row in rows], dtype=bool)
    rows, codes = rows[single], codes[single]
    if len(rows) < FEWEST_LABELS:
        return audit.accuracy
    spare = project.model().on_contents()
    spare.see_pool(learner.items)  # type: ignore[attr-defined]
    judged = cross_validate(spare, take(learner.items, rows), codes, learner.classes)
    if judged is None:
        return audit.accuracy
    drawn = [item.content for item in project.store.items(project.store.audit())]
    right = round(audit.accuracy.value * audit.size)
    return accuracy_from(right, audit.size, estimated_accuracy(*judged, learner.predict(drawn).max(1)))


def _how(project: "Project", settings: ProjectSettings) -> dict[str, str]:
    """How items were chosen, as a reader needs it to judge or to repeat it."""
    audit = f"{percent(settings.audit_share)} of the items asked, drawn at random; the model never learns from them"
    lines = {"To measure it": audit if settings.audit_share else "no items were set aside"}
    if settings.no_model:
        return {"Chosen by": "chance"} | lines
    model = project.model()
    return {
        "Model": f"{model.name}: {without_folder(model.words)}",
        "Chosen by": f"{model.strategy(len(project.classes))}, after the first labels of two classes",
        **lines,
        "Seed": str(settings.seed),
    }
