"""Each tutorial is followed as it stands: its Python in one session, its commands in a shell, its page in a browser.

Tutorials are followed as notebooks, cell by cell (another test compares them with their pages), how-to pages as pages.
"""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing import Visitor, browser_of
from serving import Server
from typer.testing import CliRunner

import bemps
from bemps.cli import app
from bemps.testing import MODEL_CHECKS

START = Path(__file__).parents[2] / "docs" / "start"
LABELS = 40
COMMAND = [sys.executable, "-c", "from bemps.cli import app; app()"]
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)


def blocks(name: str) -> Iterator[tuple[str, str]]:
    """The language and text of each block of a page, or of each cell of a notebook."""
    text = (START / name).read_text(encoding="utf-8")
    if not name.endswith(".ipynb"):
        yield from BLOCK.findall(text)
        return
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            yield from BLOCK.findall(source + "\n")  # commands for a terminal: the server of `bemps label`
        elif source.startswith("!"):
            yield "sh", re.sub(r"^!", "", source, flags=re.MULTILINE)
        else:
            yield "python", source


class Reader:
    """Somebody who follows a page in a folder."""

    def __init__(self, folder: Path, label=None) -> None:
        self.folder, self.label, self.names = folder, label, {"__name__": "tutorial"}

    def follow(self, name: str) -> None:
        for language, code in blocks(name):
            if language == "python":
                exec(compile(code, name, "exec"), self.names)
            else:
                for line in code.splitlines():
                    self.run(shlex.split(line, comments=True))

    def run(self, words: list[str]) -> None:
        assert words[0] == "bemps"
        if words[1] == "label":
            self.label(words[2:])
        else:
            subprocess.run([*COMMAND, *words[1:]], cwd=self.folder, check=True, capture_output=True, timeout=120)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def kind_of(text: str) -> str:
    """What a person would say of a ticket of the tutorial."""
    if text.endswith("?"):
        return "3"
    return "2" if text.startswith(("Please", "I wish", "Add")) else "1"


def test_label_a_file(folder, chromium, capsys):
    def label(arguments: list[str]) -> None:
        with (
            browser_of(chromium) as browser,
            Server(folder, *arguments, data=None, model="tfidf", classes=()) as server,
            Visitor(browser, server.base, "ann") as ann,
        ):
            for _ in range(LABELS):
                ann.label(kind_of(ann.item()[1]))
            ann.saved()
            assert not ann.errors

    reader = Reader(folder, label)
    reader.follow("label-a-file.ipynb")
    said = capsys.readouterr().out
    assert "432 tickets" in said
    assert f"{LABELS} labels" in said
    names = {"1": "bug", "2": "feature", "3": "question"}
    right = [row["final"] == names[kind_of(row["body"])] for row in reader.names["rows"]]
    assert sum(right) / len(right) > 0.9


def test_choose_for_my_model(folder, capsys):
    reader = Reader(folder)
    reader.follow("choose-for-my-model.ipynb")
    assert "100 labels chosen by bemps" in capsys.readouterr().out
    assert len(reader.names["learner"].labels) == 100
    assert reader.names["chosen"] > 0.85


def test_compare_strategies(folder, capsys):
    Reader(folder).follow("compare-strategies.ipynb")
    assert (folder / "runs" / "digits" / "report.html").stat().st_size > 10_000
    assert "doubt" in capsys.readouterr().out


def test_own_model_passes_the_contract(folder):
    reader = Reader(folder)
    reader.follow("../howto/own-model.md")
    for check in MODEL_CHECKS:
        check(reader.names["CASE"])


def test_deploy(folder, capsys):
    Reader(folder).follow("../howto/deploy.md")
    assert "('wish'" in capsys.readouterr().out


def tickets_project():
    """A project with some labels, and an export of Label Studio with three more."""
    verbs, nouns = ("open", "print", "share", "delete"), ("invoice", "report", "calendar", "backup")
    texts = [
        f"{form} {verb} the {noun}" for form in ("Error, I cannot", "Please let us") for verb in verbs for noun in nouns
    ]
    with bemps.open_project("tickets.bemps", create=True) as project:
        project.store.set("model", "tfidf")
        project.add_classes(["bug", "feature", "question"])
        project.add(bemps.data.table(texts))
        ids = project.store.ids()
        project.tell(
            {id: "bug" if project.store.item(id).content.startswith("Error") else "feature" for id in ids[::5]}
        )
        unlabelled = [id for id in ids if id not in project.labels()][:3]
        results = [{"type": "choices", "from_name": "label", "to_name": "text", "value": {"choices": ["question"]}}]
        tasks = [{"data": {"id": id}, "annotations": [{"completed_by": 1, "result": results}]} for id in unlabelled]
        Path("export.json").write_text(json.dumps(tasks), encoding="utf-8")
        return project.labels(), unlabelled


def test_label_studio(folder):
    before, imported = tickets_project()
    Reader(folder).follow("../howto/label-studio.md")
    with bemps.open_project("tickets.bemps") as project:
        assert project.labels() == before | dict.fromkeys(imported, "question")
    asked = {task["data"]["id"] for task in json.loads(Path("next.json").read_text(encoding="utf-8"))}
    assert len(asked) == 20
    assert asked.isdisjoint({*before, *imported})
    assert json.loads(Path("guesses.json").read_text(encoding="utf-8"))[0]["predictions"]


def test_the_commands_of_the_table_of_deploy_work_one_after_the_other(folder):
    tickets_project()
    Path("new.csv").write_text("body\nIt does not print\n", encoding="utf-8")
    table = (START.parent / "howto" / "deploy.md").read_text(encoding="utf-8").split("```")[0]
    commands = re.findall(r"`(bemps [^`]*)`", table)
    assert len(commands) == 6
    for command in commands:
        done = CliRunner().invoke(app, shlex.split(command)[1:])
        assert done.exit_code == 0, (command, done.output)
