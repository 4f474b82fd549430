"""People who open connections and say nothing lock nobody out, and fill no log."""

import asyncio
import contextlib
import logging
import socket
import subprocess
import sys
import time

import httpx
import pytest
from serving import Server, eventually

from bemps.server.http import connections
from bemps.server.http.connections import MOST, Quiet, quiet_failure, raise_file_limit

LIMITED = (
    "import resource, typer; resource.setrlimit(resource.RLIMIT_NOFILE, ({0}, {0})); "
    "from bemps.server.http import connections; connections.SILENCE = {1}; "
    "from bemps.cli.label import label; typer.run(label)"
)


class Limited(Server):
    """A server that may have so many files open, and so much patience."""

    files, silence = 256, 2.0

    def start(self):
        place = self.command.index("-c") + 1
        self.command[place] = LIMITED.format(self.files, self.silence)
        return super().start()


class Impatient(Limited):
    silence = 0.7


def silent(port, count):
    """Connections that say nothing; as many as this process may have."""
    opened = []
    for _ in range(count):
        with contextlib.suppress(OSError):
            opened.append(socket.create_connection(("127.0.0.1", port), timeout=5))
    return opened


def port_of(server):
    return int(server.base.rsplit(":", 1)[1].strip("/"))


@pytest.fixture
def many_files():
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_idle_connections_lock_nobody_out(folder, many_files):
    with Limited(folder) as server:
        idle = silent(port_of(server), 400)
        try:
            assert len(idle) > 256
            times = []
            for number in range(6):
                start = time.monotonic()
                with server.person(f"p{number}") as person:
                    assert len(person.next(1)) == 1
                times.append(time.monotonic() - start)
            assert max(times) < 5
        finally:
            for one in idle:
                one.close()
        assert "Traceback" not in server.said
        assert len(server.said) < 5_000


def closed(sock, seconds):
    sock.settimeout(seconds)
    try:
        return sock.recv(1000) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


@pytest.mark.parametrize(
    "beginning",
    [
        b"",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
        b"POST /api/next HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{",
    ],
)
def test_a_connection_without_a_whole_request_is_closed(folder, beginning):
    with Impatient(folder) as server, socket.create_connection(("127.0.0.1", port_of(server))) as slow:
        slow.sendall(beginning)
        assert closed(slow, 10)
        with server.person() as ann:
            assert ann.next(1)
        assert "Traceback" not in server.said


def test_a_client_that_leaves_in_mid_body_is_no_defect(folder):
    head = (
        "Host: localhost\r\nCookie: bemps_name=ann\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
    )
    with Server(folder) as server:
        for path in ("next", "answer", "undo", "class"):
            with socket.create_connection(("127.0.0.1", port_of(server))) as leaving:
                leaving.sendall(f"POST /api/{path} HTTP/1.1\r\n{head}".encode())
                time.sleep(0.05)
        with server.person() as ann:
            assert ann.next(1)
        assert "defect" not in server.said
        assert "Traceback" not in server.said


def test_garbage_is_refused_and_logged_once(folder):
    with Server(folder) as server:
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", port_of(server))) as raw:
                raw.sendall(b"\x16\x03\x01 nonsense\r\n\r\n")
                with contextlib.suppress(OSError):
                    raw.recv(1000)
        assert eventually(lambda: "Invalid HTTP request" in server.said, 5)
        assert server.said.count("Invalid HTTP request") == 1


def test_garbage_behind_a_request_ends_the_connection(folder):
    """While the answer to the first request is under way, not even a refusal can be sent."""
    with Server(folder) as server:
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", port_of(server))) as raw:
                raw.sendall(
                    b"POST /api/next HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                    b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nnonsense\r\n"
                )
                with contextlib.suppress(OSError):
                    while raw.recv(1000):
                        pass
        assert httpx.get(server.base, trust_env=False).status_code == 200
        assert "Traceback" not in server.said


def test_the_limit_of_files_is_raised():
    program = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 1024)); "
        "from bemps.server.http.connections import raise_file_limit; "
        "print(raise_file_limit(), resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True).stdout
    assert told.split() == ["512", "1024"]
    assert 16 <= raise_file_limit() <= MOST


def test_the_log_repeats_itself_once_a_minute(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(connections.time, "monotonic", lambda: now[0])
    quiet, record = Quiet(), logging.makeLogRecord({"msg": "Invalid HTTP request received."})
    assert [quiet.filter(record) for _ in range(3)] == [True, False, False]
    now[0] = 61.0
    assert quiet.filter(record)
    failure = logging.makeLogRecord({"msg": "Exception in ASGI application", "exc_info": (ValueError, None, None)})
    assert all(quiet.filter(failure) for _ in range(3))


def test_no_more_files_for_connections_is_one_line(caplog):
    handled = []
    loop = asyncio.new_event_loop()
    loop.default_exception_handler = handled.append
    full = OSError(24, "Too many open files")
    with caplog.at_level(logging.WARNING, "uvicorn.error"):
        quiet_failure(loop, {"message": "socket.accept() out of system resource", "exception": full})
        quiet_failure(loop, {"message": "something else", "exception": ValueError()})
    loop.close()
    assert "Too many open files" in caplog.text
    assert len(handled) == 1


def test_who_labels_keeps_the_place_when_strangers_come(folder, many_files):
    with Limited(folder) as server, server.person() as ann:
        for _ in range(4):
            item = ann.next(1)[0]
            idle = silent(port_of(server), 150)
            try:
                assert ann.answer(item["id"], "bug").status_code == 200
            finally:
                for one in idle:
                    one.close()
