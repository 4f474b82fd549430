"""What people look for in the first minute: version, citation, changelog, workflows."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import bemps

ROOT = Path(__file__).parents[2]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def jobs(workflow: str) -> dict[str, Any]:
    return yaml.safe_load(read(f".github/workflows/{workflow}.yml"))["jobs"]


def runs(job: dict[str, Any]) -> str:
    """The commands of a job."""
    return "\n".join(step.get("run", "") for step in job["steps"])


def test_one_version_everywhere():
    project = tomllib.loads(read("pyproject.toml"))["project"]
    citation = yaml.safe_load(read("CITATION.cff"))
    assert project["version"] == citation["version"] == bemps.__version__


def test_the_changelog_and_the_citation_have_the_version_and_one_date():
    citation = yaml.safe_load(read("CITATION.cff"))
    text = read("CHANGELOG.md")
    _, newest, *_ = re.findall(r"^## (.*)$", text, flags=re.MULTILINE)  # after Unreleased
    assert newest == f"[{bemps.__version__}] - {citation['date-released']}"


def test_a_section_of_the_changelog_has_each_heading_once():
    for section in read("CHANGELOG.md").split("\n## ")[1:]:
        headings = re.findall(r"^### (.*)$", section, flags=re.MULTILINE)
        assert len(headings) == len(set(headings))
        assert set(headings) <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


@pytest.mark.parametrize(("workflow", "job"), [("tests", "tests"), ("wheel", "install")])
def test_the_classifiers_are_the_pythons_and_systems_of_a_workflow(workflow, job):
    classifiers = tomllib.loads(read("pyproject.toml"))["project"]["classifiers"]
    matrix = jobs(workflow)[job]["strategy"]["matrix"]
    assert [line.split(" :: ")[-1] for line in classifiers if " :: Python :: 3." in line] == matrix["python"]
    systems = {"Linux": "ubuntu-latest", "MacOS": "macos-latest", "Windows": "windows-latest"}
    named = {systems[line.split(" :: ")[-1]] for line in classifiers if line.startswith("Operating System")}
    assert named == set(matrix["os"])


def test_the_citation_is_of_the_paper():
    paper = yaml.safe_load(read("CITATION.cff"))["preferred-citation"]
    assert [author["family-names"] for author in paper["authors"]] == ["Tan", "Du", "Buntine"]
    assert paper["title"] in read("README.md")


def test_the_paper_is_the_same_everywhere():
    paper = yaml.safe_load(read("CITATION.cff"))["preferred-citation"]
    (number,) = [entry["value"].removeprefix("arXiv:") for entry in paper["identifiers"]]
    urls = tomllib.loads(read("pyproject.toml"))["project"]["urls"]
    assert urls["Paper"] == f"https://arxiv.org/abs/{number}"
    (entry,) = re.findall(r"```bibtex\n(.*?)```", (ROOT / "docs" / "maths.md").read_text(encoding="utf-8"), flags=re.S)
    assert paper["title"] in entry
    assert f"arXiv:{number}" in entry


def test_the_changelog_begins_with_what_is_not_released():
    text = read("CHANGELOG.md")
    assert re.findall(r"^## (.*)$", text, flags=re.MULTILINE)[0] == "[Unreleased]"


@pytest.mark.parametrize("path", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda path: path.stem)
def test_the_files_of_github_are_valid_and_run_targets_that_exist(path):
    text = path.read_text(encoding="utf-8")
    assert yaml.safe_load(text)
    targets = set(re.findall(r"^([a-z]+):", read("Makefile"), flags=re.MULTILINE))
    assert set(re.findall(r"run: make (\w+)", text)) <= targets


def test_every_target_of_the_makefile_is_in_its_help_and_phony():
    text = read("Makefile")
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


def test_the_workflows_do_what_their_names_say():
    assert {path.stem for path in (ROOT / ".github/workflows").iterdir()} == {"tests", "wheel", "docs", "coverage"}
    assert "make lint types" in runs(jobs("tests")["check"])
    assert "python -m pytest -q -n 2\n" in runs(jobs("tests")["tests"]) + "\n"
    assert "make dist" in runs(jobs("wheel")["build"])
    assert "make docs" in runs(jobs("docs")["site"])
    assert "docs/run_notebooks.py" in runs(jobs("docs")["site"])
    assert "make coverage" in runs(jobs("coverage")["coverage"])


def test_every_system_runs_the_same_tests_and_one_of_them_everything():
    steps = jobs("tests")["tests"]["steps"]
    assert [step for step in steps if "pytest" in step.get("run", "")] == [{"run": "python -m pytest -q -n 2"}]
    (whole,) = [step for step in steps if "BEMPS_REQUIRE_ALL=1" in step.get("run", "")]
    assert whole["if"] == "matrix.python == '3.11' && matrix.os == 'ubuntu-latest'"
    (weights,) = re.findall(
        r"^\$\(VENV\)/\.weights:.*\n\t\$\(BIN\)/(bemps weights .*)$", read("Makefile"), flags=re.MULTILINE
    )
    assert f"HF_HUB_OFFLINE=0 {weights}\n" in whole["run"]


def test_what_is_built_is_installed_by_its_path_and_never_by_its_name():
    install = jobs("wheel")["install"]
    assert install["strategy"]["matrix"]["package"] == ["whl", "tar.gz"]
    assert 'pip install "$(echo dist/*.${{ matrix.package }})[' in runs(install)
    (dist,) = re.findall(r"^dist:.*\n((?:\t.*\n)+)", read("Makefile"), flags=re.MULTILINE)
    assert "for package in dist/*.whl dist/*.tar.gz" in dist
    assert "--find-links" not in dist + runs(install)


def test_what_a_contributor_fills_in_asks_for_what_is_needed():
    template = read(".github/PULL_REQUEST_TEMPLATE.md")
    for name in ("test", "make check", "CHANGELOG.md", "docs"):
        assert re.search(rf"^- \[ \] .*{name}", template, flags=re.MULTILINE), name
    folder = ROOT / ".github" / "ISSUE_TEMPLATE"
    assert {path.name for path in folder.iterdir()} == {"bug.yml", "wish.yml", "config.yml"}
    for name, needed in (("bug", {"did", "happened", "version"}), ("wish", {"task"})):
        form = yaml.safe_load((folder / f"{name}.yml").read_text(encoding="utf-8"))
        assert form["name"]
        assert form["description"]
        assert {part["id"] for part in form["body"] if part.get("validations", {}).get("required")} == needed


def test_the_hooks_of_commits_run_on_every_system():
    (repository,) = yaml.safe_load(read(".pre-commit-config.yaml"))["repos"]
    hooks = {hook["id"]: hook["entry"].split() for hook in repository["hooks"]}
    assert hooks.keys() == {"format", "lint", "types", "tables"}
    for python, *command in hooks.values():
        assert python == "python"  # of the activated environment: its path differs on Windows
        assert (ROOT / command[0]).is_file() or command[0] == "-m"
    tools = [command[2:] for command in hooks.values() if command[1] == "-m"]
    for tool, *_ in tools:
        subprocess.run([sys.executable, "-m", tool, "--version"], check=True, capture_output=True)


def test_the_site_has_its_four_sections():
    nav = read("mkdocs.yml").partition("\nnav:\n")[2]
    assert re.findall(r"^  - ([\w-]+):$", nav, flags=re.MULTILINE) == [
        "Start",
        "How-to",
        "Reference",
        "Explanation",
        "Project",
    ]


def test_a_release_makes_the_way_to_the_maintainers_work():
    """No file names an address before there is one; then GitHub's private reports are it."""
    steps = re.findall(r"^(\d+)\. (.*(?:\n   .*)*)", read("docs/release.md"), flags=re.MULTILINE)
    assert [int(number) for number, _ in steps] == list(range(1, len(steps) + 1))
    (step,) = [text for _, text in steps if "Private vulnerability reporting" in text]
    for name in ("SECURITY.md", "CODE_OF_CONDUCT.md"):
        assert name in step
        assert "private vulnerability reporting" in " ".join(read(name).split())
