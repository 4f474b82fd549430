"""The site builds without a warning, holds every public name, and its made parts are what their commands make."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def script(path: Path):
    """A script of the repository, as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder]
    environment = os.environ | {
        "NO_MKDOCS_2_WARNING": "1",
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")]),
    }
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_site_has_every_page_and_fetches_nothing(site):
    pages = {path.relative_to(site).with_suffix(".md").as_posix() for path in site.rglob("*.html")}
    assert {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")} <= pages
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r'<(?:script|img|iframe)[^>]*src="https?:', text), page
        assert not re.findall(r'<link[^>]*rel="(?:stylesheet|preconnect)"[^>]*href="https?:', text), page


def test_the_reference_has_every_public_name_and_command(site):
    api = {path.stem: path.read_text(encoding="utf-8") for path in (site / "reference" / "api").glob("*.html")}
    hook = script(DOCS / "site_hook.py")
    for package in hook.PACKAGES:
        names = list(hook.exported(package))
        assert len(names) > 1, package
        for name in names:
            assert f'id="{hook.defined_in(package, name)}"' in api[package] or package == "bemps", (package, name)
            assert name in api[package], (package, name)
            heads = [
                re.search(r"heading: ([\w.]+),", block)[1] for block in hook.borrowed_methods(value_of(package, name))
            ]
            assert set(heads) <= set(api[package].split())
    commands = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    assert all(f"bemps {name}" in commands for name in ("label", "export", "run", "select", "weights"))
    assert "<code>labels        a row for each answer" in commands  # a list of a help text keeps its lines


def value_of(package: str, name: str):
    return getattr(importlib.import_module(package), name)


def test_the_reference_has_the_methods_of_a_store_and_every_package_that_pages_name(site):
    store = (site / "reference" / "api" / "bemps.store.html").read_text(encoding="utf-8")
    assert {f"Store.{name}" for name in ("item", "ids", "answers", "adjudicate", "set_all")} <= set(store.split())
    pages = "".join(page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md"))
    named = set(re.findall(r"\bbemps\.([a-z]+)\b", pages))
    packages = {f"bemps.{name}" for name in named if (ROOT / "src" / "bemps" / name / "__init__.py").exists()}
    assert packages <= set(script(DOCS / "site_hook.py").PACKAGES)


def test_a_link_to_a_file_that_does_not_exist_is_refused():
    hook = script(DOCS / "site_hook.py")
    assert hook.with_links("[a](../studies/tables.py)", DOCS, "idea.md") == "`studies/tables.py`"
    with pytest.raises(hook.PluginError, match=r"idea\.md has a link to studies/missing\.py, which does not exist"):
        hook.with_links("[a](../studies/missing.py)", DOCS, "idea.md")


def test_every_picture_is_on_a_page():
    pages = "".join(page.read_text(encoding="utf-8") for page in [ROOT / "README.md", *DOCS.rglob("*.md")])
    assert [path.name for path in (DOCS / "images").iterdir() if f"images/{path.name}" not in pages] == []


@pytest.mark.parametrize("page", sorted((DOCS / "start").glob("*.md")), ids=lambda page: page.stem)
def test_the_notebook_of_a_tutorial_is_its_page(page):
    notebooks = script(DOCS / "notebooks.py")
    made = notebooks.notebook(page.read_text(encoding="utf-8"))
    assert page.with_suffix(".ipynb").read_text(encoding="utf-8") == made, "run: python docs/notebooks.py"


def test_the_results_are_at_most_900_words_beside_their_tables():
    text = (DOCS / "results.md").read_text(encoding="utf-8")
    prose = [line for line in text.splitlines() if not line.startswith(("|", "<!--", "!["))]
    assert len(" ".join(prose).split()) <= 900


def test_the_picture_of_the_idea_is_drawn_by_its_command(tmp_path):
    command = [sys.executable, DOCS / "draw_idea.py", tmp_path / "idea.png"]
    subprocess.run(command, check=True, timeout=120, env=os.environ | {"MPLBACKEND": "Agg"})
    assert (tmp_path / "idea.png").stat().st_size > 20_000
