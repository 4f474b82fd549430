"""The result from the page: files of every kind, made beside the labelling, cancelled, cleared away."""

import asyncio
import csv
import re
import subprocess
import sys
import tempfile
import zipfile
from datetime import datetime, timedelta
from io import BytesIO
from pathlib import Path

import openpyxl
import pytest
from browsing import Visitor, browser_of
from readers import workbook_bytes
from serving import CLASSES, Here, Server, eventually, run_beside, tickets, write_tickets
from test_page import violations

from bemps.formats.format_registry import FORMATS
from bemps.learner import ActiveLearner
from bemps.server.model.messages import encode
from bemps.server.project_start import Source, Wishes, prepared
from bemps.server.results import result_jobs
from bemps.server.results.result_messages import NotWritten, Step, WriteResult, Written
from bemps.server.results.result_names import ResultWish, project_name
from bemps.server.results.result_worker import result_of
from bemps.store import Item, open_store

MOMENT = datetime(2026, 11, 18, 20, 3)
WHEN = r"\d{4}-\d\d-\d\d-\d{4}"
PATIENCE = 120_000  # milliseconds: the process that makes a file gives way to all others


@pytest.fixture(scope="module")
def browser(chromium):
    with browser_of(chromium) as found:
        yield found


@pytest.fixture
def own_temporary_folder(tmp_path_factory, monkeypatch):
    """What is left behind is seen at once."""
    folder = tmp_path_factory.mktemp("temporary")
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def label_in_store(store, rows, count=40):
    """Labels, and a model that is not running: the process that makes a file fits its own."""
    truth = dict(rows)
    for item in list(store.items(store.ids()[:count])):
        store.answer("ann", item.id, "label", truth[item.content])
    store.set_all({"no_model": False, "model": "tfidf"})


def label_some(server, rows, count=40):
    label_in_store(server.store, rows, count)
    server.engine.settings = server.store.read_settings()
    assert eventually(lambda: server.engine.labels == count, 30), "the server sees what was labelled beside it"


@pytest.fixture
def labelled(folder):
    with Here(folder) as server:
        label_some(server, tickets())
        yield server


def made(person, **asked):
    """The answer of a job that has ended, and its file."""
    job = person.post("result", **asked).raise_for_status().json()
    ended = []

    def look():
        ended[:] = [person.http.get("api/result", params={"id": job["id"]}).raise_for_status().json()]
        return ended[0]["state"] not in result_jobs.UNFINISHED

    assert eventually(look, 120)
    return ended[0]


def rows_of(path):
    with Path(path).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def project_file(tmp_path_factory):
    """The path of a project with labels, without a server."""
    folder = tmp_path_factory.mktemp("labelled")
    write_tickets(folder / "tickets.csv")
    path = str(folder / "tickets.bemps")
    store, _ = prepared(path, Source(folder / "tickets.csv", {"text": "body"}), Wishes(classes=CLASSES, model="none"))
    label_in_store(store, tickets())
    store.close()
    return path


@pytest.mark.parametrize("what", ["labels", "predictions"])
@pytest.mark.parametrize("format", list(FORMATS))
def test_every_format_is_written(project_file, tmp_path, what, format):
    folder = tmp_path / "files"
    folder.mkdir()
    name = ResultWish(what, format).file_name("tickets", 40, MOMENT)
    written = result_of(WriteResult(project_file, str(folder), name, what, format), lambda message: None)
    assert isinstance(written, Written)
    assert written.name == name + (".zip" if format == "huggingface" else "")
    assert [path.name for path in folder.iterdir()] == [written.name]
    assert (folder / written.name).stat().st_size > 1_000


def test_results_that_differ_have_different_names():
    kinds = [ResultWish(what, format) for what in ("labels", "predictions", "events") for format in FORMATS]
    kinds += [ResultWish("labels", "csv", resolved=True), ResultWish("predictions", "csv", audit=True)]
    kinds += [ResultWish(what) for what in ("report", "model", "arrays")]
    times = [MOMENT, MOMENT + timedelta(minutes=1)]
    named = [
        (wish, project, wish.file_name(project, labels, time))
        for wish in kinds
        for project in ("tickets", "tickets-2")
        for labels in (40, 41)
        for time in times
    ]
    assert len({name for _, _, name in named}) == len(named)
    assert len({wish.title for wish in kinds}) == len(kinds)
    assert all(name.startswith(f"{project}-") for _, project, name in named)
    at_once = ResultWish("predictions").file_name("tickets", 1, MOMENT)
    assert at_once == "tickets-predictions-1-label-2026-11-18-2003.csv"
    again = ResultWish("predictions").file_name("tickets", 1, MOMENT, {at_once})
    assert again == "tickets-predictions-1-label-2026-11-18-2003-2.csv"


