"""Ray for tests: token authentication with a token of its own, loopback, no dashboard, two workers, gone afterwards."""

import os
import secrets
from pathlib import Path

import pytest
from pools import NODE, STORE
from processes import children, gone

from bemps.distributed.cluster import LOOPBACK

TESTS = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session", autouse=True)
def _token(tmp_path_factory):
    """A token in a folder of the tests: authentication stays on, and nobody's own token is touched."""
    path = tmp_path_factory.mktemp("ray") / "token"
    path.write_text(secrets.token_hex(32))
    given = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(path), LOOPBACK: "0"}
    given |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_IGNORE_UNHANDLED_ERRORS": "1"}
    # workers import the models of the tests
    paths = [
        str(TESTS / "helpers"),
        str(TESTS / "distributed"),
        str(TESTS / "models"),
        os.environ.get("PYTHONPATH", ""),
    ]
    given["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    yield
    for name, value in before.items():
        if value is None:
            del os.environ[name]
        else:
            os.environ[name] = value


@pytest.fixture(scope="module")
def local_ray():
    """A real Ray with two workers; when it is shut down, nothing of it may be left."""
    ray = pytest.importorskip("ray")
    earlier = children()  # of other tests in this process
    ray.init(
        "local",
        num_cpus=2,
        include_dashboard=False,
        object_store_memory=STORE,
        _node_ip_address="127.0.0.1",
        log_to_driver=False,
        logging_level="ERROR",
    )
    own = {pid: start for pid, start in children().items() if pid not in earlier}
    assert own
    yield ray
    ray.shutdown()
    assert gone(own)


@pytest.fixture(scope="module")
def nodes():
    """A head without workers, and nodes beside it, all on this machine."""
    ray = pytest.importorskip("ray")
    earlier = children()
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **NODE})
    made.nodes = []
    ray.init(made.address, log_to_driver=False, logging_level="ERROR")
    yield made
    own = {pid: start for pid, start in children().items() if pid not in earlier}
    ray.shutdown()
    made.shutdown()
    assert own
    assert gone(own)


@pytest.fixture
def cluster(nodes):
    """Two nodes with a worker each, also after a test that has killed one."""
    while len(nodes.nodes) < 2:
        nodes.nodes.append(nodes.add_node(num_cpus=1, **NODE))
    nodes.wait_for_nodes()
    return nodes
