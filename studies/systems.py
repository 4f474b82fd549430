"""Whole systems side by side on the same texts: python studies/systems.py

2,000 pool and at most 1,000 test texts of a set, the same 26 random labels first, then batches of 50. One row for each
system, set, seed and number of labels is appended to studies/results/systems.jsonl as soon as it is there. Cells that
are whole are not computed again. `--systems` names those that the environment can run.

The systems:
  bemps                 bge-words, SpectralLaplace, corelog-ties: the default of text projects
  bemps-adapted         the same and MiniLM fine-tuned as in a project, at 50 labels and when they have doubled
  skactiveml-random     scikit-activeml, logistic regression on MiniLM's vectors, random items
  skactiveml-margin     the same, margin sampling
  skactiveml-badge      the same, BADGE
  skactiveml-bge        margin sampling on the vectors of bge-small, the regression less regularised (C = 30, not 1)
  small-text            small-text, MiniLM fine-tuned after each batch, learning rate 1e-4, breaking ties
  small-text-default    the same with the learning rate of the library, 2e-5
  small-text-setfit     small-text, SetFit on MiniLM, breaking ties

The first two run in the environment of the project, scikit-activeml in that of `make peers`, small-text in one of its
own with the releases of studies/systems-requirements.txt, since newer ones do not run together. `make systems` builds
and uses all three. `studies/systems_table.py` makes tables and figure.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, contextmanager
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from jaxtyping import Int

from bemps._utils.files import written_whole
from bemps.data import Dataset, load
from bemps.limits import limits
from bemps.metrics import weighted_f1
from bemps.models.content_models import BgeAndWords, BgeVectors, ContentLaplace, MiniLMVectors, show_pool
from bemps.models.encoders.text_views import MEANING
from bemps.types import Array

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results" / "systems.jsonl"
POOL, TEST, INITIAL, BATCH = 2_000, 1_000, 26, 50
TOKENS = 96  # at most; fewer where 99 % of the texts of the pool have fewer, since small-text pads all texts
Predictions = Iterator[Int[Array, " T"]]  # of the test texts, after the initial labels and after each batch
Row = dict[str, Any]
Key = tuple[str, str, int]  # system, set, seed


def dataset_of(name: str, data_dir: str | None) -> Dataset:
    data = load(name, data_dir=data_dir, max_pool=POOL)
    rows = np.sort(np.random.default_rng(0).permutation(len(data.test))[:TEST])
    return replace(data, test=data.test[rows])


def initial(data: Dataset, seed: int) -> Int[Array, " L"]:
    return np.random.default_rng(seed).permutation(len(data.pool))[:INITIAL]


def bemps_default(data: Dataset, encode: Any, seed: int) -> Predictions:
    return learner_rounds(ContentLaplace(encode, first_view=MEANING), data, seed)


def bemps_adapted(data: Dataset, encode: Any, seed: int) -> Predictions:
    from bemps.models.pool_weights import FIRST_ALONE
    from bemps.models.text.adapted_text import AdaptedText
    from bemps.models.text.finetuned_laplace import FineTunedLaplace
    from bemps.project.project_models import FEWEST_TO_ADAPT, FINE_TUNED

    class ProjectAdaptation(AdaptedText):
        """The heads follow every batch; the encoder learns when the page of a project would train it."""

        learnt_from = 0

        def fit(
            self, items: Any, labels: Int[Array, " L"], classes: Sequence[str], rng: np.random.Generator
        ) -> "ProjectAdaptation":
            if len(labels) >= max(FEWEST_TO_ADAPT, 2 * self.learnt_from):
                self.fit_encoder(items, labels, classes, rng)
                self.learnt_from = len(labels)
            elif self.learnt_from == 0:
                self.pool_weights_ = FIRST_ALONE
            self.fit_head(items, labels, classes, rng)
            return self

    model = ProjectAdaptation(ContentLaplace(encode, first_view=MEANING), FineTunedLaplace(FINE_TUNED[0]))
    return learner_rounds(model, data, seed)


def learner_rounds(model: Any, data: Dataset, seed: int) -> Predictions:
    from bemps import ActiveLearner

    learner = ActiveLearner(model, list(data.pool.items), classes=data.classes, seed=seed, explain=False)
    names, positions = np.array(data.classes)[data.pool.labels], initial(data, seed)
    while True:
        learner.tell({str(position): names[position] for position in positions})
        yield learner.predict(list(data.test.items)).argmax(1)
        positions = np.array([int(name) for name in learner.ask(BATCH)])


def skactiveml(rule: str, data: Dataset, encode: Any, seed: int, *, C: float = 1.0) -> Predictions:
    from sklearn.linear_model import LogisticRegression

    pool, classifier = import_module("skactiveml.pool"), import_module("skactiveml.classifier")
    x, test = encode(data.pool.items), encode(data.test.items)
    strategies = {"margin": ("UncertaintySampling", {"method": "margin_sampling"}), "badge": ("Badge", {})}
    name, options = strategies.get(rule, ("RandomSampling", {}))
    strategy = getattr(pool, name)(random_state=seed, **options)
    regression = LogisticRegression(C=C, max_iter=1_000)
    model = classifier.SklearnClassifier(regression, classes=list(range(len(data.classes))), random_state=seed)
    known, positions = np.full(len(x), np.nan), initial(data, seed)
    while True:
        known[positions] = data.pool.labels[positions]
        model.fit(x, known)
        yield model.predict(test).astype(int)
        about_the_model = {} if name == "RandomSampling" else {"clf": model, "fit_clf": False}
        positions = strategy.query(X=x, y=known, batch_size=BATCH, **about_the_model)


def small_text(rate: float | None, data: Dataset, encode: None, seed: int) -> Predictions:
    from transformers import AutoTokenizer

    library, folder = import_module("small_text"), minilm_folder()
    tokenizer, targets = AutoTokenizer.from_pretrained(folder), np.arange(len(data.classes))
    tokens = longest(data, tokenizer)

    def dataset(table: Any) -> Any:
        return library.TransformersDataset.from_arrays(
            list(table.items), table.labels, tokenizer, target_labels=targets, max_length=tokens
        )

    options = {"device": "cpu"} | ({} if rate is None else {"lr": rate})
    factory = library.TransformerBasedClassificationFactory(
        library.TransformerModelArguments(folder), len(targets), kwargs=options
    )
    return small_text_rounds(factory, dataset(data.pool), dataset(data.test), data, seed)


def small_text_setfit(data: Dataset, encode: None, seed: int) -> Predictions:
    from sentence_transformers import SentenceTransformer, models

    library, folder = import_module("small_text"), Path(minilm_folder()).parent / "minilm-sentence-transformers"
    if not folder.is_dir():
        words = models.Transformer(minilm_folder(), max_seq_length=TOKENS)
        pooling = models.Pooling(words.get_word_embedding_dimension(), "mean")
        with written_whole(folder, "weights") as draft:
            SentenceTransformer(modules=[words, pooling, models.Normalize()]).save(str(draft))
    arguments = import_module("small_text.integrations.transformers.classifiers.setfit").SetFitModelArguments
    options = {"device": "cpu", "max_seq_len": TOKENS}
    factory = library.SetFitClassificationFactory(arguments(str(folder)), len(data.classes), options)
    targets = np.arange(len(data.classes))

    def dataset(table: Any) -> Any:
        return library.TextDataset.from_arrays(list(table.items), table.labels, target_labels=targets)

    return small_text_rounds(factory, dataset(data.pool), dataset(data.test), data, seed)


def small_text_rounds(factory: Any, pool: Any, test: Any, data: Dataset, seed: int) -> Predictions:
    import torch

    library = import_module("small_text")
    torch.manual_seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - what the library draws from
    learner, positions = library.PoolBasedActiveLearner(factory, library.BreakingTies(), pool), initial(data, seed)
    with working_elsewhere():
        learner.initialize_data(positions, data.pool.labels[positions])
    while True:
        yield learner.classifier.predict(test)
        positions = learner.query(num_samples=BATCH)
        with working_elsewhere():
            learner.update(data.pool.labels[positions])


@contextmanager
def working_elsewhere() -> Iterator[None]:
    """A temporary working folder: SetFit leaves its checkpoints there."""
    with TemporaryDirectory() as folder, chdir(folder):
        yield


def minilm_folder() -> str:
    """The folder of `bemps weights minilm`, which transformers can read too."""
    from bemps.models.text.pretrained import locate

    return str(Path(locate("minilm")).resolve())


def longest(data: Dataset, tokenizer: Any) -> int:
    lengths = [len(tokenizer.encode(text)) for text in data.pool.items]
    return int(min(TOKENS, np.quantile(lengths, 0.99)))


SYSTEMS: dict[str, tuple[Any, Callable[[Dataset, Any, int], Predictions]]] = {
    "bemps": (BgeAndWords, bemps_default),
    "bemps-adapted": (BgeAndWords, bemps_adapted),
    "skactiveml-random": (MiniLMVectors, partial(skactiveml, "random")),
    "skactiveml-margin": (MiniLMVectors, partial(skactiveml, "margin")),
    "skactiveml-badge": (MiniLMVectors, partial(skactiveml, "badge")),
    "skactiveml-bge": (BgeVectors, partial(skactiveml, "margin", C=30.0)),
    "small-text": (None, partial(small_text, 1e-4)),
    "small-text-default": (None, partial(small_text, None)),
    "small-text-setfit": (None, small_text_setfit),
}


def rows_of(path: Path) -> dict[Key, dict[int, Row]]:
    """The rows of each cell by labels; the last of several counts."""
    cells: dict[Key, dict[int, Row]] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        row = json.loads(line)
        cells.setdefault((row["system"], row["dataset"], row["seed"]), {})[row["labels"]] = row
    return cells


def run(given: argparse.Namespace) -> None:
    goals = range(INITIAL, given.labels + 1, BATCH)
    for seed in given.seeds:
        for name in given.sets:
            data = dataset_of(name, given.data)
            for system in given.systems:
                if goals[-1] not in rows_of(given.out).get((system, name, seed), {}):
                    for row in cell_rows(system, data, seed, goals, given.cache):
                        with given.out.open("a", encoding="utf-8") as file:
                            file.write(json.dumps(row) + "\n")
                    sys.stdout.write(f"{system} {name} {seed}: {row}\n")
                    sys.stdout.flush()


def cell_rows(system: str, data: Dataset, seed: int, goals: range, cache: Path) -> Iterator[Row]:
    """F1 after each batch, CPU seconds of all rounds until then, and those of encoding the texts before."""
    make, play = SYSTEMS[system]
    encode, encoding = (None, 0.0) if make is None else encoded(make, data, cache)
    start = time.process_time()
    for labels, predicted in zip(goals, play(data, encode, seed), strict=False):
        f1 = weighted_f1(data.test.labels, np.asarray(predicted, dtype=np.int64), len(data.classes))
        seconds = time.process_time() - start
        yield {
            "system": system,
            "dataset": data.name,
            "seed": seed,
            "labels": labels,
            "f1": round(float(f1), 4),
            "seconds": round(seconds, 2),
            "encoding": encoding,
        }


def encoded(make: Any, data: Dataset, cache: Path) -> tuple[Any, float]:
    """The encoder with every text in its cache, and the CPU seconds that this took the first time."""
    cache.mkdir(parents=True, exist_ok=True)
    encode, note = make(str(cache)), cache / f"{data.name}-{make.__name__}.seconds"
    texts, start = list(data.pool.items), time.process_time()
    show_pool(encode, texts)
    encode(texts + list(data.test.items))
    if not note.exists():
        note.write_text(f"{time.process_time() - start:.1f}")
    return encode, float(note.read_text())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--cache", type=Path, default=Path("runs/systems"), help="folder of vectors")
    parser.add_argument("--data", help="folder of the known datasets; else BEMPS_DATA")
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=SYSTEMS)
    parser.add_argument("--sets", nargs="+", default=["trec6", "sst5", "csabstruct", "ag_news"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--labels", type=int, default=526)
    given = parser.parse_args()
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    with limits(threads=1):
        run(given)


if __name__ == "__main__":
    main()