@pytest.mark.parametrize(
    ("file", "title", "name"),
    [
        *(("tickets.bemps", "tickets", "tickets"), ("tickets-2.bemps", "tickets", "tickets-2")),
        *(("a.bemps", "Über 東京: 2026", "Über_東京_2026"), ("a.bemps", "", "a"), ("a.bemps", "?!", "project")),
    ],
)
def test_files_have_the_name_of_their_project(tmp_path, file, title, name):
    with open_store(tmp_path / file, create=True) as store:
        assert project_name(store, title) == name


def test_predictions_stand_beside_the_columns_of_the_file(labelled, tmp_path):
    steps = []
    order = WriteResult(str(labelled.folder / "tickets.bemps"), str(tmp_path), "out", "predictions", "csv")
    written = result_of(order, steps.append)
    rows = rows_of(tmp_path / written.name)
    truth = dict(tickets())
    assert list(rows[0])[:2] == ["body", "topic"]
    assert {row["body"]: row["topic"] for row in rows} == truth
    answered = [row for row in rows if row["human"]]
    assert len(answered) == 40
    assert all(row["final"] == row["human"] == truth[row["body"]] for row in answered)
    assert all(row["final"] == row["label"] for row in rows if not row["human"])
    assert all(isinstance(step, Step) for step in steps)


def test_who_brought_a_workbook_is_offered_one_and_gets_every_row(tmp_path):
    rows = tickets(60)
    sheet = [["nr", "body"], *([i, text] for i, (text, _) in enumerate(rows))]
    (tmp_path / "tickets.xlsx").write_bytes(workbook_bytes(sheet))
    with Here(tmp_path, data="tickets.xlsx") as server, server.person() as ann:
        label_some(server, rows)
        panel = ann.panel("result")
        assert panel.count('<option value="xlsx" selected>') == 3  # predictions, labels, log
        job = made(ann, what="predictions", format="xlsx")
        table = openpyxl.load_workbook(BytesIO(ann.http.get("result", params={"id": job["id"]}).content)).active
        names, *cells = table.iter_rows(values_only=True)
        assert re.fullmatch(rf"tickets-predictions-40-labels-{WHEN}\.xlsx", job["file"])
        assert names[:2] == ("nr", "body")
        assert [row[:2] for row in cells] == [(i, text) for i, (text, _) in enumerate(rows)]
        at_once = ann.http.get("export?format=xlsx")
        assert re.search(rf'"tickets-40-labels-{WHEN}\.xlsx"', at_once.headers["content-disposition"])
        assert openpyxl.load_workbook(BytesIO(at_once.content)).active.max_row == 41
        assert "export?format=xlsx" in ann.panel("labelled")


def test_other_files_come_back_as_csv(labelled):
    with labelled.person() as ann:
        assert ann.panel("result").count('<option value="csv" selected>') == 3


def test_plain_arrays_are_offered_where_the_model_has_them(labelled):
    with labelled.person() as ann:
        assert "an example that reads texts" in ann.panel("result")
        for model, offered in (("bge-words", True), ("minilm-heads", False), ("tfidf-ensemble", False)):
            labelled.store.set("model", model)
            labelled.engine.settings = labelled.store.read_settings()
            panel = ann.panel("result")
            assert ('data-what="arrays"' in panel) == offered
            assert 'data-what="model"' in panel


def test_a_text_that_excel_cannot_hold_is_said_by_its_cell(server, tmp_path):
    server.store.add_items([Item("long", "x" * 40_000)])
    server.store.answer("ann", "long", "label", "bug")
    order = WriteResult(str(server.folder / "tickets.bemps"), str(tmp_path), "out", "labels", "xlsx")
    refused = result_of(order, lambda message: None)
    assert isinstance(refused, NotWritten)
    assert "at most 32,767 characters" in refused.text
    with server.person() as ann:
        assert "at most 32,767 characters" in ann.http.get("export?format=xlsx").text


def test_what_cannot_be_made_is_said_in_words(server, tmp_path):
    label_some(server, tickets(), 0)
    order = WriteResult(str(server.folder / "tickets.bemps"), str(tmp_path), "out", "predictions", "csv")
    refused = result_of(order, lambda message: None)
    assert isinstance(refused, NotWritten)
    assert "at least two classes" in refused.text


