"""Items, search and settings."""

import pytest

from bemps import InputError
from bemps.store import Item, NewAnswer

NASTY = {
    "quotes": "\"double\" 'single' `back` \\ %s {} $1 ?",
    "lines": "one\ntwo\r\nthree\rfour\u2028five\x0b\x0c\x85",
    "right-to-left": "مرحبا بالعالم \u202eabc\u202c שלום",
    "marks": "e\u0301 \u200d \ufeff 👩‍👩‍👧‍👦 𝔘",
    "formula": '=HYPERLINK("http://x","y")',
    "control": "\x01\x02\t\x1f\x7f",
    "tags": "<script>alert(1)</script>&amp;",
    "spaces": "  around  ",
    "empty": "",
    "id with, comma\n": "x",
}


def test_items_come_back_as_they_were_in_their_order(store, opened):
    store.add_items(Item(id, content) for id, content in NASTY.items())
    again = opened()
    assert again.ids() == (*(f"t{i}" for i in range(10)), *NASTY)
    assert {item.id: item.content for item in again.items(NASTY)} == NASTY
    assert [item.id for item in again.items(["tags", "t3", "empty"])] == ["tags", "t3", "empty"]
    assert [item.id for item in again.items()] == list(again.ids())
    assert again.item("formula") == Item("formula", NASTY["formula"])


def test_adding_again_changes_nothing(store):
    assert store.add_items([Item("t1", "Text number 1"), Item("new", "x"), Item("new", "x")]) == 1
    assert store.count() == 11


def test_another_content_under_a_known_id_is_refused_and_nothing_is_added(store):
    with pytest.raises(InputError, match=r"item t1.*'else'"):
        store.add_items([Item("new", "x"), Item("t1", "else")])
    with pytest.raises(InputError, match="item new"):
        store.add_items([Item("new", "x"), Item("new", "y")])
    assert store.count() == 10
    assert "new" not in store.ids()


@pytest.mark.parametrize(
    "item",
    [Item("", "x"), Item("a", "x\0"), Item("a", "\ud83d"), Item("a\0", "x"), Item("\ud83d", "x"), Item("x" * 501, "x")],
)
def test_what_a_database_cannot_hold_is_refused(store, item):
    with pytest.raises(InputError):
        store.add_items([item])
    assert store.count() == 10


def test_the_longest_id_that_gets_in_can_be_answered_on_the_page(store):
    requests = pytest.importorskip("bemps.server.routes.routes_edit")
    long = "x" * 500
    store.add_items([Item(long, "x")])
    assert requests.Answered(item=long, kind="skip", request="12345678").item == long
    assert requests.Wanted(have=[long]).have == [long]


def test_several_changes_are_made_together_or_not_at_all(store, opened):
    def change(id):
        with store.changing() as change:
            change.add_class("praise", "lead")
            change.set_all({"title": "new"})
            assert change.add_items([Item("new", "x", "praise")]) == 1
            change.record([NewAnswer("ann", id, "label", "praise") for id in ("new", id)])

    with pytest.raises(InputError, match="nowhere"):
        change("nowhere")
    for one in (store, opened()):
        assert (one.count(), len(one.classes()), one.settings, one.answers()) == (10, 2, {}, [])
    change("t1")
    assert {(a.item, a.annotator) for a in opened().answers()} == {("new", "source"), ("new", "ann"), ("t1", "ann")}
    assert store.settings == {"title": "new"}


def test_unknown_items_are_refused_with_the_nearest(store):
    with pytest.raises(InputError, match="There are 10 items"):
        store.item("t99")
    with pytest.raises(InputError, match="item"):
        list(store.items(["t1", "t99"]))
    with pytest.raises(InputError, match="item"):
        store.answers_of("t99")


def test_items_added_by_another_process_are_seen(store, opened):
    assert len(store.ids()) == 10
    opened().add_items([Item("late", "x")])
    store.answer("ann", "late", "label", "bug")
    assert store.ids()[-1] == "late"


def test_more_items_than_one_chunk(store):
    assert store.add_items(Item(f"x{i}", f"{i}") for i in range(2_500)) == 2_500
    assert len(list(store.items())) == 2_510
    wanted = [f"x{i}" for i in reversed(range(2_500))]
    assert [item.id for item in store.items(wanted)] == wanted


def found(store, text="", **filters):
    return [row.item.id for row in store.search(text, **filters).rows]


def test_search_by_text_takes_no_heed_of_case_and_no_wildcards(store):
    store.add_items([Item("a", "ÄRGER über 100% _all_"), Item("b", "aerger")])
    assert found(store, "ärger") == ["a"]
    assert found(store, "%") == ["a"]
    assert found(store, "_") == ["a"]
    assert found(store, "NUMBER 3") == ["t3"]
    assert found(store, "t5") == ["t5"]
    assert found(store, "nowhere") == []


def test_search_by_answer(store):
    store.answer("ann", "t1", "label", "bug")
    store.answer("ann", "t2", "label", "wish", note="odd")
    store.answer("ann", "t3", "skip")
    store.answer("bob", "t4", "unsure")
    store.answer("bob", "t1", "label", "wish")
    assert found(store, state="labelled") == ["t1", "t2"]
    assert found(store, state="answered", order="latest") == ["t1", "t4", "t3", "t2"]
    assert found(store, state="skipped") == ["t3"]
    assert found(store, state="unsure") == ["t4"]
    assert found(store, state="noted") == ["t2"]
    assert found(store, state="disagreement") == ["t1"]
    assert found(store, annotator="ann") == ["t1", "t2", "t3"]
    assert found(store, annotator="ann", label="bug") == ["t1"]
    assert found(store, label="wish") == ["t1", "t2"]
    assert found(store, "number 2", label="wish") == ["t2"]
    assert found(store, state="unanswered") == [f"t{i}" for i in (0, 5, 6, 7, 8, 9)]
    assert found(store, "5", state="unanswered") == ["t5"]
    assert found(store, state="audit") == []
    store.mark_audit(["t7", "t1"])
    store.mark_overlap(["t8"])
    assert found(store, state="audit") == ["t1", "t7"]
    assert found(store, state="overlap") == ["t8"]


def test_search_gives_pages(store):
    page = store.search(limit=3, offset=8)
    assert [row.item.id for row in page.rows] == ["t8", "t9"]
    assert page.total == 10
    assert page.rows[0].answer is None
    for wrong in ({"limit": 0}, {"offset": -1}, {"state": "nice"}, {"order": "random"}):
        with pytest.raises(InputError):
            store.search(**wrong)


def test_settings_are_json_and_shared(store, opened):
    store.set("title", "Tickets – «fast»")
    store.set_all({"audit_share": 0.1, "columns": {"text": "body"}, "title": "Tickets"})
    assert opened().settings == {"title": "Tickets", "audit_share": 0.1, "columns": {"text": "body"}}
    for wrong in (object(), float("nan")):
        with pytest.raises(InputError, match="JSON"):
            store.set("x", wrong)
