"""Every reader of files, each with a valid folder and the call that a user would make on it."""

import contextlib
import io
import json
import signal
import warnings
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
from making import predictions
from making_runs import synthetic_run
from mutations import changes, mutated
from PIL import Image
from typer.testing import CliRunner

from bemps import data
from bemps._utils.archives import unpack
from bemps.cli import app
from bemps.errors import BempsError
from bemps.experiments import config_of, read_toml
from bemps.experiments.runner import run
from bemps.experiments.workers import TaskOutcome
from bemps.learner import ActiveLearner
from bemps.models import SklearnEnsemble, tfidf_classifier
from bemps.models.from_file import FromFile
from bemps.project.exporting import export_labels
from bemps.project.importing import import_labels
from bemps.report import write_report
from bemps.store import Item, NewAnswer, open_store

Files = dict[str, bytes]
SECONDS = 20  # no valid file here takes one


@dataclass(frozen=True)
class Reader:
    """`files` makes a valid folder, `read` is what a user does with it; `weight` is its share of the cases."""

    files: Callable[[], Files]
    read: Callable[[Path], object]
    weight: float = 1.0


class Hangs(Exception):
    """A reader that took longer than any valid file does."""


def try_damaged(name: str, case: int, folder: Path) -> str:
    """Read a damaged copy of a reader's folder; says "read" or "refused", and raises for everything else."""
    reader, rng = READERS[name], np.random.default_rng([case, *name.encode()])
    files = valid_files(name)
    target = sorted(files)[rng.integers(len(files))]
    damaged = mutated(rng, files[target], list(files.values()))
    folder.mkdir()
    write_files(folder, files | {target: damaged})
    try:
        with within(SECONDS), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reader.read(folder)
    except BempsError:
        return "refused"
    except BaseException as error:
        error.add_note(f"reader {name}, case {case}, {target}: {changes(files[target], damaged)}")
        raise
    return "read"


@contextlib.contextmanager
def within(seconds: int) -> Iterator[None]:
    """Raise `Hangs` in whatever is still running after so many seconds."""

    def stop(*_: object) -> None:
        raise Hangs(f"still reading after {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@cache
def valid_files(name: str) -> Files:
    return READERS[name].files()


def write_files(folder: Path, files: Files) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def folder_files(folder: Path) -> Files:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def command(*arguments: str) -> None:
    """A command line; only what ends in a sentence (exit code 2) is an error of the user's."""
    result = CliRunner().invoke(app, list(arguments))
    if result.exit_code == 2:
        raise BempsError(result.output)
    if result.exception is not None:
        raise result.exception


# -- tables and images ------------------------------------------------------------------------------------------------

ROWS = [{"id": f"t{i}", "text": f"tëxt number {i}", "label": "ab"[i % 2], "n": i} for i in range(12)]


def csv_files() -> Files:
    lines = ["id,text,label,n", *(f'{row["id"]},"{row["text"]}, quoted",{row["label"]},{row["n"]}' for row in ROWS)]
    return {"items.csv": "\n".join(lines).encode()}


def jsonl_files() -> Files:
    return {"items.jsonl": "\n".join(json.dumps(row) for row in ROWS).encode()}


def parquet_bytes(rows: list[dict[str, object]]) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), file)
    return file.getvalue()


def parquet_files() -> Files:
    return {"items.parquet": parquet_bytes(list(ROWS))}


def json_files() -> Files:
    return {"items.json": json.dumps(ROWS).encode()}


def workbook_bytes(rows: list[list[object]], **others: list[list[object]]) -> bytes:
    """A workbook with rows in its first sheet, and others in further sheets by name."""
    workbook, file = openpyxl.Workbook(), io.BytesIO()
    for row in rows:
        workbook.active.append(row)
    for name, further in others.items():
        sheet = workbook.create_sheet(name)
        for row in further:
            sheet.append(row)
    workbook.save(file)
    return file.getvalue()


def workbook_files() -> Files:
    return {"items.xlsx": workbook_bytes([list(ROWS[0]), *(list(row.values()) for row in ROWS)])}


def text_files() -> Files:
    return {f"{'ab'[i % 2]}/{i}.txt": f"tëxt number {i}".encode() for i in range(6)}


def zip_files() -> Files:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in text_files().items():
            archive.writestr(name, content)
    return {"items.zip": file.getvalue()}


