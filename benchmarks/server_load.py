"""Load of the labelling server: `python -m benchmarks.server_load` starts one, and many people label at full speed.

Server, model and people are three processes. A person does what the page does: about twenty items are in the browser
ahead, each answer is followed by a request for one more, and the state is asked for every three seconds. One answer in
fifty is `later`, one is taken back. A tenth of the items is for three people. Without `--pace` nobody pauses.
"""

import argparse
import asyncio
import csv
import json
import os
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

REGIONS = ("north", "south", "")
MOST_PEOPLE = 200
AHEAD = 20  # items in a browser
POLL = 3.0  # seconds between two looks at the state
SELDOM = 0.02  # the share of answers that are taken back, and of those that are put off
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

    seconds: dict[str, list[float]] = field(
        default_factory=lambda: {"first": [], "next": [], "answer": [], "state": []}
    )
    errors: list[str] = field(default_factory=list)
    labels: int = 0

    @property
    def requests(self) -> int:
        """How many requests there were."""
        return sum(map(len, self.seconds.values()))

    def milliseconds(self, kind: str, share: float) -> float:
        """The time within which this share of the requests was answered, in per cent; NaN without any."""
        return 1000 * float(np.percentile(self.seconds[kind] or [float("nan")], share))

    def row(self, kind: str) -> str:
        shares = " | ".join(f"{self.milliseconds(kind, share):.1f}" for share in (50, 95, 99, 100))
        return f"| {len(self.seconds[kind]):,} | {shares} |"


@dataclass(frozen=True)
class Load:
    """What people do, and on what; `store` is the address of a database, None a file."""

    people: int = 50
    seconds: float = 60
    items: int = 100_000
    model: str = "tfidf"
    pace: float = 0.0
    store: str | None = None


@dataclass(frozen=True)
class Outcome:
    """What came of a load."""

    measured: Measured
    orders: int
    cpu_seconds: float
    load_averages: str


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
        verb = "GET" if path == "state" else "POST"
        head = f"{verb} {self._path}api/{path} HTTP/1.1\r\n{self._head}Content-Length: {len(text)}\r\n\r\n"
        self._writer.write(head.encode() + text)
        answer = (await self._reader.readuntil(b"\r\n\r\n")).decode()
        length = int(re.search(r"content-length: (\d+)", answer.lower())[1])  # type: ignore[index]
        content = await self._reader.readexactly(length)
        if not answer.startswith("HTTP/1.1 200"):
            raise ValueError(f"{answer.splitlines()[0]}: {content[:200]!r}")
        response: dict[str, object] = json.loads(content)
        return response

    def close(self) -> None:
        self._writer.close()


class Person:
    """Somebody who labels until the time is over."""

    def __init__(self, url: str, name: str, measured: Measured, pace: float) -> None:
        self._connection, self._rng = Connection(url, name), random.Random(name)
        self._measured, self._pace, self._here, self._asked = measured, pace, list[str](), 0

    async def label(self, until: float) -> None:
        """Label until a time, or until nothing is left."""
        await self._connection.open()
        polled = time.monotonic()
        await asyncio.sleep(self._pace * self._rng.random())
        while time.monotonic() < until:
            try:
                if not await self._answer_one():
                    break
                if time.monotonic() - polled > POLL:
                    polled = time.monotonic()
                    await self._timed("state", {})
            except (OSError, ValueError, asyncio.IncompleteReadError) as error:
                self._measured.errors.append(f"{type(error).__name__}: {error}")
                if len(self._measured.errors) > 100:
                    break
            await asyncio.sleep(self._pace * 2 * self._rng.random())
        self._connection.close()

    async def _answer_one(self) -> bool:
        """Ask for what is missing, and answer the first item; whether there was one."""
        self._asked += 1
        kind = "first" if self._asked == 1 else "next"
        response = await self._timed(kind, {"have": self._here, "n": min(AHEAD, AHEAD + 1 - len(self._here))})
        self._here += [item["id"] for item in response["items"] if item["id"] not in self._here]  # type: ignore[attr-defined]
        if not self._here:
            return False
        kind = "later" if self._rng.random() < SELDOM else "label"
        said: dict[str, object] = {"kind": kind, "request": uuid.uuid4().hex}
        if kind == "label":
            said["label"] = self._rng.choice(CLASSES)
        item = self._here.pop(0)
        await self._timed("answer", said | {"item": item})
        self._measured.labels += kind == "label"
        if self._rng.random() < SELDOM:
            await self._connection.post("undo", {"request": uuid.uuid4().hex})
            self._here.insert(0, item)
        return True

    async def _timed(self, kind: str, body: dict[str, object]) -> dict[str, object]:
        start = time.perf_counter()
        response = await self._connection.post("next" if kind == "first" else kind, body)
        self._measured.seconds[kind].append(time.perf_counter() - start)
        return response