def test_the_zip_file_of_a_model_predicts_in_three_lines(labelled, tmp_path):
    order = WriteResult(str(labelled.folder / "tickets.bemps"), str(tmp_path), "out", "model")
    written = result_of(order, lambda message: None)
    path = tmp_path / written.name
    with zipfile.ZipFile(path) as packed:
        words = packed.read("README.md").decode()
        assert f'ActiveLearner.load("{path.name}")' in words
        assert f"bemps predict {path.name} new.csv --text body --out" in words
    learner = ActiveLearner.load(path)
    assert learner.predict(["How do I print the report?"]).argmax() == CLASSES.index("question")


def test_a_result_by_requests_alone(labelled, own_temporary_folder):
    with labelled.person() as ann:
        job = made(ann, what="report")
        assert re.fullmatch(rf"tickets-report-40-labels-{WHEN}\.html", job["file"])
        answer = ann.http.get("result", params={"id": job["id"]})
        assert "attachment" in answer.headers["content-disposition"]
        assert "<h1>tickets</h1>" in answer.text
        assert ann.post("result", what="labels", format="pdf").status_code == 422
        assert ann.http.get("result", params={"id": "nope"}).status_code == 404
        ann.post("result/cancel", id=job["id"]).raise_for_status()
        assert ann.http.get("result", params={"id": job["id"]}).status_code == 404
        assert len(list(own_temporary_folder.glob("bemps-results-*/[!.]*"))) == 0
    labelled.__exit__()
    assert list(own_temporary_folder.iterdir()) == []


