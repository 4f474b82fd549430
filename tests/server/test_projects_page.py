"""The page of projects as a newcomer meets it, in a real Chromium."""

import os

import pytest
from browsing import Visitor, browser_of
from readers import image_bytes, workbook_bytes
from serving import Here, ProjectsHere, eventually, tickets
from test_page import violations

from bemps.store import open_store

SIZES = [("light", 1280), ("dark", 390)]
ROWS = [["number", "body", "topic"], *([i, text, name] for i, (text, name) in enumerate(tickets(60)))]


@pytest.fixture(scope="module")
def browser(chromium):
    with browser_of(chromium) as found:
        yield found


@pytest.fixture
def server(tmp_path):
    with ProjectsHere(tmp_path) as running:
        yield running


def choose(visitor, *files):
    visitor.page.set_input_files("#file", [{"name": n, "mimeType": "", "buffer": content} for n, content in files])


def fits(page):
    return page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_another_sheet_is_read_when_it_is_chosen(server, browser):
    notes = [["name", "about"], ["ann", "she wrote this file"]]
    with Visitor(browser, server.base) as ann:
        page = ann.page
        choose(ann, ("tickets.xlsx", workbook_bytes(notes, Items=ROWS)))
        ann.sees("#preview", "1 row, 2 columns")
        page.fill("#classes", "bug,feature")
        page.select_option("#sheet", "Items")
        ann.sees("#preview", "60 rows, 3 columns")
        assert page.evaluate("document.activeElement.id") == "sheet"
        assert violations(page) == []
        assert (page.input_value("#sheet"), page.input_value("#reading")) == ("Items", "body")
        assert page.input_value("#classes") == "bug,feature"
        page.click("text=Make the project")
        page.wait_for_url("**/p/*/")
        ann.ready()
        assert ann.item()[1] in dict(tickets(60))
        assert ann.errors == []


@pytest.mark.parametrize(("scheme", "width"), SIZES)
def test_from_a_workbook_to_ten_labels_by_keyboard(server, browser, scheme, width):
    """A newcomer with a spreadsheet: no terminal, no mouse."""
    size = {"width": width, "height": 844}
    with Visitor(browser, server.base, color_scheme=scheme, viewport=size) as ann:
        page = ann.page
        page.on("filechooser", lambda _: None)  # long before it comes: on a busy machine it is missed otherwise
        assert violations(page) == []
        assert fits(page)
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.id") == "choose-file"
        with page.expect_file_chooser() as chooser:
            page.keyboard.press("Enter")
        chooser.value.set_files([{"name": "tickets.xlsx", "mimeType": "", "buffer": workbook_bytes(ROWS)}])
        ann.sees("#preview", "60 rows, 3 columns")
        assert page.evaluate("document.activeElement.textContent") == "tickets.xlsx"
        assert page.locator("#reading").input_value() == "body"
        assert page.locator("td.read").first.inner_text() == ROWS[1][1]
        assert violations(page) == []
        assert fits(page)
        page.locator("#classes").focus()
        page.keyboard.type("bug, feature,\nquestion")
        page.keyboard.press("Tab")
        while page.evaluate("document.activeElement.textContent") != "Make the project":
            page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.wait_for_url("**/p/*/")
        ann.ready()
        truth = {text: "123"[("bug", "feature", "question").index(name)] for _, text, name in ROWS[1:]}
        for _ in range(10):
            ann.label(truth[ann.item()[1]])
        ann.saved(" · saved")
        assert violations(page) == []
        page.click(".back")
        ann.ready()
        ann.sees(".project", "tickets 10 labelled · pool of 60 · just now")
        assert violations(page) == []
        assert fits(page)
        assert ann.errors == []
    with open_store(server.folder / "tickets" / "tickets.bemps") as store:
        assert len(store.current()) == 10
        assert sorted(os.listdir(server.folder / "tickets" / "files")) == ["tickets.xlsx"]


def test_classes_from_a_column_or_later_and_another_column_to_read(server, browser):
    with Visitor(browser, server.base) as ann:
        page = ann.page
        choose(
            ann, ("a.csv", b"who,what\n" + b"".join(b"%s,text number %d\n" % (b"AB"[i % 2 :][:1], i) for i in range(9)))
        )
        page.check("#column")
        ann.sees("#class-names", "A, B")
        assert not page.is_checked("#labelled")  # every row has one: nothing would be left
        ann.sees("#labelled-words", "nothing would be left")
        page.select_option("#reading", "who")
        assert page.locator("th.read").inner_text() == "who"
        page.select_option("#reading", "what")
        page.click("text=Make the project")
        page.wait_for_url("**/p/*/")
        ann.ready()
        assert page.locator("#classes .class").count() == 2
        page.goto(server.base)
        ann.ready()
        choose(ann, ("b.txt", b"one\ntwo\nthree"))
        page.check("#later")
        page.click("text=Make the project")
        page.wait_for_url("**/p/*/")
        ann.sees("#classes", "There are no classes yet")
        for name in ("good", "bad"):
            page.fill("#new-class", name)
            page.keyboard.press("Enter")
            ann.sees("#classes .class", name)
        page.keyboard.press("Escape")
        ann.label("1")
        ann.saved("good · saved")
        assert ann.errors == []


