"""Several Ray nodes on this machine: one is killed in the middle, and the answer is the same."""

import threading
import time

import numpy as np
import pytest
from pools import Looked, notes, pool, write_numbers

import bemps
from bemps.distributed import Cluster, RayCells, select
from bemps.errors import InputError
from bemps.experiments import config_of, run

GRID = {"dataset": "digits", "strategies": ["coremse", "random"], "seeds": 2, "budget": 40, "batch_size": 5}
GRID |= {"axes": {"members": 3}, "full": False}
SAME = ("results.parquet", "acquired.parquet", "config.json")


def kill_when(cluster, ready):
    """Kill one of two nodes, without warning, once `ready()`; returns the thread that does."""

    def kill():
        over = time.monotonic() + 120
        while not ready() and time.monotonic() < over:
            time.sleep(0.05)
        cluster.remove_node(cluster.nodes.pop(), allow_graceful=False)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


def workers(log):
    return {line.split()[0] for line in notes(log)}


@pytest.mark.soak  # about half a minute
def test_a_node_that_is_lost_in_a_selection_changes_nothing(cluster, tmp_path):
    probs, log = pool(), tmp_path / "log"
    source = write_numbers(tmp_path / "pool", 600, 24)

    def both_are_at_it():
        return len(workers(log)) >= 2 and len(notes(log)) >= 6

    killing = kill_when(cluster, both_are_at_it)
    model = Looked(probs, log, seconds=0.4)
    found = select(source, model, 9, items="item", on=cluster.address, work=tmp_path / "work")
    killing.join()
    expected = bemps.select(probs, 9)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-12)
    assert len(cluster.nodes) == 1
    assert len(workers(log)) >= 2
    assert 24 <= len(notes(log)) <= 24 + 4


@pytest.mark.soak
@pytest.mark.parametrize("in_place", [True, False])
def test_a_node_that_is_lost_in_a_grid_changes_nothing(cluster, tmp_path, in_place):
    run(config_of(GRID), tmp_path / "alone")
    journals = tmp_path / "run" / "journals"

    def rounds():
        return sum(max(0, path.read_bytes().count(b"\n") - 1) for path in journals.glob("*.jsonl"))

    killing = kill_when(cluster, lambda: rounds() >= 3)
    outcome = run(
        config_of(GRID), tmp_path / "run", executor=RayCells(Cluster.parse(cluster.address), in_place=in_place)
    )
    killing.join()
    assert outcome.failures == ()
    assert outcome.rounds == outcome.planned == 4 * 9
    assert len(cluster.nodes) == 1
    for name in SAME:
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "alone" / name).read_bytes()


def test_another_cluster_than_the_one_connected_to_is_refused(cluster, tmp_path):
    with pytest.raises(InputError, match="connected to"):
        select(tmp_path, None, 1, on="127.0.0.1:1", work=tmp_path)