def read_texts(folder: Path) -> None:
    table = data.read(folder, label="folder", id="path")
    [text.encode() for text in (*table.items, *table.ids, *table.classes)]


def read_zip(folder: Path) -> None:
    (folder / "inside").mkdir()
    try:
        unpack(folder / "items.zip", folder / "inside", lambda name: name.endswith(".txt"))
        read_texts(folder / "inside")
    finally:
        assert sorted(path.name for path in folder.iterdir()) == ["inside", "items.zip"]
        assert not any(path.is_symlink() for path in folder.rglob("*"))


def image_bytes(kind: str, shade: int) -> bytes:
    file = io.BytesIO()
    pixels = np.full((9, 7, 3), shade, dtype=np.uint8)
    pixels[:4] //= 2
    Image.fromarray(pixels).save(file, format=kind)
    return file.getvalue()


def image_files() -> Files:
    kinds = ("png", "jpeg", "gif", "bmp", "webp", "tiff")
    return {f"{'ab'[i % 2]}/{i}.{kind}": image_bytes(kind, 20 * i) for i, kind in enumerate(kinds)}


def image_column_files() -> Files:
    lines = ["path,label", *(f"{name},{name[0]}" for name in image_files())]
    return image_files() | {"items.csv": "\n".join(lines).encode()}


def read_items(name: str, folder: Path) -> None:
    table = data.read(folder / name, text="text", label="label", id="id")
    str(table)
    [text.encode() for text in (*table.items, *table.ids, *table.classes)]


def read_images(folder: Path) -> None:
    items = data.read(folder, label="folder", id="path").items
    for image in items:
        assert image.ndim == 3


def read_image_column(folder: Path) -> None:
    table = data.read(folder / "items.csv", image="path", label="label")
    assert len(list(table.items)) == len(table.ids)


# -- labels of other tools --------------------------------------------------------------------------------------------

EXPORTS = {
    "csv": "labels.csv",
    "jsonl": "labels.jsonl",
    "parquet": "labels.parquet",
    "label-studio": "labels.json",
    "doccano": "labels.jsonl",
    "prodigy": "labels.jsonl",
    "argilla": "labels.json",
    "huggingface": "dataset",
}


def fill(path: Path) -> None:
    """A small project with answers of every kind."""
    with open_store(path, create=True) as store:
        for name in ("bug", "wish"):
            store.add_class(name, "lead")
        store.add_items(Item(f"t{i}", f"text {i}") for i in range(4))
        store.record(
            [
                NewAnswer("ann", "t0", "label", "bug"),
                NewAnswer("bob", "t0", "label", "wish", "not sure"),
                NewAnswer("ann", "t1", "skip"),
                NewAnswer("ann", "t2", "unsure"),
                NewAnswer("lead", "t0", "adjudicate", "bug"),
            ]
        )


@cache
def project_bytes() -> bytes:
    with temporary_folder() as folder:
        fill(folder / "p.bemps")
        return (folder / "p.bemps").read_bytes()


def export_files(format: str) -> Files:
    with temporary_folder() as folder:
        (folder / "p.bemps").write_bytes(project_bytes())
        (folder / "out").mkdir()
        with open_store(folder / "p.bemps") as store:
            export_labels(store, folder / "out" / EXPORTS[format], format)
        return folder_files(folder / "out")


def read_labels(format: str, folder: Path) -> None:
    (folder / "p.bemps").write_bytes(project_bytes())
    with open_store(folder / "p.bemps") as store:
        import_labels(store, folder / EXPORTS[format], format, add_classes=True, add_items=True)
        list(store.items())


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


# -- arrays -----------------------------------------------------------------------------------------------------------


def array_bytes(**arrays: np.ndarray) -> bytes:
    file = io.BytesIO()
    if len(arrays) == 1:
        np.save(file, *arrays.values())
    else:
        np.savez(file, **arrays)
    return file.getvalue()


def probs() -> np.ndarray:
    return predictions(np.random.default_rng(0), 3, 8, 2)


def npy_files() -> Files:
    features = np.random.default_rng(1).normal(size=(8, 3))
    return {"probs.npy": array_bytes(probs=probs()), "features.npy": array_bytes(features=features)}


def npz_files() -> Files:
    return {"probs.npz": array_bytes(probs=probs(), ids=np.array([f"t{i}" for i in range(8)]), weights=np.ones(3) / 3)}