async def crowd(url: str, people: int, seconds: float, pace: float = 0.0) -> Measured:
    """Everybody at once."""
    measured, until = Measured(), time.monotonic() + seconds
    await asyncio.gather(*(Person(url, f"person-{n}", measured, pace).label(until) for n in range(people)))
    return measured


def made_up(count: int) -> Iterable[str]:
    """Texts that differ, with something to learn in them."""
    rng = random.Random(0)
    for number in range(count):
        form = FORMS[rng.choice(CLASSES)]
        yield f"{form.format(rng.choice(VERBS), rng.choice(SUBJECTS))}, ticket {number}"


async def started(folder: Path, load: Load) -> tuple[asyncio.subprocess.Process, str]:
    """A server on a new project, once it says its address."""
    with (folder / "load.csv").open("w", newline="", encoding="utf-8") as file:
        rows = ([text, REGIONS[number % len(REGIONS)]] for number, text in enumerate(made_up(load.items)))
        csv.writer(file).writerows([["body", "region"], *rows])
    command = [sys.executable, "-c", "from bemps.cli import app; app()", "label", "load.csv", "--text", "body"]
    command += ["--classes", ",".join(CLASSES), "--port", "0", "--no-browser", "--model", load.model]
    command += ["--overlap", "0.1", "--answers", "3", "--assign-by", "region"]
    command += ["--store", load.store] if load.store else []
    for region in REGIONS:  # half of the people for each; the rows without one are for everybody
        people = ",".join(f"person-{n}" for n in range(MOST_PEOPLE) if n % 2 == REGIONS.index(region) % 2)
        command += ["--assign", f"{region}={people}"] if region else []
    process = await asyncio.create_subprocess_exec(*command, cwd=folder, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    async for line in process.stdout:
        match = re.search(r"Label at (\S+)", line.decode())
        if match:
            return process, match[1]
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
    response = await connection.post("next", {"have": [], "n": 0})
    connection.close()
    return int(str(response["orders"]))


def cpu_seconds(process: int) -> float:
    """The processor time of a process and its threads so far; NaN where the system does not tell."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except OSError:
        return float("nan")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def load_average() -> str:
    """How many processes wanted a processor in the last minute, where the system tells."""
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"


async def run(load: Load) -> Outcome:
    """The whole measurement."""
    with tempfile.TemporaryDirectory() as name:
        process, url = await started(Path(name), load)
        try:
            before = 0 if load.model == "none" else await warmed_up(url)
            cpu, average = cpu_seconds(process.pid), load_average()
            measured = await crowd(url, load.people, load.seconds, load.pace)
            cpu, averages = cpu_seconds(process.pid) - cpu, f"{average} before and {load_average()} after"
            return Outcome(measured, await _orders(url) - before, cpu, averages)
        finally:
            process.terminate()
            await process.wait()


def table(load: Load, outcome: Outcome) -> str:
    """The measurement in words and rows."""
    measured = outcome.measured
    lines = [
        f"{load.people} people for {load.seconds:g} s on {load.items:,} texts ({load.model}), "
        f"{f'{load.pace:g} s for each answer' if load.pace else 'without a pause'}: {measured.labels:,} labels, "
        f"{measured.labels / load.seconds:.0f} a second; {len(measured.errors)} errors; "
        f"the model made {outcome.orders} new orders meanwhile. Load average {outcome.load_averages}; the server took "
        f"{1000 * outcome.cpu_seconds / max(1, measured.requests):.2f} ms of processor time for each request.",
        "",
        "| request | number | p50 ms | p95 ms | p99 ms | max ms | aim |",
        "|---|---|---|---|---|---|---|",
        f"| the first twenty items of a person {measured.row('first')} |",
        f"| the next item {measured.row('next')} p99 under 50 |",
        f"| an answer, until it is durable {measured.row('answer')} p99 under 250 |",
        f"| the state {measured.row('state')} |",
    ]
    return "\n".join([*lines, *(f"error: {error}" for error in measured.errors[:5])])


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--people", type=int, default=Load.people)
    options.add_argument("--seconds", type=float, default=Load.seconds)
    options.add_argument("--items", type=int, default=Load.items)
    options.add_argument("--model", default=Load.model)
    options.add_argument(
        "--pace", type=float, default=Load.pace, help="seconds for each answer; 0: as fast as they can"
    )
    options.add_argument("--store", help="the address of a PostgreSQL database; a file if left out")
    load = Load(**vars(options.parse_args()))
    sys.stdout.write(table(load, asyncio.run(run(load))) + "\n")


if __name__ == "__main__":
    main()
