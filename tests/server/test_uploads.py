"""Files that come into a folder of projects: looked at, refused or made into a project, and nothing half-made left."""

import io
import json
import os
import signal
import socket
import subprocess
import sys
import zipfile
from contextlib import contextmanager

import httpx
import pytest
from readers import image_bytes, parquet_bytes, workbook_bytes
from serving import ProjectsHere, eventually, interrupt, tickets
from typer.testing import CliRunner

from bemps import data
from bemps._utils import archives
from bemps._utils.archives import safe_name, unpack
from bemps.cli import app
from bemps.errors import InputError
from bemps.project import open_project
from bemps.server.http.http_server import Address
from bemps.server.project_start import Source, Wishes, prepared
from bemps.server.projects import uploads
from bemps.server.projects.uploads import UNFINISHED
from bemps.store import open_store

BYTES = {"content-type": "application/octet-stream"}
CSV = "\n".join(["number,body,topic", *(f"{i},{text},{name}" for i, (text, name) in enumerate(tickets(40)))]).encode()


@pytest.fixture
def server(tmp_path):
    with ProjectsHere(tmp_path) as running:
        yield running


@pytest.fixture
def web(server):
    with server.web() as client:
        yield client


def send(web, files, upload=None):
    """Upload files by name; returns the upload and the last answer."""
    upload = upload or web.post("api/uploads", json={}).raise_for_status().json()["upload"]
    for name, content in files.items():
        answer = web.post("api/upload", params={"upload": upload, "name": name}, content=content, headers=BYTES)
    return upload, answer


@contextmanager
def sending(server, path, length):
    """A connection on which a request has begun whose body is to come."""
    port = httpx.URL(server.base).port
    with socket.create_connection(("127.0.0.1", port), timeout=30) as line:
        head = f"POST /{path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/octet-stream\r\n"
        line.sendall(f"{head}content-length: {length}\r\n\r\n".encode())
        yield line


def looked(web, files):
    upload, answer = send(web, files)
    answer.raise_for_status()
    return upload, web.get("panel/preview", params={"upload": upload})


def made(web, server, files, **choices):
    upload, answer = send(web, files)
    answer.raise_for_status()
    url = web.post("api/projects", json={"upload": upload, **choices}).raise_for_status().json()["url"]
    (path,) = (path for path in server.folder.glob("*/*.bemps"))
    return url, path


def zipped(files, **options):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        for info, content in options.get("more", ()):
            archive.writestr(info, content)
    return file.getvalue()


def left(folder):
    """What is in a folder of projects."""
    return sorted(path.name for path in folder.iterdir() if path.name != ".projects.lock")


# -- what becomes of files --------------------------------------------------------------------------------------------


def test_a_project_of_the_page_the_command_line_and_python_is_the_same(server, web, tmp_path_factory):
    _, path = made(web, server, {"tickets.csv": CSV}, title="tickets", reading=["body"], classes=["bug", "question"])
    other = tmp_path_factory.mktemp("other")
    (other / "tickets.csv").write_bytes(CSV)
    source, classes = Source(other / "tickets.csv", {"text": ["body"]}), ("bug", "question")
    prepared(str(other / "line.bemps"), source, Wishes(classes=classes))[0].close()
    with open_project(other / "python.bemps", create=True) as project:
        for name in classes:
            project.store.add_class(name, "me")
        project.add(data.read(other / "tickets.csv", text=["body"]))
    own = {"id", "stamp", "sources", "taken_files", "folder", "title"}
    kinds = []
    for place in (path, other / "line.bemps", other / "python.bemps"):
        with open_store(place) as store:
            settings = {name: value for name, value in store.settings.items() if name not in own}
            kinds.append((settings, store.ids(), [item.content for item in store.items()], sorted(store.audit())))
            assert [known.name for known in store.classes()] == list(classes)
    assert kinds[0] == kinds[1] == kinds[2]
    assert left(server.folder) == ["tickets"]
    assert sorted(os.listdir(path.parent)) == ["files", "tickets.bemps"]


