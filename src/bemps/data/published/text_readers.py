"""Readers of the text datasets, in the formats they were published in and as Parquet.

Each takes the files of one part (pool, test, dev), its name and the ordered classes, and returns texts and class names.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from bemps.data.records import Dialect, read_delimited, read_jsonl, read_parquet
from bemps.data.text_encoding import encoding_of
from bemps.errors import InputError

Paths = tuple[Path, ...]
Classes = tuple[str, ...]
Texts = tuple[list[str], list[str]]

LEAF = re.compile(r"\(\d ([^()]+)\)")
BRACKETS = {"-LRB-": "(", "-RRB-": ")"}


def parquet(paths: Paths, part: str, classes: Classes) -> Texts:
    """Columns `text` and `label` (a code into `labels.json` beside the file, else into the usual order)."""
    records = read_parquet(paths[0], ("text", "label"))
    listing = paths[0].with_name("labels.json")
    names = tuple(json.loads(listing.read_text(encoding="utf-8"))) if listing.exists() else classes
    return records.columns["text"], [_numbered(str(code), names, paths[0], 0) for code in records.columns["label"]]


def ag_news(paths: Paths, part: str, classes: Classes) -> Texts:
    """`train.csv`, `test.csv`: class 1 to 4, title, description, without a header (some copies have one)."""
    header = ("class", "title", "description")
    records = read_delimited(paths[0], header, Dialect(header=header))
    rows = list(zip(*(records.columns[name] for name in header), strict=True))
    if rows and not rows[0][0].isdecimal():
        rows = rows[1:]
    return [f"{title} {body}" for _, title, body in rows], [_numbered(row[0], classes, paths[0], 1) for row in rows]


def banking77(paths: Paths, part: str, classes: Classes) -> Texts:
    """`train.csv`, `test.csv` with the header text,category."""
    columns = read_delimited(paths[0], ("text", "category"), Dialect()).columns
    return columns["text"], columns["category"]


def pubmed(paths: Paths, part: str, classes: Classes) -> Texts:
    """`### id` before each abstract, then `LABEL<TAB>sentence`, a blank line after it."""
    rows = []
    for number, line in _lines(paths[0], "utf-8"):
        if line.startswith("###") or not line.strip():
            continue
        label, tab, sentence = line.partition("\t")
        if not tab:
            raise _odd_line(paths[0], number, "LABEL<TAB>sentence", line)
        rows.append((sentence, label))
    return _columns(rows)


def csabstruct(paths: Paths, part: str, classes: Classes) -> Texts:
    """One abstract per line: equally long lists `sentences` and `labels`."""
    records = read_jsonl(paths[0], ("sentences", "labels"))
    rows: list[tuple[str, str]] = []
    for line, *abstract in zip(records.lines, records.columns["sentences"], records.columns["labels"], strict=True):
        if len(abstract[0]) != len(abstract[1]):
            raise _odd_line(paths[0], line, "as many labels as sentences", str(abstract))
        rows.extend(zip(*abstract, strict=True))
    return _columns(rows)


def imdb(paths: Paths, part: str, classes: Classes) -> Texts:
    """The folders neg and pos of aclImdb: one review per file (in no order: the loader sorts by content)."""
    files = [file for folder in paths for file in folder.glob("*.txt")]
    return [file.read_text(encoding="utf-8") for file in files], [file.parent.name for file in files]


def sst_trees(paths: Paths, part: str, classes: Classes) -> Texts:
    """`(3 (2 It) (4 (2 's) ...))`: the number at the root is the class of the sentence, 0 to 4."""
    rows = []
    for number, line in _lines(paths[0], "utf-8"):
        if line.strip():
            words = [BRACKETS.get(word, word.replace("\\/", "/")) for word in LEAF.findall(line)]
            if not words or not line[1].isdecimal():
                raise _odd_line(paths[0], number, "a labelled tree", line)
            rows.append((" ".join(words), _numbered(line[1], classes, paths[0], 0)))
    return _columns(rows)


def sst_labels(paths: Paths, part: str, classes: Classes) -> Texts:
    """The common flat copies: a sentence and `__label__1` to `__label__5`, tab between, in either order."""
    rows = []
    for number, line in _lines(paths[0], "utf-8"):
        if not line.strip():
            continue
        fields = line.split("\t")
        marked = [field.removeprefix("__label__") for field in fields if field.startswith("__label__")]
        if len(fields) != 2 or len(marked) != 1:
            raise _odd_line(paths[0], number, "a sentence, a tab and __label__1 to __label__5", line)
        text = fields[0] if fields[1].startswith("__label__") else fields[1]
        rows.append((text, _numbered(marked[0].strip(), classes, paths[0], 1)))
    return _columns(rows)


def trec(paths: Paths, part: str, classes: Classes) -> Texts:
    """`COARSE:fine question`, in Latin-1."""
    rows = []
    for number, line in _lines(paths[0], "latin-1"):
        if line.strip():
            label, space, question = line.partition(" ")
            if not space or ":" not in label:
                raise _odd_line(paths[0], number, "LABEL:fine question", line)
            rows.append((question, label.partition(":")[0]))
    return _columns(rows)


def _lines(path: Path, encoding: str) -> Iterator[tuple[int, str]]:
    with path.open(encoding=encoding_of(path, encoding), newline="\n") as file:
        for number, line in enumerate(file, start=1):
            yield number, line.rstrip("\r\n")


def _columns(rows: list[tuple[str, str]]) -> Texts:
    return [text for text, _ in rows], [label for _, label in rows]


def _numbered(word: str, classes: Classes, path: Path, first: int) -> str:
    code = int(word) - first if word.isdecimal() else -1
    if not 0 <= code < len(classes):
        raise InputError(
            f"class in {path}",
            expected=f"a number from {first} to {first + len(classes) - 1}",
            got=repr(word),
            fix="Is it the file of this dataset?",
        )
    return classes[code]


def _odd_line(path: Path, number: int, expected: str, line: str) -> InputError:
    return InputError(
        f"{path}, line {number:,}", expected=expected, got=repr(line[:60]), fix="Is it the published file?"
    )
