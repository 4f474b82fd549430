"""The names of results, of their files and on the page: results that differ have different names."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from bemps._utils.files import title_as_name
from bemps.formats.format_registry import FORMATS
from bemps.store import Store

TITLES = {
    "labels": "Labels",
    "predictions": "Predictions",
    "report": "Report",
    "model": "Model for bemps",
    "arrays": "Model as plain arrays",
    "events": "Log",
}
NAMES = {"events": "log"}  # in the names of files, where people call it otherwise
ENDINGS = {"report": ".html", "model": "", "arrays": ""}  # of what has one format; empty for a folder


@dataclass(frozen=True)
class ResultWish:
    """The result that a user asked for; `Project.export` explains the choices.

    Attributes
    ----------
    what : str
        The content: labels, predictions, report, model, arrays or events.
    format : str or None
        The name of a file format. None takes the usual one.
    resolved : bool
        Whether to write one resolved label for each item instead of the answers of all annotators.
    audit : bool
        Whether predictions, model and arrays learn from the audit items too.
    """

    what: str
    format: str | None = None
    resolved: bool = False
    audit: bool = False

    @property
    def chosen_format(self) -> str | None:
        """The name of the format; None for what has only one."""
        return None if self.what in ENDINGS else self.format or "csv"

    @property
    def title(self) -> str:
        """What it is, for people."""
        resolved = ["one for each item"] if self.resolved and self.what == "labels" else []
        audit = ["learnt from all labels"] if self._learns_from_audit else []
        formats = [FORMATS[self.chosen_format].title] if self.chosen_format else []
        return ", ".join([TITLES[self.what], *resolved, *audit, *formats])

    @property
    def _learns_from_audit(self) -> bool:
        return self.audit and self.what in ("predictions", "model", "arrays")

    def file_name(self, project: str, labels: int, time: datetime, taken: Collection[str] = ()) -> str:
        """Return a name for the file, or for the folder where it is one.

        Parameters
        ----------
        project : str
            What the names of the project's files begin with.
        labels : int
            The number of labels.
        time : datetime
            The time at which the file was asked for.
        taken : collection of str
            Names that other files have.

        Returns
        -------
        str
            Such as `tickets-predictions-40-labels-2026-11-18-2003.csv`.
        """
        count = f"{labels}-label{'' if labels == 1 else 's'}"
        named = self.chosen_format
        ending = FORMATS[named].usual_ending if named else ENDINGS[self.what]
        parts = [
            *([] if self.what == "labels" else [NAMES.get(self.what, self.what)]),
            *([named] if named and f".{named}" != ending else []),
            *(["one-for-each-item"] if self.resolved and self.what == "labels" else []),
            *(["all-labels"] if self._learns_from_audit else []),
        ]
        stem = "-".join([project, *parts, count, f"{time:%Y-%m-%d-%H%M}"])
        numbered = (f"{stem}{f'-{number}' if number > 1 else ''}{ending}" for number in range(1, len(taken) + 2))
        return next(name for name in numbered if name not in taken)


def project_name(store: Store, title: str) -> str:
    """Return what the names of a project's files begin with: its title, or its own file where that tells more.

    Projects may have the same title; a second one in a folder has a file that ends in a number.
    """
    stem = "" if store.path is None else store.path.stem
    name = title_as_name(title or stem)
    return stem if stem.startswith(name) else name
