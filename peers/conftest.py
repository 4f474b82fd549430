"""What the comparisons share."""

import gc

import pytest


@pytest.fixture(scope="session", autouse=True)
def quick_collections() -> None:
    """batchbald-redux collects garbage in every call, which takes as long as the loaded libraries are large."""
    gc.collect()
    gc.freeze()
