"""A labelling project from Python: the same file that the page works on, at the same time if you like."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from bemps.data import Table
from bemps.errors import InputError
from bemps.formats.class_file import read_class_file
from bemps.formats.entries import PredictedItem, answers_of_project, counted, predicted_items
from bemps.learner import ActiveLearner
from bemps.models.image_contents import encode_readable
from bemps.project.agreement import Agreement, annotator_agreement
from bemps.project.audit import AuditReport, audit_report
from bemps.project.importing import Imported, import_labels
from bemps.project.project_creation import update_project
from bemps.project.project_export import ExportRequest, exporter
from bemps.project.project_models import (
    Progress,
    ProjectModel,
    cache_folder,
    count_training_labels,
    model_on_texts,
    project_model,
)
from bemps.store import Item, NewAnswer, NewClass, Store, open_store
from bemps.store.events import LABEL, NOTE
from bemps.types import Array

WHO = "notebook"


def open_project(where: str | Path, create: bool = False) -> "Project":
    """Open a labelling project.

    Parameters
    ----------
    where : path or str
        The file of the project, or its `postgresql+psycopg://` address.
    create : bool
        Whether to make the project if there is none.

    Returns
    -------
    Project
        The project. Use it in a `with` block, or close it.
    """
    return Project(open_store(where, create=create))


class Project:
    """A labelling project: items, labels, and a model with its predictions.

    Parameters
    ----------
    store : Store
        The database of the project.
    progress : callable, optional
        A function of (task, done, total). It is called while vectors of items are made for the first time.
    """

    def __init__(self, store: Store, progress: Progress | None = None) -> None:
        self.store, self.progress = store, progress
        self.broken: set[str] = set()  # paths of images that could not be decoded
        self._fitted: tuple[tuple[int, int, bool], ActiveLearner] | None = None

    def close(self) -> None:
        """Close the database of the project."""
        self.store.close()

    def __enter__(self) -> "Project":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return self.store.count()

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the project; `store.set` changes them."""
        return self.store.settings

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes, in order."""
        return tuple(class_.name for class_ in self.store.classes())

    def items(self) -> Iterator[Item]:
        """All items, in order."""
        return self.store.items()

    def add(self, table: Table, annotator: str = WHO) -> int:
        """Add the rows of a table as items, with their classes and labels.

        The project is then what `bemps label` would have made of the file: a share of its items (`audit_share` of the
        settings) is set aside at random to measure accuracy.

        Parameters
        ----------
        table : Table
            The table that `bemps.data.read(...)` returns: texts or image files.
        annotator : str
            The name under which new classes are recorded.

        Returns
        -------
        int
            The number of rows that were new.
        """
        return update_project(self.store, self.store.read_settings(), table, annotator=annotator).rows

    def add_classes(self, classes: Sequence[str | NewClass] | Path, annotator: str = WHO) -> tuple[str, ...]:
        """Add classes, and bring keys, descriptions, colours and examples to those that are there.

        Parameters
        ----------
        classes : sequence of str or NewClass, or Path
            Names, classes with more, or the path of a class file.
        annotator : str
            The name under which they are recorded.

        Returns
        -------
        tuple of str
            The names of the new classes.
        """
        entries = read_class_file(classes) if isinstance(classes, Path) else classes
        settings = self.store.read_settings()
        return update_project(self.store, settings, None, annotator=annotator, classes=entries, take_over=True).classes

    # labels

    def labels(self, annotator: str | None = None) -> dict[str, str]:
        """Return the current label of each item and its copies, by id.

        Parameters
        ----------
        annotator : str, optional
            Whose labels to return. By default the labels of all are resolved by `Store.current`.

        Returns
        -------
        dict[str, str]
            Labels by id. Items without a label are left out.
        """
        current = self.store.current(annotator)
        labels = {id: answer.label for id, answer in current.items() if answer.label is not None}
        return labels | {id: labels[original] for id, original in self.store.copies().items() if original in labels}

    def tell(self, labels: Mapping[str, str], annotator: str = WHO) -> int:
        """Record labels. They are on disk when this returns.

        Parameters
        ----------
        labels : mapping of str to str
            Labels by id.
        annotator : str
            The annotator who gave them.

        Returns
        -------
        int
            The number of labels that were recorded. Labels that the annotator gave before are not recorded again.

        Raises
        ------
        InputError
            An id or a class is unknown, or a class is hidden and no answer to the item has it.
        """
        own = self.labels(annotator)
        new = [NewAnswer(annotator, id, LABEL, label) for id, label in labels.items() if own.get(id) != label]
        return len(self.store.record(new))

    def agreement(self) -> Agreement:
        """Return the agreement between annotators, over the items that at least two of them have labelled."""
        return annotator_agreement(self.store.answers())

    # the model

    def model(self) -> ProjectModel:
        """Return the model of the project. Its `words` describe it in a sentence."""
        return project_model(self.store.read_settings(), cache=cache_folder(self.store.path), progress=self.progress)

    def learner(self, audit: bool = False, final: bool = False, model: str | None = None) -> ActiveLearner:
        """Return an active learner with the items and labels of the project.

        Parameters
        ----------
        audit : bool
            Whether to include the audit items.
        final : bool
            Whether its text encoder is fine-tuned on the labels, where the project adapts. That takes minutes in every
            fit: it is for predicting, not for asking.
        model : str, optional
            Another model than the project's own: one of `bemps run` that learns from texts as they are, such as
            `finetuned-laplace`, `finetuned-dropout` or `finetuned-ensemble`.

        Returns
        -------
        ActiveLearner
            The learner. Labels that it is told are not saved in the project; `Project.tell` saves labels. It does not
            ask for items that others are labelling now; `learner.exclude([])` allows them again. Images that cannot be
            decoded are left out of it, and named in `broken`.
        """
        held_out = frozenset() if audit else self.store.audit()
        own = self.model()
        items = self._readable([item for item in self.store.items() if item.id not in held_out], own)
        if not items:
            raise InputError("project", expected="items to learn from", got="none", fix="Add some first.")
        known = frozenset(item.id for item in items)
        answers = {id: answer for id, answer in self.store.current().items() if id in known}
        settings = self.store.read_settings()
        labels = {id: str(answer.label) for id, answer in answers.items() if settings.learns_from(answer)}
        contents = [item.content for item in items]
        if model is None:
            classifier = own.final(len(labels) if final else 0, self.progress)
        else:
            classifier = model_on_texts(model, settings.kind, contents, cache_folder(self.store.path))
        learner = ActiveLearner(
            classifier,
            contents,
            ids=[item.id for item in items],
            classes=self.classes,
            strategy=own.strategy(len(self.classes)),
            seed=settings.seed,
        )
        learner.tell(labels)
        learner.skip([id for id, answer in answers.items() if id not in labels and answer.kind != NOTE])
        others = {id for id, who in self.store.leases().items() if who - {WHO}}
        learner.exclude([item.id for item in items if item.id in others])
        return learner

    def is_fine_tuned(self, audit: bool = False) -> bool:
        """Whether the model that predicts has a text encoder that learns from the labels.

        Parameters
        ----------
        audit : bool
            Whether it learns from the audit items too.
        """
        return self.model().is_fine_tuned(count_training_labels(self.store, audit))

    def predictions(self, audit: bool = False) -> Iterator[PredictedItem]:
        """Predict every item of the project, copies included.

        Parameters
        ----------
        audit : bool
            Whether to learn from the audit items too.

        Returns
        -------
        iterator of PredictedItem
            Items with the probability of every class and the label that people gave.
        """
        return self.predict(self.store.rows(), audit=audit)

    def predict(self, items: Iterable[Item], audit: bool = False) -> Iterator[PredictedItem]:
        """Predict any items.

        Parameters
        ----------
        items : iterable of Item
            The items.
        audit : bool
            Whether to learn from the audit items too.

        Returns
        -------
        iterator of PredictedItem
            Items with the probability of every class and the label that people gave: to a row of the project its own,
            to any other item that of a row with the same content.
        """
        answer_of = answers_of_project(self.store)
        self.current_learner(audit)  # what is missing is said now, not when the first item is taken
        return predicted_items(lambda contents: self._probs(contents, audit), items, answer_of)

    def audit_report(self) -> AuditReport:
        """Return accuracy and weighted F1 on the audit items, which were drawn at random and are not learnt from.

        Raises
        ------
        InputError
            If no audit item has a label.
        """
        drawn = self.store.audit()
        labels = {id: label for id, label in self.labels().items() if id in drawn}
        if not labels:
            fix = "Label some of what the page asks as audit items."
            raise InputError("audit", expected="labels of audit items", got=f"none of {len(drawn)}", fix=fix)
        probs = self._probs([item.content for item in self.store.items(labels)], audit=False)
        codes = np.array([self.classes.index(label) for label in labels.values()])
        readable = ~np.isnan(probs).any(1)
        return audit_report(probs[readable], codes[readable], len(drawn))

    def _probs(self, contents: list[str], audit: bool) -> Float[Array, "N K"]:
        """The probability of every class for each content; NaN for images that cannot be decoded."""
        learner = self.current_learner(audit)
        probs = np.full((len(contents), len(learner.classes)), np.nan)
        rows = [row for row, content in enumerate(contents) if content not in self.broken]
        if self.store.read_settings().kind == "image":
            model: Any = learner.model
            some = self._readable_rows([contents[row] for row in rows], model.embeddings)
            rows = [rows[row] for row in some]
        if rows:
            probs[rows] = learner.predict([contents[row] for row in rows])
        return probs

    def _readable(self, items: list[Item], model: ProjectModel) -> list[Item]:
        """The items without images that cannot be decoded, which are noted in `broken`."""
        if self.store.read_settings().kind != "image":
            return items
        return [items[row] for row in self._readable_rows([item.content for item in items], model.encode)]

    def _readable_rows(self, contents: list[str], encode: Callable[[list[str]], Any]) -> list[int]:
        rows, _ = encode_readable(encode, self.store.read_settings().folder, contents)
        self.broken |= {content for row, content in enumerate(contents) if row not in frozenset(rows)}
        return rows

    def current_learner(self, audit: bool = False) -> ActiveLearner:
        """Return the learner of the present state of the project, which is made and fitted once.

        Parameters
        ----------
        audit : bool
            Whether it learns from the audit items too.

        Returns
        -------
        ActiveLearner
            The learner. Tell it nothing: `learner` makes one of your own.
        """
        now = self.store.change_token(), self.store.count(), audit
        if self._fitted is None or self._fitted[0] != now:
            self._fitted = now, self.learner(audit, final=True)
        return self._fitted[1]

    # files

    def export(
        self,
        path: str | Path,
        what: str = "labels",
        format: str | None = None,
        *,
        resolved: bool = False,
        audit: bool = False,
        force: bool = False,
    ) -> None:
        """Write labels, predictions, a report, the model or the log.

        Parameters
        ----------
        path : path
            A file; a folder for a Hugging Face dataset, for the model and for its arrays.
        what : str
            `labels`, `predictions`, `report` (one HTML file), `model` (for `bemps predict` and `ActiveLearner.load`),
            `arrays` (the model as plain arrays, for programs without bemps), `classes` (a class file), or `events`.
        format : str, optional
            The name of a format of docs/reference/projects.md. By default the ending of the path decides.
        resolved : bool
            Whether to write one resolved label for each item instead of the answers of all annotators.
        audit : bool
            Whether predictions, model and arrays learn from the audit items too.
        force : bool
            Whether to replace an earlier export at that path.
        """
        request = ExportRequest(path=path, format=format, resolved=resolved, audit=audit, force=force)
        exporter(what, format)(self, request)

    def with_progress(self, rows: Iterator[PredictedItem], total: int | None = None) -> Iterator[PredictedItem]:
        """Return the same rows, by default those of the project, and tell the progress while they pass."""
        count = self.store.count() + len(self.store.copies()) if total is None else total
        return counted(rows, count, self.progress)

    def import_labels(self, path: str | Path, format: str | None = None, **options: Any) -> Imported:
        """Import the labels of a file.

        Parameters
        ----------
        path : path
            The file or folder to read.
        format : str, optional
            The name of a format. By default the format is recognised.
        **options
            Further options of `bemps.project.importing.import_labels`.

        Returns
        -------
        Imported
            The numbers of answers, items and classes that were added.
        """
        return import_labels(self.store, path, format, **options)
