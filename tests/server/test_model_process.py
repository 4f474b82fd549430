"""The model's process: what must never end it, and what is seen when it ends."""

import asyncio
import json
import logging
import subprocess
import sys

import httpx
import pytest
from serving import Here, eventually

from bemps._utils.child_processes import SAFE_PATH
from bemps.errors import InputError
from bemps.server.model import model_process as backgrounds
from bemps.server.model.messages import (
    REPORTS,
    REQUESTS,
    Failure,
    Learn,
    Look,
    Looked,
    MalformedMessage,
    NotLearnt,
    OpenProject,
    Ranking,
    State,
    decode,
    encode,
)
from bemps.server.model.model_process import Background
from bemps.server.model.model_status import ModelStatus
from bemps.server.model.model_worker import _learnt, _looked
from bemps.server.review import model_answers

RANKING = Ranking(True, 3, 9, "margin", [{"item": "i1", "near": []}], 0.5, broken=["a.png"], history={"rounds": []})
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
        assert eventually(lambda: server.engine.model_status.ready, 60)
        yield server


def test_an_unknown_id_never_reaches_the_models_process(modelled):
    pid = modelled.engine.background.pid
    sent = []
    modelled.engine.background._send, send = (
        (lambda message: sent.append(message) or True),
        modelled.engine.background._send,
    )
    try:
        with modelled.person() as ann:
            web = ann.http
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


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://["},
        {"referer": "http://evil.example/page"},
        {"referer": "http://["},
    ],
)
def test_another_site_gets_nothing_by_get_in_a_browser_without_fetch_metadata(shared, headers):
    with httpx.Client(base_url=shared.base, trust_env=False) as web:
        for path in ("panel/why?item=x", "api/state", "image?id=x", "export", "static/page.js"):
            assert web.get(path, headers=headers).status_code == 403
        own = {name: shared.base.rstrip("/") for name in headers}
        assert web.get("api/state", headers=own).status_code == 200


def test_a_link_on_another_site_leads_to_the_page(shared):
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert httpx.get(shared.base, headers=headers, trust_env=False).status_code == 200
    assert httpx.get(shared.base, headers={"referer": "http://wiki.example/"}, trust_env=False).status_code == 200


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
    assert isinstance(told, NotLearnt)
    assert "Start the database" in told.text
    assert "ValueError: bad row" in _looked(Failing(ValueError("bad row")), Look("i1", 1)).failure


def test_a_failure_to_learn_is_seen_and_tried_again(server, monkeypatch):
    engine = server.engine
    engine.model_status.alive = True
    engine._learnt = engine.changes
    engine._heard(NotLearnt("the database is away"))
    assert engine._learnt == -1
    told = engine.model_status.as_json(3)
    assert told["state"] == "failed"
    assert "the database is away" in told["words"]
    assert ModelStatus().as_json(3)["state"] == "starting"


PRINTING = """
import os, sys
from bemps.server.model import messages
from bemps.server.model import model_worker as worker
def work(where, inbox, speak):
    print("a stray print")
    os.write(1, b"native code\\n")
    sys.__stdout__.write("the old stream\\n"); sys.__stdout__.flush()
    speak(messages.State("ready"))
worker._work = work
worker.main()
"""


def test_what_libraries_print_never_mixes_with_the_messages():
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-P", "-c", PRINTING], stdin=pipe, stdout=pipe, stderr=pipe) as process:
        process.stdin.write(b'{"is": "project", "project": "x"}\n')
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
    assert messages == [State("ready")]
    assert "3 devices found" in caplog.text


@pytest.mark.parametrize(
    "program",
    [
        "import sys; sys.exit('no model here')",
        "import sys; sys.stderr.write('x' * 100_000_000); sys.exit('no model here')",  # a line of any length
        f"print({encode(RANKING)!r}, flush=True); import time; time.sleep(60)",  # whoever hears it fails
    ],
)
def test_whatever_ends_the_model_is_said_and_it_starts_again(monkeypatch, program):
    failures = []

    def heard(message):
        if isinstance(message, Ranking):
            raise KeyError("items")
        failures.append(message)

    alive, background = lived(monkeypatch, program, heard, until=lambda: len(failures) >= 2)
    assert alive
    assert len(failures) >= 2
    assert all("no model here" in one.text or "KeyError" in one.text for one in failures)
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


def sleeping(monkeypatch):
    """Models' processes that do nothing."""
    original = asyncio.create_subprocess_exec

    async def instead(*command, **options):
        return await original(sys.executable, "-c", "import time; time.sleep(60)", **options)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", instead)


