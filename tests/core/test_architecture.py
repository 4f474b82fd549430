"""Imports go one way, and `import bemps` stays light."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "bemps"
# each room may import the rooms after it in this list, and none before
ROOMS = [
    ["cli"],
    ["bench"],
    ["serve"],
    ["project"],
    ["project_models"],
    ["content_heads"],
    ["content_models"],
    ["exchange"],
    ["store"],
    ["report"],
    ["statistics"],
    ["distributed"],
    ["experiments"],
    ["learner"],
    ["analysis"],
    ["selection"],
    ["strategies"],
    ["parbals"],
    ["closed_form"],
    ["anchors", "falcun", "herding"],
    ["baselines", "batchbald", "clusters"],
    ["batch"],
    ["gain"],
    ["scores", "context"],
    ["testing"],
    ["members"],
    ["encoders"],
    ["data"],
    ["checks", "limits"],
    ["types"],
    ["_io", "_processes"],
    ["errors"],
]
MATHS = {
    "scores",
    "closed_form",
    "gain",
    "batch",
    "baselines",
    "batchbald",
    "clusters",
    "anchors",
    "falcun",
    "herding",
    "parbals",
    "strategies",
    "selection",
    "context",
}


def imported_rooms(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "bemps":
            parts = node.module.split(".")
            rooms |= {parts[1]} if len(parts) > 1 else {name.name for name in node.names}
        elif isinstance(node, ast.Import):
            rooms |= {n.name.split(".")[1] for n in node.names if n.name.startswith("bemps.")}
    return rooms


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def files() -> list[Path]:
    return [path for path in SOURCE.rglob("*.py") if room_of(path) != "__init__"]


def test_every_room_is_in_the_list():
    listed = {room for level in ROOMS for room in level}
    assert {room_of(path) for path in files()} <= listed


def test_imports_go_downward():
    level = {room: i for i, rooms in enumerate(ROOMS) for room in rooms}
    wrong = [
        (str(path.relative_to(SOURCE)), room)
        for path in files()
        for room in imported_rooms(path)
        if room in level and room != room_of(path) and level[room] <= level[room_of(path)]
    ]
    assert not wrong


def test_models_know_no_maths_and_data_knows_neither():
    for path in files():
        if room_of(path) in {"members", "data"}:
            assert not imported_rooms(path) & MATHS, path
        if room_of(path) == "data":
            assert "members" not in imported_rooms(path), path


def test_the_store_knows_neither_models_nor_maths():
    for path in files():
        if room_of(path) == "store":
            assert imported_rooms(path) <= {"store", "_io", "errors"}, path


def test_import_is_light():
    heavy = ["torch", "transformers", "sklearn", "matplotlib", "pyarrow", "ray", "typer", "rich", "pandas"]
    heavy += ["sqlalchemy"]
    code = f"import sys, bemps; print([m for m in {heavy} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_import_takes_less_than_half_a_second():
    code = "import time; t = time.process_time(); import bemps; print(time.process_time() - t)"
    run = lambda: float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)  # noqa: E731
    assert min(run() for _ in range(3)) < 0.5


IMPORT_NAMES = {"scikit-learn": "sklearn", "pillow": "PIL"}  # distributions whose package has another name
NOT_OURS = {
    *("baal", "batchbald_redux", "skactiveml", "small_text"),  # bench/peers.py, in an environment of its own
    "pytest",  # bemps.testing, inside the user's own tests
}


def test_every_package_that_is_imported_is_declared():
    project = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    lists = [project["dependencies"], *extras.values()]
    names = {re.split(r"[^A-Za-z0-9._-]", line)[0] for lines in lists for line in lines}
    declared = {IMPORT_NAMES.get(name, name.replace("-", "_")) for name in names}
    imported = {name for path in files() for name in imported_packages(path)}
    assert imported - declared - NOT_OURS - set(sys.stdlib_module_names) == set()


def imported_packages(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            names.add(str(node.module))
        elif isinstance(node, ast.Import):
            names |= {name.name for name in node.names}
    return {name.split(".")[0] for name in names}


def test_the_parts_are_there_after_import_bemps():
    code = "import bemps; print(bemps.data.Table.__name__, bemps.report.__name__, bemps.statistics.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["Table", "bemps.report", "bemps.statistics"]
    code = "import bemps; bemps.nothing"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "has no attribute 'nothing'" in done.stderr
