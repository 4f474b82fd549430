"""The door: who may ask, from which page, and what they get."""

import os
import socket

import httpx
import pytest
from serving import Here, Server, write_tickets

from bemps.errors import InputError
from bemps.server.http.access import Door, Guard, is_loopback
from bemps.server.http.http_server import Address, door_of, listening

TEAM = Address(host="0.0.0.0", port=0, names=("labels.example.org",))


@pytest.fixture
def web(shared):
    with httpx.Client(base_url=shared.base, trust_env=False) as client:
        yield client


def post(web, **headers):
    return web.post("api/next", content=b'{"n": 1}', headers={"content-type": "application/json", **headers})


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "", "[::2]", "10.0.0.7"]
)
def test_another_host_header_is_refused(web, host):
    for path in ("", "static/page.js", "api/state"):
        answer = web.get(path, headers={"host": host})
        assert answer.status_code == 421
        assert "bug" not in answer.text


@pytest.mark.parametrize("host", ["localhost", "localhost:1234", "127.0.0.1:80", "[::1]:80", "LOCALHOST"])
def test_names_of_loopback_are_known(web, host):
    assert web.get("", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_a_post_from_another_site_is_refused(web, headers):
    answer = post(web, **headers)
    assert answer.status_code == 403
    assert "another site" in answer.json()["error"]


@pytest.mark.parametrize("origin", ["http://[", "http://]", "http://[::1", "//", "http://a:b:c", "\u00ff"])
def test_an_origin_that_is_no_address_is_refused_with_the_strict_headers(web, origin):
    answer = post(web, origin=origin.encode("latin-1"))
    assert answer.status_code == 403
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_a_defect_of_the_guard_leaves_with_the_strict_headers(web, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError

    monkeypatch.setattr(Guard, "_refused", broken)
    answer = web.get("")
    assert answer.status_code == 500
    assert "default-src 'none'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize("offset", ["%C2%B2", "9" * 5_000, "-1", "", "1e3", "%D9%A3", "999999999"])
def test_an_offset_that_is_no_number_is_the_first_page(web, offset):
    web.cookies.set("bemps_name", "ann")
    assert web.get(f"panel/labelled?offset={offset}").status_code == 200


def test_a_search_with_a_nul_is_refused_in_words(web):
    answer = web.get("panel/labelled?q=a%00b")
    assert answer.status_code == 422
    assert "NUL" in answer.text


def test_a_post_from_the_page_itself_is_taken(web, shared):
    origin = shared.base.rstrip("/")
    web.cookies.set("bemps_name", "ann")
    assert post(web, origin=origin, **{"sec-fetch-site": "same-origin"}).status_code == 200


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_a_form_of_another_site_cannot_post(web, kind):
    assert web.post("api/next", content=b'{"n": 1}', headers={"content-type": kind}).status_code == 415


def test_bodies_are_limited_with_and_without_a_length(web):
    large = b'{"have": ["' + b"x" * 300_000 + b'"]}'
    headers = {"content-type": "application/json", "cookie": "bemps_name=ann"}
    assert web.post("api/next", content=large, headers=headers).status_code == 413
    pieces = (large[start : start + 50_000] for start in range(0, len(large), 50_000))
    assert web.post("api/next", content=pieces, headers=headers).status_code == 413
    assert web.post("api/class", content=(b"x" * 50_000 for _ in range(9)), headers=headers).status_code == 413


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'{"n": -1}', b'{"n": 1000}', b'{"have": "all"}', b'{"n": 1e400}', b"\xff"]
)
def test_malformed_requests_are_refused_in_words(web, body):
    web.cookies.set("bemps_name", "ann")
    answer = web.post("api/next", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 422
    assert answer.json()["error"]


def test_every_answer_carries_the_strict_headers(web):
    for path in ("", "static/page.css", "api/state", "panel/keys", "nothing-here", "../../etc/passwd"):
        answer = web.get(path)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert web.get("nothing-here").status_code == 404
    assert "<h1>There is nothing here.</h1>" in web.get("nothing-here").text
    assert web.get("api/nothing").json()["error"]


@pytest.mark.parametrize(
    "path", ["static/../app.py", "static/..%2fapp.py", "static/%2e%2e/app.py", "static//etc/passwd"]
)
def test_static_files_are_those_of_the_package_alone(shared, path):
    place = shared.base.removeprefix("http://").rstrip("/")
    host, port = place.split(":")
    with socket.create_connection((host, int(port))) as raw:
        raw.sendall(f"GET /{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: raw.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 404")
    assert b"import" not in answer


def test_a_text_with_a_script_is_shown_as_text_everywhere(tmp_path):
    nasty = '<script>alert(1)</script> "quoted" & </script><img src=x onerror=alert(2)>'
    write_tickets(tmp_path / "tickets.csv", [(nasty, "x"), ("plain", "x")])
    options = {"classes": ("<b>bold</b>", "</script>"), "guidelines": "<i>rules</i>"}
    with Here(tmp_path, **options) as server, server.person("<u>eve</u>") as eve:
        page = eve.http.get("").text
        (item,) = [item for item in eve.next(2) if "alert" in item["text"]]
        assert item["text"] == nasty
        eve.answer(item["id"], "<b>bold</b>", note="<s>note</s>").raise_for_status()
        fragments = [eve.panel(name) for name in ("progress", "labelled", "guidelines", "team", "keys", "classes")]
        for text in (page, *fragments, eve.panel("why", item=item["id"])):
            assert not any(tag in text for tag in ("<script>alert", "<b>bold", "<img", "<u>eve", "<s>note", "<i>rules"))
        assert page.count("</script>") == 2


def test_other_addresses_need_the_token(folder):
    with Here(folder, address=TEAM) as server, httpx.Client(base_url=server.base, trust_env=False) as web:
        token = server.door.token
        assert token is not None
        assert len(token) >= 32
        for path in ("", "api/state", "static/page.js", "panel/keys"):
            assert web.get(path).status_code == 401
        assert web.get("", params={"token": "wrong"}).status_code == 401
        assert web.get("", params={"token": token[:-1]}).status_code == 401
        assert post(web).status_code == 401
        assert web.get("api/state", headers={"authorization": f"Bearer {token}"}).status_code == 200
        welcome = web.get("", params={"token": token})
        assert (welcome.status_code, welcome.headers["location"]) == (303, "/")
        cookie = welcome.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=lax" in cookie
        assert token not in cookie
        assert "Your name" in web.get("").text  # no login name of the machine is taken for a stranger
        assert post(web).status_code == 422
        web.cookies.set("bemps_name", "ann")
        assert post(web).status_code == 200
        web.cookies.set(cookie.partition("=")[0], "guessed")
        assert web.get("api/state").status_code == 401


def test_on_other_addresses_names_are_checked_too(folder):
    with Here(folder, address=TEAM) as server, httpx.Client(base_url=server.base, trust_env=False) as web:
        known = {"authorization": f"Bearer {server.door.token}"}
        for host, status in (("labels.example.org", 200), ("192.168.1.5:8000", 200), ("evil.example", 421)):
            assert web.get("api/state", headers=known | {"host": host}).status_code == status
        assert post(web, **known, origin="https://labels.example.org").status_code == 422
        assert post(web, **known, origin="https://evil.example").status_code == 403


def test_a_reverse_proxy_path_works_stripped_or_not(folder):
    address = Address(port=0, root_path="/team/labels/")
    with Here(folder, address=address, annotator="ann") as server:
        root = server.base.removesuffix("team/labels/")
        assert server.base.endswith("/team/labels/")
        with httpx.Client(trust_env=False) as web:
            for base in (server.base, root):
                page = web.get(base)
                assert page.status_code == 200
                assert 'src="static/page.js"' in page.text  # relative: right under any path
                assert web.get(base + "static/page.js").status_code == 200
                assert web.get(base + "panel/keys").status_code == 200
                assert web.post(base + "api/next", json={"n": 1}).status_code == 200
                assert web.post(base + "api/name", json={"name": "eve"}).status_code == 200


def test_a_token_of_ones_own_must_be_long(monkeypatch):
    monkeypatch.setenv("BEMPS_TOKEN", "short")
    with pytest.raises(InputError, match="at least 16"):
        door_of(TEAM)
    monkeypatch.setenv("BEMPS_TOKEN", "x" * 20)
    assert door_of(TEAM).token == "x" * 20


def test_loopback_is_recognised():
    assert all(is_loopback(host) for host in ("127.0.0.1", "localhost", "::1", "127.8.8.8"))
    assert not any(is_loopback(host) for host in ("0.0.0.0", "::", "192.168.1.1", "example.org", ""))
    assert door_of(Address()).token is None
    assert Door("127.0.0.1").knows_host("127.0.0.1:8765")


def test_a_port_that_is_taken_is_said_unless_any_will_do():
    with listening(Address(port=0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match="in use"):
            listening(Address(port=port))
    with listening(Address()) as first, listening(Address()) as second:
        assert first.getsockname()[1] != second.getsockname()[1]


def test_the_token_is_printed_once_and_the_password_of_a_store_never(folder):
    with Server(
        folder, "--host", "0.0.0.0", environment={"BEMPS_TOKEN": ""} if not os.environ.get("BEMPS_TOKEN") else {}
    ) as server:
        assert server.said.count("token=") == 1
