"""Which model a project uses, by what is installed and what the project asks for.

The models are the rows of `bemps.models.model_registry` that have an encoder and a head.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from jaxtyping import Bool, Float

from bemps.acquisition.selection import FEW_CLASSES
from bemps.errors import pip_install, unknown_name
from bemps.models import Items, Model
from bemps.models.content_models import Encoder, ReadsOnce, show_pool
from bemps.models.encoders import find_weights
from bemps.models.model_registry import ModelRow, automatic_model, grid_models, project_kinds, project_row
from bemps.store import Store
from bemps.store.project_settings import ProjectSettings
from bemps.types import Array

if TYPE_CHECKING:
    from bemps.models.text.adapted_text import AdaptedText

Progress = Callable[[str, int, int], None]
FEWEST_TO_ADAPT = 50  # labels; with fewer no encoder is fine-tuned
FINE_TUNING_PACKAGES = ("torch", "transformers", "safetensors")
FINE_TUNING_EXTRA = "finetune"
FINE_TUNED = ("minilm", "bge-small")  # what is fine-tuned: the first whose weights are on this machine


@dataclass(frozen=True)
class ProjectModel:
    """The model of a project, and how to make it.

    Attributes
    ----------
    name : str
        A name of the table of models, a folder, or a name on the hub.
    row : ModelRow
        Its row.
    words : str
        One sentence for people: what is used, and why nothing better where something is missing.
    asked : str | None
        The acquisition function that the settings name, if any.
    encode : Encoder
        A function from contents (texts, paths of images) to vectors. Vectors that take long are stored on disk. For
        `tfidf` and the models with words, call `see_pool` first.
    tuned : str | None
        The encoder that is fine-tuned on the labels; None where the model stays as it is.
    cache : Path | None
        The folder of its vectors.
    """

    name: str
    row: ModelRow
    words: str
    asked: str | None
    encode: Encoder
    tuned: str | None = None
    cache: Path | None = None

    @property
    def kind(self) -> str:
        """Which rounds of a project may be compared: those of models of one kind."""
        return self.name

    @property
    def held_out(self) -> tuple[Float[Array, " n"], Bool[Array, " n"]] | None:
        """Confidence in held-out labels and whether it was right, of a model whose vectors have seen the labels."""
        return None

    def strategy(self, classes: int) -> str:
        """The acquisition function: the one asked for, else what suits the model and the number of classes."""
        few = self.row.strategy_few_classes if classes <= FEW_CLASSES else None
        return self.asked or few or self.row.strategy

    def see_pool(self, contents: list[str]) -> None:
        """Look at the unlabelled contents before the first `encode`."""
        show_pool(self.encode, contents)

    def on_vectors(self, vectors: Items) -> Model:
        """A model whose items are vectors made by `encode`; fastest where the same items are asked for often."""
        model: Any = self.row.on_contents(None)
        model.see_pool(vectors)
        return cast(Model, model)

    def on_contents(self) -> Model:
        """A model whose items are contents; `learner.save` can write it down."""
        return cast(Model, self.row.on_contents(self.encode))

    def adapting(self, progress: Progress | None = None) -> "AdaptedText":
        """Return the model on contents together with a fine-tuned encoder, weighed by held-out labels.

        Parameters
        ----------
        progress : callable, optional
            A function that is called with ("fine-tune", done, total) while the encoder learns.

        Returns
        -------
        AdaptedText
            The model, not yet fitted.
        """
        from bemps.models.text.adapted_text import AdaptedText
        from bemps.models.text.finetuned_laplace import FineTunedLaplace

        assert self.tuned is not None, "a model that stays as it is"
        cache = None if self.cache is None else str(self.cache / "fine-tuning")
        tuned = FineTunedLaplace(self.tuned, cache=cache)
        return AdaptedText(cast(Any, self.on_contents()), tuned, progress=progress)

    def final(self, labels: int, progress: Progress | None = None) -> Model:
        """The model on contents that predicts once labelling is over: fine-tuned where there are enough labels."""
        return cast(Model, self.adapting(progress)) if self.is_fine_tuned(labels) else self.on_contents()

    def is_fine_tuned(self, labels: int) -> bool:
        """Whether the model that predicts has an encoder that learns from so many labels."""
        return self.tuned is not None and labels >= FEWEST_TO_ADAPT

    def unread(self, contents: list[str]) -> int:
        """How many of the contents the encoder has still to read; none where it keeps nothing."""
        return self.encode.unread(contents) if isinstance(self.encode, ReadsOnce) else 0


def count_training_labels(store: Store, audit: bool) -> int:
    """Return the number of labels that the model of a project learns from, with or without the audit items."""
    held_out = frozenset() if audit else store.audit()
    settings = store.read_settings()
    return sum(id not in held_out and settings.learns_from(answer) for id, answer in store.current().items())


def model_version(store: Store, audit: bool) -> str:
    """Return what other tools know the predictions of a project by: its model and the number of labels."""
    labels = count_training_labels(store, audit)
    name = project_model(store.read_settings(), cache=cache_folder(store.path)).name
    return f"bemps {name}, {labels} label{'' if labels == 1 else 's'}"


def project_model(
    settings: ProjectSettings, *, cache: str | Path | None = None, progress: Progress | None = None
) -> ProjectModel:
    """Return the model for the settings of a project.

    Parameters
    ----------
    settings : mapping
        The settings. `kind`, `model`, `strategy` and `folder` (of the images) are read.
    cache : path, optional
        A folder for vectors that take long to make. The default is a temporary folder.
    progress : callable, optional
        A function of (task, done, total). It is called while vectors are made.

    Returns
    -------
    ProjectModel
        The model.
    """
    if settings.kind not in project_kinds():
        raise unknown_name("kind of project", settings.kind, project_kinds())
    name, words = _model_and_reason(settings.kind, settings.model)
    row = project_row(settings.kind, name)
    tuned, why = _tuned_and_reason(row, settings.adapt)
    encode = row.vectors.for_project(settings.folder or ".", None if cache is None else str(cache))
    encode.progress = progress
    words = f"{words}; {why}" if why else words
    return ProjectModel(name, row, words, settings.strategy, encode, tuned, None if cache is None else Path(cache))


def tuning_lack(settings: ProjectSettings) -> str:
    """Return what the model lacks to learn the language of the texts, in words; empty where nothing is missing."""
    name, _ = _model_and_reason(settings.kind, settings.model)
    return _tuned_and_reason(project_row(settings.kind, name), settings.adapt)[1]


def has_plain_arrays(settings: ProjectSettings) -> bool:
    """Return whether the model of a project can be written as plain arrays."""
    return project_row(settings.kind, _model_and_reason(settings.kind, settings.model)[0]).is_linear


def first_model(settings: ProjectSettings, better: ProjectModel) -> ProjectModel | None:
    """The model that is ready in seconds, for the time in which the encoder of the better one reads the texts.

    None where the better one does not take long, or where there is no other (images).
    """
    if settings.kind != "text" or not isinstance(better.encode, ReadsOnce):
        return None
    name = automatic_model("text", "second")
    quick = project_model(replace(settings, model=name, adapt="off"))
    return replace(quick, words=f"{quick.row.description}, while {better.row.vectors.help} are made")


def better_model(settings: ProjectSettings) -> str:
    """What `auto` would take if it were here, and the commands that bring it; "" where nothing is missing."""
    if settings.no_model or settings.model not in (None, "auto"):
        return ""
    vectors = project_row(settings.kind, automatic_model(settings.kind, "first")).vectors
    absent = [package for package in vectors.packages if find_spec(package) is None]
    commands = [pip_install(vectors.extra)] if absent else []
    brought = bool(absent) and vectors.weights_in_extra
    if vectors.weights is not None and not brought and find_weights(vectors.weights) is None:
        commands.append(f"bemps weights {vectors.weights}")
    return f"fewer labels are needed with {vectors.help}: {' && '.join(commands)}" if commands else ""


def cache_folder(project: Path | None) -> Path:
    """Where a project keeps vectors: beside its file; for one on a server, in the user's own cache."""
    if project is not None:
        return project.with_name(project.name + ".vectors")
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "bemps" / "vectors"


