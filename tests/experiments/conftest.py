"""Long tests are marked `soak` and run only when asked for: pytest -m soak tests/experiments"""

import pytest


def pytest_configure(config):
    config.addinivalue_line("markers", "soak: takes minutes; run with -m soak")


def pytest_collection_modifyitems(config, items):
    if "soak" in config.getoption("-m"):
        return
    soaking = [item for item in items if item.get_closest_marker("soak")]
    if soaking:
        config.hook.pytest_deselected(items=soaking)
        items[:] = [item for item in items if item not in soaking]


@pytest.fixture(autouse=True)
def _no_hub(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
