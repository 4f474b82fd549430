"""Weights of text encoders that a test needs: where everything has to be here, it fails without them."""

import os

import pytest

from bemps.models.encoders import find_weights

LARGE = ("mpnet", "gte-small")  # 570 MB together, which `make test` does not bring


def needs_weights(*names: str) -> None:
    for name in names:
        if find_weights(name) is None:
            assert name in LARGE or not os.environ.get("BEMPS_REQUIRE_ALL"), f"bemps weights {name} was not run"
            pytest.skip(f"the weights of {name} are not here: bemps weights {name}", allow_module_level=True)
