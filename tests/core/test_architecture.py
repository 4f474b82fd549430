"""Imports go one way, and `import bemps` stays light."""

import ast
import inspect
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "bemps"
# five floors; a package may import those after it in this list, and none before
FLOORS = [
    # the command line
    ["cli"],
    # applications
    ["server"],
    ["project"],
    ["formats"],
    ["store"],
    ["report"],
    ["results"],
    ["distributed"],
    ["experiments"],
    # learning
    ["learner"],
    # mathematics; models and data
    ["acquisition"],
    ["gain"],
    ["scores"],
    ["testing"],
    ["models"],
    ["data"],
    # what every floor uses
    ["metrics"],
    ["checks", "limits"],
    ["_utils"],
    ["types", "errors"],
]
MATHS = {"scores", "gain", "acquisition"}
POINTING_WORDS = {
    *("found", "told", "given", "one", "place", "said", "wanted", "chosen"),
    *("kept", "there", "made", "had", "whole", "plain", "held"),
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
    listed = {room for level in FLOORS for room in level}
    assert {room_of(path) for path in files()} <= listed


def test_imports_go_downward():
    level = {room: i for i, rooms in enumerate(FLOORS) for room in rooms}
    wrong = [
        (str(path.relative_to(SOURCE)), room)
        for path in files()
        for room in imported_rooms(path)
        if room in level and room != room_of(path) and level[room] <= level[room_of(path)]
    ]
    assert not wrong


def test_models_know_no_maths_and_data_knows_neither():
    for path in files():
        if room_of(path) in {"models", "data"}:
            assert not imported_rooms(path) & MATHS, path
        if room_of(path) == "data":
            assert "models" not in imported_rooms(path), path


def test_the_store_knows_neither_models_nor_maths():
    for path in files():
        if room_of(path) == "store":
            assert imported_rooms(path) <= {"store", "_utils", "errors"}, path


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


IMPORT_NAMES = {
    "scikit-learn": "sklearn",
    "pillow": "PIL",
    "markdown-it-py": "markdown_it",
}  # distributions whose package has another name
NOT_OURS = {
    "pytest",  # bemps.testing, inside the user's own tests
}


def test_every_package_that_is_imported_is_declared():
    project = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    lists = [project["dependencies"], *extras.values()]
    names = {re.split(r"[^A-Za-z0-9._-]", line)[0] for lines in lists for line in lines}
    declared = {IMPORT_NAMES.get(name, name.replace("-", "_")) for name in names}
    imported = {name for path in files() for name in imported_packages(path)}
    assert imported - declared - NOT_OURS - own_modules() - set(sys.stdlib_module_names) == set()


def own_modules() -> set[str]:
    """What the wheel installs: the package, and the module of the command beside it."""
    return {path.stem for path in SOURCE.parent.iterdir() if path.suffix in {"", ".py"}}


def imported_packages(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            names.add(str(node.module))
        elif isinstance(node, ast.Import):
            names |= {name.name for name in node.names}
    return {name.split(".")[0] for name in names}


def test_the_parts_are_there_after_import_bemps():
    for name in ("data", "formats", "models", "project", "report", "results"):
        code = f"import bemps; print(bemps.{name}.__name__)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == f"bemps.{name}"
    code = "import bemps; bemps.nothing"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "has no attribute 'nothing'" in done.stderr


def test_progress_is_told_without_experiments():
    """Watchers are those of `bemps._utils.watchers`: neither clusters nor the terminal need experiments for them."""
    for path in files():
        if room_of(path) in {"distributed", "cli"}:
            assert "experiments.progress" not in path.read_text(), path


def modules() -> list[Path]:
    return [path for path in SOURCE.rglob("*.py") if path.name != "__init__.py"]


def test_no_folder_has_more_than_sixteen_modules():
    counts = Counter(path.parent.relative_to(SOURCE) for path in modules())
    assert {str(folder): n for folder, n in counts.items() if n > 16} == {}


def test_no_two_modules_have_one_name():
    counts = Counter(path.stem for path in modules())
    assert [name for name, n in counts.items() if n > 1] == []


def test_names_say_what_things_are():
    """No variable or argument is called by a word that only points."""
    wrong = []
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            stored = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            name = node.arg if isinstance(node, ast.arg) else node.id if stored else None
            if name in POINTING_WORDS:
                wrong.append(f"{path.relative_to(SOURCE)}:{node.lineno} {name}")
    assert wrong == []


def test_every_module_says_what_it_is_for():
    assert [str(path) for path in SOURCE.rglob("*.py") if not ast.get_docstring(ast.parse(path.read_text()))] == []


def exports() -> list[tuple[str, str]]:
    """The package and the name of everything that the `__init__` of a package exports."""
    names = []
    for path in sorted(SOURCE.rglob("__init__.py")):
        package = ".".join(["bemps", *path.parent.relative_to(SOURCE).parts])
        names += [(package, name) for name in reexported(path)]
        functions = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)]
        names += [(package, node.name) for node in functions if not node.name.startswith("_")]
    return names


