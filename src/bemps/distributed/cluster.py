"""Where work runs: a Ray of its own on this machine, or a cluster that is there. Only this module starts Ray."""

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

from bemps._processes import safe_path
from bemps.errors import InputError, MissingExtra, unknown_name

OBJECT_STORE = 500 * 2**20  # bytes of a local Ray: what travels is small, and more spills to the disk
# Read when Ray is imported. 0: it listens on 127.0.0.1; else, given that address, it takes a public one instead.
LOOPBACK = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
KNOCK_SECONDS = 10.0
NEEDS = {"cpus": float, "gpus": float, "memory": int}


@dataclass(frozen=True)
class Needs:
    """What one task occupies: cores and GPUs (fractions share one), and bytes of memory where Ray should count them."""

    cpus: float = 1.0
    gpus: float = 0.0
    memory: int | None = None

    @property
    def options(self) -> dict[str, Any]:
        """As Ray calls them. `max_calls` 0: a process that holds a GPU is used again, with its model loaded."""
        known = {"num_cpus": self.cpus, "num_gpus": self.gpus, "max_calls": 0}
        return known if self.memory is None else known | {"memory": self.memory}


@dataclass(frozen=True)
class Place:
    """`--on` taken apart: no address means a Ray of its own."""

    address: str | None
    needs: Needs

    @classmethod
    def of(cls, on: str) -> "Place":
        """`ray`, `ray://host:port`, `host:port` or `auto`; then, if need be, `?cpus=2&gpus=0.5&memory=1000000000`."""
        where, _, query = on.partition("?")
        needs: dict[str, Any] = {}
        for name, value in parse_qsl(query, keep_blank_values=True):
            if name not in NEEDS:
                raise unknown_name("--on", name, NEEDS)
            needs[name] = _number(name, value)
        if where not in {"ray", "auto"} and ":" not in where:
            raise InputError(
                "--on",
                expected="ray, auto, ray://host:port or host:port",
                got=repr(on),
                fix="For example: --on ray, or --on 'ray?gpus=0.5' for half a GPU each.",
            )
        return cls(None if where == "ray" else where, Needs(**needs))


def _number(name: str, text: str) -> float | int:
    try:
        value = NEEDS[name](text)
    except ValueError:
        value = -1
    if value < 0:
        raise InputError(f"--on: {name}", expected="a number, 0 or more", got=repr(text), fix="For example: gpus=0.5")
    return value


def needed_ray(place: Place | None = None) -> ModuleType:
    """Ray itself, with usage reports off unless somebody turned them on."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")  # of tasks given up after the first that failed
    if place is not None and place.address is None:
        os.environ.setdefault(LOOPBACK, "0")
    try:
        import ray
    except ImportError as cause:
        raise MissingExtra("running on Ray", "ray", cause) from cause
    return ray


@contextmanager
def connected(place: Place, *, cpus: int | None = None) -> Iterator[ModuleType]:
    """Ray, ready: the one that this process is connected to, else one that ends with the block.

    A Ray of its own has token authentication on (its default), no dashboard, and listens on loopback alone.
    """
    ray = needed_ray(place)
    if ray.is_initialized():
        _refuse_other(ray, place)
        yield ray
        return
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    own = {"num_cpus": cpus, "include_dashboard": False, "object_store_memory": OBJECT_STORE}
    try:
        with safe_path():
            if place.address is None:
                ray.init("local", _node_ip_address="127.0.0.1", **own, **quiet, **_same_modules())
            else:
                _knock(place.address)
                ray.init(place.address, **quiet, **_same_modules())
    except (ImportError, OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        raise _unreachable(place, error) from error
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


def _refuse_other(ray: ModuleType, place: Place) -> None:
    """A process is part of one cluster at a time: work meant for another must not run on this one."""
    if place.address is None or "://" in place.address or ":" not in place.address:
        return
    here, (host, _, port) = ray.get_runtime_context().gcs_address, place.address.rpartition(":")
    if here not in (place.address, f"{socket.gethostbyname(host)}:{port}"):
        fix = "Call ray.shutdown() first, or leave the address out."
        raise InputError("--on", expected=f"to be connected to {place.address}", got=f"connected to {here}", fix=fix)


def _knock(address: str) -> None:
    """Fail at once where nobody listens: Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), timeout=KNOCK_SECONDS).close()


def _unreachable(place: Place, error: Exception) -> InputError:
    said = " ".join(str(error).split())
    if isinstance(error, ImportError) or "grpc" in said:
        fix = "ray:// goes through Ray's client: pip install 'ray[client]', or give host:port of the head node."
    else:
        fix = "Is it running, of the same Ray release, and is its token in RAY_AUTH_TOKEN or ~/.ray/auth_token?"
    where = place.address or "a Ray on this machine"
    return InputError("--on", expected=f"{where} that answers", got=said[:300], fix=fix)
