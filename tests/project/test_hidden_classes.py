"""A hidden class gets no new answers, by no door; labels that were given elsewhere are not lost."""

import pytest

from bemps.data import table
from bemps.errors import InputError
from bemps.project import open_project
from bemps.store import NewAnswer

WORDS = "got 'spam', hidden. Choose another class, or show it again: .*store.change_class"


@pytest.fixture
def project(tmp_path):
    with open_project(tmp_path / "p.bemps", create=True) as project:
        project.add_classes(["bug", "wish", "spam"])
        project.add(table(["one", "two", "three", "four"]))
        project.tell({project.store.ids()[0]: "spam"}, "ann")
        project.store.change_class("spam", "lead", is_hidden=True)
        yield project


def test_python_is_refused_as_the_page_is_and_told_what_to_do(project):
    _, second, third, _ = project.store.ids()
    with pytest.raises(InputError, match=WORDS):
        project.tell({third: "bug", second: "spam"})
    assert second not in project.labels()
    assert third not in project.labels()  # all or none
    for write in (
        lambda: project.store.answer("ann", second, "label", "spam"),
        lambda: project.store.adjudicate(second, "spam", "lead"),
        lambda: project.store.label_list("ann", [second, third], "spam", request="r"),
    ):
        with pytest.raises(InputError, match=WORDS):
            write()
    project.store.change_class("spam", "lead", is_hidden=False)
    assert project.tell({second: "spam"}) == 1


def test_a_label_that_is_there_can_be_confirmed_and_settled(project):
    first = project.store.ids()[0]
    assert project.tell({first: "spam"}, "bob") == 1
    project.store.adjudicate(first, "spam", "lead")
    assert project.labels()[first] == "spam"


def test_a_request_that_is_sent_again_is_answered_as_before(project):
    second = project.store.ids()[1]
    project.store.change_class("spam", "lead", is_hidden=False)
    sent = project.store.answer("ann", second, "label", "spam", request="r1")
    project.store.change_class("spam", "lead", is_hidden=True)
    assert project.store.answer("ann", second, "label", "spam", request="r1") == sent


def test_a_class_that_was_merged_into_a_hidden_one_is_hidden_too(project):
    project.store.merge_class("wish", "spam", "lead")
    with pytest.raises(InputError, match="'wish', hidden"):
        project.tell({project.store.ids()[1]: "wish"})


def test_an_import_loses_no_label_of_a_class_that_was_hidden_since(project, tmp_path):
    (tmp_path / "old.csv").write_text("text,label\ntwo,spam\nthree,bug\n", encoding="utf-8")
    done = project.import_labels(tmp_path / "old.csv")
    assert (done.new, done.hidden) == (2, ("spam",))
    assert "2 answers taken over, some of them of hidden classes (spam), 0 were there already" in str(done)
    assert sorted(project.labels().values()) == ["bug", "spam", "spam"]
    again = project.import_labels(tmp_path / "old.csv")
    assert (again.new, again.hidden) == (0, ())
    assert "hidden" not in str(again)


def test_labels_that_come_with_new_items_are_not_lost(project):
    project.add(table(["five", "six"], labels=["spam", "bug"]))
    assert sorted(project.labels().values()) == ["bug", "spam", "spam"]


def test_what_was_exported_before_the_hiding_comes_back_whole(project, tmp_path):
    project.export(tmp_path / "out.jsonl")
    with open_project(tmp_path / "other.bemps", create=True) as other:
        other.add_classes(["bug", "wish", "spam"])
        other.store.change_class("spam", "lead", is_hidden=True)
        other.import_labels(tmp_path / "out.jsonl", add_items=True)
        assert list(other.labels().values()) == ["spam"]
        [answer] = project.store.answers()
        assert [NewAnswer(a.annotator, a.item, a.kind, a.label, time=a.time) for a in other.store.answers()] == [
            NewAnswer(answer.annotator, answer.item, answer.kind, answer.label, time=answer.time)
        ]
