"""Datasets by name: the real ones where they are, and what is said where they are not."""

import sys
from pathlib import Path

import numpy as np
import published
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bemps.data import Dataset, Removed, datasets, initial_labels, load
from bemps.errors import InputError

REAL = {  # pool before and after removal, test, classes, rows and contents removed (README and meta.json of the data)
    "ag_news": (35_654, 35_654, 7_600, 4, Removed(0, 0)),
    "csabstruct": (11_333, 11_125, 1_349, 5, Removed(208, 164)),
    "imdb": (25_000, 24_877, 25_000, 2, Removed(123, 123)),
    "sst5": (8_544, 8_541, 2_210, 5, Removed(3, 2)),
    "trec6": (5_452, 5_442, 500, 6, Removed(10, 10)),
    "banking77": (10_003, 9_997, 3_080, 77, Removed(6, 6)),
    "mnist": (60_000, 60_000, 10_000, 10, Removed(0, 0)),
    "cifar10": (50_000, 50_000, 10_000, 10, Removed(0, 0)),
}
loaded: dict[str, Dataset] = {}


@pytest.fixture
def real(data_dir: Path):
    """Loads each real dataset once."""

    def once(name: str) -> Dataset:
        if not any((data_dir / name).glob("*")):
            pytest.skip(f"no {name} in {data_dir}")
        if name not in loaded:
            loaded[name] = load(name, data_dir=data_dir)
        return loaded[name]

    return once


@pytest.mark.parametrize("name", REAL)
def test_real_datasets(real, name: str) -> None:
    dataset = real(name)
    before, after, test, classes, removed = REAL[name]
    assert (len(dataset.pool), len(dataset.test), len(dataset.classes)) == (after, test, classes)
    assert dataset.removed["pool"] == removed
    assert before - after == removed.rows
    assert len(set(dataset.pool.ids)) == after
    assert not set(dataset.pool.ids) & set(dataset.test.ids)
    assert np.bincount(dataset.test.labels, minlength=classes).min() > 0


@pytest.mark.parametrize("name", REAL)
def test_initial_labels_of_real_datasets(real, name: str) -> None:
    dataset = real(name)
    first = initial_labels(dataset, seed=1)
    assert len(first) == (20 if name in ("mnist", "cifar10") else 26)
    assert np.array_equal(first, initial_labels(dataset, seed=1))
    present = len(np.unique(dataset.pool.labels[first]))
    assert present == min(len(first), len(dataset.classes))


def test_the_published_dev_sets(real) -> None:
    assert len(real("sst5").dev) == 1_101
    assert len(real("csabstruct").dev) == 2_026 - 50
    assert real("csabstruct").removed["dev"] == Removed(50, 45)
    assert real("imdb").dev is None


def test_class_counts_are_those_of_the_source(real) -> None:
    assert np.bincount(real("ag_news").pool.labels).tolist() == [8_930, 9_013, 8_900, 8_811]
    assert real("ag_news").classes == ("World", "Sports", "Business", "Sci/Tech")
    assert np.bincount(real("mnist").test.labels).tolist() == [
        980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009,
    ]  # fmt: skip
    assert np.bincount(real("cifar10").pool.labels).tolist() == [5_000] * 10


def test_an_incomplete_pool_is_said(real) -> None:
    assert real("ag_news").notes == ("pool: 35,654 rows, 120,000 were published",)


def test_the_rows_of_imdb_are_not_sorted_by_class(real) -> None:
    head = real("imdb").pool.labels[:1000]
    assert 400 < head.sum() < 600


def test_cifar10_is_the_known_one(real) -> None:
    """Channel means as commonly quoted."""
    pixels = real("cifar10").pool.items.pixels
    assert pixels.shape == (50_000, 32, 32, 3)
    means = [pixels[..., channel].mean(dtype=np.float64) / 255 for channel in range(3)]
    assert np.allclose(means, [0.49139968, 0.48215841, 0.44653091], atol=1e-8)


