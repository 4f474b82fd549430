"""The table of the formats that `bemps export` writes and `bemps import` reads.

To add a format, write its module and add a row. The table imports none of the modules: the help of the commands can
read it where packages are missing.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from bemps._utils.extras import is_installed
from bemps._utils.protected_files import PARQUET, TEXT, WORKBOOK
from bemps.data.reading import JSON_LINES


@dataclass(frozen=True)
class Format:
    """A row of the table.

    Attributes
    ----------
    help : str
        One line for users.
    path : str
        `module:name` of the object that writes and reads: a `RowFormat` or a `JsonFormat`.
    suffixes : tuple of str
        The endings of files that choose this format.
    file : str
        The kind of file, as `bemps._utils.files.file_kind` returns it.
    folder : str, optional
        The kind of folder, if the format is a folder.
    title : str
        What people call it.
    ending : str
        The ending of a file whose name bemps chooses. By default the first of the suffixes.
    package : str
        The package that writes and reads it, where the labelling page has none by itself.
    """

    help: str
    path: str
    suffixes: tuple[str, ...] = ()
    file: str = TEXT
    folder: str | None = None
    title: str = ""
    ending: str = ""
    package: str = ""

    @property
    def is_available(self) -> bool:
        """Whether its package is installed."""
        return not self.package or is_installed(self.package)

    @property
    def usual_ending(self) -> str:
        """How the name of a file ends that is made without one; empty for a folder."""
        return self.ending or (self.suffixes[0] if self.suffixes else "")

    @property
    def codec(self) -> Any:
        """The object that writes and reads the files."""
        module, _, name = self.path.partition(":")
        return getattr(import_module(module), name)

    @property
    def labels(self) -> Callable[..., None]:
        """A function that writes labelled items: `labels(items, about, path)`."""
        write: Callable[..., None] = self.codec.labels
        return write

    @property
    def predictions(self) -> Callable[..., None]:
        """A function that writes predictions: `predictions(items, about, path)`."""
        write: Callable[..., None] = self.codec.predictions
        return write

    @property
    def rows(self) -> Callable[..., None] | None:
        """A function that writes any table, such as the log: `rows(table, path)`; None if there is none."""
        write: Callable[..., None] | None = self.codec.rows
        return write

    @property
    def read(self) -> Callable[..., Iterator[Any]]:
        """A function that reads the answers of a file: `read(path)`."""
        read: Callable[..., Iterator[Any]] = self.codec.read
        return read

    def recognises(self, record: dict[str, Any], lines: bool) -> bool:
        """Whether the first object of a JSON file has this format. `lines`: the file has one object a line."""
        test: Callable[[dict[str, Any], bool], bool] | None = getattr(self.codec, "recognises", None)
        return test is not None and test(record, lines)

    def recognises_file(self, path: Path) -> bool:
        """Whether a file that is no JSON has this format, if its ending alone does not tell."""
        test: Callable[[Path], bool] | None = getattr(self.codec, "recognises_file", None)
        return test is not None and test(path)


FORMATS: dict[str, Format] = {  # JSON files are recognised in this order
    "csv": Format("columns id, text, label, annotator, time", "bemps.formats.csv_format:CSV", (".csv",), title="CSV"),
    "csv-spreadsheet": Format(
        "the same for Excel: formulas made harmless",
        "bemps.formats.csv_format:SPREADSHEET",
        title="CSV for Excel",
        ending=".csv",
    ),
    "jsonl": Format("one answer a line", "bemps.formats.jsonl_format:OWN", JSON_LINES, title="JSON lines"),
    "parquet": Format(
        "the columns of csv, typed",
        "bemps.formats.parquet_format:COLUMNS",
        (".parquet", ".pq"),
        file=PARQUET,
        title="Parquet",
        package="pyarrow",
    ),
    "xlsx": Format(
        "the columns of csv, for Excel; nothing is calculated",
        "bemps.formats.xlsx_format:XLSX",
        (".xlsx",),
        file=WORKBOOK,
        title="Excel (XLSX)",
    ),
    "argilla": Format(
        "records with responses or suggestions", "bemps.formats.argilla:ARGILLA", title="Argilla", ending=".json"
    ),
    "label-studio": Format(
        "tasks with annotations or predictions",
        "bemps.formats.label_studio:LABEL_STUDIO",
        title="Label Studio",
        ending=".json",
    ),
    "prodigy": Format(
        "tasks of the choice interface", "bemps.formats.prodigy:PRODIGY", title="Prodigy", ending=".jsonl"
    ),
    "doccano": Format("lines with a list of labels", "bemps.formats.doccano:DOCCANO", title="doccano", ending=".jsonl"),
    "huggingface": Format(
        "a folder for datasets.load_dataset",
        "bemps.formats.parquet_format:DATASET",
        folder="dataset",
        title="Hugging Face dataset",
        package="pyarrow",
    ),
}
UNRECOGNISED = {True: "jsonl", False: "label-studio"}  # lines of objects, and arrays, that no format recognises
