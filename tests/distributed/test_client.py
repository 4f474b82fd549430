"""ray://host:port: the driver is no part of the cluster."""

import contextlib
import socket
import subprocess
import sys
import time

import pytest
from pools import NODE
from test_cluster import GRID, SAME

from bemps.experiments import config_of, run

CLIENT = """
import sys
from pathlib import Path
import bemps
from bemps.distributed import Cluster, RayCells, select
from bemps.experiments import config_of, run
from pools import pool, write
from test_cluster import GRID
folder, on = Path(sys.argv[1]), sys.argv[2]
found = select(write(folder / "pool", pool()), None, 9, on=on, work=folder / "work")
assert found.indices.tolist() == bemps.select(pool(), 9).indices.tolist()
assert run(config_of(GRID), folder / "run", executor=RayCells(Cluster.parse(on))).failures == ()
"""


def answers(port, seconds=60):
    over = time.monotonic() + seconds
    while time.monotonic() < over:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
        time.sleep(0.2)
    return False


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # Ray leaves a log file of its own open
def test_through_the_client(tmp_path):
    pytest.importorskip("grpc", reason="ray:// needs ray[client]")
    from ray.cluster_utils import Cluster

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    head = {"num_cpus": 2, "include_dashboard": False, "ray_client_server_port": port, **NODE}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        assert answers(port)
        arguments = [str(tmp_path), f"ray://127.0.0.1:{port}"]
        subprocess.run([sys.executable, "-c", CLIENT, *arguments], check=True, timeout=300)
    finally:
        cluster.shutdown()
    run(config_of(GRID), tmp_path / "alone")
    for name in SAME:
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "alone" / name).read_bytes()
