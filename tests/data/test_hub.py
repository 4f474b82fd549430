"""The hub, played by a module of the same interface as `datasets`; and what is said when it cannot be reached."""

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from bemps.data import load
from bemps.errors import InputError


class Split(dict):
    """Columns by name, with their features, as in `datasets.Dataset`."""

    def __init__(self, columns: dict, features: dict) -> None:
        super().__init__(columns)
        self.features = features


def class_label(*names: str) -> SimpleNamespace:
    return SimpleNamespace(names=list(names))


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch):
    """Installs a `datasets` module that serves the given splits; returns the calls it gets."""
    monkeypatch.delenv("BEMPS_DATA", raising=False)

    def serve(splits: dict | Exception) -> list:
        calls: list = []

        def load_dataset(name: str, **options: str):
            calls.append((name, options))
            if isinstance(splits, Exception):
                raise splits
            return splits

        module = ModuleType("datasets")
        module.load_dataset = load_dataset
        monkeypatch.setitem(sys.modules, "datasets", module)
        return calls

    return serve


def test_texts_with_class_names_of_another_order(hub) -> None:
    labels = class_label("ABBR", "ENTY", "DESC", "HUM", "LOC", "NUM")
    calls = hub(
        {
            "train": Split({"text": ["What ?", "How ?"], "coarse_label": [1, 2]}, {"coarse_label": labels}),
            "test": Split({"text": ["Where ?"], "coarse_label": [4]}, {"coarse_label": labels}),
        }
    )
    questions = load("trec6")
    assert calls == [("CogComp/trec", {"revision": "refs/convert/parquet"})]
    assert [questions.classes[code] for code in questions.pool.labels] == ["ENTY", "DESC"]
    assert questions.source == "hub: CogComp/trec"


def test_labels_that_are_words_or_bare_numbers(hub) -> None:
    bare = SimpleNamespace(dtype="string")
    split = Split({"text": ["We tried .", "It worked ."], "label": ["methods", "results"]}, {"label": bare})
    hub(
        {
            "train": split,
            "test": Split({"text": ["No ."], "label": ["background"]}, {"label": bare}),
            "validation": split,
        }
    )
    abstracts = load("pubmed")
    assert [abstracts.classes[code] for code in abstracts.pool.labels] == ["METHODS", "RESULTS"]
    assert len(abstracts.dev) == 2
    numbers = Split({"text": ["great"], "label": [4]}, {"label": SimpleNamespace(dtype="int64")})
    other = Split({"text": ["awful"], "label": [0]}, {"label": SimpleNamespace(dtype="int64")})
    hub({"train": numbers, "test": other, "validation": other})
    assert load("sst5").pool.labels.tolist() == [4]


def test_rows_that_are_whole_abstracts(hub) -> None:
    labels = SimpleNamespace(feature=class_label("background", "method", "objective", "other", "result"))
    train = Split({"sentences": [["a", "b"], ["c"]], "labels": [[0, 4], [1]]}, {"labels": labels})
    test = Split({"sentences": [["d"]], "labels": [[2]]}, {"labels": labels})
    hub({"train": train, "test": test, "validation": test})
    abstracts = load("csabstruct")
    assert abstracts.pool.items == ["a", "b", "c"]
    assert abstracts.pool.labels.tolist() == [0, 4, 1]


def test_images(hub) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (3, 28, 28), dtype=np.uint8)
    labels = class_label(*"0123456789")
    train = Split({"image": [Image.fromarray(image) for image in pixels[:2]], "label": [7, 3]}, {"label": labels})
    test = Split({"image": [Image.fromarray(pixels[2])], "label": [1]}, {"label": labels})
    hub({"train": train, "test": test})
    digits = load("mnist")
    assert np.array_equal(np.asarray(digits.pool.items)[..., 0], pixels[:2])
    assert digits.pool.labels.tolist() == [7, 3]


def test_a_local_folder_comes_first(hub, tmp_path: Path) -> None:
    calls = hub(ConnectionError("the hub was asked"))
    (tmp_path / "trec6").mkdir()
    (tmp_path / "trec6" / "train_5500.label").write_text("DESC:manner How ?\n")
    (tmp_path / "trec6" / "TREC_10.label").write_text("DESC:manner Why ?\n")
    assert len(load("trec6", data_dir=tmp_path).pool) == 1
    assert calls == []


def test_without_folder_package_and_network_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BEMPS_DATA", raising=False)
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(InputError) as caught:
        load("pubmed")
    assert str(caught.value) == (
        "dataset 'pubmed': expected its files in a folder, or the datasets package and a network; got BEMPS_DATA is "
        "not set; hub armanc/pubmed-rct20k: ModuleNotFoundError: import of datasets halted; None in sys.modules. "
        "Put train.txt, test.txt, dev.txt (### id lines and LABEL<TAB>sentence) or train.parquet, test.parquet, "
        "dev.parquet (Parquet with text and label) into <folder>/pubmed and set BEMPS_DATA=<folder> (or data_dir=); "
        "or run `pip install datasets` and connect to the network."
    )


def test_without_a_network_the_error_quotes_the_hub(hub, tmp_path: Path) -> None:
    hub(ConnectionError("Couldn't reach the hub"))
    with pytest.raises(InputError) as caught:
        load("imdb", data_dir=tmp_path)
    assert f"got no folder imdb or aclImdb in {tmp_path}; hub stanfordnlp/imdb: ConnectionError: Couldn't reach" in str(
        caught.value
    )
    assert isinstance(caught.value.__cause__, ConnectionError)