def test_mistakes_are_said_and_can_be_mended(server, browser):
    with Visitor(browser, server.base) as ann:
        page = ann.page
        choose(ann, ("a.docx", b"x"))
        ann.sees("#problem", "File a.docx: expected one of")
        assert not list(server.folder.glob(".upload*"))
        choose(ann, ("a.csv", b"text\n"))
        ann.sees("#problem", "File a.csv: expected at least one row")
        assert not list(server.folder.glob(".upload*"))
        choose(ann, ("a.csv", b"text\nsome words\n"))
        ann.sees("#preview", "1 row, 1 column")
        assert page.locator("#problem").is_hidden()
        page.click("text=Make the project")
        ann.sees("#make-problem", "Type the classes, or choose")
        page.check("#from-file")
        assert page.inner_text("#make-problem") == ""
        page.check("#typed")
        page.fill("#classes", "a\nA")
        page.click("text=Make the project")
        ann.sees("#make-problem", "Classes: expected different names; got 'a' and 'A'. Rename one.")
        assert violations(page) == []
        page.click("#cancel")
        assert page.locator("#new").is_visible()
        assert eventually(lambda: not [name for name in os.listdir(server.folder) if name.startswith(".upload")])


def test_long_texts_leave_room_for_the_other_rows_of_the_preview(server, browser):
    rows = "".join(
        f"{number},a headline of some length,https://example.org/{number},{'many words ' * 80}\n" for number in range(5)
    )
    with Visitor(browser, server.base) as ann:
        choose(ann, ("a.csv", f"number,headline,link,body\n{rows}".encode()))
        ann.sees("#preview", "5 rows, 4 columns")
        heights = ann.page.locator("#preview tbody tr").evaluate_all("rows => rows.map((row) => row.offsetHeight)")
        assert max(heights) < 150
        column = ann.page.locator("#preview td.read").first.bounding_box()
        table = ann.page.locator("#preview .rows").bounding_box()
        assert column["width"] >= 200
        assert column["x"] + 200 <= table["x"] + table["width"]


def test_a_dropped_file_that_has_no_entry_is_read_all_the_same(server, browser):
    with Visitor(browser, server.base) as ann:
        ann.page.evaluate("""() => {
            const dataTransfer = new DataTransfer();
            dataTransfer.items.add(new File(["text\\nsome words\\n"], "a.csv"));
            document.body.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
        }""")
        ann.sees("#preview", "1 row, 1 column")


def test_a_file_in_another_encoding_is_read_again_when_asked(server, browser):
    content = "text\nZa\u017c\u00f3\u0142\u0107 g\u0119\u015bl\u0105 ja\u017a\u0144\n".encode("cp1250")
    with Visitor(browser, server.base) as ann:
        choose(ann, ("a.csv", content))
        ann.sees("#preview", "not in UTF-8")
        ann.page.select_option("#encoding", "cp1250")
        ann.sees("td", "Za\u017c\u00f3\u0142\u0107 g\u0119\u015bl\u0105 ja\u017a\u0144")
        ann.page.fill("#classes", "noise, also of neighbours\n\n other things \n")
        ann.page.click("text=Make the project")
        ann.page.wait_for_url("**/p/*/")
        ann.sees("#content", "ja\u017a\u0144")
        assert ann.page.locator("#classes .class").count() == 2  # a name in its own line may have commas
        ann.sees("#classes", "noise, also of neighbours")


def test_a_folder_of_images_is_chosen_and_a_sample_is_tried(server, browser, tmp_path_factory):
    photos = tmp_path_factory.mktemp("photos")
    for number in range(6):
        (photos / f"{number}.png").write_bytes(image_bytes("png", 30 * number))
    (photos / ".DS_Store").write_bytes(b"x")
    (photos / "notes.md").write_bytes(b"x")
    with Visitor(browser, server.base) as ann:
        ann.page.set_input_files("#folder", photos)
        ann.sees("#preview", "6 files. Left out: 1 file of other kinds (1 .md).")
        ann.page.wait_for_function("name => document.querySelector('#title').value === name", arg=photos.name)
        ann.page.fill("#classes", "day,night")
        ann.page.click("text=Make the project")
        ann.page.wait_for_url("**/p/*/")
        ann.ready()
        ann.page.wait_for_function("document.querySelector('#content img').naturalWidth > 0")
        ann.page.goto(server.base)
        ann.ready()
        ann.page.click("text=Messages to a library")
        ann.page.wait_for_url("**/p/*/")
        ann.ready()
        assert ann.page.locator("#classes .class").count() == 4
        ann.label("1")
        ann.saved("question · saved")
        assert ann.errors == []


