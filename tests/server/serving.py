"""A labelling server as a user starts it, in a process of its own, and people who talk to it."""

import asyncio
import csv
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import httpx

COMMAND = [sys.executable, "-c", "import typer; from bemps.cli.label import label; typer.run(label)"]
CLASSES = ("bug", "feature", "question")
VERBS = ("export", "delete", "share", "print", "rename", "import", "archive", "search", "copy", "upload")
NOUNS = ("invoice", "report", "calendar", "contact list", "photo album", "backup", "dashboard", "price table")
FORMS = {
    "bug": ("The app crashes when I {} the {}.", "Error 500 after I {} the {}.", "It freezes whenever I {} a {}."),
    "feature": ("Please let us {} every {} at once.", "I wish I could {} a {} by phone.", "Add a way to {} the {}."),
    "question": ("How do I {} the {}?", "Where can I {} a {}?", "Who may {} the {} in our team?"),
}


def tickets(count=240):
    """Made-up tickets with their true class; all different."""
    every = [
        (form.format(verb, noun), name)
        for verb in VERBS
        for noun in NOUNS
        for place in range(3)
        for name, form in ((name, forms[place]) for name, forms in FORMS.items())
    ]
    random.Random(0).shuffle(every)
    return every[:count]


def write_tickets(path, rows=None):
    rows = tickets() if rows is None else rows
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["body", "topic"])
        writer.writerows(rows)
    return dict(rows)


def free_port():
    """A port that a server can have again after it was killed."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def interrupt(process):
    """Ctrl-C; Windows has it for a whole console alone, so the process is ended there."""
    if sys.platform == "win32":
        process.terminate()
    else:
        process.send_signal(signal.SIGINT)


def run_beside(coroutine):
    """Run it on a thread of its own: a browser that is open keeps the loop of this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()


def eventually(check, seconds=90):
    """Whether something becomes true before long."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if check():
            return True
        time.sleep(0.05)
    return False


class Server:
    """`bemps label` in a folder; `model="none"` starts fastest."""

    def __init__(
        self, folder, *arguments, data="tickets.csv", model="none", classes=CLASSES, wait=60, environment=None
    ):
        self.folder, self.url, self.wait = folder, None, wait
        given = ["--no-browser", "--model", model, *arguments]
        given += [] if "--port" in arguments else ["--port", "0"]
        if data is not None:
            given = [data, *(["--text", "body"] if data.endswith(".csv") else []), *given]
        if classes:
            given += ["--classes", ",".join(classes)]
        self.command = [*COMMAND, *given]
        self.environment = os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "200"} | (environment or {})
        self.start()

    def start(self):
        self.output = (self.folder / "server.txt").open("w+", encoding="utf-8")
        self.process = subprocess.Popen(
            self.command,
            cwd=self.folder,
            env=self.environment,
            stdout=self.output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        deadline = time.monotonic() + self.wait
        while time.monotonic() < deadline:
            found = re.search(r"Label at (\S+)", self.said)
            if found:
                self.url = found[1]
                return self
            if self.process.poll() is not None:
                self.output.close()
                raise RuntimeError(self.said)
            time.sleep(0.02)
        self.kill()
        raise TimeoutError(self.said)

    @property
    def said(self):
        return (self.folder / "server.txt").read_text(encoding="utf-8")

    @property
    def base(self):
        return self.url.partition("?")[0]

    def person(self, name="ann", **options):
        return Person(self.base, name, **options)

    def kill(self):
        """SIGKILL, as a power cut for the process."""
        self.process.kill()
        self.process.wait(60)
        self.output.close()

    def stop(self):
        """Ctrl-C."""
        if self.process.poll() is None:
            interrupt(self.process)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(20)
        self.output.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class Here:
    """The same server on a thread of this process: starts at once, and its types are checked."""

    @staticmethod
    def place(folder):
        """Where its project is: a path or an address."""
        return str(folder / "tickets.bemps")

    def __init__(self, folder, *, data="tickets.csv", annotator=None, address=None, **wishes):
        import uvicorn

        from bemps.server.engine import Engine
        from bemps.server.http.app import application
        from bemps.server.http.http_server import Address, door_of, listening
        from bemps.server.project_start import Source, Wishes, prepared

        self.folder = folder
        wishes = {"classes": CLASSES, "model": "none"} | wishes
        columns = {"text": "body"} if data and data.endswith((".csv", ".xlsx")) else {}
        source = data and Source(folder / data, columns)
        where = self.place(folder)
        self.store, _ = prepared(where, source, Wishes(**wishes))
        address = address or Address(port=0)
        self.door, self.socket = door_of(address), listening(address)
        self.base = f"http://127.0.0.1:{self.socket.getsockname()[1]}{self.door.root_path}/"
        self.engine = Engine(self.store, where)
        app = application(self.engine, self.door, annotator)
        config = uvicorn.Config(app, log_level="warning", ws="none", timeout_graceful_shutdown=1)
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.socket]})
        self.thread.start()
        while not self.server.started and self.thread.is_alive():
            time.sleep(0.01)

    def person(self, name="ann", **options):
        return Person(self.base, name, **options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.should_exit = True
        self.thread.join(30)
        self.socket.close()
        self.store.close()


class ProjectsHere:
    """The page of projects of a folder, on a thread of this process."""

    def __init__(self, folder, *, annotator="ann", address=None):
        import uvicorn

        from bemps.server.http.http_server import Address, door_of, listening
        from bemps.server.projects.projects_app import projects_application

        self.folder = folder
        address = address or Address(port=0)
        self.door, self.socket = door_of(address), listening(address)
        self.base = f"http://127.0.0.1:{self.socket.getsockname()[1]}{self.door.root_path}/"
        app = projects_application(folder, self.door, annotator, self.base)
        config = uvicorn.Config(app, log_level="warning", ws="none", timeout_graceful_shutdown=1)
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.socket]})
        self.thread.start()
        while not self.server.started and self.thread.is_alive():
            time.sleep(0.01)

    def web(self, **options):
        return httpx.Client(base_url=self.base, timeout=60, trust_env=False, **options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.should_exit = True
        self.thread.join(30)
        self.socket.close()


class Person:
    """An annotator's browser, without the browser."""

    def __init__(self, base, name, **options):
        self.http = httpx.Client(base_url=base, cookies={"bemps_name": name}, timeout=60, trust_env=False, **options)

    def post(self, path, **body):
        return self.http.post(f"api/{path}", json=body)

    def next(self, n=1, have=()):
        return self.post("next", n=n, have=list(have)).raise_for_status().json()["items"]

    def answer(self, item, label=None, kind="label", request=None, **more):
        body = {"item": item, "kind": kind, "label": label, "request": request or uuid.uuid4().hex, **more}
        return self.post("answer", **body)

    def step(self, which, request=None):
        return self.post(which, request=request or uuid.uuid4().hex).raise_for_status().json()

    def panel(self, name, **query):
        return self.http.get(f"panel/{name}", params=query).raise_for_status().text

    def state(self):
        return self.http.get("api/state").raise_for_status().json()

    def close(self):
        self.http.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