ROWS = [["n", "comment", "kind"], *([i, f"a long comment number {i} about things", "ab"[i % 2]] for i in range(8))]
FILES = {
    "t.csv": "\n".join(",".join(map(str, row)) for row in ROWS).encode(),
    "semicolons.csv": "\n".join(";".join(map(str, row)) for row in ROWS).encode(),
    "old.csv": "\n".join(",".join(map(str, row)) for row in ROWS).replace("about", "\u00fcber").encode("cp1252"),
    "t.tsv": "\n".join("\t".join(map(str, row)) for row in ROWS).encode(),
    "t.xlsx": workbook_bytes(ROWS),
    "t.json": json.dumps([dict(zip(ROWS[0], row, strict=True)) for row in ROWS[1:]]).encode(),
    "t.parquet": parquet_bytes([dict(zip(ROWS[0], row, strict=True)) for row in ROWS[1:]]),
    "t.jsonl": "\n".join(json.dumps(dict(zip(ROWS[0], row, strict=True))) for row in ROWS[1:]).encode(),
}

TEXTS = {f"notes/{'ab'[i % 2]}/{i}.txt": f"text {i}".encode() for i in range(6)}
IMAGES = {f"photos/{i}.png": image_bytes("png", 9 * i) for i in range(5)}


@pytest.mark.parametrize("name", FILES)
def test_the_column_is_guessed_and_classes_can_come_from_another(name, server, web):
    upload, page = looked(web, {name: FILES[name]})
    assert '<option value="comment" selected>comment</option>' in page.text
    assert 'data-names="a, b">kind</option>' in page.text
    assert "a long comment number 4" in page.text
    assert ("The file is not in UTF-8" in page.text) == (name == "old.csv")
    body = {"upload": upload, "reading": ["comment"], "class_column": "kind", "labelled": True, "title": "x"}
    web.post("api/projects", json=body).raise_for_status()
    with open_store(server.folder / "x" / "x.bemps") as store:
        assert [known.name for known in store.classes()] == ["a", "b"]
        assert len(store.current()) == 8
        assert ("\u00fcber" in next(store.items()).content) == (name == "old.csv")


def test_lines_above_the_table_of_a_workbook_are_shown_as_left_out(web):
    _, page = looked(web, {"t.xlsx": workbook_bytes([["Comments <of> May"], [], *ROWS])})
    assert "8 rows, 3 columns" in page.text
    assert 'left out: <span dir="auto">Comments &lt;of&gt; May</span>' in page.text
    assert '<option value="comment" selected>comment</option>' in page.text


SHEETS = {"t.xlsx": workbook_bytes([["read", "me"], ["nothing", "here"]], Items=ROWS, Empty=[])}


@pytest.mark.parametrize("cover", [[["Archive"]], [["Archive"], ["of"], ["May"]]])
def test_a_cover_is_passed_over_and_can_be_chosen(web, cover):
    _, page = looked(web, {"t.xlsx": workbook_bytes(cover, Items=ROWS)})
    assert "8 rows, 3 columns" in page.text
    assert '<option value="Sheet">Sheet</option> <option value="Items" selected>' in " ".join(page.text.split())


def test_another_sheet_of_a_workbook_is_chosen(server, web):
    upload, page = looked(web, SHEETS)
    options = '<option value="Sheet" selected>Sheet</option> <option value="Items">Items</option> </select>'
    assert options in " ".join(page.text.split())
    page = web.get("panel/preview", params={"upload": upload, "sheet": "Items"}).raise_for_status()
    assert "8 rows, 3 columns" in page.text
    assert '<option value="Items" selected>Items</option>' in page.text
    answer = web.get("panel/preview", params={"upload": upload, "sheet": "Itms"})
    assert (answer.status_code, "Did you mean &#39;Items&#39;" in answer.text) == (422, True)
    body = {"upload": upload, "title": "it", "reading": ["comment"], "sheet": "Items", "classes": ["x", "y"]}
    web.post("api/projects", json=body).raise_for_status()
    with open_store(server.folder / "it" / "it.bemps") as store:
        assert store.count() == 8


def test_a_workbook_with_one_sheet_asks_nothing(web):
    assert 'id="sheet"' not in looked(web, {"t.xlsx": workbook_bytes(ROWS, Empty=[])})[1].text


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"a.zip": zipped(TEXTS | {"notes/x.pdf": b"x", "notes/y.PDF": b"x", "notes/README": b"x"})},
         "3 files of other kinds (2 .pdf, 1 without an ending)"),
        (IMAGES | {"photos/index.txt": b"x"}, "1 file of other kinds (1 .txt)"),
        ({"a.zip": zipped(TEXTS | {"notes/i.png": image_bytes("png", 9), "notes/x.pdf": b"x"})},
         "2 files of other kinds (1 .pdf, 1 .png)"),
        ({"a.zip": zipped({"t.csv": FILES["t.csv"], "t.docx": b"x", ".hidden.pdf": b"x"})},
         "1 file of other kinds (1 .docx)"),
        ({"a.zip": zipped(TEXTS | {f"x.{letter}": b"x" for letter in "abcdefg"})},
         "7 files of other kinds (1 .a, 1 .b, 1 .c, 1 .d, 1 .e, 2 more)"),
    ],
)  # fmt: skip
def test_files_that_are_left_out_are_said(files, words, web):
    assert f"Left out: {words}." in looked(web, files)[1].text


