"""The README: short before the first code block, its numbers those of the committed results, its Python runs."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bemps.models.encoders.encoder_table import TEXT_ENCODERS

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


def test_the_numbers_beside_the_table_are_those_of_the_results_and_weights(readme):
    rows = [
        json.loads(line) for line in (ROOT / "studies" / "results" / "systems.jsonl").read_text("utf-8").splitlines()
    ]
    shown = [
        row for row in rows if row["system"] in ("bemps", "skactiveml-random", "skactiveml-margin", "skactiveml-bge")
    ]
    assert f"reaches with {max(row['labels'] for row in shown)} random labels" in readme
    first, last = (pick(row["labels"] for row in shown) for pick in (min, max))
    text = " ".join(readme.split())
    assert f"the same {first} random labels, so none can save more than {100 * (1 - first / last):.0f} %" in text
    assert "Each number comes from the mean of five seeds" in text
    cells = {(row["system"], row["dataset"]) for row in shown}
    assert {cell: {row["seed"] for row in shown if (row["system"], row["dataset"]) == cell} for cell in cells} == {
        cell: set(range(5)) for cell in cells
    }
    scores = {
        name: np.mean([r["f1"] for r in shown if (r["system"], r["dataset"], r["labels"]) == (name, "sst5", size)])
        for name, size in (("bemps", first), ("skactiveml-random", last))
    }
    assert ("On SST5 bemps reaches the goal with these labels alone" in text) == (
        scores["bemps"] >= scores["skactiveml-random"]
    )
    assert f"sentence vectors, {TEXT_ENCODERS['bge-small'].megabytes} MB, once" in readme


def test_the_readme_is_short_and_its_code_fits_a_narrow_page(readme):
    assert len(readme.splitlines()) <= 60
    code = re.findall(r"```\w+\n(.*?)```", readme, flags=re.DOTALL)
    assert max(len(line) for block in code for line in block.splitlines()) <= 90


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
