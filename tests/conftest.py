"""What several rooms' tests share."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real datasets: BEMPS_DATA, else `shared/datasets` beside the checkout."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "datasets"
    folder = Path(os.environ.get("BEMPS_DATA", beside))
    if not folder.is_dir():
        pytest.skip(f"no datasets: set BEMPS_DATA to their folder ({folder} does not exist)")
    return folder
