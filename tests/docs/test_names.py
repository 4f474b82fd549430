"""Paths and names of the code that the docs mention exist."""

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]
PAGES = sorted(page for page in PAGES if page.name != "CHANGELOG.md")  # which also says what was
PLACES = [ROOT, ROOT / "src", ROOT / "src" / "bemps", ROOT / "src" / "bemps" / "server"]


def prose(page: Path) -> str:
    """A page without its blocks of code."""
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_paths_of_the_repository_exist(page):
    paths = re.findall(
        r"(?<![\w/.:~-])((?:[\w.-]+/)+[\w-]+\.(?:py|js|html|css|toml|md))\b", prose(page).replace("](", "]( ")
    )
    missing = [path for path in paths if not any((place / path).exists() for place in [*PLACES, page.parent])]
    known = {"runs/digits/report.html", "FOLDER/report.html", "studies/QUESTION/NAME.toml"}
    assert set(missing) <= known


def resolves(name: str) -> bool:
    """Whether a dotted name is a module, or something in one."""
    parts = name.split(".")
    for size in range(len(parts), 0, -1):
        try:
            value = import_module(".".join(parts[:size]))
        except ModuleNotFoundError as error:
            if not (error.name or "").startswith("bemps"):
                raise
            continue
        for part in parts[size:]:
            if not hasattr(value, part):
                return False
            value = getattr(value, part)
        return True
    return False


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_dotted_names_exist(page):
    text = prose(page) if page.stem == "CONTRIBUTING" else page.read_text(encoding="utf-8")  # its code adds modules
    names = set(re.findall(r"(?<![\w./])(bemps(?:\.[A-Za-z_]\w*)+)(?![\w/])", text))
    names -= {name for name in names if name.endswith((".vectors", ".lock", ".html", ".md"))}
    assert not [name for name in sorted(names) if not resolves(name)]