def reexported(path: Path) -> dict[str, str]:
    """The module of every name that a file imports as itself, `from module import name as name`."""
    return {
        alias.name: str(node.module)
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name
    }


def file_of(module: str) -> Path:
    path = SOURCE.parent.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def definition(module: str, name: str) -> ast.AST | None:
    """The function or class of a name, followed through modules that import it; None for a constant or a module."""
    for node in ast.parse(file_of(module).read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            return node
    source = reexported(file_of(module)).get(name)
    return None if source is None or file_of(f"{source}.{name}").exists() else definition(source, name)


def parameters(node: ast.AST) -> list[str]:
    """The parameters of a function, of `__init__` of a class, or the fields of a dataclass."""
    if isinstance(node, ast.FunctionDef):
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        return [argument.arg for argument in arguments if argument.arg not in ("self", "cls")]
    assert isinstance(node, ast.ClassDef)
    init = [part for part in node.body if isinstance(part, ast.FunctionDef) and part.name == "__init__"]
    if init:
        return parameters(init[0])
    is_dataclass = any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list)
    fields = [part for part in node.body if isinstance(part, ast.AnnAssign) and "init=False" not in ast.unparse(part)]
    return [ast.unparse(field.target) for field in fields] if is_dataclass else []


def test_everything_that_a_package_exports_is_documented():
    """A docstring; with two or more parameters a section that names each of them, which the reference shows."""
    wrong = []
    for package, name in exports():
        node = definition(package, name)
        if node is None:
            continue
        text = ast.get_docstring(node) or ""
        section = re.search(r"^(Parameters|Attributes)\n-+\n", text, re.MULTILINE)
        if not text or (len(parameters(node)) >= 2 and section is None):
            wrong.append(f"{package}.{name}")
        elif section is not None:
            heads = re.findall(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: :.*)?$", text[section.end() :], re.MULTILINE)
            described = {part.lstrip("*") for head in heads for part in head.split(", ")}
            wrong += [f"{package}.{name}: {each}" for each in parameters(node) if each not in described]
    assert wrong == []


def test_public_methods_of_what_a_package_exports_are_documented():
    classes = {(definition(*export), export[1]) for export in exports()}
    methods = [
        (name, method.name, ast.get_docstring(method))
        for node, name in classes
        if isinstance(node, ast.ClassDef)
        for method in node.body
        if isinstance(method, ast.FunctionDef) and not method.name.startswith("_")
    ]
    assert len(methods) > 100
    assert [(name, method) for name, method, text in methods if not text] == []


def test_methods_of_a_store_name_their_parameters():
    from bemps.store import Store

    methods = {name: method for name, method in vars(Store).items() if inspect.isfunction(method) and name[0] != "_"}
    many = {name: inspect.getdoc(m) or "" for name, m in methods.items() if len(inspect.signature(m).parameters) > 3}
    assert len(many) > 8
    assert [name for name, text in many.items() if "\nParameters\n" not in text] == []


def test_the_pages_import_what_packages_export():
    """Pages import from packages and from modules at the root; of models only those that `bemps.models` exports."""
    exported, root = set(exports()), {path.stem for path in SOURCE.glob("*.py")} - {"__init__"}
    wrong = []
    for path in [SOURCE.parents[1] / "README.md", *(SOURCE.parents[1] / "docs").rglob("*.md")]:
        for module, names in re.findall(r"^ *from (bemps[\w.]*) import (.+)$", path.read_text(), re.MULTILINE):
            for name in names.split(", "):
                is_package = module == "bemps" and (SOURCE / name / "__init__.py").exists()
                needs_torch = module.startswith("bemps.models.") and ("bemps.models", name) not in exported
                is_public = (module, name) in exported or module.removeprefix("bemps.") in root
                if not (is_public or is_package or needs_torch):
                    wrong.append(f"{path.name}: {module}.{name}")
    assert wrong == []


def test_nothing_beside_the_package_is_imported_by_it():
    assert {name for path in files() for name in imported_packages(path)} & {"benchmarks", "studies"} == set()
