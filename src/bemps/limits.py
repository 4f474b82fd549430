"""How much memory and how many threads a call may use; small, explicit, and the same for every kernel."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

from bemps.errors import InputError

Block = TypeVar("Block")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Limits:
    """memory: bytes of working space that blocks aim for, beside inputs and results; threads: how many run at once.

    The blocks of expected gains keep to it; batch rules (k-means, BatchBALD, k-centre) copy the rows they work on.
    """

    memory: int = 512 * 2**20
    threads: int = 1


DEFAULT = Limits()
POOLS = ("scipy.linalg", "sklearn.utils._openmp_helpers", "torch")  # modules that load a thread pool of their own
_current: ContextVar[Limits] = ContextVar("bemps_limits", default=DEFAULT)


def current_limits() -> Limits:
    """The limits in force here."""
    return _current.get()


@contextmanager
def limits(*, memory: int | None = None, threads: int | None = None) -> Iterator[Limits]:
    """Change the limits inside a `with` block: `with bemps.limits(threads=2, memory=10**9): ...`.

    `threads=0` means all cores.
    """
    old = _current.get()
    new = Limits(
        memory=old.memory if memory is None else memory,
        threads=old.threads if threads is None else (threads or os.cpu_count() or 1),
    )
    whole = all(isinstance(value, int) and not isinstance(value, bool) for value in (new.memory, new.threads))
    if not whole or new.memory < 2**20 or new.threads < 1:
        raise InputError(
            "limits",
            expected="memory of at least 1 MiB (in bytes) and threads >= 0, whole numbers",
            got=f"memory={memory}, threads={threads}",
            fix="Leave out what should stay as it is.",
        )
    token = _current.set(new)
    try:
        yield new
    finally:
        _current.reset(token)


def library_threads(threads: int) -> AbstractContextManager[object]:
    """Hold the threads of BLAS and OpenMP at `threads`: nested pools fight over the cores."""
    loaded = tuple(name for name in POOLS if name in sys.modules)
    held: AbstractContextManager[object] = _libraries(loaded).limit(limits=threads)
    return held


@cache
def _libraries(loaded: tuple[str, ...]) -> ThreadpoolController:
    """The thread pools there are. Looking for them takes milliseconds, so only when a module has brought its own."""
    return ThreadpoolController()


def map_blocks(work: Callable[[Block], Result], blocks: Sequence[Block]) -> list[Result]:
    """`work` on every block, in order, on as many threads as the limits allow (NumPy releases the lock)."""
    threads = min(current_limits().threads, len(blocks))
    with library_threads(1):
        if threads <= 1:
            return [work(block) for block in blocks]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(work, blocks))


def slices(length: int, step: int) -> list[slice]:
    """`range(length)` in consecutive slices of at most `step`."""
    step = max(1, step)
    return [slice(start, min(start + step, length)) for start in range(0, length, step)]