def test_who_restarts_the_model_can_be_cancelled(monkeypatch):
    sleeping(monkeypatch)

    async def watch():
        background = Background("nowhere", lambda message: None)
        background.start()
        while background._process is None:
            await asyncio.sleep(0.01)
        restart = asyncio.create_task(background.restart())
        await asyncio.sleep(0)  # it waits for the end of the process
        restart.cancel()
        await asyncio.wait([restart])
        await background.stop()
        return restart.cancelled()

    assert asyncio.run(watch())


def test_the_pause_of_a_model_ends_with_its_process(monkeypatch):
    sleeping(monkeypatch)
    monkeypatch.setattr(backgrounds, "AGAIN", 0.3)

    async def watch():
        background = Background("nowhere", lambda message: None)
        background.start()
        while background._process is None:
            await asyncio.sleep(0.01)
        background._take(encode(NotLearnt("the database is away")).encode())
        first = background.pid
        await background.restart()
        while background.pid in (None, first) or not background.learn(1):
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.5)
        busy = background.busy
        await background.stop()
        return busy

    assert asyncio.run(watch())


def test_who_asks_again_about_an_item_waits_for_the_same_answer(monkeypatch):
    monkeypatch.setattr(model_answers, "ITEM_PATIENCE", 0.05)

    async def watch():
        sent, end = [], asyncio.Event()
        background = Background("nowhere", lambda message: None)

        async def look(item, patience):
            sent.append(item)
            await asyncio.wait([asyncio.create_task(end.wait())], timeout=patience)
            return {"guess": [["bug", 1.0]]} if end.is_set() else None

        background.look = look
        status = ModelStatus()
        status.alive = True
        answers = model_answers.ModelAnswers(background, status)
        early = [await answers.look("i1") for _ in range(3)]
        end.set()
        late = await answers.look("i1")
        await answers.stop()
        return sent, early, late

    assert asyncio.run(watch()) == (["i1"], [{}, {}, {}], {"guess": [["bug", 1.0]]})


@pytest.mark.parametrize(
    ("message", "kinds"),
    [
        (OpenProject("p.bemps"), REQUESTS),
        (Learn(7), REQUESTS),
        (Look("i1", 3), REQUESTS),
        (State("ready", alive=True, model="a forest"), REPORTS),
        (RANKING, REPORTS),
        (NotLearnt("the database is away"), REPORTS),
        (Looked(3, {"item": "i1"}, "ValueError"), REPORTS),
    ],
)
def test_every_message_survives_the_way(message, kinds):
    assert decode(encode(message), kinds) == message


@pytest.mark.parametrize(
    "line",
    [
        "no JSON",
        "[1]",
        '{"no": "kind"}',
        '{"is": "made up"}',
        '{"is": "ranking"}',
        '{"is": "state", "text": 3}',
        '{"is": "state", "text": "ready", "alive": "yes"}',
        '{"is": "state", "text": "ready", "more": 1}',
        '{"is": "looked", "call": true}',
        '{"is": "ranking", "ready": true, "labels": 1, "waiting": 1, "strategy": "x", "items": [{}], "seconds": 1}',
        '{"is": "learn", "n": 3}',  # the other side's
    ],
)
def test_what_is_no_message_is_refused(line):
    with pytest.raises(MalformedMessage):
        decode(line, REPORTS)


@pytest.mark.parametrize("line", ['{"is": "made up"}', '{"is": "ranking", "ready": true}', '{"is": "state"}'])
def test_a_malformed_message_is_said_and_the_model_starts_again(monkeypatch, line):
    failures = []
    program = f"print({line!r}, flush=True); import time; time.sleep(60)"
    alive, background = lived(monkeypatch, program, failures.append, until=lambda: len(failures) >= 2)
    assert alive
    assert all(isinstance(said, Failure) and "MalformedMessage" in said.text for said in failures)
    assert background._process.returncode is not None


def test_a_request_that_the_model_does_not_understand_ends_it_in_words(tmp_path):
    pipe = subprocess.PIPE
    listening = (
        "from bemps.server.model import model_worker as worker;"
        " worker._work = lambda _, inbox, speak: worker._obey(None, inbox, speak);"
        "worker.main()"
    )
    with subprocess.Popen([sys.executable, "-P", "-c", listening], stdin=pipe, stdout=pipe, stderr=pipe) as process:
        process.stdin.write(b'{"is": "project", "project": "x"}\n{"is": "dance"}\n')
        process.stdin.flush()
        words = process.stderr.read()
        assert process.wait(30) == 1
    assert b"expected one of project, learn, look, ask; got 'dance'" in words
