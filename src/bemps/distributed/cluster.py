"""The Ray cluster that work runs on: a new one on this machine, or a running one. Only this module starts Ray."""

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import parse_qsl

from bemps._utils.child_processes import safe_path
from bemps._utils.extras import requires_extra
from bemps.errors import InputError, unknown_name

OBJECT_STORE = 500 * 2**20  # bytes of a local Ray: what travels is small, and more spills to the disk
# Read when Ray is imported. 0: it listens on 127.0.0.1; else, given that address, it takes a public one instead.
LOOPBACK = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
CONNECT_SECONDS = 10.0
RESOURCE_TYPES = {"cpus": float, "gpus": float, "memory": int}


@dataclass(frozen=True)
class Resources:
    """The resources of one task.

    Attributes
    ----------
    cpus : float
        Cores.
    gpus : float
        GPUs. Tasks with a fraction share one.
    memory : int, optional
        Bytes. By default Ray does not count memory.
    """

    cpus: float = 1.0
    gpus: float = 0.0
    memory: int | None = None

    @property
    def options(self) -> dict[str, Any]:
        """The options of `ray.remote`. `max_calls` 0: a process that holds a GPU is used again, with its model."""
        known = {"num_cpus": self.cpus, "num_gpus": self.gpus, "max_calls": 0}
        return known if self.memory is None else known | {"memory": self.memory}


@dataclass(frozen=True)
class Cluster:
    """The cluster on which tasks run, and the resources of a task: the parsed value of `--on`.

    Attributes
    ----------
    address : str or None
        The address of a running cluster. None: a new Ray on this machine.
    resources : Resources
        The resources of one task.
    """

    address: str | None
    resources: Resources

    @classmethod
    def parse(cls, on: str) -> "Cluster":
        """Parse the value of `--on`.

        Parameters
        ----------
        on : str
            `ray`, `ray://host:port`, `host:port` or `auto`, optionally followed by
            `?cpus=2&gpus=0.5&memory=1000000000`.

        Returns
        -------
        Cluster
            The address and the resources of a task.

        Raises
        ------
        InputError
            The address or a resource is not one of these.
        """
        where, _, query = on.partition("?")
        resources: dict[str, Any] = {}
        for name, value in parse_qsl(query, keep_blank_values=True):
            if name not in RESOURCE_TYPES:
                raise unknown_name("--on", name, RESOURCE_TYPES)
            resources[name] = _number(name, value)
        if where not in {"ray", "auto"} and ":" not in where:
            raise InputError(
                "--on",
                expected="ray, auto, ray://host:port or host:port",
                got=repr(on),
                fix="For example: --on ray, or --on 'ray?gpus=0.5' for half a GPU each.",
            )
        return cls(None if where == "ray" else where, Resources(**resources))

    of = parse  # the name in release 0.1


def _number(name: str, text: str) -> float | int:
    try:
        value = RESOURCE_TYPES[name](text)
    except ValueError:
        value = -1
    if value < 0:
        raise InputError(f"--on: {name}", expected="a number, 0 or more", got=repr(text), fix="For example: gpus=0.5")
    return value


def import_ray(cluster: Cluster | None = None) -> ModuleType:
    """Import Ray, with usage reports off unless the user turned them on."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")  # of tasks given up after the first that failed
    if cluster is not None and cluster.address is None:
        os.environ.setdefault(LOOPBACK, "0")
    with requires_extra("ray", "running on Ray"):
        import ray
    return ray


@contextmanager
def connected(cluster: Cluster, *, cpus: int | None = None) -> Iterator[ModuleType]:
    """Yield an initialised Ray: the one that this process is connected to, or one that ends with the block.

    A Ray started here has token authentication (its default) and no dashboard, and listens on loopback only.
    """
    ray = import_ray(cluster)
    if ray.is_initialized():
        _refuse_other(ray, cluster)
        yield ray
        return
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    own = {"num_cpus": cpus, "include_dashboard": False, "object_store_memory": OBJECT_STORE}
    try:
        with safe_path():
            if cluster.address is None:
                ray.init("local", _node_ip_address="127.0.0.1", **own, **quiet, **_same_modules())
            else:
                _check_listening(cluster.address)
                ray.init(cluster.address, **quiet, **_same_modules())
    except (ImportError, OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        raise _unreachable(cluster, error) from error
    try:
        yield ray
    finally:
        ray.shutdown()


def _same_modules() -> dict[str, Any]:
    """Workers look for modules in the current folder only where this process does: Ray itself always adds it."""
    from ray.job_config import JobConfig

    if Path.cwd() in {Path(folder).resolve() for folder in sys.path}:
        return {}
    return {"job_config": JobConfig(_client_job=True)}  # as Ray's own client does, which leaves the folder out


def _refuse_other(ray: ModuleType, cluster: Cluster) -> None:
    """Refuse an address of another cluster: a process is connected to one cluster at a time."""
    if cluster.address is None or "://" in cluster.address or ":" not in cluster.address:
        return
    connected_to, (host, _, port) = ray.get_runtime_context().gcs_address, cluster.address.rpartition(":")
    if connected_to not in (cluster.address, f"{socket.gethostbyname(host)}:{port}"):
        fix = "Call ray.shutdown() first, or leave the address out."
        raise InputError(
            "--on", expected=f"to be connected to {cluster.address}", got=f"connected to {connected_to}", fix=fix
        )


def _check_listening(address: str) -> None:
    """Fail at once if nothing listens at the address: Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), timeout=CONNECT_SECONDS).close()


def _unreachable(cluster: Cluster, error: Exception) -> InputError:
    reason = " ".join(str(error).split())
    if isinstance(error, ImportError) or "grpc" in reason:
        fix = "ray:// goes through Ray's client: pip install 'ray[client]', or give host:port of the head node."
    else:
        fix = "Is it running, of the same Ray release, and is its token in RAY_AUTH_TOKEN or ~/.ray/auth_token?"
    where = cluster.address or "a Ray on this machine"
    return InputError("--on", expected=f"{where} that answers", got=reason[:300], fix=fix)