def test_files_that_a_browser_did_not_send_are_said_too(web):
    upload = web.post("api/uploads", json={"left_out": {".pdf": 2, "": 1}}).raise_for_status().json()["upload"]
    send(web, TEXTS | {"notes/i.png": image_bytes("png", 9)}, upload)
    page = web.get("panel/preview", params={"upload": upload})
    assert "Left out: 4 files of other kinds (2 .pdf, 1 without an ending, 1 .png)." in page.text
    assert web.post("api/uploads", json={"left_out": {".pdf": -1}}).status_code == 422


def test_parquet_is_offered_only_where_it_can_be_read(server, web, monkeypatch):
    assert "Parquet" in web.get("").text
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    page = web.get("").text
    assert "Parquet" not in page
    assert ".parquet" not in page
    assert "JSON, JSONL, a text in each line" in page
    refusal = send(web, {"t.parquet": FILES["t.parquet"]})[1]
    assert (refusal.status_code, "got .parquet" in refusal.json()["error"]) == (422, True)
    assert "pip" not in refusal.text


def test_classes_of_a_column_without_its_labels_and_none_at_all(server, web):
    made(web, server, {"t.csv": FILES["t.csv"]}, reading=["kind", "comment"], title="one", class_column="kind")
    with open_store(server.folder / "one" / "one.bemps") as store:
        assert (len(store.classes()), len(store.current())) == (2, 0)
        assert next(store.items()).content == "a a long comment number 0 about things"
    upload, _ = send(web, {"t.csv": FILES["t.csv"]})
    web.post("api/projects", json={"upload": upload, "reading": ["comment"], "title": "one"}).raise_for_status()
    with open_store(server.folder / "one-2" / "one-2.bemps") as store:
        assert store.classes() == ()


@pytest.mark.parametrize(
    ("files", "kind", "count"),
    [
        (TEXTS, "text", 6),
        ({"notes.zip": zipped(TEXTS | {"__MACOSX/._1.txt": b"x", "notes/.DS_Store": b"x"})}, "text", 6),
        (IMAGES, "image", 5),
        ({"photos.zip": zipped(IMAGES | {"photos/readme.md": b"x"})}, "image", 5),
        ({"lines.txt": b"one\ntwo\n\nthree"}, "text", 3),
        ({"table.zip": zipped({"data/t.csv": FILES["t.csv"]})}, "text", 8),
        ({"both.zip": zipped(IMAGES | {"index.csv": b"path,who\n" + b"\n".join(f"{n},x".encode() for n in IMAGES)})},
         "image", 5),
    ],
)  # fmt: skip
def test_folders_and_zip_files(files, kind, count, server, web):
    upload, page = looked(web, files)
    reading = {"lines.txt": ["text"], "table.zip": ["comment"], "both.zip": ["path"]}.get(next(iter(files)), [])
    assert f"<p>{count} " in page.text
    body = {"upload": upload, "title": "it", "classes": ["x", "y"], "reading": reading}
    web.post("api/projects", json=body).raise_for_status()
    with open_store(server.folder / "it" / "it.bemps") as store:
        assert (store.read_settings().kind, store.count()) == (kind, count)
    url = web.get("").text.partition('href="p/')[2].partition('"')[0]
    (item, *_) = web.post(f"p/{url}api/next", json={"n": 1}).raise_for_status().json()["items"]
    if kind == "image":
        assert web.get(f"p/{url}{item['image']}").content.startswith(b"\x89PNG")


def test_subfolders_can_be_the_classes(server, web):
    _, path = made(web, server, TEXTS, title="it", class_column="folder", labelled=True)
    with open_store(path) as store:
        assert {name: answer.label for name, answer in store.current().items()}["a/0.txt"] == "a"


