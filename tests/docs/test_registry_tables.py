"""The tables of the docs are those of the code."""

import importlib.util
import re
from pathlib import Path

import pytest

from bemps.acquisition.strategy_registry import strategies
from bemps.formats.format_registry import FORMATS
from bemps.models.model_registry import MODELS

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def tables():
    spec = importlib.util.spec_from_file_location("registry_tables", DOCS / "registry_tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", ["reference/strategies.md", "reference/experiments.md", "reference/projects.md"])
def test_the_tables_of_a_page_are_those_of_the_code(tables, page):
    text = (DOCS / page).read_text(encoding="utf-8")
    assert tables.with_tables(page, text) == text, "run: python docs/registry_tables.py"


def test_every_name_of_a_registry_stands_in_the_docs():
    text = "".join(
        (DOCS / page).read_text()
        for page in ("reference/strategies.md", "reference/experiments.md", "reference/projects.md")
    )
    names = set(re.findall(r"`([\w-]+)`", text))
    assert {*strategies(), *MODELS, *FORMATS} <= names


def test_a_new_row_is_missing_in_the_page_until_it_is_written(tables, monkeypatch):
    monkeypatch.setitem(FORMATS, "toy", FORMATS["csv"])
    text = (DOCS / "reference/projects.md").read_text(encoding="utf-8")
    assert "| `toy` |" in tables.with_tables("reference/projects.md", text)
