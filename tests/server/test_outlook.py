"""What the panels say of what a project lacks: labels, an accuracy, a first model. Each must be true at that moment."""

from dataclasses import replace

import pytest
from serving import CLASSES, Here, tickets, write_tickets

from bemps.server.http.templating import render
from bemps.server.panels.outlook import audit_shortage, in_words, late_accuracy, without_label
from bemps.server.project_start import Source, Wishes, prepared
from bemps.store import SOURCE


@pytest.fixture
def small(tmp_path):
    """Twelve tickets and a model that has not been heard of."""
    write_tickets(tmp_path / "tickets.csv", tickets(12))
    return tmp_path


def as_if_there_was_a_model(server, **last):
    """As if the project had a model whose last message was this."""
    server.engine.settings = replace(server.engine.settings, no_model=False)
    server.engine.model_status.alive = True
    server.engine.model_status.orders = 1
    server.engine.model_status.last = {"ready": False, "waiting": 9, **last}


def answer_all(person, server, kinds=()):
    """Label everything, but for the first items, which are answered by these kinds."""
    for number, item in enumerate(server.store.ids()):
        kind = kinds[number] if number < len(kinds) else "label"
        person.answer(item, "bug" if kind == "label" else None, kind=kind).raise_for_status()


def test_nothing_left_to_choose_is_not_called_labelled_while_items_have_no_label(small):
    with Here(small, audit=0.0) as server, server.person() as ann:
        answer_all(ann, server, ("skip", "skip", "unsure"))
        as_if_there_was_a_model(server, ready=True, waiting=0)
        page = ann.panel("progress")
        assert "Everything is labelled." not in page
        assert "Nothing is left for the model to choose." in page
        assert "Without a label: 2 skipped, 1 unsure." in page
        for item in server.store.ids()[:3]:
            ann.answer(item, "bug")
        assert "Everything is labelled." in ann.panel("progress")


def test_images_that_cannot_be_read_are_counted_whether_skipped_or_not(small):
    with Here(small, audit=0.0) as server, server.person() as ann:
        items = list(server.store.items())
        for item in items[3:]:
            ann.answer(item.id, "bug")
        ann.answer(items[0].id, kind="skip")
        as_if_there_was_a_model(server, ready=True, waiting=0, broken=[items[0].content, items[1].content])
        counts = without_label(server.engine, server.store.current())
        assert in_words(counts) == "Without a label: 1 not answered yet, 2 cannot be read."
        assert in_words(counts) in ann.panel("progress")
        assert "2 of those without a label cannot be read" in " ".join(ann.panel("end").split())


@pytest.mark.parametrize(
    ("count", "audit", "words"),
    [
        (12, 0.1, "the project has too few items"),
        (100, 0.1, "20 percent of them drawn at random"),
        (100, 0.0, "No items were set aside"),
    ],
)
def test_the_end_promises_no_accuracy_that_cannot_come_and_names_the_share_that_brings_one(
    tmp_path, count, audit, words
):
    write_tickets(tmp_path / "tickets.csv", tickets(count))
    with Here(tmp_path, audit=audit) as server, server.person() as ann:
        answer_all(ann, server)
        as_if_there_was_a_model(server)
        end = " ".join(ann.panel("end").split())
        assert words in end
        assert "says how good the model is" not in end
        if audit:
            assert words in " ".join(ann.panel("progress").split())
            assert "is right takes 20 labelled items" not in ann.panel("progress")
            assert "not yet known" not in ann.panel("progress")


def test_the_share_that_is_named_brings_an_accuracy(tmp_path):
    write_tickets(tmp_path / "tickets.csv", tickets(100))
    with Here(tmp_path) as server, server.person() as ann:
        as_if_there_was_a_model(server)
        shortage = audit_shortage(server.engine, {})
        assert shortage == {"drawn": 10, "needed": 20, "share": 20, "again": True, "given": 0}
        assert "Under <i>Settings</i>, 20 percent of items drawn at random set aside enough." in ann.panel("progress")
        for item in sorted(server.store.audit())[:2]:
            ann.answer(item, kind="skip")
        assert audit_shortage(server.engine, {})["share"] == 22  # a skipped one measures nothing
        ann.post("settings", values={"audit_share": "22"}).raise_for_status()
        assert audit_shortage(server.engine, {}) is None
        assert "is right takes 20 labelled items" in ann.panel("progress")


