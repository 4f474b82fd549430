"""Output paths: what is refused, what needs force, and files that are there whole or not at all."""

import json
import multiprocessing
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from bemps import InputError
from bemps._utils.files import (
    OutputExists,
    check_output,
    clear_drafts,
    drafted,
    file_kind,
    folder_kind,
    is_draft,
    locked,
    mark_folder,
    marker_lines,
    path_inside,
    slug,
    written_whole,
)


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A folder with a thesis in it, seen from a folder inside it."""
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1.tex").write_text("years")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path


def never(path, words, **options):
    """Neither without nor with force."""
    for force in (False, True):
        with pytest.raises(InputError, match=words) as caught:
            check_output(Path(path), force=force, **options)
        assert not isinstance(caught.value, OutputExists)


def test_a_new_name_is_fine(desk):
    check_output(desk / "labels.csv")
    check_output(Path("labels.csv"), inputs=[desk / "tickets.bemps"])
    check_output(desk / "dataset", folder="dataset")


def test_a_path_in_a_folder_that_is_not_there(desk):
    never(desk / "nowhere" / "labels.csv", "existing folder.*Create")
    check_output(desk / "nowhere" / "run", folder="run", resume=True)  # a run makes it


def test_what_is_read_is_never_written(desk):
    source = desk / "tickets.csv"
    source.write_text("id,body\n")
    for path in (source, desk / "here" / ".." / "tickets.csv", Path("../tickets.csv")):
        never(path, "which is an input", inputs=[source])
    os.link(source, desk / "same.csv")
    never(desk / "same.csv", "which is an input", inputs=[source])
    never(desk / "missing.csv", "which is an input", inputs=[desk / "missing.csv"])


@pytest.mark.parametrize("name", ["..", ".", "../..", "../here", "../here/../.."])
@pytest.mark.parametrize("folder", [None, "dataset"])
def test_the_current_folder_and_what_holds_it(desk, name, folder):
    never(name, "current folder", folder=folder)


def test_a_folder_that_holds_the_input(desk):
    (desk / "data").mkdir()
    mark_folder(desk / "data", "dataset")
    (desk / "data" / "tickets.bemps").write_text("x")
    never(desk / "data", "the folder that holds", folder="dataset", inputs=[desk / "data" / "tickets.bemps"])


@pytest.mark.parametrize("folder", [None, "dataset", "run"])
@pytest.mark.parametrize("resume", [False, True])
def test_a_folder_that_bemps_did_not_write(desk, folder, resume):
    never(desk / "thesis", "which is a folder|holds other files", folder=folder, resume=resume)
    assert (desk / "thesis" / "chapter1.tex").read_text() == "years"


def test_a_folder_of_another_kind(desk):
    (desk / "old").mkdir()
    mark_folder(desk / "old", "run")
    never(desk / "old", "a run", folder="dataset")
    never(desk / "old", "a file; got .*Name a file in it")


def test_an_empty_folder_is_as_good_as_none(desk):
    (desk / "empty").mkdir()
    check_output(desk / "empty", folder="dataset")


def test_a_folder_that_bemps_wrote_needs_force_or_is_resumed(desk):
    (desk / "old").mkdir()
    mark_folder(desk / "old", "dataset", "a.csv")
    assert (folder_kind(desk / "old"), marker_lines(desk / "old")[1:]) == ("dataset", ["a.csv"])
    with pytest.raises(OutputExists, match="force=True"):
        check_output(desk / "old", folder="dataset")
    check_output(desk / "old", folder="dataset", force=True)
    check_output(desk / "old", folder="dataset", resume=True)


def test_a_plain_file_needs_force(desk):
    (desk / "labels.csv").write_text("id,label\n")
    with pytest.raises(OutputExists, match=r"labels.csv, which exists"):
        check_output(desk / "labels.csv")
    check_output(desk / "labels.csv", force=True)
    never(desk / "labels.csv", "which is a file", folder="dataset")
    never(desk / "labels.csv", "which is a file", folder="run", resume=True)


def test_a_file_of_another_kind_is_never_replaced(desk):
    other = desk / "other.bemps"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE a (b)")
    connection.close()
    (desk / "photo.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00\x00")
    (desk / "t.parquet").write_bytes(b"PAR1\x00PAR1")
    (desk / "t.csv").write_text("id\n")
    never(other, "project or other database")
    never(desk / "photo.png", "a binary file")
    never(desk / "t.parquet", "a Parquet file")
    never(desk / "t.csv", "a text file", file="Parquet")
    check_output(desk / "t.parquet", file="Parquet", force=True)
    (desk / "empty.png").touch()
    check_output(desk / "empty.png", force=True)
    assert file_kind(desk / "t.csv") == "text"


NOT_OURS = ["notes.png", "Notes.PDF", "old.xlsx", "lab.py", "thesis.tex", "notes.md", "setup.toml", "x.ipynb", "a.yaml"]


@pytest.mark.parametrize("name", NOT_OURS)
def test_a_text_that_is_named_as_another_kind_is_never_replaced(desk, name):
    (desk / name).write_text("years of notes")
    never(desk / name, "the name of another kind of file")
    assert (desk / name).read_text() == "years of notes"


def test_the_file_that_another_project_beside_it_was_made_from_is_never_replaced(desk):
    (desk / "source.csv").write_text("id\n")
    (desk / "first.csv").write_text("id\n")
    (desk / "mine.csv").write_text("id\n")
    (desk / "damaged.bemps").write_bytes(b"SQLite format 3\0 and nothing more")
    with sqlite3.connect(desk / "another.bemps") as connection:
        connection.execute("CREATE TABLE settings (name, value)")
        stamp = json.dumps([str(desk / "first.csv"), 12, 34, []])  # as projects of the first release have it
        rows = [("sources", json.dumps([str(desk / "source.csv")])), ("stamp", stamp), ("title", '"mine.csv"')]
        connection.executemany("INSERT INTO settings VALUES (?, ?)", rows)
    connection.close()
    never(desk / "source.csv", "from which .*another.bemps was made")
    never(desk / "first.csv", "from which .*another.bemps was made")
    check_output(desk / "mine.csv", force=True)


def project_of(path, source):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE settings (name, value)")
        connection.execute("INSERT INTO settings VALUES ('sources', ?)", [json.dumps([str(source)])])
    connection.close()


@pytest.mark.parametrize("folder", ["here", "project"])
def test_the_source_of_a_project_elsewhere_is_never_replaced(desk, folder):
    (desk / "elsewhere").mkdir()
    (desk / "project").mkdir()
    source = desk / "elsewhere" / "src.csv"
    source.write_text("id\n")
    project_of(desk / folder / "src.bemps", source)
    never(source, "from which .*src.bemps was made", inputs=[desk / "project" / "mine.bemps"])


@pytest.mark.parametrize("name", ["mine.txt", "data/mine.csv", "README.md.bak"])
def test_a_folder_of_ours_that_also_holds_a_file_of_others_is_never_replaced(desk, name):
    folder = desk / "ds"
    for ours in ("README.md", "data/train-00000-of-00001.parquet", ".DS_Store"):
        (folder / ours).parent.mkdir(parents=True, exist_ok=True)
        (folder / ours).write_text("ours")
    mark_folder(folder, "dataset")
    check_output(folder, folder="dataset", force=True)
    (folder / name).write_text("mine")
    never(folder, f"which also holds {name}.*move that file", folder="dataset")
    with pytest.raises(InputError, match="holds other files"), drafted(folder) as draft:  # whatever was checked before
        draft.mkdir()
    assert (folder / name).read_text() == "mine"


def test_a_page_is_replaced_by_a_page_alone(desk):
    for name in ("page.html", "page.csv"):
        (desk / name).write_text("<!DOCTYPE html>\n<p>mine")
        never(desk / name, "a HTML file")
    check_output(desk / "page.html", file="HTML", force=True)
    never(desk / "page.csv", "the name of another kind of file", file="HTML")


def test_a_dash_is_no_file(desk):
    never("-", "the name of a file; got -")


def test_links_are_never_replaced(desk):
    (desk / "precious.csv").write_text("x")
    (desk / "link.csv").symlink_to(desk / "precious.csv")
    (desk / "nowhere.csv").symlink_to(desk / "gone.csv")
    (desk / "loop.csv").symlink_to(desk / "loop.csv")
    (desk / "to-thesis").symlink_to(desk / "thesis")
    for name in ("link.csv", "nowhere.csv", "loop.csv"):
        never(desk / name, "a link")
    never(desk / "link.csv", "which is an input", inputs=[desk / "precious.csv"])
    never(desk / "to-thesis", "holds other files", folder="dataset")
    never("/dev/null", "a device")


def test_names_that_no_system_takes(desk):
    never(desk / ("x" * 300), "a path to write to")
    never("a\0b", "a path to write to")


def test_a_link_to_a_folder_of_ours_is_not_replaced(desk):
    (desk / "old").mkdir()
    mark_folder(desk / "old", "dataset")
    (desk / "link").symlink_to(desk / "old")
    never(desk / "link", "a link", folder="dataset")
    check_output(desk / "link", folder="dataset", resume=True)


def test_a_file_is_there_whole_or_not_at_all(desk):
    out = desk / "labels.csv"
    out.write_text("before")
    with pytest.raises(TypeError), written_whole(out) as draft:
        draft.write_text(draft.write_text("half"))
    assert out.read_text() == "before"
    with written_whole(out) as draft:
        draft.write_text("after")
        assert out.read_text() == "before"
    assert out.read_text() == "after"
    assert sorted(path.name for path in desk.iterdir()) == ["here", "labels.csv", "thesis"]


def test_drafts_of_others_are_left_alone(desk):
    (desk / "labels.csv.part").mkdir()
    (desk / "labels.csv.part" / "mine").write_text("x")
    (desk / f".labels.csv.{os.getpid()}.part").write_text("x")
    with written_whole(desk / "labels.csv") as draft:
        draft.write_text("y")
    assert (desk / "labels.csv.part" / "mine").read_text() == "x"
    assert (desk / f".labels.csv.{os.getpid()}.part").read_text() == "x"


KILLED = """
import os, signal, sys
from pathlib import Path
from bemps._utils import files
out = Path(sys.argv[1])
with files.drafted(out) as draft:
    draft.mkdir()
    (draft / "half").write_text("half")
    if sys.argv[2] == "between":
        os.rename(out, draft.parent / (out.name + ".old"))
    os.kill(os.getpid(), signal.SIGKILL)