def model_on_texts(name: str, kind: str, contents: list[str], cache: Path) -> Model:
    """Make a model of `bemps run` that learns from texts as they are, for a project of texts.

    Parameters
    ----------
    name : str
        The name of the model.
    kind : str
        The kind of items of the project.
    contents : list of str
        The texts of the project.
    cache : Path
        The folder where the project keeps vectors.

    Returns
    -------
    Model
        The model.
    """
    rows = {known: row for known, row in grid_models().items() if row.reads in ("text", "plain")}
    if name not in rows or kind != "text":
        raise unknown_name("model of a learner on texts", name, rows)
    return rows[name].make(contents, cache / "fine-tuning")


def _model_and_reason(kind: str, name: object) -> tuple[str, str]:
    """The name and the sentence; what a project asks for by name is never replaced by something else."""
    if name not in (None, "auto"):
        return str(name), f"{project_row(kind, str(name)).description}, as asked"
    better = better_model(ProjectSettings(kind=kind))
    best = automatic_model(kind, "second" if better else "first")
    return best, "; ".join(filter(None, (project_row(kind, best).description, better)))


def _tuned_and_reason(row: ModelRow, adapt: str) -> tuple[str | None, str]:
    """What is fine-tuned beside a model, or why nothing is; no reason where nobody would expect it."""
    if adapt == "off" or row.reads != "text" or not row.is_linear or not row.vectors.packages:
        return None, ""
    missing = [package for package in FINE_TUNING_PACKAGES if find_spec(package) is None]
    if missing:
        return None, f"learning from your texts would need {pip_install(FINE_TUNING_EXTRA)} ({missing[0]} is missing)"
    tuned = next((encoder for encoder in FINE_TUNED if find_weights(encoder) is not None), None)
    if tuned is None:
        return None, f"learning from your texts would need bemps weights {FINE_TUNED[0]}"
    return tuned, ""
