"""The model's process: what must never end it, and what is seen when it ends."""

import asyncio
import json
import logging
import subprocess
import sys

import httpx
import pytest
from serving import Here, eventually

from bemps._processes import SAFE_PATH
from bemps.errors import InputError
from bemps.serve import background as backgrounds
from bemps.serve.background import Background
from bemps.serve.insight import Insight
from bemps.serve.worker import _learnt, _looked

FOREIGN = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"}


@pytest.fixture(scope="module")
def modelled(tmp_path_factory):
    """A server with a model that is ready."""
    from serving import write_tickets

    folder = tmp_path_factory.mktemp("modelled")
    truth = write_tickets(folder / "tickets.csv")
    with Here(folder, model="tfidf") as server, server.person() as ann:
        for item in ann.next(20):
            ann.answer(item["id"], truth[item["text"]]).raise_for_status()
        assert eventually(lambda: server.engine.insight.ready, 60)
        yield server


def test_an_unknown_id_never_reaches_the_models_process(modelled):
    pid = modelled.engine.background.pid
    sent = []
    modelled.engine.background._send, send = (
        (lambda message: sent.append(message) or True),
        modelled.engine.background._send,
    )
    try:
        with httpx.Client(base_url=modelled.base, trust_env=False) as web:
            answer = web.get("panel/why", params={"item": "nope"})
            assert answer.status_code == 404
            assert len(answer.text) < 2_000  # not a list of all ids
            known = modelled.store.ids()[0]
            refused = web.get("panel/why", params={"item": known}, headers=FOREIGN)
            assert refused.status_code == 403
    finally:
        modelled.engine.background._send = send
    assert sent == []
    assert modelled.engine.background.pid == pid


@pytest.mark.parametrize("site", ["cross-site", "same-site", "made-up"])
@pytest.mark.parametrize(
    "path", ["panel/why?item=x", "api/state", "api/item?id=x", "image?id=x", "export", "static/page.js"]
)
def test_another_site_gets_nothing_by_get(shared, site, path):
    with httpx.Client(base_url=shared.base, trust_env=False) as web:
        for mode, kind in (("no-cors", "image"), ("navigate", "iframe"), ("navigate", "document")):
            headers = {"sec-fetch-site": site, "sec-fetch-mode": mode, "sec-fetch-dest": kind}
            assert web.get(path, headers=headers).status_code == 403


def test_a_link_on_another_site_leads_to_the_page(shared):
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert httpx.get(shared.base, headers=headers, trust_env=False).status_code == 200


class Failing:
    def __init__(self, error):
        self.error = error

    def learn(self, n):
        raise self.error

    def look(self, item):
        raise self.error


def test_what_bemps_refuses_does_not_end_the_model():
    away = InputError("project", expected="to read it", got="nothing", fix="Start the database.")
    told = _learnt(Failing(away), 5)
    assert told["is"] == "nothing"
    assert "Start the database" in told["text"]
    assert "ValueError: bad row" in _looked(Failing(ValueError("bad row")), "i1")["failure"]


def test_a_failure_to_learn_is_seen_and_tried_again(server, monkeypatch):
    engine = server.engine
    engine.insight.alive = True
    engine._learnt = engine.changes
    engine._heard({"is": "nothing", "text": "the database is away"})
    assert engine._learnt == -1
    told = engine.insight.told(3)
    assert told["state"] == "failed"
    assert "the database is away" in told["words"]
    assert Insight().told(3)["state"] == "starting"


PRINTING = """
import os, sys
from bemps.serve import worker
def work(where, inbox, speak):
    print("a stray print")
    os.write(1, b"native code\\n")
    sys.__stdout__.write("the old stream\\n"); sys.__stdout__.flush()
    speak({"is": "state", "text": "ready"})
worker._work = work
worker.main()
"""


def test_what_libraries_print_never_mixes_with_the_messages():
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-P", "-c", PRINTING], stdin=pipe, stdout=pipe, stderr=pipe) as process:
        process.stdin.write(b'{"project": "x"}\n')
        process.stdin.flush()
        messages = process.stdout.read().splitlines()
        words = process.stderr.read()
    assert [json.loads(line) for line in messages] == [{"is": "state", "text": "ready"}]
    assert all(stray in words for stray in (b"a stray print", b"native code", b"the old stream"))


def lived(monkeypatch, program, heard, seconds=20, until=lambda messages: False):
    """The messages of a model's process that runs this program instead, over some lives."""
    monkeypatch.setattr(backgrounds, "WAITS", (0.05,))
    original = asyncio.create_subprocess_exec

    async def instead(*command, **options):
        return await original(sys.executable, "-c", program, **options)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", instead)

    async def watch():
        background = Background("nowhere", heard)
        background.start()
        deadline = asyncio.get_running_loop().time() + seconds
        while not until() and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.02)
        alive = not background._life.done()
        await background.stop()
        return alive, background

    return asyncio.run(watch())


def test_a_stray_line_is_passed_over(monkeypatch, caplog):
    program = r"""
import sys, time
sys.stdout.write('native: 3 devices found\n[1, 2]\n{"no": "kind"}\n\xff\xfe\n{"is": "state", "text": "ready"}\n')
sys.stdout.flush(); time.sleep(60)
"""
    messages = []
    with caplog.at_level(logging.WARNING):
        alive, _ = lived(monkeypatch, program, messages.append, until=lambda: bool(messages))
    assert alive
    assert messages == [{"is": "state", "text": "ready"}]
    assert "3 devices found" in caplog.text


@pytest.mark.parametrize(
    "program",
    [
        "import sys; sys.exit('no model here')",
        "import sys; sys.stderr.write('x' * 100_000_000); sys.exit('no model here')",  # a line of any length
        'print(\'{"is": "ranking"}\', flush=True); import time; time.sleep(60)',  # whoever hears it fails
    ],
)
def test_whatever_ends_the_model_is_said_and_it_starts_again(monkeypatch, program):
    failures = []

    def heard(message):
        if message["is"] == "ranking":
            raise KeyError("items")
        failures.append(message)

    alive, background = lived(monkeypatch, program, heard, until=lambda: len(failures) >= 2)
    assert alive
    assert len(failures) >= 2
    assert all("no model here" in one["text"] or "KeyError" in one["text"] for one in failures)
    assert background._process.returncode is not None  # none is left behind


def test_who_waits_for_a_look_hears_at_once_that_the_process_ended(monkeypatch):
    async def watch():
        background = Background("nowhere", lambda message: None)
        original = asyncio.create_subprocess_exec

        async def instead(*command, **options):
            assert "-P" in command
            assert options["env"].items() >= SAFE_PATH.items()
            return await original(
                sys.executable, "-c", "import sys; sys.stdin.readline(); sys.stdin.readline()", **options
            )

        monkeypatch.setattr(asyncio, "create_subprocess_exec", instead)
        background.start()
        while background._process is None:
            await asyncio.sleep(0.01)
        start = asyncio.get_running_loop().time()
        told = await background.look("i1")
        taken = asyncio.get_running_loop().time() - start
        await background.stop()
        return told, taken

    told, taken = asyncio.run(watch())
    assert told == {}
    assert taken < 8
