"""How the server holds up: `python -m bemps.serve.load` starts one and lets many people label as fast as they can.

Server, model and people are three processes. A person asks for an item, answers it, asks again, without a pause.
"""

import argparse
import asyncio
import csv
import json
import random
import re
import sys
import tempfile
import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

CLASSES = ("bug", "feature", "question", "praise")
SUBJECTS = ("invoice", "report", "calendar", "contact", "album", "backup", "dashboard", "table", "message", "refund")
VERBS = ("export", "delete", "share", "print", "rename", "import", "archive", "search", "copy", "upload", "merge")
FORMS = {
    "bug": "it crashes when I {} the {}",
    "feature": "please let us {} every {} at once",
    "question": "how do I {} my {}",
    "praise": "lovely how easy it is to {} a {}",
}


@dataclass
class Measured:
    """Seconds of every request by kind, and what went wrong."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: {"next": [], "answer": []})
    errors: list[str] = field(default_factory=list)
    labels: int = 0

    def row(self, kind: str) -> str:
        found = 1000 * np.array(self.seconds[kind] or [float("nan")])
        shares = " | ".join(f"{np.percentile(found, share):.1f}" for share in (50, 95, 99, 100))
        return f"| {len(self.seconds[kind]):,} | {shares} |"


class Connection:
    """One keep-alive connection, as a browser holds it; small, so that the client does not measure itself."""

    def __init__(self, url: str, name: str) -> None:
        parts = urlsplit(url)
        self._host, self._port, self._path = str(parts.hostname), parts.port or 80, parts.path
        self._head = f"Host: {parts.netloc}\r\nCookie: bemps_name={name}\r\nContent-Type: application/json\r\n"

    async def open(self) -> None:
        self._reader, self._writer = await asyncio.open_connection(self._host, self._port)

    async def post(self, path: str, body: dict[str, object]) -> dict[str, object]:
        text = json.dumps(body).encode()
        head = f"POST {self._path}api/{path} HTTP/1.1\r\n{self._head}Content-Length: {len(text)}\r\n\r\n"
        self._writer.write(head.encode() + text)
        answer = (await self._reader.readuntil(b"\r\n\r\n")).decode()
        length = int(re.search(r"content-length: (\d+)", answer.lower())[1])  # type: ignore[index]
        content = await self._reader.readexactly(length)
        if not answer.startswith("HTTP/1.1 200"):
            raise ValueError(f"{answer.splitlines()[0]}: {content[:200]!r}")
        told: dict[str, object] = json.loads(content)
        return told

    def close(self) -> None:
        self._writer.close()


async def person(url: str, name: str, until: float, measured: Measured) -> None:
    """Label until the time is over."""
    connection, rng = Connection(url, name), random.Random(name)
    await connection.open()

    async def timed(kind: str, body: dict[str, object]) -> dict[str, object]:
        start = time.perf_counter()
        told = await connection.post(kind, body)
        measured.seconds[kind].append(time.perf_counter() - start)
        return told

    while time.monotonic() < until:
        try:
            items = (await timed("next", {"have": [], "n": 1}))["items"]
            if not items:
                break
            said = {"item": items[0]["id"], "kind": "label", "label": rng.choice(CLASSES)}  # type: ignore[index]
            await timed("answer", said | {"request": uuid.uuid4().hex})
            measured.labels += 1
        except (OSError, ValueError, asyncio.IncompleteReadError) as error:
            measured.errors.append(f"{type(error).__name__}: {error}")
            if len(measured.errors) > 100:
                break
    connection.close()


async def crowd(url: str, people: int, seconds: float) -> Measured:
    """Everybody at once."""
    measured, until = Measured(), time.monotonic() + seconds
    await asyncio.gather(*(person(url, f"person-{number}", until, measured) for number in range(people)))
    return measured


def made_up(count: int) -> Iterable[str]:
    """Texts that differ, with something to learn in them."""
    rng = random.Random(0)
    for number in range(count):
        form = FORMS[rng.choice(CLASSES)]
        yield f"{form.format(rng.choice(VERBS), rng.choice(SUBJECTS))}, ticket {number}"


async def started(folder: Path, items: int, model: str) -> tuple[asyncio.subprocess.Process, str]:
    """A server on a new project, once it says its address."""
    with (folder / "load.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["body"], *([text] for text in made_up(items))])
    command = [sys.executable, "-c", "from bemps.cli import app; app()", "label", "load.csv", "--text", "body"]
    command += ["--classes", ",".join(CLASSES), "--port", "0", "--no-browser", "--model", model]
    process = await asyncio.create_subprocess_exec(*command, cwd=folder, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    async for line in process.stdout:
        found = re.search(r"Label at (\S+)", line.decode())
        if found:
            return process, found[1]
    raise RuntimeError("the server did not start")


async def warmed_up(url: str) -> int:
    """Some labels, until the model has made its first orders; returns how many."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        await crowd(url, 2, 0.5)
        orders = await _orders(url)
        if orders >= 2:
            return orders
        await asyncio.sleep(1)
    raise RuntimeError("the model did not get ready")


async def _orders(url: str) -> int:
    connection = Connection(url, "looking")
    await connection.open()
    told = await connection.post("next", {"have": [], "n": 0})
    connection.close()
    return int(str(told["orders"]))


async def run(people: int, seconds: float, items: int, model: str) -> str:
    """The whole measurement as a table."""
    with tempfile.TemporaryDirectory() as name:
        process, url = await started(Path(name), items, model)
        try:
            before = await warmed_up(url)
            measured = await crowd(url, people, seconds)
            orders = await _orders(url) - before
        finally:
            process.terminate()
            await process.wait()
    lines = [
        f"{people} people for {seconds:g} s on {items:,} texts ({model}): {measured.labels:,} labels, "
        f"{measured.labels / seconds:.0f} a second; {len(measured.errors)} errors; "
        f"the model made {orders} new orders meanwhile.",
        "",
        "| request | number | p50 ms | p95 ms | p99 ms | max ms |",
        "|---|---|---|---|---|---|",
        f"| the next item {measured.row('next')}",
        f"| an answer, until it is durable {measured.row('answer')}",
    ]
    return "\n".join([*lines, *(f"error: {error}" for error in measured.errors[:5])])


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--people", type=int, default=50)
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--items", type=int, default=60_000)
    options.add_argument("--model", default="tfidf")
    given = options.parse_args()
    sys.stdout.write(asyncio.run(run(given.people, given.seconds, given.items, given.model)) + "\n")


if __name__ == "__main__":
    main()
