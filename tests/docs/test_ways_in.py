"""Ways in without an environment of one's own: uvx and pipx run the built wheel as the installation page says."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from real_postgres import required
from serving import eventually

import bemps

ROOT = Path(__file__).parents[2]
SOURCES = ("src", "pyproject.toml", "README.md", "LICENSE")
WAYS = [
    line.partition("  #")[0].strip()
    for line in (ROOT / "docs" / "howto" / "install.md").read_text(encoding="utf-8").splitlines()
    if line.startswith(("uvx ", "pipx "))
]


def test_the_page_names_the_wheel_of_this_version():
    wheels = {wheel for way in WAYS for wheel in re.findall(r"[\w.-]+\.whl", way)}
    assert wheels == {f"bemps-{bemps.__version__}-py3-none-any.whl"}
    assert {way.split()[0] for way in WAYS if ".whl" in way} == {"uvx", "pipx"}


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the repository, with the wheel in `dist`."""
    folder = tmp_path_factory.mktemp("copy")
    for name in SOURCES:
        copying = shutil.copytree if (ROOT / name).is_dir() else shutil.copyfile
        copying(ROOT / name, folder / name)
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", "dist", "."]
    subprocess.run(build, cwd=folder, check=True, timeout=300)
    return folder


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Nothing that earlier runs have left is used."""
    folder = tmp_path_factory.mktemp("tools")
    places = {"PIPX_HOME": "pipx", "PIPX_BIN_DIR": "bin", "UV_CACHE_DIR": "cache", "UV_TOOL_DIR": "uv"}
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return own | {name: str(folder / place) for name, place in places.items()}


@pytest.mark.soak  # it needs the package index
@pytest.mark.parametrize("way", WAYS)
def test_the_page_opens_as_the_installation_says(way, copy, environment, tmp_path):
    tool, *arguments = shlex.split(way)
    path = shutil.which(tool) or shutil.which(tool, path=Path(sys.executable).parent)
    if path is None:
        required(f"{tool} is not installed (pip install pipx uv): the wheel is not run by it")
    command = [path, *arguments]
    version = subprocess.run(
        [*command, "--version"], cwd=copy, env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert version.stdout.endswith(f"bemps {bemps.__version__}\n"), version.stderr
    said = tmp_path / "said.txt"
    with said.open("w") as out:
        options = ["--folder", str(tmp_path / "projects"), "--port", "0", "--no-browser"]
        server = subprocess.Popen(
            [*command, *options], cwd=copy, env=environment, stdout=out, stderr=out, start_new_session=True
        )
    try:
        assert eventually(lambda: "Label at " in said.read_text(), 60), said.read_text()
        url = said.read_text().partition("Label at ")[2].split()[0]
        assert "Start with a file" in httpx.get(url, trust_env=False).raise_for_status().text
    finally:
        os.killpg(server.pid, signal.SIGINT)
        server.wait(30)