# -- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.docx", b"x", "File a.docx: expected one of .bmp, .csv"),
        ("../a.csv", b"x", "expected a name inside the folder"),
        ("C:\\a.csv", b"x", "expected a name inside the folder"),
        ("/etc/a.csv", b"x", "expected a name inside the folder"),
        ("a.zip", b"no zip", "expected a zip file; got BadZipFile"),
        ("a.zip", zipped({"../out.txt": b"x"}), "expected a name inside the folder"),
        ("a.zip", zipped({"a/../../out.txt": b"x"}), "expected a name inside the folder"),
        ("a.zip", zipped({"bomb.txt": b"0" * 3_000_000}), "File a.zip: expected files that grow 200 times at most"),
        ("a.zip", zipped({"a.pdf": b"x"}), "expected something to label in it"),
    ],
)
def test_a_file_that_is_refused_leaves_nothing(name, content, words, server, web):
    upload, answer = send(web, {name: content})
    assert answer.status_code == 422
    assert words in answer.json()["error"]
    assert str(server.folder) not in answer.json()["error"]
    if name == "a.zip":
        assert left(server.folder) == []
    else:
        web.post("api/uploads/drop", json={"upload": upload}).raise_for_status()
    assert left(server.folder) == []
    assert not (server.folder.parent / "out.txt").exists()


def test_the_name_of_a_file_is_said_as_it_is(web):
    _, page = looked(web, {"kaputt.xlsx": b"no workbook"})
    assert "File kaputt.xlsx: expected an Excel workbook" in page.text


def test_nobody_who_made_a_project_on_the_page_is_told_options_of_a_command(server, web):
    url, _ = made(web, server, {"t.csv": FILES["t.csv"]}, reading=["comment"], title="one")
    for panel, words in (
        ("guidelines", "There are none yet."),
        ("classes", "All classes as a file"),
        ("team", "No item is asked of several people"),
    ):
        page = web.get(f"{url}panel/{panel}").raise_for_status().text
        assert words in page
        assert "--" not in page


def test_links_in_a_zip_file_are_refused(server, web):
    link = zipfile.ZipInfo("link.txt")
    link.external_attr = 0o120777 << 16
    _, answer = send(web, {"a.zip": zipped({"a.txt": b"x"}, more=[(link, "/etc/passwd")])})
    assert "the link 'link.txt'" in answer.json()["error"]
    assert left(server.folder) == []


def test_limits_of_numbers_and_sizes(server, web, monkeypatch):
    monkeypatch.setattr(archives, "MOST_FILES", 3)
    assert "at most 3 files" in send(web, {"a.zip": zipped(TEXTS)})[1].json()["error"]
    monkeypatch.setattr(archives, "MOST_FILES", 100)
    monkeypatch.setattr(archives, "LARGEST_CONTENT", 30)
    assert "expected at most" in send(web, {"a.zip": zipped(TEXTS)})[1].json()["error"]
    monkeypatch.setattr(uploads, "MOST_FILES", 2)
    assert "at most 2 files" in send(web, dict(list(TEXTS.items())[:3]))[1].json()["error"]
    monkeypatch.setattr(uploads, "LARGEST_UPLOAD", 1_000)
    _, answer = send(web, {"t.csv": b"text\n" + b"x" * 2_000})
    assert (answer.status_code, "expected at most 0 MB; got more" in answer.json()["error"]) == (422, True)
    assert left(server.folder) == []


def test_a_size_that_a_zip_file_does_not_claim_is_not_unpacked(tmp_path):
    """A forged size: the table of contents says little, the data are long."""
    content = zipped({"a.txt": os.urandom(50_000)})
    forged = content.replace((50_000).to_bytes(4, "little"), (100).to_bytes(4, "little"))
    assert forged != content
    (tmp_path / "a.zip").write_bytes(forged)
    with pytest.raises(InputError, match="BadZipFile"):
        unpack(tmp_path / "a.zip", tmp_path / "out", lambda _: True)
    assert sum(path.stat().st_size for path in (tmp_path / "out").rglob("*")) <= 100


@pytest.mark.parametrize(
    ("name", "safe"),
    [("a.txt", "a.txt"), ("a\\b.txt", "a/b.txt"), ("a/con.txt", "a/_con.txt"), ("a?/b:c.txt", "a_/b_c.txt"),
     ("x. /y.txt", "x/y.txt"), (".x/y.txt", None), ("__MACOSX/a.txt", None), ("x" * 300 + ".txt", "x" * 130 + ".txt")],
)  # fmt: skip
def test_names_are_such_that_every_system_can_store_them(name, safe):
    shown = safe_name(name)
    assert (None if shown is None else shown.as_posix()) == safe


