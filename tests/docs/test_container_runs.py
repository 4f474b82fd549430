"""The image is built and the compose file runs, where an engine of Docker answers: a label outlives its container."""

import csv
import os
import shutil
import subprocess
import uuid
from pathlib import Path

import httpx
import pytest
from serving import CLASSES, Person, eventually, tickets, write_tickets

ROOT = Path(__file__).parents[2]
TOKEN = "correct-horse-battery"
HEADERS = {"authorization": f"Bearer {TOKEN}"}
BYTES = {"content-type": "application/octet-stream"}
pytestmark = pytest.mark.soak  # an image takes minutes


def docker(*arguments, **options):
    """What a command of Docker prints."""
    done = subprocess.run(["docker", *arguments], capture_output=True, text=True, check=False, timeout=1_200, **options)
    assert done.returncode == 0, f"docker {' '.join(arguments)}: {done.stdout}{done.stderr}"
    return done.stdout.strip()


def state(container, field):
    """What Docker knows of a container."""
    return docker("inspect", "--format", f"{{{{.State.{field}}}}}", container)


def need(*arguments):
    """Skip, with the reason, where a command of Docker fails."""
    if shutil.which("docker") is None:
        pytest.skip("Docker is not installed: the image is not built")
    done = subprocess.run(["docker", *arguments], capture_output=True, text=True, check=False, timeout=60)
    if done.returncode:
        pytest.skip(f"docker {arguments[0]}: {(done.stderr or done.stdout).strip().splitlines()[-1]}")


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """What somebody has who downloaded the repository, with a file of their own in it that everybody may read."""
    need("info", "--format", "{{.ServerVersion}}")
    folder = tmp_path_factory.mktemp("copy")
    for name in ("src", "pyproject.toml", "constraints.txt", "README.md", "LICENSE", "Dockerfile", "compose.yaml"):
        copying = shutil.copytree if (ROOT / name).is_dir() else shutil.copyfile
        copying(ROOT / name, folder / name)
    shutil.copyfile(ROOT / ".dockerignore", folder / ".dockerignore")
    write_tickets(folder / "tickets.csv", tickets(40))
    folder.chmod(0o755)
    return folder


def answers(base):
    """Whether a page answers to those who know the token, and to nobody else."""

    def look():
        try:
            return httpx.get(base, headers=HEADERS, trust_env=False).status_code == 200
        except httpx.TransportError:
            return False

    assert eventually(look, 120)
    assert httpx.get(base, trust_env=False).status_code == 401
    return True


def make_project(base):
    """Upload tickets to a page of projects; returns the address of the project."""
    with httpx.Client(base_url=base, headers=HEADERS, timeout=60, trust_env=False) as web:
        upload = web.post("api/uploads", json={}).raise_for_status().json()["upload"]
        content = "\n".join(["body", *(text for text, _ in tickets(40))])
        query = {"upload": upload, "name": "tickets.csv"}
        web.post("api/upload", params=query, content=content, headers=BYTES).raise_for_status()
        choices = {"upload": upload, "reading": ["body"], "classes": list(CLASSES), "title": "tickets"}
        return base + web.post("api/projects", json=choices).raise_for_status().json()["url"]


def label_one(base):
    """Label an item of a project; returns its text."""
    with Person(base, "ann", headers=HEADERS) as ann:
        (item,) = ann.next()
        ann.answer(item["id"], "bug").raise_for_status()
        return item["text"]


def labelled(base):
    """The texts in the file of labels."""
    with Person(base, "ann", headers=HEADERS) as ann:
        lines = ann.http.get("export?format=csv").raise_for_status().text.splitlines()
    return [row["body"] for row in csv.DictReader(lines)]


def test_a_label_is_still_there_when_the_container_is_another(copy):
    name = f"bemps-test-{uuid.uuid4().hex[:8]}"
    docker("build", "--tag", name, ".", cwd=copy)
    environment = os.environ | {"BEMPS_TOKEN": TOKEN}
    run = ("run", "--detach", "--name", name, "--publish", "127.0.0.1::8765", "--volume", f"{name}:/projects")
    project, text = "", ""
    try:
        for start in range(2):
            docker(*run, "--env", "BEMPS_TOKEN", name, env=environment)
            base = f"http://{docker('port', name, '8765/tcp').splitlines()[0]}/"
            assert answers(base)
            if start == 0:
                project = make_project(base).removeprefix(base)
                text = label_one(base + project)
                assert docker("exec", name, "id", "-u") == "1000"
                look = "import pyarrow, onnxruntime; from bemps.models.encoders import find_weights as find"
                assert docker("exec", name, "python", "-c", f"{look}; print(bool(find('bge-small')))") == "True"
                assert eventually(lambda: state(name, "Health.Status") == "healthy", 120)
            assert labelled(base + project) == [text]
            docker("stop", "--time", "30", name)
            assert state(name, "ExitCode") == "0"
            assert "Everything is saved" in docker("logs", name)
            docker("rm", name)
    finally:
        subprocess.run(["docker", "rm", "--force", "--volumes", name], capture_output=True, check=False)
        subprocess.run(["docker", "volume", "rm", "--force", name], capture_output=True, check=False)
        subprocess.run(["docker", "image", "rm", "--force", name], capture_output=True, check=False)


def test_both_services_of_the_compose_file_run(copy):
    need("compose", "version")
    name = f"bemps-test-{uuid.uuid4().hex[:8]}"
    secrets = {"BEMPS_TOKEN": TOKEN, "POSTGRES_PASSWORD": uuid.uuid4().hex}
    files = {"BEMPS_TEXT": "body", "BEMPS_CLASSES": ",".join(CLASSES)}
    options = {"cwd": copy, "env": os.environ | secrets | files}
    compose = ("compose", "--project-name", name, "--profile", "team")
    page, team = "http://127.0.0.1:8765/", "http://127.0.0.1:8766/"
    try:
        docker(*compose, "up", "--detach", "--build", **options)
        assert answers(page)
        assert answers(team)
        project = make_project(page)
        texts = {project: label_one(project), team: label_one(team)}
        docker(*compose, "down", **options)
        docker(*compose, "up", "--detach", **options)
        assert answers(page)
        assert answers(team)
        for base, text in texts.items():
            assert labelled(base) == [text]
    finally:
        docker(*compose, "down", "--volumes", "--rmi", "local", **options)
