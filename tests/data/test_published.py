"""The published formats, on small hand-made files, and what is refused in them."""

from functools import partial
from pathlib import Path

import numpy as np
import published
import pytest

from bemps.data import Dataset, load
from bemps.errors import InputError


def rows(dataset: Dataset, part: str) -> list[tuple[str, str]]:
    table = getattr(dataset, part)
    return [(text, table.classes[code]) for text, code in zip(table.items, table.labels, strict=True)]


def test_ag_news(tmp_path: Path) -> None:
    news = load("ag_news", data_dir=published.placed(tmp_path, "ag_news_csv", published.ag_news))
    assert rows(news, "pool") == [
        (
            'Wall St. Bears Claw Back Reuters - Short-sellers, Wall Street\'s "ultra-cynics", are back\\',
            "Business",
        ),
        ("Phelps wins Six golds", "Sports"),
        ("Talks resume In Geneva", "World"),
    ]
    assert rows(news, "test") == [("Probe lands On Titan", "Sci/Tech")]
    assert "pool: 3 rows, 120,000 were published" in news.notes


@pytest.mark.parametrize("folder", ["pubmed", "PubMed_20k_RCT", "pubmed/PubMed_20k_RCT"])
def test_pubmed(tmp_path: Path, folder: str) -> None:
    abstracts = load("pubmed", data_dir=published.placed(tmp_path, folder, published.pubmed))
    assert [label for _, label in rows(abstracts, "pool")] == [
        "OBJECTIVE", "METHODS", "RESULTS", "CONCLUSIONS", "BACKGROUND",
    ]  # fmt: skip
    assert rows(abstracts, "pool")[4][0] == "Emotional eating is associated with overeating ."
    assert rows(abstracts, "test") == [("We tried it .", "METHODS")]
    assert rows(abstracts, "dev") == [("It worked .", "RESULTS")]


def test_pubmed_at_the_sizes_of_the_paper(tmp_path: Path) -> None:
    """15,000 and 2,500 of the published sentences, the same ones whatever the seed."""

    def write(folder: Path) -> None:
        for part, size in (("train", 15_200), ("test", 2_600), ("dev", 10)):
            lines = [f"METHODS\tsentence {part} {n} .\n" for n in range(size)]
            (folder / f"{part}.txt").write_text("###1\n" + "".join(lines) + "\n")

    root = published.placed(tmp_path, "pubmed", write)
    paper = load("pubmed", data_dir=root)
    assert (len(paper.pool), len(paper.test), len(paper.dev)) == (15_000, 2_500, 10)
    assert "pool: a fixed sample of 15,000, the size in the paper" in paper.notes
    assert load("pubmed", data_dir=root, seed=5).pool.ids == paper.pool.ids
    whole = load("pubmed", data_dir=root, sizes="published")
    assert (len(whole.pool), len(whole.test)) == (15_200, 2_600)
    assert set(paper.pool.ids) < set(whole.pool.ids)


def test_csabstruct(tmp_path: Path) -> None:
    abstracts = load("csabstruct", data_dir=published.placed(tmp_path, "csabstruct", published.csabstruct))
    assert rows(abstracts, "pool") == [
        ("We do it.", "method"),
        ("It works.", "result"),
        ("We did it.", "method"),
        ("It works.", "result"),
    ]
    assert abstracts.pool.ids[3] == abstracts.pool.ids[1] + "-2"


@pytest.mark.parametrize("folder", ["imdb", "aclImdb", "imdb/aclImdb"])
def test_imdb(tmp_path: Path, folder: str) -> None:
    reviews = load("imdb", data_dir=published.placed(tmp_path, folder, published.imdb))
    assert sorted(rows(reviews, "pool")) == [("awful", "neg"), ("lovely<br />film", "pos")]
    assert sorted(rows(reviews, "test")) == [("bad", "neg"), ("good", "pos")]
    assert list(reviews.pool.ids) == sorted(reviews.pool.ids)


@pytest.mark.parametrize("write", [published.sst_trees, published.sst_tsv, published.sst_flat])
def test_sst5(tmp_path: Path, write) -> None:
    sentences = load("sst5", data_dir=published.placed(tmp_path, "sst5", write))
    assert rows(sentences, "pool") == [("It 's ( and/or", "positive"), ("Awful .", "very negative")]
    assert rows(sentences, "dev") == [("So so", "neutral")]
    assert rows(sentences, "test") == [("Great .", "very positive")]


def test_trec6(tmp_path: Path) -> None:
    questions = load("trec6", data_dir=published.placed(tmp_path, "trec6", published.trec))
    assert rows(questions, "pool") == [
        ("How did serfdom develop ?", "DESC"),
        ("What is a sisterðcity ?", "ENTY"),
        ("What is CNN ?", "ABBR"),
    ]
    assert rows(questions, "test") == [("How far is it from Denver to Aspen ?", "NUM")]