def drop_on(page, path):
    """Drag something from the desktop onto the page, as the browser itself sees it."""
    box = page.locator("#drop").bounding_box()
    session = page.context.new_cdp_session(page)
    for kind in ("dragEnter", "dragOver", "drop"):
        data = {"items": [], "files": [str(path)], "dragOperationsMask": 1}
        place = {"x": box["x"] + 40, "y": box["y"] + 40}
        session.send("Input.dispatchDragEvent", {"type": kind, "data": data, **place})


def test_a_file_and_a_folder_are_dropped_on_the_page(server, browser, tmp_path_factory):
    desk = tmp_path_factory.mktemp("desk")
    (desk / "dropped.csv").write_text("text\none\ntwo\n")
    (desk / "letters" / "old").mkdir(parents=True)
    for number in range(120):  # more than a browser lists at once
        (desk / "letters" / ("old" if number % 2 else "") / f"{number}.txt").write_text(f"Dear {number}")
    with Visitor(browser, server.base) as ann:
        drop_on(ann.page, desk / "dropped.csv")
        ann.sees("#preview", "2 rows, 1 column")
        ann.page.click("#cancel")
        drop_on(ann.page, desk / "letters")
        ann.sees("#preview", "120 files")
        ann.sees("td", "Dear 0")
        assert ann.errors == []


def test_another_encoding_leaves_what_was_typed_and_chosen(server, browser):
    rows = [f"{text},Gr\u00f6\u00dfe {i},{name}" for i, (text, name) in enumerate(tickets(12))]
    content = "\n".join(["body,gr\u00f6\u00dfe,topic", *rows]).encode("cp1252")
    with Visitor(browser, server.base) as ann:
        page = ann.page
        choose(ann, ("sizes.csv", content))
        page.fill("#title", "Sizes of May")
        page.select_option("#reading", "gr\u00f6\u00dfe")
        page.select_option("#before", "topic")
        page.fill("#classes", "large\nsmall")
        page.check("#from-file")
        page.set_input_files("#class-file", [{"name": "c.txt", "mimeType": "", "buffer": b"one\ntwo"}])
        page.check("#column")
        page.select_option("#class-column", "topic")
        page.uncheck("#labelled")
        other = page.locator("#reading option").nth(1)
        page.select_option("#encoding", "cp1251")
        page.wait_for_function("() => document.querySelector('#reading').options[1].textContent.startsWith('gr\u0446')")
        assert page.evaluate("document.activeElement.id") == "encoding"
        assert page.input_value("#title") == "Sizes of May"
        assert page.input_value("#reading") == other.text_content()
        assert page.input_value("#before") == "topic"
        assert page.input_value("#classes") == "large\nsmall"
        assert page.evaluate("document.querySelector('#class-file').files[0].name") == "c.txt"
        assert page.is_checked("#column")
        assert page.input_value("#class-column") == "topic"
        assert not page.is_checked("#labelled")
        assert "bug" in page.inner_text("#class-names")
        page.check("#typed")
        page.click("text=Make the project")
        page.wait_for_url("**/p/*/")
        ann.ready()
        assert page.locator("#classes .class").all_inner_texts() == ["1\nlarge", "2\nsmall"]
        assert ann.errors == []


def test_a_project_that_another_server_has_leads_there(server, browser):
    ROWS_AS_CSV = b"body\n" + b"\n".join(text.encode() for text, _ in tickets(20))
    (server.folder / "tickets.csv").write_bytes(ROWS_AS_CSV)
    with Here(server.folder) as other, other.store.serving(other.base), Visitor(browser, server.base) as ann:
        ann.page.context.add_cookies([{"name": "bemps_name", "value": "ann", "url": other.base}])
        ann.page.click(".project")
        ann.ready()
        assert ann.page.url == other.base


def test_what_is_no_project_is_listed_with_the_reason(server, browser):
    (server.folder / "broken.bemps").write_bytes(b"no database, but long enough to be looked at" * 99)
    with Visitor(browser, server.base) as ann:
        ann.sees(".project .problem", "broken.bemps")
        assert ann.page.locator("a.project").count() == 0
