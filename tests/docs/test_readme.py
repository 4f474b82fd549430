"""The README: short before the first code block, its numbers those of the committed results, its Python runs."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def readme() -> str:
    return (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_first_code_block_comes_after_at_most_120_words(readme):
    prose = re.sub(r"!\[[^]]*\]\([^)]*\)", "", readme.split("```")[0])
    assert len(prose.split()) <= 120


def test_the_table_is_what_the_committed_results_give(readme):
    command = [sys.executable, ROOT / "studies" / "readme_table.py"]
    table = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    assert table in readme


def test_the_python_example_runs_as_it_stands(readme, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", readme, flags=re.DOTALL)
    words = np.random.default_rng(0).choice(["open", "close", "error", "page", "please", "add"], size=(40, 5))
    names = {
        "texts": [" ".join(row) for row in words],
        "answers": ["bug", "wish"] * 5,
        "probabilities": np.random.default_rng(1).dirichlet(np.ones(3), size=(5, 60)),
    }
    exec(compile(code, "README.md", "exec"), names)
    assert len(names["batch"]) == 10
    assert (tmp_path / "tickets.learner").is_dir()
