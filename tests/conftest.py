"""What several rooms' tests share."""

import gc
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from other_systems import left_out

LEFT_OUT = left_out(sys.platform)
collect_ignore = [name for name in LEFT_OUT if "::" not in name]  # whole files


def pytest_configure(config):
    config.addinivalue_line("markers", "soak: takes minutes; run with -m soak")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Modules stay: looking for garbage among them, again and again, takes a fifth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_sessionfinish():
    """Save what was measured: a worker of a long run may be ended before it does so itself."""
    measured = "coverage" in sys.modules and sys.modules["coverage"].Coverage.current()
    if measured and "PYTEST_XDIST_WORKER" in os.environ:
        measured.save()


def pytest_collection_modifyitems(config, items):
    """Long tests run only when asked for, and those of other systems not at all."""
    soaking = "soak" in config.getoption("-m")
    deselected = [
        item for item in items if name_of(item) in LEFT_OUT or (not soaking and item.get_closest_marker("soak"))
    ]
    if deselected:
        config.hook.pytest_deselected(items=deselected)
        items[:] = [item for item in items if item not in deselected]


def name_of(item):
    """A test as `other_systems` names it."""
    return item.nodeid.partition("[")[0].removeprefix("tests/")


@pytest.fixture
def small_disk(tmp_path):
    """Makes a file system of so many kB; skips where none can be mounted, as without root."""
    place = tmp_path / "disk"

    def mounted(kilobytes):
        place.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(place)]
        if sys.platform != "linux" or subprocess.run(mount, capture_output=True, check=False).returncode:
            pytest.skip("a small file system cannot be mounted here")
        return place

    yield mounted
    if os.path.ismount(place):
        subprocess.run(["umount", str(place)], check=True)


@pytest.fixture(scope="session")
def postgres():
    """The address of a real PostgreSQL server; `&project=name` added makes a project of one's own."""
    from real_postgres import server

    with server() as running:
        yield running.url


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real datasets: BEMPS_DATA, else `shared/datasets` beside the checkout."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "datasets"
    folder = Path(os.environ.get("BEMPS_DATA") or beside)
    if not folder.is_dir():
        pytest.skip(f"no datasets: set BEMPS_DATA to their folder ({folder} does not exist)")
    return folder


def playwright_chromium():
    """The Chromium that `playwright install` has put here, if any: there is no other on macOS and Windows."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).is_file() else None


@pytest.fixture(scope="session")
def chromium():
    """The path of a Chromium, or a skip that says why; BEMPS_REQUIRE_ALL=1 makes the skip a failure."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None) or playwright_chromium()
    if found is None:
        words = "chromium is not installed: the page is not tested in a real browser (apt install chromium)"
        (pytest.fail if os.environ.get("BEMPS_REQUIRE_ALL") == "1" else pytest.skip)(words)
    return found
