"""Other columns of the file beside the item: on the page, in lists, in searches; links and images are safe."""

import csv

import pytest
from browsing import Visitor, browser_of
from serving import CLASSES, Here, Server, tickets

from bemps.errors import InputError
from bemps.server.http.access import POLICY
from bemps.server.items.shown_columns import is_link, shown_values
from bemps.server.project_start import Source, Wishes, prepared
from bemps.store import Item
from bemps.store.item_rows import packed
from bemps.store.project_settings import ProjectSettings

NAMES = ["body", "title", "sent", "page", "photo", "remote", "none"]
SHOWN = ["title", "sent", "page", "photo", "remote", "none"]
PIXEL = (
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"
    b"\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x89\x99=\x1d\x00\x00\x00\x00IEND\xaeB`\x82"
)


@pytest.fixture
def folder(tmp_path):
    """Tickets with a title, a date, a link, an image beside the file, and the address of an image."""
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a.png").write_bytes(PIXEL)
    with (tmp_path / "tickets.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(NAMES)
        for number, (text, _) in enumerate(tickets(40)):
            title = f"<b>Ticket</b> {number:03} von Zoë"
            remote = f"https://pictures.example/{number}.png"
            writer.writerow([text, title, "2026-05-01", f"https://shop.example/{number}", "photos/a.png", remote, ""])
    return tmp_path


@pytest.fixture(scope="module")
def browser(chromium):
    with browser_of(chromium) as opened:
        yield opened


@pytest.mark.parametrize(
    "text",
    [
        *(
            "javascript:alert(1)",
            "data:text/html,x",
            "//evil.example",
            "https://",
            "https:// a",
            "http://[",
            "x https://a.b",
        ),
        *(
            'https://a.example/"onclick=x',
            "https://a.example/<b>",
            "ftp://a.example",
            "https:/a",
            "https://a.example/\nx",
        ),
    ],
)
def test_what_is_no_web_address_is_no_link(text):
    assert not is_link(text)


def test_links_and_images_by_address_and_by_path(folder):
    settings = ProjectSettings(folder=str(folder), shown_columns=("title", "page", "photo", "far", "near", "gone"))
    row = {
        "title": "A",
        "page": "HTTPS://a.example/x?y=1#z",
        "photo": "photos/a.png",
        "far": "https://a.example/a.JPG?w=3",
        "near": "../secret.png",
        "gone": "photos/b.png",
    }
    item = Item("i d/1", "text", None, packed(row, "text"))
    shown = {value.name: value for value in shown_values(item, settings)}
    assert (shown["title"].link, shown["title"].image) == (None, None)
    assert (shown["page"].link, shown["page"].image) == (row["page"], None)
    assert (shown["photo"].link, shown["photo"].image) == (None, "column-image?id=i%20d%2F1&column=photo")
    assert (shown["far"].link, shown["far"].image) == (row["far"], None)
    assert (shown["near"].image, shown["gone"].image) == (None, None)
    allowed = ProjectSettings(folder=str(folder), shown_columns=("far",), remote_images=True)
    assert shown_values(item, allowed)[0].image == row["far"]


def test_values_come_in_the_order_of_the_setting_and_empty_ones_are_left_out(folder):
    with Here(folder, show=["sent", "title", "none"]) as server, server.person() as ann:
        columns = ann.next()[0]["columns"]
        assert [column["name"] for column in columns] == ["sent", "title"]
        assert columns[1]["text"].startswith("<b>Ticket</b>")


def test_nothing_is_shown_unless_asked_for(folder):
    with Here(folder) as server, server.person() as ann:
        assert "columns" not in ann.next()[0]


def test_a_column_that_does_not_exist_is_refused_with_the_nearest(folder):
    with pytest.raises(InputError, match=r"column to show.*Did you mean 'title'"):
        prepared(
            str(folder / "t.bemps"),
            Source(folder / "tickets.csv", {"text": "body"}),
            Wishes(classes=CLASSES, show=["titel"]),
        )
    assert not (folder / "t.bemps").exists()
    with Here(folder) as server, server.person() as ann:
        answer = ann.post("settings", values={"shown_columns": "titel"})
        assert answer.status_code == 422
        assert "Did you mean 'title'" in answer.text
        assert ann.post("settings", values={"shown_columns": "title\nsent"}).status_code == 200
        assert [column["name"] for column in ann.next()[0]["columns"]] == ["title", "sent"]


def test_images_of_columns_are_guarded_as_those_of_items(folder, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "secret.png"
    outside.write_bytes(PIXEL)
    (folder / "photos" / "link.png").symlink_to(outside)
    with (folder / "tickets.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "body", "photo", "other"])
        writer.writerow(["in", "a text", "photos/a.png", "photos/a.png"])
        writer.writerow(["out", "b text", f"../{outside.parent.name}/secret.png", ""])
        writer.writerow(["linked", "c text", "photos/link.png", ""])
        writer.writerow(["file", "d text", "tickets.csv", ""])
    with Here(folder, show=["photo"]) as server, server.person() as ann:
        ids = {item.columns["id"]: item.id for item in server.store.items()}
        good = ann.http.get("column-image", params={"id": ids["in"], "column": "photo"})
        assert (good.status_code, good.content, good.headers["content-type"]) == (200, PIXEL, "image/png")
        for id, column in (("in", "other"), ("in", "body"), ("out", "photo"), ("linked", "photo"), ("file", "photo")):
            assert ann.http.get("column-image", params={"id": ids[id], "column": column}).status_code == 422


@pytest.mark.parametrize("value", ["", "a\0b", "é😀", "../" * 40, "x" * 3000, "%00", "photo\n"])
def test_hostile_names_are_refused_in_words(folder, value):
    with Here(folder, show=["photo"]) as server, server.person() as ann:
        item = ann.next()[0]["id"]
        for path, query in (
            ("column-image", {"id": item, "column": value}),
            ("column-image", {"id": value, "column": "photo"}),
            ("panel/guess-words", {"item": value}),
        ):
            answer = ann.http.get(path, params=query)
            assert answer.status_code in (404, 422), (path, query)
        assert ann.post("items", ids=[value]).status_code in (404, 422)
        assert ann.post("items", ids=[item]).json()["items"][0]["id"] == item


def test_the_policy_allows_other_servers_only_where_the_project_does(folder):
    with Here(folder, show=SHOWN) as server, server.person() as ann:
        assert ann.http.get("").headers["content-security-policy"] == POLICY
        assert ann.post("settings", values={"remote_images": "yes"}).status_code == 200
        allowed = ann.http.get("").headers["content-security-policy"]
        assert "img-src 'self' http: https:;" in allowed
        assert "script-src 'self';" in allowed
        assert ann.http.get("api/state").headers["content-security-policy"] == POLICY


def test_searches_and_lists_show_the_columns(folder):
    with Here(folder, show=["title", "photo"]) as server, server.person() as ann:
        found = ann.panel("labelled", q="ZOË", state="unanswered")
        assert "40 found" in found
        assert "<mark>Zoë</mark>" in found
        assert "<b>Ticket</b>" not in found
        assert found.count("column-image?id=") == 30
        assert "1 found" in ann.panel("labelled", q="ticket</b> 007", state="unanswered")


def test_every_column_is_in_the_exports(folder):
    with Here(folder, show=["title"]) as server, server.person() as ann:
        item = ann.next()[0]
        ann.answer(item["id"], "bug").raise_for_status()
        rows = list(csv.DictReader(ann.http.get("export", params={"format": "csv"}).text.splitlines()))
        assert set(NAMES) <= set(rows[0])
        assert rows[0]["title"] == item["columns"][0]["text"]


def test_the_name_of_an_image_beside_it_is_text(folder):
    settings = ProjectSettings(folder=str(folder), kind="image", shown_columns=("image", "folder", "other"))
    columns = {"image": "photos/a.png", "folder": "photos", "other": "photos/b.png"}
    (folder / "photos" / "b.png").write_bytes(PIXEL)
    item = Item("1", "photos/a.png", None, packed(columns, "photos/a.png"))
    shown = shown_values(item, settings)
    assert [value.text for value in shown] == list(columns.values())
    assert [value.image is None for value in shown] == [True, True, False]


def test_columns_in_the_browser(folder, browser):
    from axe_playwright_python.sync_playwright import Axe

    with Here(folder, show=SHOWN) as server:
        for options in ({}, {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"}):
            with Visitor(browser, server.base, "ann", **options) as ann:
                _, text = ann.item()
                ann.sees("#columns", "<b>Ticket</b>")
                link = ann.page.locator("#columns a[href^='https://shop.example/']")
                assert link.get_attribute("rel") == "noopener noreferrer"
                assert link.get_attribute("target") == "_blank"
                assert ann.page.locator("#columns a[href^='https://pictures.example/']:not(:has(img))").count() == 1
                ann.page.wait_for_function("() => document.querySelector('#columns img')?.naturalWidth > 0")
                assert ann.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
                assert (
                    ann.page.locator("#columns").bounding_box()["height"]
                    < ann.page.locator("#content").bounding_box()["height"]
                )
                assert text in {row for row, _ in tickets(40)}
                assert Axe().run(ann.page).response["violations"] == []
                assert not ann.errors


def test_on_a_phone_the_columns_leave_room_to_read_and_every_value_can_be_reached(folder, browser):
    with (
        Here(folder, show=[*SHOWN, "body"]) as server,
        Visitor(browser, server.base, "ann", viewport={"width": 390, "height": 664}, has_touch=True) as ann,
    ):
        ann.sees("#columns", "2026-05-01")
        ann.page.wait_for_function("() => document.querySelector('#columns img')?.naturalWidth > 0")
        columns, content = (ann.page.locator(place).bounding_box() for place in ("#columns", "#content"))
        assert columns["height"] < 64
        assert content["height"] > 2 * columns["height"]
        ann.page.focus("#columns")  # it moves by the arrow keys too
        ann.page.evaluate("place => document.querySelector(place).scrollTo(1e6, 0)", "#columns")
        last = ann.page.locator("#columns dd").last.bounding_box()
        assert last["x"] + last["width"] <= 390
        assert ann.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert not ann.errors


def test_the_columns_are_chosen_on_the_page_for_everybody(folder, browser):
    with (
        Here(folder) as server,
        Visitor(browser, server.base, "ann") as ann,
        Visitor(browser, server.base, "bea") as bea,
    ):
        assert ann.page.locator("#columns").is_hidden()
        ann.panel("settings")
        ann.sees("#help-shown_columns", "body, title, sent")
        ann.page.fill("#setting-shown_columns", "sent\ntitle")
        ann.page.click("#panel button:has-text('Save the settings')")
        ann.sees("#columns", "2026-05-01")
        bea.sees("#columns", "2026-05-01")
        ann.press("Escape")
        ann.page.focus("#content")
        ann.label("1")
        ann.sees("#columns", "2026-05-01")


def test_images_of_other_servers_are_loaded_only_when_allowed(folder, browser):
    with Here(folder, show=["remote"]) as server, Visitor(browser, server.base, "ann") as ann:
        asked = []
        ann.context.route(
            "https://pictures.example/**",
            lambda route: (asked.append(route.request.headers), route.fulfill(body=PIXEL, content_type="image/png")),
        )
        ann.reload()
        ann.sees("#columns", "https://pictures.example/")
        assert asked == []
        ann.panel("settings")
        ann.page.select_option("#setting-remote_images", "yes")
        ann.page.click("#panel button:has-text('Save the settings')")
        ann.page.wait_for_function("() => document.querySelector('#columns img')?.naturalWidth > 0")
        assert asked
        assert all("referer" not in headers and "cookie" not in headers for headers in asked)


def test_the_command_line_names_the_columns(folder):
    with Server(folder, "--show", "title", "--show", "sent", "--remote-images") as server, server.person() as ann:
        assert [column["name"] for column in ann.next()[0]["columns"]] == ["title", "sent"]
        assert "img-src 'self' http: https:;" in ann.http.get("").headers["content-security-policy"]
    with Server(folder, "--show", "", data="tickets.bemps", classes=()) as server, server.person() as ann:
        assert "columns" not in ann.next()[0]
