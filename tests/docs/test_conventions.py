"""What people look for in the first minute: version, citation, changelog, workflows."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

import bemps

ROOT = Path(__file__).parents[2]


def test_one_version_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert project["version"] == citation["version"] == bemps.__version__


def test_the_changelog_and_the_citation_have_the_version_and_one_date():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    _, newest, *_ = re.findall(r"^## (.*)$", text, flags=re.MULTILINE)  # after Unreleased
    assert newest == f"[{bemps.__version__}] - {citation['date-released']}"


def test_a_section_of_the_changelog_has_each_heading_once():
    for section in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## ")[1:]:
        headings = re.findall(r"^### (.*)$", section, flags=re.MULTILINE)
        assert len(headings) == len(set(headings))
        assert set(headings) <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_the_classifiers_are_the_pythons_and_systems_of_the_tests():
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["classifiers"]
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8"))
    matrix = workflow["jobs"]["tests"]["strategy"]["matrix"]
    assert [line.split(" :: ")[-1] for line in classifiers if " :: Python :: 3." in line] == matrix["python"]
    systems = {"Linux": "ubuntu-latest", "MacOS": "macos-latest", "Windows": "windows-latest"}
    named = {systems[line.split(" :: ")[-1]] for line in classifiers if line.startswith("Operating System")}
    assert named == set(matrix["os"])


def test_the_citation_is_of_the_paper():
    paper = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["preferred-citation"]
    assert [author["family-names"] for author in paper["authors"]] == ["Tan", "Du", "Buntine"]
    assert paper["title"] in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_paper_is_the_same_everywhere():
    paper = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["preferred-citation"]
    (number,) = [entry["value"].removeprefix("arXiv:") for entry in paper["identifiers"]]
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    assert urls["Paper"] == f"https://arxiv.org/abs/{number}"
    (entry,) = re.findall(r"```bibtex\n(.*?)```", (ROOT / "docs" / "maths.md").read_text(encoding="utf-8"), flags=re.S)
    assert paper["title"] in entry
    assert f"arXiv:{number}" in entry


def test_the_changelog_begins_with_what_is_not_released():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (.*)$", text, flags=re.MULTILINE)[0] == "[Unreleased]"


@pytest.mark.parametrize("path", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda path: path.stem)
def test_the_files_of_github_are_valid_and_run_targets_that_exist(path):
    text = path.read_text(encoding="utf-8")
    assert yaml.safe_load(text)
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert set(re.findall(r"run: make (\w+)", text)) <= targets


def test_every_target_of_the_makefile_is_in_its_help_and_phony():
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):.*##", text, flags=re.MULTILINE))
    (phony,) = re.findall(r"^\.PHONY: (.*)$", text, flags=re.MULTILINE)
    assert targets == set(phony.split())


def test_no_report_is_tracked_by_git():
    """`make reports` makes them; the pages of the labelling page are templates."""
    if not (ROOT / ".git").exists():
        pytest.skip("no repository, as in a source archive")
    command = ["git", "-C", str(ROOT), "ls-files", "*.html"]
    tracked = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert [path for path in tracked if not path.startswith("src/bemps/server/templates/")] == []
