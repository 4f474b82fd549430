"""The token: where it is shown, what it opens, and what it may consist of."""

import os
import stat
import sys
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import httpx
import pytest
from serving import Here, Server, eventually, write_tickets

from bemps.errors import InputError
from bemps.server.http.browser import redirecting
from bemps.server.http.http_server import Address, door_of, url_of

TOKEN = "correct+horse&battery#staple%20=?"
TEAM = Address(host="0.0.0.0", port=0)


@pytest.fixture
def guarded(folder, monkeypatch):
    monkeypatch.setenv("BEMPS_TOKEN", TOKEN)
    with Here(folder) as server:
        yield server


def test_any_character_of_a_token_survives_the_link(guarded):
    port = urlsplit(guarded.base).port
    link = url_of(Address(port=0), port, guarded.door)
    with httpx.Client(trust_env=False, follow_redirects=True) as web:
        answer = web.get(link)
        assert answer.status_code == 200
        assert answer.url.query == b""
        assert web.get(f"{guarded.base}api/state").status_code == 200


@pytest.mark.parametrize("token", [" " * 20, "x" * 10 + " " + "y" * 10, "tab\t" + "x" * 20, "line\n" + "x" * 20])
def test_blanks_are_no_token(monkeypatch, token):
    monkeypatch.setenv("BEMPS_TOKEN", token)
    with pytest.raises(InputError, match="none of them blank") as caught:
        door_of(TEAM)
    assert "xxxxx" not in str(caught.value)  # never the token itself


def test_the_page_that_asks_for_the_token_has_a_field_and_its_styles(guarded):
    with httpx.Client(base_url=guarded.base, trust_env=False) as web:
        page = web.get("panel/keys")
        assert page.status_code == 401
        assert 'name="token"' in page.text
        assert 'type="password"' in page.text
        assert 'href="/static/page.css"' in page.text
        assert web.get("static/page.css").status_code == 200
        assert web.get("static/page.js").status_code == 401
        entered = web.get("", params={"token": TOKEN})
        assert entered.status_code == 303
        assert web.get("nothing-here").status_code == 404
        assert 'name="token"' not in web.get("nothing-here").text


def test_two_servers_of_a_machine_do_not_log_each_other_out(tmp_path, monkeypatch):
    monkeypatch.setenv("BEMPS_TOKEN", TOKEN)
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
        write_tickets(folder / "tickets.csv")
    with Here(folders[0]) as one, httpx.Client(trust_env=False) as web:
        monkeypatch.setenv("BEMPS_TOKEN", "another-token-for-the-second")
        with Here(folders[1]) as two:
            for server, name in ((one, "ann"), (two, "bob")):
                assert web.get(server.base, params={"token": server.door.token}).status_code == 303
                assert web.post(f"{server.base}api/name", json={"name": name}).status_code == 200
            for server, name in ((one, "ann"), (two, "bob")):
                page = web.get(server.base)
                assert page.status_code == 200
                assert f'"annotator": "{name}"' in page.text or f"{name}" in page.text
                assert web.get(f"{server.base}api/state").status_code == 200


def test_a_link_with_a_token_goes_to_the_browser_in_a_file_for_its_owner():
    with redirecting("http://127.0.0.1:8765/?token=a&b<c") as page:
        assert "token" not in page
        path = Path(url2pathname(urlsplit(page).path))
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert "url=http://127.0.0.1:8765/?token=a&amp;b&lt;c" in path.read_text()
    assert not path.exists()
    with redirecting("http://127.0.0.1:8765/") as page:
        assert page == "http://127.0.0.1:8765/"


def test_no_process_shows_the_token(folder, monkeypatch):
    """The browser is a program that writes down how it was called."""
    browser = folder / "browser"
    browser.write_text(f"#!{sys.executable}\nimport sys\nopen({str(folder / 'called')!r}, 'w').write(str(sys.argv))\n")
    browser.chmod(0o755)

    class Opening(Server):
        def start(self):
            self.command.remove("--no-browser")
            return super().start()

    with Opening(folder, environment={"BEMPS_TOKEN": "correct-horse-battery", "BROWSER": f"{browser} %s"}):
        assert eventually((folder / "called").exists, 20)
        assert eventually(lambda: (folder / "called").read_text() != "", 5)
        called = (folder / "called").read_text()
    assert "correct-horse-battery" not in called
    assert "file://" in called


@pytest.mark.parametrize(("token", "others"), [("correct-horse-battery", 0), (None, 0o044)])
def test_files_of_a_project_with_a_token_are_for_their_owner_alone(folder, token, others):
    before = os.umask(0o022)
    try:
        environment = {"BEMPS_TOKEN": token} if token else {}
        with Server(folder, environment=environment):
            made = [path for path in folder.iterdir() if path.name.startswith("tickets.bemps")]
            assert {path.name for path in made} >= {"tickets.bemps", "tickets.bemps.lock"}
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) & 0o077 for path in made}
    finally:
        os.umask(before)
    assert modes.pop("tickets.bemps.lock") == 0
    assert set(modes.values()) == {others}
