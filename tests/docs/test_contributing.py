"""The recipes of CONTRIBUTING.md, each followed once in a copy of the source."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from serving import Server, write_tickets

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(
    r"^```(?:python|html)\n(?:# |<!-- )(src/\S+?)(?:, (above|into|at the end) ?(.*?))?(?: -->)?\n(.*?)^```$",
    re.S | re.M,
)


def recipe(title: str) -> list[tuple[str, str, str, str]]:
    """The steps under a heading: file, where in it, and what to write there."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return BLOCK.findall(text.split(f"\n### {title}\n")[1].split("\n### ")[0].split("\n## ")[0])


def follow(step: tuple[str, str, str, str], folder: Path) -> None:
    """Make the change of a step."""
    name, where, mark, code = step
    path = folder / name
    if not where:
        assert not path.exists(), f"{name} is there already"
        path.write_text(code, encoding="utf-8")
        return
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    place = len(lines) if where == "at the end" else line_of(lines, mark) + (where == "into")
    blank = "\n\n" if where == "at the end" or code.startswith("@dataclass") else ""
    lines.insert(place, blank + code + ("\n\n" if code.startswith("@dataclass") else ""))
    path.write_text("".join(lines), encoding="utf-8")


def line_of(lines: list[str], mark: str) -> int:
    (place,) = [i for i, line in enumerate(lines) if re.match(rf"\s*{re.escape(mark)}(?!\w)", line)]
    return place


@pytest.fixture
def copy(tmp_path):
    """A copy of the source, and what runs Python in it."""
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))

    def run(code: str, title: str) -> str:
        steps = recipe(title)
        assert len(steps) > 1, title
        for step in steps:
            follow(step, tmp_path)
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=tmp_path,
            env=environment(tmp_path),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run


def environment(folder: Path) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(folder / "src")}


def test_a_score(copy):
    code = """
import numpy as np, bemps
bemps.check_convexity("cubic", 4)
probs = np.random.default_rng(0).dirichlet(np.ones(3), size=(4, 20))
gains = bemps.expected_gain(probs, score="cubic").scores
print(len(bemps.select(probs, 3, "gain", score="cubic")), (gains > 0).all())
"""
    assert copy(code, "A score") == "3 True"


def test_a_strategy(copy):
    code = """
import numpy as np, bemps
probs = np.array([[[0.9, 0.1], [0.5, 0.5], [0.6, 0.4]]])
print(bemps.select(probs, 2, "gini").indices.tolist(), bemps.strategies()["gini"])
"""
    assert copy(code, "A strategy") == "[1, 2] largest Gini impurity of the mean prediction"


def test_a_model(copy):
    code = """
import numpy as np
from sklearn.datasets import load_iris
from bemps.experiments import config_of, run
from bemps.models.linear.class_means import ClassMeans
from bemps.testing import MODEL_CHECKS, ModelCase
rows, kinds = load_iris(return_X_y=True)
case = ModelCase("means", ClassMeans, rows[::3], kinds[::3], ("a", "b", "c"))
for check in MODEL_CHECKS: check(case)
settings = {"dataset": "digits", "model": "class-means", "strategies": ["random"]}
settings |= {"seeds": 1, "budget": 10, "full": False}
print(run(config_of(settings), "run", jobs=1).failures)
"""
    assert copy(code, "A model").endswith("()")


def test_a_format(copy, tmp_path):
    code = """
import bemps
from bemps.store import Item
with bemps.open_project("p.bemps", create=True) as project:
    project.store.add_items([Item("t0", "crash"), Item("t1", "wish")])
    project.store.add_class("bug", "ann")
    project.tell({"t0": "bug"}, annotator="ann")
    project.export("labels.short")
    open("more.jsonl", "w").write('{"i": "t1", "l": "bug", "a": "bob"}\\n')
    project.import_labels("more.jsonl")
    print(sorted(project.labels()))
"""
    assert copy(code, "A format") == "['t0', 't1']"
    assert json.loads((tmp_path / "labels.short").read_text()) == {"i": "t0", "l": "bug", "a": "ann"}


def test_a_panel(copy, tmp_path):
    assert copy("import bemps.server.routes.routes_panels", "A panel of the page") == ""
    write_tickets(tmp_path / "tickets.csv")
    with Server(tmp_path, environment=environment(tmp_path)) as server, server.person("ann") as ann:
        ann.answer(ann.next()[0]["id"], "bug").raise_for_status()
        assert "1 labels by 1 people" in ann.panel("pace")
        assert 'data-panel="pace"' in ann.http.get("").text


def test_a_setting_of_the_page(copy, tmp_path):
    assert copy("import bemps.cli.label", "A setting of the page") == ""
    write_tickets(tmp_path / "tickets.csv")
    with Server(tmp_path, "--large-letters", environment=environment(tmp_path)) as server, server.person() as ann:
        assert "Large letters" in ann.panel("settings")
        changed = ann.http.post("api/settings", json={"values": {"large_letters": "no"}, "annotator": "ann"}).json()
        assert changed["settings"]["display"]["large_letters"] is False
        refused = ann.http.post("api/settings", json={"values": {"large_letters": "maybe"}, "annotator": "ann"})
        assert (refused.status_code, "yes or no" in refused.text) == (422, True)
