"""The notebooks of the tutorials run in a real Jupyter kernel."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def notebooks():
    if not (find_spec("nbclient") and find_spec("ipykernel")):
        words = "no Jupyter kernel: the notebooks are not run in one (pip install nbclient ipykernel)"
        (pytest.fail if os.environ.get("BEMPS_REQUIRE_ALL") == "1" else pytest.skip)(words)
    return DOCS / "run_notebooks.py"


@pytest.mark.soak  # the workflow of the docs runs them too, and test_tutorials their cells
@pytest.mark.parametrize("name", [path.stem for path in sorted((DOCS / "start").glob("*.ipynb"))])
def test_the_notebook_of_a_tutorial_runs(notebooks, name):
    done = subprocess.run([sys.executable, notebooks, name], capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{name}.ipynb runs\n"


def test_a_command_that_fails_ends_the_notebook(notebooks, tmp_path):
    import nbformat

    cells = [nbformat.v4.new_code_cell("!bemps predict missing.bemps --out predictions.csv")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "start.ipynb")
    code = f"import sys; sys.path.insert(0, {str(DOCS)!r}); import run_notebooks, pathlib; "
    code += f"run_notebooks.run(pathlib.Path({str(tmp_path / 'start.ipynb')!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode != 0
    assert "the command failed" in done.stderr
