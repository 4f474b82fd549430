"""The table of published datasets: classes, sizes, files, and names on the hub."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bemps.data.identity import Items
from bemps.data.published import image_readers, text_readers
from bemps.data.published.banking import INTENTS

Contents = tuple[Items, list[str]]  # items and the class name of each
PARTS = ("pool", "test", "dev")
CONVERTED = "refs/convert/parquet"  # the hub's own Parquet of a dataset that has only a script


@dataclass(frozen=True)
class Layout:
    """One layout of the files in the folder of a dataset.

    Attributes
    ----------
    name : str
        What the files are, for messages.
    files : mapping of str to tuple of str
        The files of each part. `a|b` means either name. A dev part may be missing.
    read : callable
        The reader, from paths, part and classes to items and class names.
    """

    name: str
    files: Mapping[str, tuple[str, ...]]
    read: Callable[[tuple[Path, ...], str, tuple[str, ...]], Contents]

    def existing_files(self, folder: Path) -> dict[str, tuple[Path, ...]]:
        """The files of each part, for the parts whose files all exist."""
        parts = {}
        for part, names in self.files.items():
            paths = [_first(folder, name) for name in names]
            if None not in paths:
                parts[part] = tuple(path for path in paths if path is not None)
        return parts

    def __str__(self) -> str:
        names = [name.replace("|", " or ") for part in self.files.values() for name in part]
        return f"{', '.join(dict.fromkeys(names))} ({self.name})"


def _first(folder: Path, names: str) -> Path | None:
    return next((folder / name for name in names.split("|") if (folder / name).exists()), None)


@dataclass(frozen=True)
class HubSource:
    """A dataset of the Hugging Face hub.

    Attributes
    ----------
    name : str
        Its name.
    content : str
        The column of the items.
    label : str
        The column of the labels.
    dev : str, optional
        The split that is the dev set.
    revision : str, optional
        The revision to load.
    """

    name: str
    content: str = "text"
    label: str = "label"
    dev: str | None = None
    revision: str | None = None


@dataclass(frozen=True)
class PublishedDataset:
    """A row of the table.

    Attributes
    ----------
    title : str
        One line for users.
    classes : tuple of str
        The ordered class names.
    published : mapping of str to int
        The sizes of the published parts.
    layouts : tuple of Layout
        The layouts in which its files come.
    folders : tuple of str
        Other names of its folder.
    hub : HubSource, optional
        Where it is on the hub.
    paper : mapping of str to int, optional
        The sizes in the paper, if it used a sample.
    sort : bool
        Whether rows are sorted by id, because they were published class after class.
    """

    title: str
    classes: tuple[str, ...]
    published: Mapping[str, int]
    layouts: tuple[Layout, ...] = ()
    folders: tuple[str, ...] = ()
    hub: HubSource | None = None
    paper: Mapping[str, int] | None = None
    sort: bool = False


def _split(name: str, read: Callable[..., Contents], pattern: str, *, dev: bool = False) -> Layout:
    """A file per part, `{}` standing for train, test and dev."""
    parts = {"pool": "train", "test": "test"} | ({"dev": "dev"} if dev else {})
    return Layout(name, {part: (pattern.format(*[word] * pattern.count("{}")),) for part, word in parts.items()}, read)


def _parquet(*, dev: bool = False) -> Layout:
    return _split("Parquet with text and label", text_readers.parquet, "{}.parquet", dev=dev)


def _idx(stem: str) -> tuple[str, str]:
    """The names of the files of images and of labels: with - or . before idx, compressed or not."""
    return _spellings(f"{stem}-images", "idx3-ubyte"), _spellings(f"{stem}-labels", "idx1-ubyte")


def _spellings(stem: str, kind: str) -> str:
    return "|".join(f"{stem}{dot}{kind}{end}" for dot in "-." for end in ("", ".gz"))


DIGITS = tuple("0123456789")
OBJECTS = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")

CATALOGUE: Mapping[str, PublishedDataset] = {
    "ag_news": PublishedDataset(
        "AG NEWS, news by topic",
        ("World", "Sports", "Business", "Sci/Tech"),
        {"pool": 120_000, "test": 7_600},
        (
            Layout(
                "Parquet with text and label",
                {"pool": ("train.parquet|train_subset.parquet",), "test": ("test.parquet",)},
                text_readers.parquet,
            ),
            _split("csv of class, title, description", text_readers.ag_news, "{}.csv"),
        ),
        ("ag_news_csv",),
        HubSource("fancyzhx/ag_news"),
    ),
    "pubmed": PublishedDataset(
        "PUBMED 20k RCT, sentences of medical abstracts by role",
        ("BACKGROUND", "OBJECTIVE", "METHODS", "RESULTS", "CONCLUSIONS"),
        {"pool": 180_040, "test": 30_135, "dev": 30_212},
        (_split("### id lines and LABEL<TAB>sentence", text_readers.pubmed, "{}.txt", dev=True), _parquet(dev=True)),
        ("PubMed_20k_RCT", "PubMed_20k_RCT_numbers_replaced_with_at_sign"),
        HubSource("armanc/pubmed-rct20k", dev="validation"),
        paper={"pool": 15_000, "test": 2_500},
    ),
    "csabstruct": PublishedDataset(
        "CSAbstruct, sentences of computer-science abstracts by role",
        ("background", "method", "objective", "other", "result"),
        {"pool": 11_333, "test": 1_349, "dev": 2_026},
        (_parquet(dev=True), _split("one abstract per line", text_readers.csabstruct, "{}.jsonl", dev=True)),
        ("CSAbstruct",),
        HubSource("allenai/csabstruct", "sentences", "labels", dev="validation", revision=CONVERTED),
    ),
    "imdb": PublishedDataset(
        "IMDB, film reviews by sentiment",
        ("neg", "pos"),
        {"pool": 25_000, "test": 25_000},
        (
            _parquet(),
            Layout(
                "folders of aclImdb",
                {"pool": ("train/neg", "train/pos"), "test": ("test/neg", "test/pos")},
                text_readers.imdb,
            ),
        ),
        ("aclImdb",),
        HubSource("stanfordnlp/imdb"),
        sort=True,
    ),
    "sst5": PublishedDataset(
        "SST5, film review sentences in five shades of sentiment",
        ("very negative", "negative", "neutral", "positive", "very positive"),
        {"pool": 8_544, "test": 2_210, "dev": 1_101},
        (
            _parquet(dev=True),
            _split("sentence<TAB>__label__", text_readers.sst_labels, "{}.tsv|sst_{}.txt", dev=True),
            _split("labelled trees", text_readers.sst_trees, "{}.txt", dev=True),
        ),
        ("trees", "sst"),
        HubSource("SetFit/sst5", dev="validation"),
    ),
    "trec6": PublishedDataset(
        "TREC-6, questions by the kind of answer",
        ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM"),
        {"pool": 5_452, "test": 500},
        (
            _parquet(),
            Layout(
                "LABEL:fine question",
                {"pool": ("train_5500.label|TREC.train",), "test": ("TREC_10.label|TREC.test",)},
                text_readers.trec,
            ),
        ),
        ("TREC", "trec"),
        HubSource("CogComp/trec", label="coarse_label", revision=CONVERTED),
    ),
    "banking77": PublishedDataset(
        "Banking77, customers' questions by intent",
        INTENTS,
        {"pool": 10_003, "test": 3_080},
        (_parquet(), _split("csv of text, category", text_readers.banking77, "{}.csv")),
        ("banking_data",),
        HubSource("legacy-datasets/banking77"),
    ),
    "mnist": PublishedDataset(
        "MNIST, handwritten digits",
        DIGITS,
        {"pool": 60_000, "test": 10_000},
        (Layout("idx files", {"pool": _idx("train"), "test": _idx("t10k")}, image_readers.mnist),),
        ("MNIST/raw", "MNIST"),
        HubSource("ylecun/mnist", "image"),
    ),
    "cifar10": PublishedDataset(
        "CIFAR10, small photographs",
        OBJECTS,
        {"pool": 50_000, "test": 10_000},
        (
            Layout(
                "binary version",
                {"pool": tuple(f"data_batch_{n}.bin" for n in range(1, 6)), "test": ("test_batch.bin",)},
                image_readers.cifar_binary,
            ),
            Layout(
                "lossless WebP strips",
                {"pool": ("cifar10_webp_lossless.zip",), "test": ("cifar10_webp_lossless.zip",)},
                image_readers.cifar_strips,
            ),
        ),
        ("cifar-10-batches-bin",),
        HubSource("uoft-cs/cifar10", "img"),
    ),
    "digits": PublishedDataset(
        "digits, 8 x 8 handwritten digits of scikit-learn", DIGITS, {"pool": 1_297, "test": 500}
    ),
}


def datasets() -> dict[str, str]:
    """The names that `load` accepts.

    Returns
    -------
    dict of str to str
        One line of help for each name.
    """
    return {name: entry.title for name, entry in CATALOGUE.items()}