def read_npy(folder: Path) -> None:
    files = str(folder / "probs.npy"), "--features", str(folder / "features.npy")
    command("select", *files, "-n", "2", "--strategy", "badge")


def ids_files() -> Files:
    return npy_files() | {"ids.txt": b"\n".join(b"t%d" % i for i in range(8)), "done.txt": b"t0\nt7\n"}


def read_chosen_ids(folder: Path) -> None:
    names = "--ids", str(folder / "ids.txt"), "--labelled", str(folder / "done.txt")
    command("select", str(folder / "probs.npy"), "-n", "2", "--strategy", "margin", *names)


def read_npz(folder: Path) -> None:
    command("select", str(folder / "probs.npz"), "-n", "2", "--strategy", "coremse", "--out", str(folder / "next.json"))
    FromFile(folder / "probs.npz").fit(["t0", "t1"], np.array([0, 1]), ["a", "b"], np.random.default_rng(0))


# -- runs and reports -------------------------------------------------------------------------------------------------

TOML = """out = "run"
dataset = [{path = "items.csv", text = "text", label = "label", id = "id", holdout = 0.3}]
model = ["logistic"]
strategies = ["coremse", "random"]
batch_size = [1, 2]
budget = 2
initial = 2
seeds = 2
full = false
axes.members = [2, 3]
axes.estimation_size = [4]
"""


def toml_files() -> Files:
    return {"run.toml": TOML.encode()}


class Idle:
    """An executor that plays nothing: what is tried here is what comes before the cells."""

    def run(self, tasks: list) -> Iterator[TaskOutcome]:
        return (TaskOutcome(task, []) for task in tasks)


def read_settings(folder: Path) -> None:
    write_files(folder, csv_files())
    settings = read_toml(folder / "run.toml")
    with contextlib.chdir(folder):
        settings = {name: value for name, value in settings.items() if name not in ("out", "jobs", "on", "shared")}
        run(config_of(settings | {"full": False}), folder / "out", executor=Idle())


@cache
def report_files() -> Files:
    with temporary_folder() as folder:
        synthetic_run(folder / "run", rounds=3, seeds=2, strategies=("coremse", "random"))
        return folder_files(folder / "run")


def read_report(folder: Path) -> None:
    write_report(folder)


# -- projects and saved learners --------------------------------------------------------------------------------------


def project_files() -> Files:
    return {"p.bemps": project_bytes()}


def read_project(folder: Path) -> None:
    with open_store(folder / "p.bemps") as store:
        export_labels(store, folder / "labels.csv")


@cache
def learner_files() -> Files:
    texts = [f"{['good', 'bad'][i % 2]} film {i % 5}" for i in range(12)]
    learner = ActiveLearner(SklearnEnsemble(tfidf_classifier(), members=2), texts, classes=["a", "b"])
    learner.tell({str(i): "ab"[i % 2] for i in range(6)})
    with temporary_folder() as folder:
        learner.save(folder / "saved")
        return folder_files(folder / "saved")


def read_learner(folder: Path) -> None:
    ActiveLearner.load(folder).ask(2)


READERS: dict[str, Reader] = {
    "csv": Reader(csv_files, partial(read_items, "items.csv"), 2),
    "jsonl": Reader(jsonl_files, partial(read_items, "items.jsonl"), 2),
    "parquet": Reader(parquet_files, partial(read_items, "items.parquet"), 2),
    "json": Reader(json_files, partial(read_items, "items.json"), 2),
    "xlsx": Reader(workbook_files, partial(read_items, "items.xlsx"), 2),
    "texts": Reader(text_files, read_texts),
    "zip": Reader(zip_files, read_zip, 2),
    "images": Reader(image_files, read_images, 2),
    "image column": Reader(image_column_files, read_image_column),
    **{f"labels, {name}": Reader(partial(export_files, name), partial(read_labels, name)) for name in EXPORTS},
    "npy": Reader(npy_files, read_npy, 2),
    "npz": Reader(npz_files, read_npz, 2),
    "ids": Reader(ids_files, read_chosen_ids),
    "toml": Reader(toml_files, read_settings, 2),
    "report": Reader(report_files, read_report, 0.5),
    "project": Reader(project_files, read_project, 0.5),  # more of them in tests/store/test_damaged_projects.py
    "learner": Reader(learner_files, read_learner, 0.5),  # more of them in tests/learner/test_hostile_folders.py
}