def test_a_refused_choice_keeps_the_upload_for_another(server, web):
    upload, _ = looked(web, {"t.csv": b"text,label\n,a\n,b\n"})
    for body, words in (
        ({"reading": ["nothing"]}, "Column to read: expected one of text, label"),
        ({"reading": ["text"], "classes": ["a", "A"]}, "Classes: expected different names"),
        ({"reading": ["text"]}, "File t.csv: expected something to read in some row"),
        ({"reading": ["text"], "class_column": "text"}, "Column of classes"),
    ):
        answer = web.post("api/projects", json={"upload": upload, "title": "x", **body})
        assert (answer.status_code, words in answer.json()["error"]) == (422, True), answer.text
        assert str(server.folder) not in answer.text
        assert left(server.folder) == [f".upload-{upload}"]
    web.post("api/projects", json={"upload": upload, "title": "x", "reading": ["label"]}).raise_for_status()
    assert left(server.folder) == ["x"]


def test_uploads_pass_the_same_guard(server, web):
    upload = web.post("api/uploads", json={}).json()["upload"]
    path = f"api/upload?upload={upload}&name=t.csv"
    assert web.post(path, content=CSV, headers=BYTES | {"origin": "https://evil.example"}).status_code == 403
    assert web.post(path, content=CSV, headers=BYTES | {"sec-fetch-site": "cross-site"}).status_code == 403
    assert web.post(path, content=CSV, headers=BYTES | {"host": "evil.example"}).status_code == 421
    assert web.post(path, content=CSV, headers={"content-type": "text/plain"}).status_code == 415
    assert web.post(path, files={"file": CSV}).status_code == 415
    assert web.post("api/projects", content=b"{}", headers=BYTES).status_code == 415
    assert web.post("api/projects", json={"title": "x" * 300_000}).status_code == 413
    with sending(server, path, 999_999_999) as line:
        assert line.recv(100).startswith(b"HTTP/1.1 413")
    assert web.post("api/upload?upload=0123&name=t.csv", content=CSV, headers=BYTES).status_code == 422
    assert list((server.folder / f".upload-{upload}" / "files").iterdir()) == []
    assert web.get("p/../../etc/passwd").status_code == 404
    assert web.get("p/0123456789ab/").status_code == 410


def test_other_addresses_need_the_token(tmp_path):
    team = Address(host="127.0.0.1", port=0, names=("labels.example.org",))
    with ProjectsHere(tmp_path, annotator=None, address=team) as server, server.web() as web:
        assert web.get("").status_code == 401
        assert web.post("api/uploads", json={}).status_code == 401
        assert web.post("api/upload?upload=x&name=t.csv", content=CSV, headers=BYTES).status_code == 401
        web.headers["authorization"] = f"Bearer {server.door.token}"
        url, _ = made(web, server, {"t.csv": CSV}, reading=["body"], classes=["a", "b"])
        assert "Your name" in web.get(url).text
        del web.headers["authorization"]
        assert web.get(url).status_code == 401
    assert left(tmp_path) == ["t"]


# -- ends -------------------------------------------------------------------------------------------------------------


def test_a_browser_that_goes_away_leaves_nothing(server, web):
    upload = web.post("api/uploads", json={}).json()["upload"]
    with sending(server, f"api/upload?upload={upload}&name=t.csv", 5_000_000) as line:
        line.sendall(b"x" * 2_000_000)
        assert eventually(lambda: any((server.folder / f".upload-{upload}" / "files").iterdir()))
    assert eventually(lambda: left(server.folder) == [])


def test_the_end_of_a_server_removes_uploads_and_the_next_one_what_a_killed_one_left(tmp_path):
    with ProjectsHere(tmp_path) as server, server.web() as web:
        send(web, {"t.csv": CSV})
        assert len(left(tmp_path)) == 1
    assert left(tmp_path) == []
    for name in (".upload-0123456789abcdef", "tickets"):
        (tmp_path / name / "files").mkdir(parents=True)
        (tmp_path / name / UNFINISHED).touch()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    with ProjectsHere(tmp_path) as server, server.web() as web:
        assert "tickets" not in web.get("").text
    assert left(tmp_path) == ["mine"]


