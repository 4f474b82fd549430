"""A labelling project from Python: the same file that the page works on, at the same time if you like."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from bemps._io import check_output
from bemps.data import ImageFiles, Table
from bemps.errors import InputError, unknown_name
from bemps.exchange import Imported, Predicted, export_events, export_labels, import_labels
from bemps.exchange.columns import columns_of, to_settings, with_source
from bemps.exchange.entries import about, content_key, copy_key, items_of, predicted
from bemps.exchange.exporting import check_export, project_files, write_predictions
from bemps.learner import ActiveLearner
from bemps.project_models import Progress, ProjectModel, cache_folder, project_model
from bemps.statistics.agreement import cohen_kappa, krippendorff_alpha
from bemps.statistics.audit import AuditReport, audit_report
from bemps.store import Item, Said, Store, open_store
from bemps.store.words import LABEL, NOTE
from bemps.types import Array

WHO = "notebook"
WHAT = ("labels", "predictions", "events", "model")


def open_project(where: str | Path, create: bool = False) -> "Project":
    """A project by its file or by its `postgresql+psycopg://` address; `create` makes it where there is none."""
    return Project(open_store(where, create=create))


@dataclass(frozen=True)
class Agreement:
    """How far annotators agree: alpha over everything that was labelled twice, kappa of each pair with its items."""

    items: int
    alpha: float
    kappa: dict[tuple[str, str], tuple[float, int]]


class Project:
    """Items, labels, a model and what it says. `store` is what it all rests on.

    progress   called with (task, done, total) while vectors of items are made for the first time
    """

    def __init__(self, store: Store, progress: Progress | None = None) -> None:
        self.store, self.progress = store, progress
        self._fitted: tuple[tuple[int, int, bool], ActiveLearner] | None = None

    def close(self) -> None:
        self.store.close()

    def __enter__(self) -> "Project":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return self.store.count()

    @property
    def settings(self) -> dict[str, Any]:
        return self.store.settings

    @property
    def classes(self) -> tuple[str, ...]:
        """Their names, in order."""
        return tuple(one.name for one in self.store.classes())

    def items(self) -> Iterator[Item]:
        """All items, in order."""
        return self.store.items()

    def add(self, table: Table, annotator: str = WHO) -> int:
        """The rows of `bemps.data.read(...)` as items, their classes and labels too; returns how many were new."""
        contents, new = self._contents(table)
        settings = self.settings | new
        new |= to_settings(settings, columns_of(table, contents)) | with_source(settings, table.source)
        with self.store.changing() as change:
            for name in table.classes:
                if name not in change.classes():
                    change.add_class(name, annotator)
            change.set_all(new)
            return change.add_items(items_of(table, contents), copy_key(settings))

    def _contents(self, table: Table) -> tuple[list[str], dict[str, Any]]:
        """Texts; images as their paths below the project's folder, which the first of them decide and settings keep."""
        if isinstance(table.items, list):
            return table.items, {}
        if not isinstance(table.items, ImageFiles):
            raise InputError("table", expected="texts or image files", got=table.kind, fix="Name the text column.")
        paths = [Path(path).resolve() for path in table.items.paths]
        folder = Path(self.settings.get("folder") or os.path.commonpath([path.parent for path in paths]))
        outside = [path for path in paths if not path.is_relative_to(folder)]
        if outside:
            raise InputError("image", expected=f"files below {folder}", got=str(outside[0]), fix="Move it there.")
        settings = {"kind": "image", "folder": str(folder)}
        return [path.relative_to(folder).as_posix() for path in paths], settings

    # labels

    def labels(self, annotator: str | None = None) -> dict[str, str]:
        """The label that holds for each item and its copies, by id: of one annotator, or of all (`Store.current`)."""
        current = self.store.current(annotator)
        labels = {id: answer.label for id, answer in current.items() if answer.label is not None}
        return labels | {id: labels[original] for id, original in self.store.copies().items() if original in labels}

    def tell(self, labels: Mapping[str, str], annotator: str = WHO) -> int:
        """Labels by id, durable when this returns; those that the annotator has given already are passed over."""
        own = self.labels(annotator)
        new = [Said(annotator, id, LABEL, label) for id, label in labels.items() if own.get(id) != label]
        return len(self.store.record(new))

    def agreement(self) -> Agreement:
        """Between annotators, over the items that at least two of them have labelled."""
        by_item: dict[str, dict[str, str]] = {}
        for answer in self.store.answers():
            if answer.kind == LABEL and answer.label is not None:
                by_item.setdefault(answer.item, {})[answer.annotator] = answer.label
        twice = [said for said in by_item.values() if len(said) > 1]
        people = sorted({who for said in twice for who in said})
        kappa = {}
        for one, other in combinations(people, 2):
            both = [(said[one], said[other]) for said in twice if one in said and other in said]
            if both:
                kappa[one, other] = cohen_kappa([a for a, _ in both], [b for _, b in both]), len(both)
        return Agreement(len(twice), krippendorff_alpha([list(said.values()) for said in twice]), kappa)

    # the model

    def model(self) -> ProjectModel:
        """What the project learns with; `words` says it in a sentence."""
        return project_model(self.settings, cache=cache_folder(self.store.path), progress=self.progress)

    def learner(self, audit: bool = False) -> ActiveLearner:
        """An active learner with the project's items and labels; audit items are in it only when asked for.

        What it is told stays with it: `tell` of the project is what is saved. What others have in hand at this moment
        is not asked; `learner.exclude([])` asks for it again.
        """
        settings, held_out = self.settings, frozenset() if audit else self.store.audit()
        items = [item for item in self.store.items() if item.id not in held_out]
        if not items:
            raise InputError("project", expected="items to learn from", got="none", fix="Add some first.")
        chosen = self.model()
        learner = ActiveLearner(
            chosen.on_contents(),
            [item.content for item in items],
            ids=[item.id for item in items],
            classes=self.classes,
            strategy=chosen.strategy(len(self.classes)),
            seed=int(settings.get("seed", 0)),
        )
        answers = {id: answer for id, answer in self.store.current().items() if id not in held_out}
        learner.tell({id: answer.label for id, answer in answers.items() if answer.label is not None})
        learner.skip([id for id, answer in answers.items() if answer.label is None and answer.kind != NOTE])
        others = {id for id, who in self.store.leases().items() if who - {WHO}}
        learner.exclude([item.id for item in items if item.id in others])
        return learner

    def predictions(self, audit: bool = False) -> Iterator[Predicted]:
        """Every item, copies among them, with the probability of every class and the label that people gave."""
        return self.predict(self.store.rows(), audit=audit)

    def predict(self, items: Iterable[Item], audit: bool = False) -> Iterator[Predicted]:
        """Any items with the probability of every class; `audit` learns from the audit items too.

        An item with the content of one that people labelled has their label too.
        """
        labels = {id: answer.label for id, answer in self.store.current().items() if answer.label is not None}
        human = {content_key(item.content): labels[item.id] for item in self.store.items(labels)}
        return predicted(self._current_learner(audit).predict, items, human)

    def audit_report(self) -> AuditReport:
        """Accuracy and weighted F1 on the audit slice, which was drawn at random and is not learnt from."""
        drawn = self.store.audit()
        given = {id: label for id, label in self.labels().items() if id in drawn}
        if not given:
            fix = "Label some of what the page asks as audit items."
            raise InputError("audit", expected="labels of audit items", got=f"none of {len(drawn)}", fix=fix)
        probs = self._probs(list(self.store.items(given)))
        codes = np.array([self.classes.index(label) for label in given.values()])
        return audit_report(probs, codes, len(drawn))

    def _probs(self, items: Sequence[Item]) -> Float[Array, "N K"]:
        return self._current_learner(False).predict([item.content for item in items])

    def _current_learner(self, audit: bool) -> ActiveLearner:
        """Fitted once for each state of the project."""
        now = self.store.change_token(), self.store.count(), audit
        if self._fitted is None or self._fitted[0] != now:
            self._fitted = now, self.learner(audit)
        return self._fitted[1]

    # files

    def export(
        self,
        path: str | Path,
        what: str = "labels",
        format: str | None = None,
        *,
        resolved: bool = False,
        force: bool = False,
    ) -> None:
        """Write labels, predictions, events or the model.

        Parameters
        ----------
        path
            A file; a folder for a Hugging Face dataset and for the model.
        what
            `labels`, `predictions`, `events` or `model`.
        format
            The name of a format of docs/projects.md; without it the ending of the path tells.
        resolved
            Whether to write the one label that holds for each item instead of everybody's answers.
        force
            Whether to replace an earlier export at that path.
        """
        if what == "labels":
            export_labels(self.store, path, format, resolved=resolved, force=force)
        elif what == "predictions":
            output = check_export(path, format, inputs=project_files(self.store), force=force)
            write_predictions(self.predictions(), about(self.store, model=f"bemps {self.model().name}"), output)
        elif what == "events":
            export_events(self.store, path, format, force=force)
        elif what == "model":
            check_output(Path(path), inputs=project_files(self.store), folder="saved learner", force=force)
            self.learner().save(path, force=force)
        else:
            raise unknown_name("what to export", what, WHAT)

    def import_labels(self, path: str | Path, format: str | None = None, **options: Any) -> Imported:
        """Take over the labels of a file; options are those of `bemps.exchange.import_labels`."""
        return import_labels(self.store, path, format, **options)
