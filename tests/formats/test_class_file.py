"""Class files: CSV with headings, TXT with names, there and back."""

import pytest

from bemps import InputError
from bemps.formats.class_file import class_file_text, parse_class_file, read_class_file
from bemps.project import open_project
from bemps.store import Class, NewClass
from bemps.store.events import Example


def test_a_csv_has_names_keys_descriptions_colours_and_examples(tmp_path):
    path = tmp_path / "topics.csv"
    text = '\ufeffName;Key;Description;Color;Examples\nbug;b;"It is; broken";Orange;"It stops.\n\n No light. "\n\n'
    path.write_text(text + "old  wish;;;;\n", encoding="utf-8")
    bug = NewClass("bug", "b", "It is; broken", "orange", ("It stops.", "No light."))
    assert read_class_file(path) == (bug, NewClass("old wish"))
    assert parse_class_file("name\nbug\n", "topics.csv") == (NewClass("bug"),)
    assert parse_class_file("bug\n\n wish \n", "topics.TXT") == (NewClass("bug"), NewClass("wish"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("bug,b\nwish,w\n", "a column name"),
        ("", "a column name"),
        ("name,descripton\nbug,x\n", "Did you mean 'description'"),
    ],
)
def test_a_file_without_the_right_headings_is_refused(text, words):
    with pytest.raises(InputError, match=words):
        parse_class_file(text, "topics.csv")


def test_other_files_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"\.csv or \.txt"):
        parse_class_file("name\n", "topics.xlsx")
    with pytest.raises(InputError, match="a text file in UTF-8"):
        read_class_file(tmp_path / "missing.csv")


def test_what_is_written_is_read_again():
    examples = (Example(text="two\nlines"), Example(item="t1"), Example(text="x, y"))
    classes = [
        Class('a, "b"', "1 a", 0, "line 1\nline 2", "sky", examples=examples),
        Class("=SUM(A1)", None, 1),
    ]
    text = class_file_text(classes)
    assert parse_class_file(text, "x.csv") == (
        NewClass('a, "b"', "1", "line 1\nline 2", "sky", ("two lines", "x, y")),
        NewClass("=SUM(A1)"),
    )


def test_a_project_in_python_takes_a_class_file_and_writes_one(tmp_path):
    path, out = tmp_path / "topics.csv", tmp_path / "out.csv"
    path.write_text("name,key,description,example\nbug,b,Broken.,It stops.\nwish,w,,\n", encoding="utf-8")
    with open_project(tmp_path / "p.bemps", create=True) as project:
        assert project.add_classes(path) == ("bug", "wish")
        more = NewClass("bug", description="It is broken.", examples=("It stops.", "No light."))
        assert project.add_classes([more, "question"]) == ("question",)
        project.export(out, "classes")
        with pytest.raises(InputError, match="csv"):
            project.export(tmp_path / "out2.csv", "classes", "jsonl")
        with pytest.raises(InputError, match=r"examples of 'wish': expected at most 20; got 21"):
            project.add_classes([NewClass("wish", examples=tuple(map(str, range(21))))])
    assert out.read_text(encoding="utf-8").splitlines() == [
        "name,key,description,colour,examples",
        'bug,b,It is broken.,,"It stops.',
        'No light."',
        "wish,w,,,",
        "question,,,,",
    ]
    with open_project(tmp_path / "q.bemps", create=True) as other:
        other.add_classes(out)
        assert [known.text for known in other.store.classes()[0].examples] == ["It stops.", "No light."]
