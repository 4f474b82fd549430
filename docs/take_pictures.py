"""Take the pictures of the labelling page: BEMPS_DATA=... python docs/take_pictures.py [chromium]

Starts `bemps label` on 1,500 questions of TREC-6 in a temporary folder, labels 260 of them in a real browser with the
true classes, and writes the pictures of the page and its panels, images/label-*.png. The page of projects is shown
with a file that was just dropped there.
"""

import csv
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent / "tests" / "server"))

from browsing import Visitor, browser_of  # noqa: E402
from serving import ProjectsHere, Server  # noqa: E402

from bemps.data import load  # noqa: E402

LABELS, ROUND = 260, 20  # so that enough of them measure the model
PAUSE = 300  # milliseconds to read a question
NAMES = {
    "ABBR": "abbreviation",
    "DESC": "description",
    "ENTY": "thing",
    "HUM": "person",
    "LOC": "place",
    "NUM": "number",
}
PANELS = {
    "review": "#panel-content li",
    "map": "#panel-content svg circle",
    "result": "#panel-content form",
    "progress": "h2",
}
SIZE = {"width": 1280, "height": 860}


def write_questions(path: Path) -> tuple[dict[str, str], tuple[str, ...]]:
    """A file of questions; returns the true class of each, and the classes."""
    data = load("trec6", max_pool=1_500)
    assert data.pool.labels is not None
    classes = tuple(NAMES[name] for name in data.classes)
    truth = {text: classes[code] for text, code in zip(data.pool.items, data.pool.labels, strict=True)}
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["body"], *([text] for text in reversed(truth))])
    return truth, classes


def take(chromium: str) -> None:
    with tempfile.TemporaryDirectory() as folder, browser_of(chromium) as browser:
        truth, classes = write_questions(Path(folder) / "questions.csv")
        options = {"data": "questions.csv", "model": "tfidf", "classes": classes}
        with Server(Path(folder), "--title", "Questions", **options) as server:
            ann = Visitor(browser, server.base, "ann", viewport=SIZE)

            def label() -> None:
                _, text = ann.item()
                ann.page.wait_for_timeout(PAUSE)
                ann.label(str(1 + classes.index(truth[text])))

            for labels in range(LABELS):
                label()
                if labels % ROUND == ROUND - 1:  # as a person who reads would: the model keeps up
                    ann.page.locator("#model-words").filter(has_text="up to date").wait_for()
            for panel, ready in PANELS.items():
                ann.panel(panel)
                ann.page.locator(ready).first.wait_for()
                ann.page.wait_for_timeout(1_000)
                save(ann, panel)
            ann.panel("why")
            ann.page.get_by_text("More like this one").click()
            ann.page.locator("#panel-content [type=checkbox]").first.wait_for()
            save(ann, "list")
            ann.press("Escape")
            ann.page.emulate_media(color_scheme="dark")
            ann.press("w")
            while not ann.page.locator("#panel-content dl.figures").count():  # until the model has chosen an item
                label()
                ann.page.wait_for_timeout(1_000)
            save(ann, "why")


def take_projects(chromium: str) -> None:
    with tempfile.TemporaryDirectory() as folder, browser_of(chromium) as browser:
        questions = Path(folder) / "questions.csv"
        write_questions(questions)
        projects = Path(folder) / "bemps"
        projects.mkdir()
        with ProjectsHere(projects) as server:
            page = browser.new_page(viewport=SIZE)
            page.goto(server.base)
            page.set_input_files("#file", questions)
            page.locator("#preview table").first.wait_for()
            page.screenshot(path=DOCS / "images" / "label-projects.png")


def save(visitor: Visitor, name: str) -> None:
    visitor.page.screenshot(path=DOCS / "images" / f"label-{name}.png")


if __name__ == "__main__":
    take_projects(*sys.argv[1:2] or ["/usr/bin/chromium"])
    take(*sys.argv[1:2] or ["/usr/bin/chromium"])