"""


def kill_a_writer(path, when):
    subprocess.run([sys.executable, "-c", KILLED, path, when], check=False)
    assert [draft for draft in path.parent.iterdir() if draft.name.endswith(".part")]


def test_what_a_killed_writer_left_is_taken_away(desk):
    for name in ("labels.csv", "other"):
        kill_a_writer(desk / name, "before")
    with written_whole(desk / "labels.csv") as draft:
        draft.write_text("y")
    (left,) = (path for path in desk.iterdir() if path.name.endswith(".part"))
    assert left.name.startswith(".other."), "that of another path is not looked at"
    clear_drafts(desk / "other")
    assert sorted(path.name for path in desk.iterdir()) == ["here", "labels.csv", "thesis"]


def test_the_draft_of_a_writer_that_lives_is_left_alone(desk):
    with written_whole(desk / "labels.csv") as draft:
        draft.write_text("y")
        clear_drafts(desk / "labels.csv")
        assert draft.read_text() == "y"


def test_a_folder_that_a_killed_writer_moved_away_comes_back(desk):
    with written_whole(desk / "old") as draft:
        draft.mkdir()
        mark_folder(draft, "dataset")
    kill_a_writer(desk / "old", "between")
    assert not (desk / "old").exists()
    clear_drafts(desk / "old")
    assert sorted(path.name for path in desk.iterdir()) == ["here", "old", "thesis"]
    assert [path.name for path in (desk / "old").iterdir()] == [".bemps"]


def test_a_folder_of_ours_is_replaced_and_nobody_elses(desk):
    for text in ("one", "two"):
        with written_whole(desk / "old") as draft:
            draft.mkdir()
            (draft / "README.md").write_text(text)
            mark_folder(draft, "dataset")
    assert (desk / "old" / "README.md").read_text() == "two"
    with pytest.raises(InputError, match="never replaced"), written_whole(desk / "thesis") as draft:
        draft.write_text("a file")
    assert (desk / "thesis" / "chapter1.tex").read_text() == "years"
    assert sorted(path.name for path in desk.iterdir()) == ["here", "old", "thesis"]


def test_a_place_that_cannot_be_written_is_a_sentence(desk):
    with pytest.raises(InputError, match="to write it"), written_whole(desk / "gone" / "labels.csv") as draft:
        draft.write_text("x")


def hold(path, ready, done):
    with locked(path):
        ready.set()
        done.wait(30)


def test_a_lock_is_of_one_process_and_no_link(desk):
    context = multiprocessing.get_context("spawn")
    ready, done = context.Event(), context.Event()
    process = context.Process(target=hold, args=(desk / "lock", ready, done))
    process.start()
    assert ready.wait(30)
    with pytest.raises(BlockingIOError), locked(desk / "lock", wait=False):
        pass
    done.set()
    process.join()
    with locked(desk / "lock", wait=False):
        pass
    (desk / "link.lock").symlink_to(desk / "thesis" / "chapter1.tex")
    with pytest.raises(OSError, match="link"), locked(desk / "link.lock"):
        pass


def test_drafts_are_written_whole_and_left_out(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("before")
    with drafted(target, durable=True) as draft:
        draft.write_text("new")
        assert is_draft(draft.relative_to(tmp_path))
    with pytest.raises(FileNotFoundError), drafted(target) as draft:
        draft.read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert target.read_text() == "new"
    assert not is_draft(target.relative_to(tmp_path))


def test_a_path_that_leads_out_of_a_folder_is_none(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path / "other")
    assert path_inside(folder, "a/../b") == folder / "b"
    assert path_inside(folder, "../folder/b") == folder / "b"
    assert path_inside(folder, folder / "b") == folder / "b"
    assert [path_inside(folder, name) for name in ("../b", "link", tmp_path / "b")] == [None] * 3


def test_slugs_are_parts_of_file_names() -> None:
    assert slug("AG news/2 é.x-y_z") == "AG_news_2_.x-y_z"