KILLED = """
import os, signal, sys
from pathlib import Path
from bemps.server.projects import new_projects
from bemps.server.projects.new_projects import Choices, NewProjects
from bemps.server.projects.project_folder import ProjectFolder
from bemps.server.projects.uploads import Uploads
folder, moment = Path(sys.argv[1]), sys.argv[2]
uploads = Uploads(folder)
upload = uploads.begin()
(uploads.folder_of(upload) / "files" / "t.csv").write_text("text\\na\\nb\\n")
def kill(*_): os.kill(os.getpid(), signal.SIGKILL)
if moment == "before":
    new_projects.prepared = kill
else:
    uploads.finish = kill
    unlink = Path.unlink
    Path.unlink = lambda path, **options: kill() if path.name == ".bemps-unfinished" else unlink(path, **options)
NewProjects(ProjectFolder(folder), uploads).create(upload, Choices(reading=["text"]))
"""


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_kill_while_a_project_is_made_leaves_nothing_for_long(moment, tmp_path):
    run = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), moment], check=False, timeout=120)
    assert run.returncode == -signal.SIGKILL
    assert left(tmp_path) == ["t"]
    with ProjectsHere(tmp_path) as server, server.web() as web:
        assert "Your projects" not in web.get("").text
    assert left(tmp_path) == []


def test_only_so_many_uploads_wait(server, web):
    names = [send(web, {"t.csv": CSV})[0] for _ in range(uploads.MOST_UPLOADS + 2)]
    assert left(server.folder) == sorted(f".upload-{name}" for name in names[2:])
    assert web.get("panel/preview", params={"upload": names[0]}).status_code == 422


# -- the command ------------------------------------------------------------------------------------------------------


class Command:
    """`bemps` as it is typed, in a process of its own."""

    def __init__(self, folder, *arguments):
        self.log = folder.parent / f"said{len(list(folder.parent.iterdir()))}.txt"
        command = [sys.executable, "-c", "from bemps.cli import app; app()", *arguments]
        with self.log.open("w") as out:
            more = ["--folder", str(folder), "--port", "0", "--no-browser"]
            self.process = subprocess.Popen([*command, *more], stdout=out, stderr=out, start_new_session=True)

    @property
    def url(self):
        assert eventually(lambda: "Label at " in self.log.read_text(), 60), self.log.read_text()
        return self.log.read_text().partition("Label at ")[2].split()[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            interrupt(self.process)
        assert self.process.wait(30) is not None


def test_bemps_alone_serves_a_folder_and_a_second_one_leads_to_the_first(tmp_path):
    folder = tmp_path / "projects"
    with Command(folder) as first, httpx.Client(base_url=first.url, timeout=60, trust_env=False) as web:
        url = web.post("api/samples", json={"name": "messages"}).raise_for_status().json()["url"]
        item = web.post(f"{url}api/next", json={"n": 1}).raise_for_status().json()["items"][0]["id"]
        body = {"item": item, "kind": "label", "label": "praise", "request": "12345678"}
        web.post(f"{url}api/answer", json=body).raise_for_status()
        with Command(folder, "label") as second:
            assert second.url == first.url
            assert second.process.wait(30) == 0
        assert "(that server is running already)" in second.log.read_text()
    assert "Stopped. Everything is saved in" in first.log.read_text()
    name = folder / "Messages_to_a_library" / "Messages_to_a_library.bemps"
    assert [path.name for path in name.parent.iterdir() if path.name.endswith(("-wal", "-shm"))] == []
    with open_store(name) as store:
        assert [answer.label for answer in store.current().values()] == ["praise"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["label", "--classes", "a,b"], "DATA: expected a file, a folder or a project; got --classes alone"),
        (["label", "t.csv", "--folder", "x"], "--folder: expected no DATA; got both"),
        (["--folder", "file.txt"], "--folder"),
    ],
)
def test_options_that_do_not_go_together(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file.txt").write_text("x")
    done = CliRunner().invoke(app, arguments, env={"COLUMNS": "500"})
    assert (done.exit_code, words in done.output) == (2, True), done.output


def test_the_name_of_the_folder_is_that_of_the_user_unless_said(monkeypatch, tmp_path):
    served = []
    monkeypatch.setattr("bemps.server.http.http_server.serve_projects", lambda folder, *_, **__: served.append(folder))
    monkeypatch.setattr("pathlib.Path.home", lambda: tmp_path)
    for arguments in ([], ["label"], ["projects"], ["--folder", str(tmp_path / "own")]):
        assert CliRunner().invoke(app, arguments).exit_code == 0
    assert served == [*[tmp_path / "bemps"] * 3, tmp_path / "own"]
