"""Small files in the formats that the datasets were published in, written by hand."""

import gzip
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np

PUBMED = """###24293578
OBJECTIVE\tTo investigate the efficacy of 6 weeks of daily low-dose oral prednisolone .
METHODS\tA total of 125 patients with primary knee OA were randomized 1:1 .
RESULTS\tThere was a clinically relevant reduction in the intervention group .
CONCLUSIONS\tLow-dose oral prednisolone had both a short-term and a longer sustained effect .

###24854809
BACKGROUND\tEmotional eating is associated with overeating .
"""


def ag_news(folder: Path) -> None:
    (folder / "train.csv").write_text(
        '"3","Wall St. Bears Claw Back","Reuters - Short-sellers, Wall Street\'s ""ultra-cynics"", are back\\"\n'
        '"2","Phelps wins","Six golds"\n"1","Talks resume","In Geneva"\n'
    )
    (folder / "test.csv").write_text('"Class Index","Title","Description"\n"4","Probe lands","On Titan"\n')


def pubmed(folder: Path) -> None:
    (folder / "train.txt").write_text(PUBMED)
    (folder / "dev.txt").write_text("###1\nRESULTS\tIt worked .\n")
    (folder / "test.txt").write_text("###2\r\nMETHODS\tWe tried it .\r\n\r\n")


def csabstruct(folder: Path) -> None:
    line = (
        '{"abstract_id": 0, "sentences": ["We do it.", "It works."], "labels": ["method", "result"], "confs": [1, 1]}\n'
    )
    (folder / "train.jsonl").write_text(line + line.replace("do it", "did it"))
    (folder / "dev.jsonl").write_text(line.replace("It works", "It failed"))
    (folder / "test.jsonl").write_text(line.replace("We do", "They do").replace("It works", "Nothing"))


def imdb(folder: Path) -> None:
    for part, reviews in {"train": ["awful", "lovely<br />film"], "test": ["bad", "good"]}.items():
        for stars, (kind, review) in zip((2, 9), zip(("neg", "pos"), reviews, strict=True), strict=True):
            (folder / part / kind).mkdir(parents=True)
            (folder / part / kind / f"0_{stars}.txt").write_text(review)


def sst_trees(folder: Path) -> None:
    (folder / "train.txt").write_text("(3 (2 It) (4 (2 's) (4 (2 -LRB-) (2 and\\/or))))\n(0 (2 Awful) (2 .))\n")
    (folder / "dev.txt").write_text("(2 (2 So) (2 so))\n")
    (folder / "test.txt").write_text("(4 (2 Great) (2 .))\n")


def sst_tsv(folder: Path) -> None:
    (folder / "train.tsv").write_text("It 's ( and/or\t__label__4\nAwful .\t__label__1\n")
    (folder / "dev.tsv").write_text("So so\t__label__3\n")
    (folder / "test.tsv").write_text("Great .\t__label__5\n")


def sst_flat(folder: Path) -> None:
    (folder / "sst_train.txt").write_text("__label__4\tIt 's ( and/or\n__label__1\tAwful .\n")
    (folder / "sst_dev.txt").write_text("__label__3\tSo so\n")
    (folder / "sst_test.txt").write_text("__label__5\tGreat .\n")


def trec(folder: Path) -> None:
    (folder / "train_5500.label").write_bytes(
        b"DESC:manner How did serfdom develop ?\nENTY:cremat What is a sister\xf0city ?\nABBR:exp What is CNN ?\n"
    )
    (folder / "TREC_10.label").write_bytes(b"NUM:dist How far is it from Denver to Aspen ?\n")


def banking77(folder: Path) -> None:
    (folder / "train.csv").write_text(
        'text,category\nWhere is it?,card_arrival\n"Yes, but\nhow?",Refund_not_showing_up\n'
    )
    (folder / "test.csv").write_text("text,category\nWhen?,card_arrival\n")


def idx_bytes(values: np.ndarray) -> bytes:
    return bytes([0, 0, 8, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape) + values.tobytes()


def digit_images(part: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(len(part))
    return rng.integers(0, 256, (12, 28, 28), dtype=np.uint8), np.arange(12, dtype=np.uint8) % 10


def mnist(folder: Path, *, compressed: bool = False, dot: str = "-") -> None:
    for part in ("train", "t10k"):
        for what, values in zip(("images", "labels"), digit_images(part), strict=True):
            name = f"{part}-{what}{dot}idx{values.ndim}-ubyte"
            if compressed:
                (folder / f"{name}.gz").write_bytes(gzip.compress(idx_bytes(values)))
            else:
                (folder / name).write_bytes(idx_bytes(values))


def cifar_images(batch: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(batch)
    return rng.integers(0, 256, (4, 32, 32, 3), dtype=np.uint8), rng.integers(0, 10, 4, dtype=np.uint8)


def cifar(folder: Path) -> None:
    for batch, name in enumerate(["test_batch", *(f"data_batch_{n}" for n in range(1, 6))]):
        images, labels = cifar_images(batch)
        records = np.concatenate([labels[:, None], images.transpose(0, 3, 1, 2).reshape(4, -1)], axis=1)
        (folder / f"{name}.bin").write_bytes(records.tobytes())


def placed(root: Path, name: str, write: Callable[[Path], None]) -> Path:
    """A data folder with one dataset in it."""
    (root / name).mkdir(parents=True)
    write(root / name)
    return root
