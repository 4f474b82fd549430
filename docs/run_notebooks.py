"""Run the notebooks of the tutorials in a Jupyter kernel: python docs/run_notebooks.py [NAME ...]

Each runs in an empty folder of its own, from its first cell to its last. An error in a cell ends it, and so does a
command that fails. Where a reader labels in the browser, PERSON labels from Python.
"""

import os
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbclient import NotebookClient

START = Path(__file__).parent / "start"
PERSON = """\
import bemps

def kind_of(text):
    if text.endswith("?"):
        return "question"
    return "feature" if text.startswith(("Please", "I wish", "Add")) else "bug"

with bemps.open_project("tickets.bemps", create=True) as project:
    project.add_classes(["bug", "feature", "question"])
    project.add(bemps.data.read("tickets.csv", text="body"))
    project.tell({id: kind_of(project.store.item(id).content) for id in project.store.ids()[:40]})
"""


def as_run(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The notebook with a check of each command, and a cell that labels after each `bemps label`, which is text."""
    cells = []
    for cell in notebook.cells:
        cells.append(cell)
        if cell.cell_type == "code":
            cell.source = re.sub(r"(?m)^(!.*)$", r"\1\nassert _exit_code == 0, 'the command failed'", cell.source)
        if cell.cell_type == "markdown" and "\nbemps label " in cell.source:
            cells.append(nbformat.v4.new_code_cell(PERSON))
    notebook.cells = cells
    return notebook


def run(path: Path) -> None:
    notebook = as_run(nbformat.read(path, as_version=4))
    with TemporaryDirectory() as folder:
        NotebookClient(notebook, timeout=300, resources={"metadata": {"path": folder}}).execute()


if __name__ == "__main__":
    beside = str(Path(sys.executable).parent)  # `!bemps` in a cell is the one of this environment
    os.environ["PATH"] = os.pathsep.join([beside, os.environ["PATH"]])
    for path in sorted(START.glob("*.ipynb")):
        if path.stem in sys.argv[1:] or not sys.argv[1:]:
            run(path)
            sys.stdout.write(f"{path.name} runs\n")
