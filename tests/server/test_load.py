"""The labelling server is fast enough for a team: fifty people, an answer a second each, while the model retrains."""

import asyncio
from uuid import uuid4

import pytest

from benchmarks.server_load import Load, run, table


@pytest.mark.soak  # about a minute each; other work on the machine shows in it
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_fifty_people_wait_for_nothing(kind, request):
    store = f"{request.getfixturevalue('postgres')}&project=p{uuid4().hex}" if kind == "postgresql" else None
    load = Load(seconds=20, pace=1.0, store=store)
    outcome = asyncio.run(run(load))
    measured, words = outcome.measured, table(load, outcome)
    assert measured.errors == [], words
    assert measured.labels > 0.5 * load.people * load.seconds, words
    assert measured.milliseconds("next", 99) < 50, words
    assert measured.milliseconds("answer", 99) < 250, words
