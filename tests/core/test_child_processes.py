"""Python files of the current folder are never run: not by a command, nor by any process that it starts."""

import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import httpx
import pytest
from serving import interrupt

from bemps._utils.child_processes import safe_path

PACKAGES = ("numpy", "torch", "sklearn", "joblib", "scipy", "pyarrow", "sqlalchemy", "pydantic", "fastapi", "psutil")
RUN = ("run", "--dataset", "digits", "--strategies", "random", "--budget", "20", "--batch-size", "10", "--seeds", "2")
COMMAND = 'from bemps_command import main\nif __name__ == "__main__":\n    main()\n'  # as the script `bemps` does it


@pytest.fixture
def trap(tmp_path):
    """A folder of somebody's data, with a file for every module that anybody could look for."""
    folder = tmp_path / "downloaded"
    folder.mkdir()
    for name in [*(name for name in sys.stdlib_module_names if not name.startswith("_")), *PACKAGES]:
        (folder / f"{name}.py").write_text(f"open({str(folder / 'RUN')!r}, 'a').write('{name} ')\n")
    (folder / "t.csv").write_text("body\n" + "\n".join(f"text number {i}" for i in range(40)))
    return folder


@pytest.fixture
def bemps(tmp_path, trap):
    """Starts a command there, as the installed script does."""
    script = tmp_path / "bin" / "command.py"
    script.parent.mkdir()
    script.write_text(COMMAND)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    environment["PATH"] = str(
        script.parent
    )  # a small container has no programs, such as the pgrep that joblib looks for

    def start(*arguments):
        command = [sys.executable, str(script), *arguments]
        return subprocess.Popen(
            command, cwd=trap, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    return start


def executed(folder):
    return (folder / "RUN").read_text() if (folder / "RUN").exists() else ""


def test_the_trap_works(trap):
    (trap / "command.py").write_text("import colorsys")  # not -c, which imports modules of its own from Python 3.13 on
    subprocess.run([sys.executable, "command.py"], cwd=trap, check=True)
    assert executed(trap) == "colorsys "


@pytest.mark.parametrize(
    "options", [("--jobs", "2"), pytest.param(("--on", "ray", "--jobs", "2"), marks=pytest.mark.soak)]
)
def test_a_run_in_several_processes(bemps, trap, options):
    process = bemps(*RUN, "--out", "out", *options)
    told, _ = process.communicate(timeout=300)
    assert process.returncode == 0, told
    assert not executed(trap)


def test_labelling_with_a_model(bemps, trap):
    process = bemps("label", "t.csv", "--text", "body", "--classes", "a,b", "--model", "tfidf", "--no-browser")
    try:
        url = next(found[1] for line in process.stdout if (found := re.search(r"Label at (\S+)", line)))
        deadline = time.monotonic() + 120
        while (model := httpx.get(f"{url}api/state", trust_env=False).json()["model"])["state"] != "ready":
            assert time.monotonic() < deadline, model
            time.sleep(0.2)
        assert not executed(trap)
    finally:
        interrupt(process)
        process.communicate(timeout=60)


def test_the_installed_script_is_the_light_module():
    scripts = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts == {"bemps": "bemps_command:main"}


EARLY = [0.15, 0.3, 0.6, 1.0]  # seconds; a short command may be at its end after them


@pytest.mark.parametrize(
    ("arguments", "seconds"),
    [
        *(((*RUN, "--out", "out"), seconds) for seconds in EARLY),
        *((("label", "t.csv", "--no-browser"), seconds) for seconds in EARLY[:2]),
        *((("weights",), seconds) for seconds in EARLY[:2]),
    ],
)
def test_ctrl_c_in_the_first_second_ends_in_one_line(bemps, arguments, seconds):
    process = bemps(*arguments)
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    if process.returncode != 0 or "Stopped" in output:  # a short command may be through
        assert process.returncode == 130, output
        assert "Traceback" not in output
        assert sum(line.startswith("Stopped") for line in output.splitlines()) == 1, output


def test_ctrl_c_while_options_are_read_ends_in_one_line(bemps, tmp_path):
    interrupt = (
        "import os, signal\n"
        "def read(self, *args):\n    os.kill(os.getpid(), signal.SIGINT)\n    return before(self, *args)\n"
    )
    patch = "from typer.core import TyperGroup\nbefore, TyperGroup.make_context = TyperGroup.make_context, read\n"
    (tmp_path / "bin" / "command.py").write_text(interrupt + patch + COMMAND)
    process = bemps("weights")
    output, _ = process.communicate(timeout=60)
    assert (process.returncode, output) == (130, "Stopped.\n")


def test_ctrl_c_that_the_caller_ignores_is_ignored(bemps):
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = bemps("weights")
    finally:
        signal.signal(signal.SIGINT, handler)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output


def test_the_environment_is_left_as_it_was(monkeypatch):
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    with safe_path():
        assert os.environ["PYTHONSAFEPATH"] == "1"
    assert "PYTHONSAFEPATH" not in os.environ
    monkeypatch.setenv("PYTHONSAFEPATH", "yes")
    with safe_path():
        pass
    assert os.environ["PYTHONSAFEPATH"] == "yes"
