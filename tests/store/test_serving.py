"""One server for a project file; a notebook beside it."""

import signal
import subprocess
import sys
import time

import pytest

from bemps import InputError
from bemps.store import open_store

HOLD = """
import sys, time
from bemps.store import open_store
with open_store(sys.argv[1]).serving("http://127.0.0.1:8123"):
    print("holding", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def project(tmp_path):
    path = tmp_path / "tickets.bemps"
    open_store(path, create=True).close()
    return path


def holder(project):
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(project)], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"holding\n"
    return process


def test_a_second_server_is_refused_and_told_who_is_first(project):
    process = holder(project)
    try:
        with open_store(project) as store:
            with pytest.raises(InputError) as caught, store.serving("http://127.0.0.1:9000"):
                pass
            assert f"process {process.pid} on" in str(caught.value)
            assert "http://127.0.0.1:8123" in str(caught.value)
            store.add_class("bug", "notebook")  # reading and writing beside the server is fine
            assert len(store.classes()) == 1
    finally:
        process.kill()
        process.communicate()


def test_a_killed_server_leaves_the_project_free(project):
    process = holder(project)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    with open_store(project) as store, store.serving("here"):
        pass


def test_a_link_to_the_project_is_the_same_project(project, tmp_path):
    link = tmp_path / "link.bemps"
    link.symlink_to(project)
    with open_store(project) as store, open_store(link) as other:
        server = other.serving("second")
        with store.serving("first"), pytest.raises(InputError, match="first"):
            server.__enter__()


def test_a_lock_that_is_a_link_is_refused_and_its_target_stays(project, tmp_path):
    precious = tmp_path / "thesis.tex"
    precious.write_text("years of work " * 20)
    (tmp_path / "tickets.bemps.lock").symlink_to(precious)
    with open_store(project) as store:
        server = store.serving("here")
        with pytest.raises(InputError, match="to lock the project"):
            server.__enter__()
    assert precious.read_text() == "years of work " * 20


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"[]", b"{", b'{"url": 3}'])
def test_a_lock_that_says_nothing_is_a_lock_all_the_same(project, content):
    with open_store(project) as store, store.serving("first"):
        (project.parent / "tickets.bemps.lock").write_bytes(content)
        server = store.serving("second")
        with pytest.raises(InputError, match="one that is running"):
            server.__enter__()


def test_served_again_after_it_was_given_up(project):
    with open_store(project) as store:
        for _ in range(2):
            with store.serving("here"):
                time.sleep(0)


def test_servers_share_a_project_in_postgresql(store, opened):
    if store.path is None:
        with store.serving("one"), opened().serving("two"):
            assert store.lease("ann", ["t0"], 1, 60) == ["t0"]
