"""An error about a missing package names an extra that exists and that brings the package."""

import ast
import re
import subprocess
import sys
import tomllib
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from bemps._utils.extras import optional_import, requires_extra
from bemps.errors import BempsError, MissingExtra
from bemps.models.encoders.encoder_table import TEXT_ENCODERS
from bemps.testing import model_contract

SOURCE = Path(__file__).parents[2] / "src" / "bemps"
PROJECT = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
IMPORT_NAMES = {
    "scikit-learn": "sklearn",
    "pillow": "PIL",
    "markdown-it-py": "markdown_it",
}  # distributions whose package has another name


def test_the_contract_without_pytest_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pytest", None)
    with pytest.raises(BempsError, match=r"expected pytest to be installed.*pip install pytest"):
        model_contract()


def packages_of(extra: str) -> set[str]:
    """What an extra installs, by the names that are imported; the extras that it includes, too."""
    packages = set()
    for line in PROJECT["optional-dependencies"][extra]:
        own = re.fullmatch(r"bemps\[(.*)\]", line)
        if own:
            packages.update(*(packages_of(name) for name in own[1].split(",")))
        else:
            name = re.split(r"[^A-Za-z0-9._-]", line)[0]
            packages.add(IMPORT_NAMES.get(name, name.replace("-", "_")))
    return packages


CORE = {IMPORT_NAMES.get(name, name) for name in (re.split(r"[^A-Za-z0-9._-]", x)[0] for x in PROJECT["dependencies"])}


def file_of(module: str) -> Path:
    path = SOURCE.parent / module.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def modules_in(statements: list[ast.stmt]) -> set[str]:
    """The modules that import statements name, without those inside of functions."""
    modules = set()
    for node in statements:
        if isinstance(node, ast.ImportFrom):
            modules.add(str(node.module))
        elif isinstance(node, ast.Import):
            modules |= {name.name for name in node.names}
        elif isinstance(node, ast.With | ast.Try):
            modules |= modules_in(node.body)
    return modules


@cache
def imported_by(module: str) -> set[str]:
    return modules_in(ast.parse(file_of(module).read_text(encoding="utf-8")).body) - {"bemps"}


def needs(module: str) -> set[str]:
    """The packages outside the standard library that importing a module imports."""
    seen, waiting = set(), [module]
    while waiting:
        name = waiting.pop()
        if name not in seen and name.startswith("bemps."):
            waiting += imported_by(name)
        seen.add(name)
    return {name.split(".", maxsplit=1)[0] for name in seen} - {"bemps"} - set(sys.stdlib_module_names)


def literal(node: ast.expr, constants: dict[str, str]) -> str | None:
    if isinstance(node, ast.Constant):
        return str(node.value)
    return constants.get(node.id) if isinstance(node, ast.Name) else None


def named_extras() -> list[tuple[str, str, str]]:
    """Every file, extra and module that go together in the source."""
    triples = []
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        constants = {
            target.id: str(node.value.value)
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "optional_import":
                module, extra = (literal(argument, constants) for argument in node.args[:2])
                triples.append((path.name, extra, module))
            if isinstance(node, ast.With) and getattr(getattr(node.items[0].context_expr, "func", 0), "id", "") == (
                "requires_extra"
            ):
                extra = literal(node.items[0].context_expr.args[0], constants)
                triples += [(path.name, extra, module) for module in modules_in(node.body)]
    return triples


def test_named_extras_exist_and_provide_what_is_imported():
    assert len(named_extras()) > 15
    for file, extra, module in named_extras():
        if extra is None:  # a parameter: its values are checked below
            continue
        assert needs(module) <= packages_of(extra) | CORE, (file, extra, module)


def test_extras_of_parquet_bring_pyarrow():
    extras = {"experiments", "parquet"}
    for path in SOURCE.rglob("*.py"):
        extras |= set(re.findall(r'parquet\([^)]*extra="(\w+)"', path.read_text(encoding="utf-8")))
    assert all("pyarrow" in packages_of(extra) for extra in extras), extras


def test_missing_package_is_one_error_with_the_command():
    with pytest.raises(MissingExtra, match=r"drawing: expected the 'images' extra .*no_such_package.*\[images\]'"):
        optional_import("no_such_package", "images", "drawing")
    with pytest.raises(MissingExtra, match="inner"), requires_extra("text", "outer"):
        optional_import("no_such_package", "images", "inner")


def test_models_on_torch_name_their_extra_where_torch_is_missing():
    doors = {
        "bemps.models.heads.head_classifier": "torch",
        "bemps.models.images.image_classifier": "vision",
        "bemps.models.text.text_classifier": "finetune",
        "bemps.models.text.finetuned_laplace": "finetune",
    }
    code = f"""
import importlib, sys
from bemps.errors import MissingExtra
sys.modules |= {{"torch": None, "safetensors": None}}
for door in {list(doors)}:
    try:
        importlib.import_module(door)
    except MissingExtra as refusal:
        print(refusal)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    refusals = done.stdout.strip().splitlines()
    assert len(refusals) == len(doors)
    for refusal, extra in zip(refusals, doors.values(), strict=True):
        assert f"expected the '{extra}' extra to be installed" in refusal


# What an installation holds


def installed_with(extras: str) -> set[str]:
    """The distributions that bemps with these extras needs, as the installed ones say; bemps itself left out."""
    asked: dict[str, set[str]] = {}
    waiting = [(PROJECT["dependencies"], {""})]
    waiting += [(PROJECT["optional-dependencies"][extra], {""}) for extra in extras.split(",")]
    while waiting:
        lines, extras_of_it = waiting.pop()
        for need in map(Requirement, lines):
            if need.marker is not None and not any(need.marker.evaluate({"extra": extra}) for extra in extras_of_it):
                continue
            name = canonicalize_name(need.name)
            if name == "bemps":
                waiting += [(PROJECT["optional-dependencies"][extra], {""}) for extra in need.extras]
            elif name not in asked or not need.extras <= asked[name]:
                asked[name] = asked.get(name, {""}) | need.extras
                try:
                    waiting.append((metadata.requires(name) or [], asked[name]))
                except metadata.PackageNotFoundError:
                    pytest.skip(f"{name} is not installed: what it brings is not known")
    return set(asked)


@pytest.mark.parametrize("extras", ["text", "label,text"])
def test_text_vectors_bring_neither_torch_nor_transformers(extras):
    assert {"onnxruntime", "tokenizers", "numpy"} <= installed_with(extras)
    assert not {"torch", "transformers", "sentence-transformers"} & installed_with(extras)
    assert {"torch", "transformers"} <= installed_with("finetune")


def test_the_page_with_its_text_model_is_no_larger_than_the_page_once_was():
    """538 MB, counted as the files that the installers recorded, and the weights; on Linux with Python 3.11."""
    files = {
        Path(str(file.locate())).resolve()
        for name in installed_with("label,text")
        for file in metadata.distribution(name).files or []
    }
    size = sum(file.stat().st_size for file in files if file.is_file())
    assert 200e6 < size + 1e6 * TEXT_ENCODERS["bge-small"].megabytes < 538e6, f"{size / 1e6:.0f} MB without weights"