def state_of(person, job):
    return person.http.get("api/result", params={"id": job["id"]}).raise_for_status().json()["state"]


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A project whose predictions take a while."""
    folder = tmp_path_factory.mktemp("large")
    rows = [(f"{text} Number {number}.", name) for number in range(40) for text, name in tickets()]
    write_tickets(folder / "tickets.csv", rows)
    with Here(folder) as server:
        label_some(server, rows)
        yield server


def test_labelling_goes_on_while_a_file_is_made_and_cancelling_leaves_nothing(large, own_temporary_folder):
    with large.person() as ann:
        job = ann.post("result", what="predictions", format="csv").raise_for_status().json()
        again = ann.post("result", what="predictions", format="csv").raise_for_status().json()
        assert again["id"] == job["id"]
        ann.post("result", what="predictions", format="parquet").raise_for_status()
        third = ann.post("result", what="predictions", format="jsonl").raise_for_status().json()
        assert third["state"] == "waiting"
        assert "waits until another file is ready" in ann.panel("result")
        item = ann.next()[0]
        assert ann.answer(item["id"], "bug").status_code == 200
        assert state_of(ann, job) == "running"
        assert state_of(ann, third) == "waiting"
        ann.post("result/cancel", id=job["id"]).raise_for_status()
        assert eventually(lambda: state_of(ann, third) != "waiting")  # it is its turn
        for left in large.engine.results.listed():
            ann.post("result/cancel", id=left.id).raise_for_status()
        assert large.engine.results.listed() == []
        assert list(own_temporary_folder.glob("bemps-results-*/[!.]*")) == []


def test_formats_that_need_a_package_are_offered_only_with_it(large, monkeypatch):
    with large.person() as ann:
        assert ann.panel("result").count('value="parquet"') == 3
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        page = ann.panel("result")
        assert 'value="parquet"' not in page
        assert 'value="huggingface"' not in page
        assert 'value="xlsx"' in page


def test_a_file_that_waited_is_named_by_the_labels_it_holds(tmp_path, own_temporary_folder, monkeypatch):
    labels, begun = [40], []
    jobs = result_jobs.ResultJobs(str(tmp_path / "p.bemps"), lambda: labels[0])

    async def run(job):
        begun.append(job)
        await asyncio.sleep(3600)

    async def wait_for(number):
        while len(begun) < number:
            await asyncio.sleep(0.01)

    async def look():
        for kind in ("csv", "jsonl", "parquet"):
            jobs.start(ResultWish("predictions", kind), "p")
        last = jobs.start(ResultWish("predictions", "xlsx"), "p")
        await wait_for(2)
        assert [job.state for job in jobs.listed()] == ["waiting", "waiting", "running", "running"]
        small = jobs.start(ResultWish("labels"), "p")
        await wait_for(3)
        assert (small.state, last.state) == ("running", "waiting")  # a small file does not wait for large ones
        labels[0] = 55
        for first in begun[:2]:
            await jobs.cancel(first.id)
        await wait_for(5)
        assert (last.state, last.labels) == ("running", 55)
        assert last.name.startswith("p-predictions-55-labels-")
        await jobs.stop()

    monkeypatch.setattr(jobs, "_run", run)
    run_beside(look())
    assert list(own_temporary_folder.iterdir()) == []


def test_old_files_make_room_for_new_ones(labelled, monkeypatch):
    monkeypatch.setattr(result_jobs, "MOST_KEPT", 1)
    with labelled.person() as ann:
        first = made(ann, what="labels", format="csv")
        second = made(ann, what="labels", format="jsonl")
        assert ann.http.get("result", params={"id": first["id"]}).status_code == 404
        assert ann.http.get("result", params={"id": second["id"]}).status_code == 200


def test_a_killed_server_leaves_nothing_once_the_next_one_works(folder, own_temporary_folder):
    environment = {"TMPDIR": str(own_temporary_folder)}
    with Server(folder, model="none", environment=environment) as server:
        with server.person() as ann:
            job = made(ann, what="labels", format="csv")
            assert job["file"]
        server.kill()
        left = list(own_temporary_folder.glob("bemps-results-*"))
        assert len(left) == 1
        server.start()
        with server.person() as ann:
            made(ann, what="labels", format="csv")
            now = list(own_temporary_folder.glob("bemps-results-*"))
            assert len(now) == 1
            assert now != left


def test_a_worker_without_its_server_clears_up_and_ends(large, tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    command = [sys.executable, "-P", "-m", "bemps.server.results.result_worker"]
    order = WriteResult(str(large.folder / "tickets.bemps"), str(folder), "out", "predictions", "csv")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(encode(order).encode() + b"\n")
        process.stdin.close()
        assert process.wait(20) == 0
    assert not folder.exists()


def test_the_result_by_keyboard_in_the_browser(labelled, browser, tmp_path):
    with Visitor(browser, labelled.base, "ann", accept_downloads=True) as ann:
        ann.page.locator("[data-panel=result]").focus()
        ann.press("Enter")
        ann.page.wait_for_selector("#panel-content h2")
        ann.page.locator("#predictions-format").focus()
        ann.page.select_option("#predictions-format", "csv-spreadsheet")
        with ann.page.expect_download(timeout=PATIENCE) as waiting:
            ann.press("Tab", "Enter")
        first = waiting.value.suggested_filename
        assert re.fullmatch(rf"tickets-predictions-csv-spreadsheet-40-labels-{WHEN}\.csv", first)
        waiting.value.save_as(tmp_path / "out.csv")
        assert len((tmp_path / "out.csv").read_text(encoding="utf-8-sig").splitlines()) == 241
        ann.sees("#notice", "is ready")
        with ann.page.expect_download(timeout=PATIENCE) as waiting:
            ann.press("Enter")
        assert waiting.value.suggested_filename != first
        ann.page.wait_for_timeout(500)
        assert ann.page.inner_text("#notice-words").count("is ready") == 1
        ann.page.locator("#notice").wait_for(state="hidden", timeout=PATIENCE)
        ann.sees("#result-files", "40 labels")
        assert ann.page.input_value("#predictions-format") == "csv-spreadsheet"
        for left in (1, 0):
            ann.page.locator("#result-files button").first.click()
            ann.page.wait_for_function("n => document.querySelectorAll('#result-files li').length === n", arg=left)
        assert ann.errors == []


def test_a_file_is_downloaded_and_announced_although_a_look_failed(labelled, browser):
    with Visitor(browser, labelled.base, "ann", accept_downloads=True) as ann:
        looks = []

        def fail_at_first(route):
            looks.append(route)
            return route.abort() if len(looks) <= 6 else route.continue_()

        ann.page.route("**/api/result?id=*", fail_at_first)
        ann.panel("result")
        with ann.page.expect_download(timeout=PATIENCE) as waiting:
            ann.page.locator("form[data-what=labels] button").click()
            ann.sees("#banner", "The file is still waited for: the server cannot be reached.")
        assert re.fullmatch(rf"tickets-40-labels-{WHEN}\.csv", waiting.value.suggested_filename)
        ann.sees("#notice", "is ready")
        ann.page.wait_for_selector("#banner", state="hidden")


def test_a_file_that_is_gone_before_it_was_downloaded_is_said(labelled, browser):
    with Visitor(browser, labelled.base, "ann") as ann, labelled.person("ben") as ben:

        def remove_first(route):
            ben.post("result/cancel", id=re.search("id=([^&]+)", route.request.url)[1]).raise_for_status()
            route.continue_()

        ann.page.route("**/api/result?id=*", remove_first)
        ann.panel("result")
        ann.page.locator("form[data-what=labels] button").click()
        ann.page.wait_for_selector("#notice")
        ann.page.wait_for_timeout(1500)
        assert len([error for error in ann.errors if "Failed to load" in error]) == 1  # it is not looked for again
        assert ann.page.is_hidden("#banner")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_result_panel_is_for_everyone(labelled, browser, scheme, width):
    viewport, long = {"width": width, "height": 800}, "Unbreakable" * 6
    labelled.store.set("title", long)
    assert eventually(lambda: labelled.engine.settings.title == long)
    with Visitor(browser, labelled.base, "ann", color_scheme=scheme, viewport=viewport) as ann:
        ann.panel("result")
        ann.page.evaluate("panel.style.maxHeight = '300px'")  # its last button is below the list of files
        ann.page.locator("form[data-what=events] button").click()
        ann.page.wait_for_function(
            "() => document.querySelector('#result-files').getBoundingClientRect().top"
            " >= document.querySelector('#panel').getBoundingClientRect().top"
        )
        ann.page.locator("#result-files", has_text=f"{long[:60]}-log-").wait_for(timeout=PATIENCE)
        ann.page.evaluate("document.querySelector('#result-files a').marked = true")
        ann.page.locator("form[data-what=labels] button").click()
        ann.page.locator("#result-files", has_text=f"{long[:60]}-40-labels-").wait_for(timeout=PATIENCE)
        # a link stays where it is, and can be clicked, while other files are made
        assert (
            ann.page.evaluate("[...document.querySelectorAll('#result-files a')].filter(link => link.marked).length")
            == 1
        )
        assert violations(ann.page) == []
        assert ann.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert ann.page.evaluate(
            "document.querySelector('#panel').scrollWidth <= document.querySelector('#panel').clientWidth"
        )


def test_the_end_of_a_project_offers_the_result(folder, browser):
    write_tickets(folder / "tickets.csv", tickets(6))
    with Here(folder, audit=0.0) as server, Visitor(browser, server.base, "ann") as ann:
        truth = dict(tickets(6))
        for number in range(6):
            key = str(CLASSES.index(truth[ann.item()[1]]) + 1)
            ann.label(key) if number < 5 else ann.press(key)
        ann.page.locator("#content [data-open=result]").click()
        ann.page.wait_for_selector("#labels-format")


def test_below_a_root_path_the_file_is_found(folder, browser):
    from bemps.server.http.http_server import Address

    below = Address(port=0, root_path="/labels")
    with Here(folder, address=below) as server, Visitor(browser, server.base, "ann", accept_downloads=True) as ann:
        ann.panel("result")
        with ann.page.expect_download(timeout=PATIENCE) as waiting:
            ann.page.locator("form[data-what=labels] button").click()
        assert re.fullmatch(rf"tickets-0-labels-{WHEN}\.csv", waiting.value.suggested_filename)
        assert ann.errors == []


def test_a_project_in_postgresql(tmp_path, postgres):
    where = f"{postgres}&project=results"
    with open_store(where, create=True) as store:
        for name in CLASSES:
            store.add_class(name, "test")
        store.add_items(Item(f"i{row}", text) for row, (text, _) in enumerate(tickets(60)))
        store.set_all({"kind": "text", "model": "tfidf", "title": "On a server"})
        for row, (_, name) in enumerate(tickets(60)[:30]):
            store.answer("ann", f"i{row}", "label", name)
        assert project_name(store, "On a server") == "On_a_server"
    for what, format, name in (("predictions", "csv", "all.csv"), ("report", None, "report.html")):
        written = result_of(WriteResult(where, str(tmp_path), name, what, format), lambda message: None)
        assert written == Written(name)
    assert len(rows_of(tmp_path / "all.csv")) == 60


def test_the_end_of_the_server_starts_no_job_that_waits(monkeypatch, own_temporary_folder):
    original, begun = asyncio.create_subprocess_exec, []

    async def instead(*command, **options):
        begun.append(command)
        return await original(sys.executable, "-c", "import time; time.sleep(60)", **options)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", instead)

    async def watch():
        jobs = result_jobs.ResultJobs("nowhere", lambda: 0)
        for format in ("csv", "jsonl", "xlsx", "huggingface"):
            jobs.start(ResultWish("labels", format), "tickets")
        while len(begun) < result_jobs.MOST_RUNNING:
            await asyncio.sleep(0.01)
        await jobs.stop()
        return len(begun)

    assert run_beside(watch()) == result_jobs.MOST_RUNNING
