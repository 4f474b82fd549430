"""A newcomer with a workbook of news and a browser: from the file on the desk to a class in every row of it."""

import re
from datetime import datetime

import openpyxl
import pytest
from browsing import Visitor, browser_of
from encoder_weights import needs_weights
from readers import workbook_bytes
from test_projects_page import drop_on
from test_uploads import Command

CLASSES = ("World", "Sport", "Business", "Science")  # in the order of the numbers of AG NEWS
EACH, LABELS = 37, 25
AGENCY = re.compile(r"(?P<title>.+?) \((?P<source>AP|Reuters|AFP)\) (?:AP|Reuters|AFP) - (?P<text>.+)")
COLUMNS = ["Nr", "Title", "Article", "Source", "Date"]
PATIENCE = 180_000  # milliseconds: the process that makes a file gives way to all others


@pytest.fixture(scope="module")
def browser(chromium):
    with browser_of(chromium) as found:
        yield found


def news(data_dir):
    """Rows of a workbook as an archivist keeps it, one of them twice and one empty, and the class of each text."""
    parquet = pytest.importorskip("pyarrow.parquet")
    rows, truth, counts = [], {}, dict.fromkeys(CLASSES, 0)
    for story in parquet.read_table(data_dir / "ag_news" / "train_subset.parquet").to_pylist():
        found = AGENCY.fullmatch(" ".join(story["text"].replace("\\", " ").split()))
        name = CLASSES[story["label"]]
        if found and counts[name] < EACH:
            counts[name] += 1
            truth[found["text"]] = name
            date = datetime(2004, 8, 1 + len(rows) % 28)
            rows.append([len(rows) + 1, found["title"], found["text"], found["source"], date])
    assert set(counts.values()) == {EACH}
    rows += [[len(rows) + 1, *rows[3][1:]], [len(rows) + 2, "A photo", None, None, None]]
    return rows, truth


def test_from_a_workbook_to_predictions_for_every_row_with_the_browser_alone(browser, data_dir, tmp_path):
    needs_weights("bge-small")  # as the README tells
    rows, truth = news(data_dir)
    desk = tmp_path / "Press cuttings 2004.xlsx"
    desk.write_bytes(workbook_bytes([COLUMNS, *rows]))
    with Command(tmp_path / "projects") as server, Visitor(browser, server.url, accept_downloads=True) as ann:
        page = ann.page
        drop_on(page, desk)
        ann.sees("#preview", f"{len(rows)} rows, 5 columns")
        assert page.input_value("#reading") == "Article"
        assert page.input_value("#title") == "Press cuttings 2004"
        page.click("#classes")
        page.keyboard.type("World\nSport\nBusiness\nScience")
        page.click("text=Make the project")
        page.wait_for_url("**/p/*/")
        ann.ready()
        labelled = dict(ann.label(str(1 + CLASSES.index(truth[ann.item()[1]])))[::-1] for _ in range(LABELS))
        ann.saved(" · saved")
        words = " ".join(ann.panel("progress").split())
        assert f"{LABELS} of {len(truth)}" in words
        assert "1 row of your file has nothing to read" in words
        assert "1 row repeats another" in words
        ann.panel("result")
        ann.sees("#panel", f"{LABELS} of {len(truth)} items have a label.")
        assert page.input_value("#predictions-format") == "xlsx"
        with page.expect_download(timeout=PATIENCE) as waiting:
            page.click("[data-what=predictions] button")
        name = waiting.value.suggested_filename
        waiting.value.save_as(tmp_path / name)
        assert re.fullmatch(rf"Press_cuttings_2004-predictions-{LABELS}-labels-[-\d]+\.xlsx", name)
        assert ann.errors == []
    names, *cells = openpyxl.load_workbook(tmp_path / name).active.iter_rows(values_only=True)
    assert names[:5] == tuple(COLUMNS)
    assert [list(row[:5]) for row in cells] == rows
    for row in cells:
        answer = dict(zip(names, row, strict=True))
        text = answer["Article"]
        assert answer["human"] == (truth[text] if text in labelled else None)
        if text is None:
            assert answer["final"] is None
        else:
            assert answer["label"] in CLASSES
            assert answer["final"] == (answer["human"] or answer["label"])
    right = sum(truth[row[2]] == row[names.index("final")] for row in cells if row[2])
    assert right > 0.6 * len(cells)  # a quarter by chance