def test_an_accuracy_that_comes_late_is_announced_with_the_share_that_brings_it_earlier(tmp_path):
    write_tickets(tmp_path / "tickets.csv", tickets(240))
    with Here(tmp_path) as server, server.person() as ann:
        as_if_there_was_a_model(server)
        assert audit_shortage(server.engine, {}) is None
        assert late_accuracy(server.engine) == {"asks": 200, "left": 240, "share": 17}
        page = " ".join(ann.panel("progress").split())
        assert "Here that is known only after about 200 of the 240 items that are left." in page
        assert "Under <i>Settings</i>, 17 percent of items drawn at random bring it after about half of them." in page
        ann.post("settings", values={"audit_share": "17"}).raise_for_status()
        assert late_accuracy(server.engine) is None
        assert "items that are left" not in ann.panel("progress")


def test_the_header_counts_what_measures_the_model_before_its_next_order(folder):
    with Here(folder, audit=0.2) as server, server.person() as ann:
        as_if_there_was_a_model(
            server, ready=True, audit={"drawn": 48, "needed": 20, "size": 3}, advice={"rises": None}
        )
        for item in sorted(server.store.audit())[:6]:
            ann.answer(item, "bug").raise_for_status()
        assert "(6 of 20 items that measure it)" in ann.state()["summary"]["words"]


def test_the_share_is_of_items_without_a_label_of_the_file(tmp_path):
    rows = [(text, label if row % 2 else "") for row, (text, label) in enumerate(tickets(200))]
    write_tickets(tmp_path / "tickets.csv", rows)
    source = Source(tmp_path / "tickets.csv", {"text": "body", "label": "topic"})
    prepared(str(tmp_path / "tickets.bemps"), source, Wishes(classes=CLASSES, model="none"))[0].close()
    with Here(tmp_path, data=None, classes=None) as server, server.person() as ann:
        as_if_there_was_a_model(server)
        answers = server.store.current()
        shortage = audit_shortage(server.engine, answers)
        assert (shortage["drawn"], shortage["share"]) == (10, 20)
        ann.post("settings", values={"audit_share": "20"}).raise_for_status()
        assert len(server.store.audit()) == 20
        assert audit_shortage(server.engine, answers) is None


def test_no_share_is_advised_where_the_items_came_with_their_labels(tmp_path):
    write_tickets(tmp_path / "tickets.csv", tickets(60))
    with Here(tmp_path) as server, server.person() as ann:
        answer_all(ann, server)
        as_if_there_was_a_model(server)
        answers = server.store.current()
        assert audit_shortage(server.engine, answers)["share"] == 34
        came = {name: replace(answer, annotator=SOURCE) for name, answer in answers.items()}
        shortage = audit_shortage(server.engine, came)
        assert (shortage["share"], shortage["given"]) == (None, 60)
        words = render("shortage.html", shortage=shortage)
        assert "only items without a label can be set aside, and 60 came with one." in words


def test_the_page_names_no_option_of_a_command():
    shortage = {"drawn": 10, "needed": 20, "share": 20, "given": 0}
    for again in (True, False):
        assert "--" not in render("shortage.html", shortage=shortage | {"again": again})


def test_with_enough_audit_items_the_end_leads_to_the_accuracy(tmp_path):
    write_tickets(tmp_path / "tickets.csv", tickets(240))
    with Here(tmp_path) as server, server.person() as ann:
        as_if_there_was_a_model(server)
        assert "says how good the model is" in ann.panel("end")