def test_banking77(tmp_path: Path) -> None:
    questions = load("banking77", data_dir=published.placed(tmp_path, "banking_data", published.banking77))
    assert rows(questions, "pool") == [("Where is it?", "card_arrival"), ("Yes, but\nhow?", "Refund_not_showing_up")]
    assert len(questions.classes) == 77


@pytest.mark.parametrize(
    "write",
    [published.mnist, partial(published.mnist, compressed=True), partial(published.mnist, dot=".")],
    ids=["plain", "gzip", "dotted"],
)
def test_mnist(tmp_path: Path, write) -> None:
    digits = load("mnist", data_dir=published.placed(tmp_path, "MNIST/raw", write))
    images, labels = published.digit_images("train")
    assert np.array_equal(np.asarray(digits.pool.items)[..., 0], images)
    assert digits.pool.labels.tolist() == labels.tolist()
    assert digits.pool.items[0].shape == (28, 28, 1)


def test_plain_idx_files_are_memory_mapped(tmp_path: Path) -> None:
    digits = load("mnist", data_dir=published.placed(tmp_path, "mnist", published.mnist))
    assert isinstance(digits.pool.items.pixels.base, np.memmap) or isinstance(digits.pool.items.pixels, np.memmap)


def test_cifar10_binary(tmp_path: Path) -> None:
    photographs = load("cifar10", data_dir=published.placed(tmp_path, "cifar-10-batches-bin", published.cifar))
    batches = [published.cifar_images(n) for n in range(6)]
    assert np.array_equal(np.asarray(photographs.pool.items), np.concatenate([images for images, _ in batches[1:]]))
    assert np.array_equal(photographs.pool.labels, np.concatenate([labels for _, labels in batches[1:]]))
    assert np.array_equal(np.asarray(photographs.test.items), batches[0][0])


@pytest.mark.parametrize(
    ("name", "write", "file", "content", "message"),
    [
        ("ag_news", published.ag_news, "train.csv", b'"5","a","b"\n', "expected a number from 1 to 4; got '5'"),
        ("ag_news", published.ag_news, "train.csv", b'"1","a"\n', "line 1: expected 3 fields"),
        ("pubmed", published.pubmed, "train.txt", b"###1\nMETHODS no tab\n", "line 2: expected LABEL<TAB>sentence"),
        ("pubmed", published.pubmed, "train.txt", b"METHOD\tx\n", "class in pubmed: expected one of BACKGROUND"),
        (
            "csabstruct",
            published.csabstruct,
            "train.jsonl",
            b'{"sentences": ["a"], "labels": []}\n',
            "line 1: expected as many labels as sentences",
        ),
        ("imdb", published.imdb, "train/neg/1_1.txt", b"\xff", "expected complete files (folders of aclImdb)"),
        ("sst5", published.sst_trees, "train.txt", b"no tree\n", "line 1: expected a labelled tree"),
        ("sst5", published.sst_trees, "train.txt", b"(7 (2 a))\n", "expected a number from 0 to 4; got '7'"),
        ("sst5", published.sst_tsv, "train.tsv", b"a\tb\n", "line 1: expected a sentence, a tab and __label__1"),
        ("trec6", published.trec, "train_5500.label", b"DESC How ?\n", "line 1: expected LABEL:fine question"),
        ("banking77", published.banking77, "train.csv", b"text,intent\na,b\n", "expected one of 'text', 'intent'"),
        ("mnist", published.mnist, "train-images-idx3-ubyte", b"\x00\x00\x08\x01", "expected an idx file of bytes"),
        (
            "mnist",
            published.mnist,
            "train-images-idx3-ubyte",
            published.idx_bytes(np.zeros((2, 28, 28), np.uint8))[:-1],
            "expected 1,568 values, as its head says; got 1,567",
        ),
        (
            "mnist",
            published.mnist,
            "train-labels-idx1-ubyte",
            published.idx_bytes(np.zeros(3, np.uint8)),
            "expected as many labels as images; got 12 images and 3 labels",
        ),
        (
            "mnist",
            partial(published.mnist, compressed=True),
            "train-images-idx3-ubyte.gz",
            b"\x1f\x8b not gzip",
            "expected complete files (idx files); got",
        ),
        ("cifar10", published.cifar, "data_batch_2.bin", b"short", "expected records of 3,073 bytes; got 5 bytes"),
        ("cifar10", published.cifar, "test_batch.bin", b"\x0a" * 3073, "expected labels below 10; got 10"),
    ],
)
def test_refusals(tmp_path: Path, name: str, write, file: str, content: bytes, message: str) -> None:
    root = published.placed(tmp_path, name, write)
    (root / name / file).write_bytes(content)
    with pytest.raises(InputError) as caught:
        load(name, data_dir=root)
    assert message in str(caught.value)
