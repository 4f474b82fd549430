"""The table of coverage in docs/release.md, and the bounds that `make coverage` holds."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def counts(lines, all_lines, branches, all_branches):
    """What `coverage json` says of a file."""
    return {
        "summary": {
            "covered_lines": lines,
            "num_statements": all_lines,
            "covered_branches": branches,
            "num_branches": all_branches,
            "percent_covered_display": "50",
        }
    }


FILES = {
    "src/bemps/errors.py": counts(10, 10, 0, 0),
    "src/bemps/store/items.py": counts(90, 100, 10, 20),
    "src/bemps/store/sql/database.py": counts(100, 100, 20, 20),
    "src/bemps/cli/run.py": counts(40, 80, 0, 10),
}


@pytest.fixture
def coverage_table(tmp_path, monkeypatch):
    """The command, with a page of its own and the measurement of FILES."""
    spec = importlib.util.spec_from_file_location("coverage_table", ROOT / "docs" / "coverage_table.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "PAGE", tmp_path / "release.md")
    module.PAGE.write_text(
        "Before.\n\n<!-- generated: coverage -->\nold\n<!-- end of generated: coverage -->\n\nAfter.\n"
    )
    (tmp_path / "coverage.json").write_text(json.dumps({"files": FILES}))
    return module


def finish(coverage_table, tmp_path):
    with pytest.raises(SystemExit) as end:
        coverage_table.main(str(tmp_path / "coverage.json"))
    return end.value.code


def test_the_table_adds_up_each_package_and_all(coverage_table, tmp_path):
    finish(coverage_table, tmp_path)
    assert coverage_table.PAGE.read_text() == (
        "Before.\n\n<!-- generated: coverage -->\n"
        "| package | lines | branches | both |\n|---|---|---|---|\n"
        "| `cli` | 50.0 % | 0.0 % | 44.4 % |\n"
        "| `store` | 95.0 % | 75.0 % | 91.7 % |\n"
        "| modules of `bemps` itself | 100.0 % | 100.0 % | 100.0 % |\n"
        "| **all** | 82.8 % | 60.0 % | 79.4 % |\n"
        "<!-- end of generated: coverage -->\n\nAfter.\n"
    )


@pytest.mark.parametrize("total", ["lines", "branches", "both"])
def test_it_fails_where_any_total_is_below_its_bound(coverage_table, tmp_path, monkeypatch, total):
    monkeypatch.setattr(coverage_table, "LEAST", {"lines": 82, "branches": 60, "both": 79})
    assert finish(coverage_table, tmp_path) == 0
    monkeypatch.setitem(coverage_table.LEAST, total, 83)
    assert re.fullmatch(rf"{total}: [\d.]+ %, at least 83 % expected", finish(coverage_table, tmp_path))


def test_the_page_has_every_package_and_keeps_the_bounds(coverage_table):
    text = (ROOT / "docs" / "release.md").read_text(encoding="utf-8")
    block = re.search(r"<!-- generated: coverage -->\n(.*?)<!-- end of generated", text, flags=re.DOTALL)[1]
    packages = {path.parent.name for path in (ROOT / "src" / "bemps").glob("*/__init__.py")}
    assert packages <= set(re.findall(r"^\| `(\w+)` \|", block, flags=re.MULTILINE))
    lines, branches = re.search(r"^\| \*\*all\*\* \| ([\d.]+) % \| ([\d.]+) % \|", block, flags=re.MULTILINE).groups()
    assert coverage_table.failures({"lines": float(lines), "branches": float(branches), "both": 100}) == []


def test_make_coverage_writes_the_table():
    (steps,) = re.findall(r"^coverage:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text("utf-8"), flags=re.MULTILINE)
    assert "coverage json --quiet -o build/coverage.json\n" in steps
    assert steps.endswith("docs/coverage_table.py build/coverage.json\n")