def test_why_says_that_the_model_learns_where_two_classes_have_labels(folder):
    with Here(folder) as server, server.person() as ann:
        audit, others = sorted(server.store.audit()), sorted(set(server.store.ids()) - server.store.audit())
        as_if_there_was_a_model(server)
        ann.answer(others[0], "bug")
        ann.answer(audit[0], "feature")
        for name, words in (("why", "two classes have labels that it learns from"), ("progress", "Just started")):
            assert words in ann.panel(name, item=others[5])
        ann.answer(others[1], "feature")
        server.engine.model_status.start_learning()
        for name in ("why", "progress"):
            page = ann.panel(name, item=others[5])
            assert "two classes" not in page
            assert "learns for the first time" in page


def test_the_numbers_of_accuracy_say_what_each_of_them_measures(folder):
    accuracy = {"value": 0.87, "low": 0.7, "high": 0.95}
    audit = {"size": 25, "drawn": 25, "needed": 20, "right": 19, "passed": 0, "accuracy": accuracy}
    advice = {"stop": False, "reasons": (), "rises": None, "little": False}
    with Here(folder) as server, server.person() as ann:
        for narrowed, words in ((True, "also weighs what it gets wrong among your labels"), (False, "is that share")):
            as_if_there_was_a_model(server, ready=True, audit=audit | {"narrowed": narrowed}, advice=advice)
            page = " ".join(ann.panel("progress").split())
            assert "9 in 10" in page
            assert "it gets 19 right (76 %)" in page
            assert words in page
            assert "F1" not in page  # its interval would be false from so few items
        item = next(name for name in server.store.ids() if name not in server.store.audit())
        server.engine.model_status.ready = True
        server.engine.model_status.about[item] = {"item": item, "near": [], "guess": [["bug", 0.9]]}
        why = " ".join(ann.panel("why", item=item, guess=item).split())
        assert "90 %" in why
        assert "How sure it is of this one item" in why


def test_one_item_is_not_told_as_several_and_no_time_as_nothing(folder):
    with Here(folder) as server, server.person() as ann:
        item = sorted(set(server.store.ids()) - server.store.audit())[0]
        as_if_there_was_a_model(server)
        server.engine.model_status.seconds = 0.004
        server.engine.model_status.about[item] = {"item": item, "near": [], "guess": [], "share": 0.1, "stands_for": 1}
        assert "waiting item that is more like it" in ann.panel("why", item=item)
        page = ann.panel("progress")
        assert "took under 0.1 s" in page
        assert "0.0 s" not in page


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["", "  ", "a", "b", "a", "a"], ["2 rows of your file have nothing to read", "2 rows repeat another"]),
        (["", "a", "b", "b"], ["1 row of your file has nothing to read", "1 row repeats another"]),
    ],
)
def test_rows_that_are_not_asked_are_counted(tmp_path, texts, words):
    write_tickets(tmp_path / "tickets.csv", [(text, "bug") for text in texts])
    with Here(tmp_path) as server, server.person() as ann:
        page = " ".join(ann.panel("progress").split())
        assert all(part in page for part in words)


def test_files_that_are_not_asked_are_counted(tmp_path):
    (tmp_path / "notes" / "1923").mkdir(parents=True)
    for number, text in enumerate(["", "a", "b", "b"]):
        (tmp_path / "notes" / "1923" / f"{number}.txt").write_text(text)
    with Here(tmp_path, data="notes", show=["file", "folder"]) as server, server.person() as ann:
        page = " ".join(ann.panel("progress").split())
        assert "1 file of your folder has nothing to read" in page
        assert "1 file repeats another" in page
        (item,) = ann.next()
        assert [(part["name"], part["text"]) for part in item["columns"]] == [
            ("file", item["id"]),
            ("folder", "1923"),
        ]
        assert "1923/2.txt" in ann.panel("labelled", q="3/2.t", state="unanswered")


def test_nothing_is_said_of_rows_where_all_are_asked(small):
    with Here(small) as server, server.person() as ann:
        page = ann.panel("progress")
        assert "nothing to read" not in page
        assert "repeat" not in page
