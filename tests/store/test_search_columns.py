"""Search looks in columns of the user's files too, on both databases."""

import pytest

from bemps.store import Item
from bemps.store.item_rows import packed
from bemps.store.sql.database_errors import NotRead

ROWS = {
    "a": ("It broke", {"title": "Invoice of MAY", "date": "2026-05-01", "count": 17}),
    "b": ("It works", {"title": "Größe", "date": "2026-06-01", "body": "It works"}),
    "c": ("Nothing", {"title": "party 🎉 Time", 'odd "name" $.x': "needle"}),
    "d": ("Else", {"title": "half \ud83d emoji and \x00 zero"}),
    "e": ("No columns", None),
    "f": ("Lists", {"title": ["one", {"two": "Deux"}], "flag": True, "größe 🎉 \\": "needle"}),
    "g": (
        "Nothing there",
        {"title": None, "odd 'quote'": "needle too", 'a"b': "needle", "percent%_": "back\\slash \\u0000 text"},
    ),
}


@pytest.fixture
def with_columns(store):
    store.add_items(
        Item(id, content, None, None if columns is None else packed(columns, content))
        for id, (content, columns) in ROWS.items()
    )
    return store


@pytest.mark.parametrize(
    ("text", "columns", "expected"),
    [
        ("invoice", ["title"], "a"),
        ("INVOICE", ["date", "title"], "a"),
        ("invoice", ["date"], ""),
        ("2026-0", ["date"], "ab"),
        ("17", ["count"], "a"),
        ("größe", ["title"], "b"),
        ("works", ["title", "body"], "b"),
        ("time", ["title"], "c"),
        ("🎉", ["title"], "c"),
        ("needle", ['odd "name" $.x', "odd 'quote'"], "cg"),
        ("zero", ["title"], "d"),
        ("half", ["title"], "d"),
        ("deux", ["title"], "f"),
        ("null", ["title"], ""),
        ("back\\slash", ["percent%_"], "g"),
        ("nothing", ["title"], "cg"),
        ("title", ["title"], ""),
        ("bemps", ["body"], ""),
        ("needle", ["größe 🎉 \\", 'a"b'], "fg"),
    ],
)
def test_text_is_searched_in_the_columns_that_are_named(with_columns, text, columns, expected):
    assert [row.item.id for row in with_columns.search(text, columns=columns).rows] == list(expected)


def test_the_columns_that_the_project_shows_are_searched_by_themselves(with_columns, opened):
    assert with_columns.search("invoice").total == 0
    with_columns.set("shown_columns", ["title"])
    assert [row.item.id for row in opened().search("invoice").rows] == ["a"]
    assert with_columns.search("invoice", columns=()).total == 0
    assert with_columns.search("", state="unanswered").total == 17


def test_hits_in_content_and_in_columns_come_in_the_order_of_the_items(with_columns):
    hits = [row.item.id for row in with_columns.search("o", columns=["title"]).rows]
    assert hits == [*"abcdefg"]


def test_a_row_that_is_damaged_says_so(with_columns):
    with with_columns._database.writing() as connection:
        connection.exec_driver_sql("UPDATE items SET other_columns = '{\"title\": ' WHERE id = 'a'")
    with pytest.raises(NotRead):
        with_columns.search("x", columns=["title"])
