"""The process that writes one result: `python -m bemps.server.results.result_worker`.

It reads one message, writes the file, says so, and ends. If the server goes away meanwhile, it removes what it has
written and ends too.
"""

import os
import shlex
import shutil
import sys
import threading
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from bemps.errors import COMMAND_OPTIONS, NO_OPTIONS, BempsError
from bemps.limits import library_threads
from bemps.server.model.messages import Message, decode, encode
from bemps.server.model.process_streams import work_slowly
from bemps.server.results.result_messages import NotWritten, Step, WriteResult, Written

if TYPE_CHECKING:
    from bemps.store import Store

NICE = 10  # people come first
PAUSE = 0.2  # seconds between two reports of progress
USE = """# {title}

The folder `{name}` is a model that bemps learnt. With bemps installed:

    bemps predict {name}.zip {new} --out predictions.csv

or in Python:

    from bemps import ActiveLearner
    learner = ActiveLearner.load("{name}.zip")
    learner.predict({item})  # the probability of every class of learner.classes

Both read the zip file as it is. The folder, unpacked, does as well.
{more}"""
IMAGE_FOLDERS = """
Images are named by their paths below the current folder. Those of any folder: `bemps.data.read("new-images").items`.
"""


def main() -> None:
    """Read what to write from standard input, write it, and report on standard output."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print is no message
    work_slowly(NICE)
    order = decode(sys.stdin.readline(), {WriteResult.kind: WriteResult})
    assert isinstance(order, WriteResult)
    COMMAND_OPTIONS.set(NO_OPTIONS)  # what it says stands on the page
    threading.Thread(target=_follow, args=(sys.stdin, Path(order.folder)), daemon=True).start()

    def speak(message: Message) -> None:
        out.write(encode(message) + "\n")
        out.flush()

    with library_threads(1):
        speak(result_of(order, speak))


def _follow(stream: TextIO, folder: Path) -> None:
    """Wait for the end of the server, and leave nothing behind."""
    stream.read()
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def result_of(order: WriteResult, speak: Callable[[Message], None]) -> Written | NotWritten:
    """Write the file and return a message about it; an error of bemps is reported in its own words."""
    from bemps.project import Project
    from bemps.store import open_store

    try:
        with Project(open_store(order.project), progress=Pace(speak)) as project:
            path = Path(order.folder) / order.name
            project.export(path, order.what, order.format, resolved=order.resolved, audit=order.audit)
            return Written(_packed(path, _use(project.store, path.name) if order.what == "model" else "").name)
    except BempsError as error:
        return NotWritten(str(error))


def _use(store: "Store", name: str) -> str:
    """Words about the use of a model, for its kind of items."""
    settings = store.read_settings()
    title = settings.title or name
    if settings.kind == "image":
        return USE.format(title=title, name=name, new="new-images", item='["new-images/a.jpg"]', more=IMAGE_FOLDERS)
    new = f"new.csv --text {_text_column(store)}"
    return USE.format(title=title, name=name, new=new, item='["a text"]', more="")


def _text_column(store: "Store") -> str:
    """The column of the user's file that the texts come from, as a word of a command; `body` if there is none."""
    first = next(iter(store.items()), None)
    same = [] if first is None else [name for name, value in first.columns.items() if value == first.content]
    return shlex.quote(same[0] if same else "body")


def _packed(path: Path, use: str) -> Path:
    """A folder as one zip file, with words about its use."""
    if not path.is_dir():
        return path
    archive = path.with_name(f"{path.name}.zip")
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for file in sorted(path.rglob("*")):
            # arrays as they are: `bemps.learner` takes a file that shrinks too well for one that means harm
            how = zipfile.ZIP_STORED if file.suffix == ".npy" else zipfile.ZIP_DEFLATED
            packed.write(file, Path(path.name) / file.relative_to(path), how)
        if use:
            packed.writestr("README.md", use)
    shutil.rmtree(path)
    return archive


class Pace:
    """Reports of progress, not more than a few a second; the last of a task always."""

    def __init__(self, speak: Callable[[Message], None]) -> None:
        self._speak, self._last = speak, 0.0

    def __call__(self, task: str, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._last >= PAUSE or done >= total:
            self._last = now
            self._speak(Step(task, done, total))


if __name__ == "__main__":
    main()