def test_a_part_of_the_pool(data_dir: Path, real) -> None:
    whole = real("trec6")
    part = load("trec6", data_dir=data_dir, max_pool=100, seed=3)
    assert len(part.pool) == 100
    assert part.test.ids == whole.test.ids
    assert set(part.pool.ids) < set(whole.pool.ids)
    assert load("trec6", data_dir=data_dir, max_pool=100, seed=3).pool.ids == part.pool.ids
    assert load("trec6", data_dir=data_dir, max_pool=100, seed=4).pool.ids != part.pool.ids


def test_digits_come_with_scikit_learn() -> None:
    digits = load("digits")
    assert (len(digits.pool), len(digits.test), digits.kind) == (1_297, 500, "array")
    assert digits.pool.items.dtype == np.float32
    assert load("digits").test.ids == digits.test.ids
    assert np.bincount(digits.test.labels).min() >= 48
    assert digits.source == "scikit-learn"


def test_the_folder_may_be_named_by_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BEMPS_DATA", str(published.placed(tmp_path, "trec6", published.trec)))
    assert len(load("trec6").pool) == 3
    assert load("trec6").source == "files: LABEL:fine question"


def test_an_empty_variable_is_not_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(published.placed(tmp_path, "trec6", published.trec))
    monkeypatch.setenv("BEMPS_DATA", "")
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(InputError, match="got BEMPS_DATA is not set; hub"):
        load("trec6")


def test_what_stands_in_the_test_set_is_left_out_however_it_is_written(tmp_path: Path) -> None:
    published.placed(tmp_path, "trec6", published.trec)
    (tmp_path / "trec6" / "TREC_10.label").write_bytes(b"ABBR:exp What is CNN ? \r\nDESC:def What is it ?\n")
    questions = load("trec6", data_dir=tmp_path)
    assert len(questions.pool) == 2
    assert questions.removed["pool"] == Removed(1, 1)
    assert "pool: 1 rows (1 contents) also in the test set, left out" in questions.notes


def test_labels_of_parquet_are_read_by_name(tmp_path: Path) -> None:
    """Another order in labels.json changes no class."""
    (tmp_path / "trec6").mkdir()
    for part in ("train", "test"):
        pq.write_table(
            pa.table({"text": [f"{part} a", f"{part} b"], "label": [0, 2]}), tmp_path / f"trec6/{part}.parquet"
        )
    assert load("trec6", data_dir=tmp_path).pool.labels.tolist() == [0, 2]
    (tmp_path / "trec6" / "labels.json").write_text('["NUM", "LOC", "HUM"]')
    assert load("trec6", data_dir=tmp_path).pool.labels.tolist() == [5, 3]


def test_names_are_listed_with_one_line_each() -> None:
    assert set(REAL) | {"digits", "pubmed"} == set(datasets())
    assert all(line and "\n" not in line for line in datasets().values())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "agnews"}, "got 'agnews'. Did you mean 'ag_news'?"),
        ({"name": "TREC-6"}, "expected one of ag_news, banking77, cifar10, csabstruct"),
        ({"name": "sst5", "sizes": "all"}, "sizes: expected one of paper, published; got 'all'"),
        (
            {"name": "sst5", "data_dir": "no such folder"},
            "data_dir or BEMPS_DATA: expected a folder; got no such folder",
        ),
        ({"name": "digits", "max_pool": 0}, "max_pool: expected 1 or more; got 0"),
    ],
)
def test_refusals(arguments, message: str) -> None:
    with pytest.raises(InputError) as caught:
        load(**arguments)
    assert message in str(caught.value)


def test_a_folder_with_other_files_is_refused_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / "sst5").mkdir()
    (tmp_path / "sst5" / "train.tsv").touch()
    with pytest.raises(InputError) as caught:
        load("sst5", data_dir=tmp_path)
    assert "expected train.parquet, test.parquet, dev.parquet (Parquet with text and label) or " in str(caught.value)
    assert "train.tsv or sst_train.txt" in str(caught.value)
    assert "got train.tsv." in str(caught.value)


def test_pickled_batches_are_never_read(tmp_path: Path) -> None:
    (tmp_path / "cifar10").mkdir()
    (tmp_path / "cifar10" / "data_batch_1").write_bytes(b"\x80\x02}")
    with pytest.raises(InputError, match="fetch the binary version"):
        load("cifar10", data_dir=tmp_path)
