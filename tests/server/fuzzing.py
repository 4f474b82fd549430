"""Requests that nobody would send, in bytes: seeded, so that a failure can be sent again."""

import json
import random
import socket
from urllib.parse import quote, urlsplit

PATHS = (
    "/",
    "/api/state",
    "/api/item?id={}",
    "/image?id={}",
    "/export?format={}",
    "/panel/why?item={}&guess={}",
    "/panel/labelled?q={}&state={}&label={}&offset={}",
    "/panel/progress",
    "/panel/team",
    "/panel/keys",
    "/panel/classes",
    "/panel/guidelines",
    "/panel/settings",
    "/panel/suggestions?part={}",
    "/classes.csv",
    "/static/{}",
    "/?token={}",
    "/{}",
)
POSTS = (
    *("next", "answer", "undo", "redo", "class", "class/rename", "class/key", "adjudicate", "name", "{}"),
    *("suggestions", "suggest", "suggest/retry"),
    *("class/change", "class/example", "class/merge", "class/split", "class/delete", "guidelines"),
)
TEXTS = (
    *(
        "",
        "a",
        "bug",
        "feature",
        "²",
        "٣",
        "\0",
        "a\0b",
        "\ud7ff",
        "\U0001f600",
        "\u202e",
        "é" * 300,
        "x" * 600,
        "9" * 5_000,
    ),
    *(
        "../../etc/passwd",
        "%00",
        "<script>",
        "'; DROP TABLE events; --",
        "-1",
        "1e999",
        "NaN",
        "null",
        "{",
        "[]",
        "ann",
    ),
    *("request-1", "request-2", "csv", "jsonl", "answered", "unanswered", "label", "skip", "unsure", "note", "clear"),
)
VALUES = (None, True, 0, 1, -1, 10**30, 1.5, [], {}, ["x"] * 60, {"a": {"b": []}})
FIELDS = (
    "item",
    "kind",
    "label",
    "note",
    "request",
    "have",
    "n",
    "name",
    "old",
    "new",
    "key",
    "method",
    "items",
    "source",
    "agreed",
    "into",
    "text",
    "seen",
    "move",
)
HEADERS = (
    b"Origin: http://[",
    b"Origin: null",
    b"Origin: http://127.0.0.1",
    b"Sec-Fetch-Site: cross-site",
    b"Sec-Fetch-Site: same-origin",
    b"Cookie: bemps_name=%ff%00",
    b'Cookie: bemps_name=a; bemps_name="b',
    b"Cookie: =; ;;;\xff",
    b"Authorization: Bearer \xff\xfe",
    b"Authorization: Basic",
    b"Range: bytes=abc",
    b"Range: bytes=0-0,1-1,99999999-",
    b'If-None-Match: "\xff',
    b"If-Modified-Since: yesterday",
    b"If-Range: \xe9",
    b"Accept: application/json",
    b"Accept-Encoding: gzip;q=\xff",
    b"X-Forwarded-Proto: https",
    b"X-Forwarded-For: ][",
    b"Upgrade: websocket\r\nConnection: upgrade",
    b"Expect: 100-continue",
    b"Content-Type: application/json; charset=\xff",
    b"Content-Type: multipart/form-data; boundary=",
    b"Transfer-Encoding: gzip",
    b"Host: second",
    b"X: " + b"y" * 9_000,
)


class Fuzzer:
    """Makes requests to one server; `items` are ids that exist."""

    def __init__(self, base, items, seed):
        self.address = urlsplit(base)
        self.items, self.random = tuple(items), random.Random(seed)

    def text(self):
        kind = self.random.random()
        if kind < 0.3:
            return self.random.choice(self.items)
        if kind < 0.9:
            return self.random.choice(TEXTS)
        return "".join(
            chr(self.random.choice((0, 9, 10, 65, 233, 0x2028, 0x1F600))) for _ in range(self.random.randrange(9))
        )

    def value(self):
        return self.text() if self.random.random() < 0.75 else self.random.choice(VALUES)

    def body(self):
        kind = self.random.random()
        if kind < 0.15:
            return self.random.choice(
                (b"", b"{", b"\xff", b"null", b"[" * 20_000, b'{"n": 1' + b"0" * 5_000 + b"}", b'"\\ud800"')
            )
        fields = {name: self.value() for name in self.random.sample(FIELDS, self.random.randrange(1, 7))}
        if kind < 0.6:  # nearly right
            fields |= {
                "item": self.random.choice(self.items),
                "kind": self.random.choice(TEXTS[-5:]),
                "request": self.text() + "-request",
            }
        return json.dumps(fields).encode()

    def filled(self, path):
        return path.format(*(quote(self.text().encode("utf-8", "surrogatepass"), safe="") for _ in range(9)))

    def request(self):
        """One request, in bytes."""
        rng = self.random
        post = rng.random() < 0.5
        method = rng.choices(
            ("POST" if post else "GET", "HEAD", "PUT", "OPTIONS", "get", "X" * 100), (40, 2, 1, 1, 1, 1)
        )[0]
        path = self.filled("/api/" + rng.choice(POSTS) if post else rng.choice(PATHS))
        lines = [f"{method} {path} HTTP/1.1".encode(), b"Host: " + self.host()]
        lines += [b"Cookie: bemps_name=ann"] if rng.random() < 0.8 else []
        lines += [b"Content-Type: application/json"] if post and rng.random() < 0.9 else []
        lines += rng.sample(HEADERS, rng.choice((0, 0, 1, 2)))
        body = self.body() if post else b""
        lines += (
            [f"Content-Length: {rng.choices((len(body), len(body) + 5, -1, 10**12), (40, 1, 1, 1))[0]}".encode()]
            if post
            else []
        )
        whole = b"\r\n".join([*lines, b"Connection: close", b"", body])
        return self.mutated(whole) if rng.random() < 0.1 else whole

    def host(self):
        own = self.address.netloc.encode()
        return self.random.choices((own, b"localhost", b"evil.example", b"[", b""), (40, 3, 1, 1, 1))[0]

    def mutated(self, whole):
        content = bytearray(whole)
        for _ in range(self.random.randrange(1, 8)):
            place = self.random.randrange(len(content))
            if self.random.random() < 0.5:
                content[place] = self.random.randrange(256)
            else:
                content[place:place] = self.random.randbytes(self.random.randrange(5))
        return bytes(content)

    def first_piece(self, raw, patience):
        """What comes before long; nothing where the server waits for more of the request."""
        raw.settimeout(0.25)
        try:
            return raw.recv(4096)
        except TimeoutError:
            return b""
        finally:
            raw.settimeout(patience)

    def send(self, whole, patience=20):
        """The status of the answer; None where the connection was closed without one."""
        with socket.create_connection((self.address.hostname, self.address.port), timeout=patience) as raw:
            try:
                raw.sendall(whole)
                if self.random.random() < 0.05:
                    return None  # gone before the answer
                answer = self.first_piece(raw, patience)  # who hangs up at once gets no answer that takes a thread
                raw.shutdown(socket.SHUT_WR)
                while len(answer) < 100 and (piece := raw.recv(4096)):
                    answer += piece
            except ConnectionError:
                return None
        head = answer.split(b" ", 2)
        return int(head[1]) if len(head) > 1 and head[1].isdigit() else None
