"""The one table of models: grids, projects, the command line's help and the documentation read it.

To add a model, write its module and add a row. A row with `grid` is a model of `bemps run`; a row with an encoder and a
head is a model of projects, that is of `bemps label`.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from bemps.errors import unknown_name
from bemps.models import model_factories
from bemps.models.base import Model
from bemps.models.encoders.encoder_files import is_own_encoder
from bemps.models.encoders.encoder_registry import ENCODERS, EncoderRow, from_module, text_and_words_row


@dataclass(frozen=True)
class Head:
    """What learns on the vectors of a project.

    Attributes
    ----------
    help
        What it is, in a few words.
    make
        Makes it from an encoder of contents, or from None for a model whose items are vectors.
    weighs_views
        Whether it takes `first`, the columns of the first of two views.
    extra
        The extra of bemps that it needs, if any.
    """

    help: str
    make: Callable[..., Any]
    weighs_views: bool = False
    extra: str = ""


@dataclass(frozen=True)
class ModelRow:
    """A row of the table.

    Attributes
    ----------
    reads
        What it learns from: vectors of an encoder, texts or images as they are, or anything ("plain": rows of numbers,
        flattened pixels, TF-IDF of texts).
    help
        One line for users; left out, it follows from encoder and head.
    grid
        Makes the model of a grid from the items of the pool, a folder for what is computed once, and options.
    encoder, head
        Of a model of projects: a name of `ENCODERS` (or a row like theirs), and what learns on its vectors.
    strategy
        The strategy that suits it in a project.
    strategy_few_classes
        The one for few classes, where it is another (docs/results.md).
    grid_default
        Whether `bemps run` takes it where it names no model.
    project_default
        What `auto` means: "first" where its packages are installed and its weights are here, "second" elsewhere.
    features
        Whether it has vectors of its last layer, which BADGE, the -km names of gains and the Laplace family need.
    full
        Options for the classifier trained on the whole pool of a grid, where they differ.
    """

    reads: Literal["plain", "vectors", "text", "image"]
    help: str = ""
    grid: Callable[..., Model] | None = None
    encoder: str | EncoderRow | None = None
    head: Head | None = None
    strategy: str = "margin-km"
    strategy_few_classes: str | None = None
    grid_default: bool = False
    project_default: Literal["first", "second"] | None = None
    features: bool = True
    full: Mapping[str, Any] = field(default_factory=dict)

    @property
    def make(self) -> Callable[..., Model]:
        """The factory of a grid."""
        assert self.grid is not None, "the row of a project"
        return self.grid

    @property
    def encoded(self) -> bool:
        """Whether the model learns from the vectors of an encoder."""
        return self.reads == "vectors"

    @property
    def options(self) -> dict[str, object]:
        """The options in a grid, with their defaults."""
        parameters = inspect.signature(self.make).parameters.values()
        own = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
        return own | ({"encoder": "auto"} if self.encoded else {})

    @property
    def is_linear(self) -> bool:
        """Whether a linear head with a posterior learns on the vectors of a project."""
        return self.head is LAPLACE

    @property
    def vectors(self) -> EncoderRow:
        """The row of the encoder of a project."""
        assert self.encoder is not None, "the row of a grid"
        return ENCODERS[self.encoder] if isinstance(self.encoder, str) else self.encoder

    @property
    def description(self) -> str:
        """What it is, in a few words."""
        return self.help or (f"{self.vectors.help} and {self.head.help}" if self.head else "")

    def on_contents(self, encode: Any) -> Any:
        """The model of a project on contents; on vectors, where the encoder is None."""
        assert self.head is not None, "the row of a grid"
        columns = self.vectors.first_view if self.head.weighs_views else None
        return self.head.make(encode) if columns is None else self.head.make(encode, first_view=columns)


_CONTENT = "bemps.models.content_models:"
LAPLACE = Head("a linear head with Laplace members", from_module(_CONTENT + "ContentLaplace"), weighs_views=True)
REGRESSIONS = Head("an ensemble of logistic regressions", from_module(_CONTENT + "ContentEnsemble"))
NETWORKS = Head("an ensemble of small networks", from_module("bemps.models.content_heads:ContentHeads"), extra="torch")


def _with_words(encoder: str | EncoderRow, **options: Any) -> ModelRow:
    """The row of a text encoder with the words beside it."""
    return ModelRow("text", encoder=encoder, head=LAPLACE, strategy_few_classes="corelog-ties", **options)


MODELS: dict[str, ModelRow] = {
    "logistic": ModelRow(
        "plain",
        "logistic regressions with Dirichlet weights, on rows, pixels, or TF-IDF of texts",
        model_factories.logistic,
        grid_default=True,
        features=False,
        full={"members": 1, "resample": "none"},
    ),
    "spectral": ModelRow("vectors", "Laplace posterior of a linear head on frozen vectors", model_factories.spectral),
    "heads": ModelRow("vectors", "deep ensemble of heads on frozen vectors (torch)", model_factories.heads),
    "heads-mc": ModelRow("vectors", "one head under dropout masks on frozen vectors (torch)", model_factories.heads_mc),
    "forest": ModelRow(
        "plain",
        "the trees of a random forest, on rows, pixels, or TF-IDF of texts",
        model_factories.forest,
        features=False,
    ),
    "finetuned": ModelRow(
        "text", "MiniLM, its top layers fine-tuned under dropout masks (torch)", model_factories.finetuned
    ),
    "finetuned-laplace": ModelRow(
        "text",
        "MiniLM, all layers fine-tuned, Laplace posterior of the last (torch)",
        model_factories.finetuned_laplace,
    ),
    "finetuned-dropout": ModelRow(
        "text", "MiniLM, all layers fine-tuned, under dropout masks (torch)", model_factories.finetuned_dropout
    ),
    "finetuned-ensemble": ModelRow(
        "text",
        "MiniLM networks, all layers fine-tuned, stopped by validation splits of their own (torch)",
        model_factories.finetuned_ensemble,
    ),
    "adapted": ModelRow(
        "text", "a frozen encoder and a fine-tuned one, weighed by held-out labels (torch)", model_factories.adapted
    ),
    "mnist-bnn": ModelRow("image", "the paper's MNIST network (torch)", model_factories.mnist_bnn),
    "vgg16bn": ModelRow("image", "VGG-16bn from scratch (torch)", model_factories.vgg16bn),
    "bge-words": _with_words("bge-words", project_default="first"),
    "bge": ModelRow("text", encoder="bge", head=LAPLACE),
    "minilm-words": _with_words("minilm-words"),
    "minilm": ModelRow("text", encoder="minilm", head=LAPLACE),
    "minilm-heads": ModelRow("text", encoder="minilm", head=NETWORKS),
    "gte-small-words": _with_words("gte-small-words"),
    "gte-small": ModelRow("text", encoder="gte-small", head=LAPLACE),
    "mpnet-words": _with_words("mpnet-words"),
    "mpnet": ModelRow("text", encoder="mpnet", head=LAPLACE),
    "multilingual-words": _with_words("multilingual-words"),
    "multilingual": ModelRow("text", encoder="multilingual", head=LAPLACE),
    "tfidf": ModelRow("text", encoder="tfidf", head=LAPLACE, project_default="second"),
    "tfidf-ensemble": ModelRow("text", encoder="tfidf", head=REGRESSIONS, strategy_few_classes="corelog-ties"),
    "efficientnet": ModelRow("image", encoder="efficientnet", head=LAPLACE, project_default="first"),
    "efficientnet-heads": ModelRow("image", encoder="efficientnet", head=NETWORKS),
    "pixels": ModelRow("image", encoder="pixels", head=LAPLACE, project_default="second"),
}


def grid_models() -> dict[str, ModelRow]:
    """The rows of the models of `bemps run`."""
    return {name: row for name, row in MODELS.items() if row.grid is not None}


def grid_model(name: str) -> ModelRow:
    """The row of a model of `bemps run`."""
    rows = grid_models()
    if name not in rows:
        raise unknown_name("model", name, rows)
    return rows[name]


def default_grid_model() -> str:
    """The model of a grid that names none."""
    return next(name for name, row in grid_models().items() if row.grid_default)


def project_models(kind: str) -> dict[str, ModelRow]:
    """The rows of the models of projects of texts ("text") or images ("image")."""
    return {name: row for name, row in MODELS.items() if row.head is not None and row.reads == kind}


def project_row(kind: str, name: str) -> ModelRow:
    """The row of a model of projects; for texts also that of a folder or a name on the hub, with words beside it."""
    rows = project_models(kind)
    if name in rows:
        return rows[name]
    if kind == "text" and is_own_encoder(name):
        return _with_words(text_and_words_row(name))
    where = "Or the folder of a text encoder, or its name on the Hugging Face hub." if kind == "text" else ""
    raise unknown_name(f"model of a project of {kind}s", name, ["auto", *rows], where)


def project_kinds() -> list[str]:
    """The kinds of items that a project can have."""
    return list(dict.fromkeys(row.reads for row in MODELS.values() if row.head is not None))


def automatic_model(kind: str, choice: Literal["first", "second"]) -> str:
    """What `auto` means in a project: the first choice, or what works where its packages or weights are missing."""
    return next(name for name, row in project_models(kind).items() if row.project_default == choice)
