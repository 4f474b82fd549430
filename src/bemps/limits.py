"""Limits of the memory and the threads that a call may use, the same for every kernel."""

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
    """How much memory and how many threads computations may use.

    Attributes
    ----------
    memory : int
        Bytes of working space that blocks aim for, besides inputs and results.
    threads : int
        Blocks that are computed at once.

    Notes
    -----
    Expected gains keep to the limit of memory. Batch rules (k-means, BatchBALD, k-centre) copy the rows they work on.
    """

    memory: int = 512 * 2**20
    threads: int = 1


DEFAULT = Limits()
THREAD_POOL_MODULES = (
    "scipy.linalg",
    "sklearn.utils._openmp_helpers",
    "torch",
)  # modules that load a thread pool of their own
_current: ContextVar[Limits] = ContextVar("bemps_limits", default=DEFAULT)


def current_limits() -> Limits:
    """The limits of the calling thread or task."""
    return _current.get()


@contextmanager
def limits(*, memory: int | None = None, threads: int | None = None) -> Iterator[Limits]:
    """Change the limits inside a `with` block: `with bemps.limits(threads=2, memory=10**9): ...`.

    Parameters
    ----------
    memory : int, optional
        Bytes of working space, at least 1 MiB. The default is the present limit.
    threads : int, optional
        Number of threads; 0: all cores. The default is the present limit.

    Yields
    ------
    Limits
        The limits inside the block.

    Raises
    ------
    InputError
        A limit is not an integer, or too small.
    """
    old = _current.get()
    new = Limits(
        memory=old.memory if memory is None else memory,
        threads=old.threads if threads is None else (threads or os.cpu_count() or 1),
    )
    are_integers = all(isinstance(value, int) and not isinstance(value, bool) for value in (new.memory, new.threads))
    if not are_integers or new.memory < 2**20 or new.threads < 1:
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
    """Limit the threads of BLAS and OpenMP: nested thread pools compete for the cores."""
    loaded = tuple(name for name in THREAD_POOL_MODULES if name in sys.modules)
    limited: AbstractContextManager[object] = _libraries(loaded).limit(limits=threads)
    return limited


@cache
def _libraries(loaded: tuple[str, ...]) -> ThreadpoolController:
    """The thread pools of loaded libraries. The search takes milliseconds, so it runs once for each set of modules."""
    return ThreadpoolController()


def map_blocks(work: Callable[[Block], Result], blocks: Sequence[Block]) -> list[Result]:
    """Apply `work` to every block, on as many threads as the limits allow. Results are in the order of the blocks."""
    threads = min(current_limits().threads, len(blocks))
    with library_threads(1):
        if threads <= 1:
            return [work(block) for block in blocks]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(work, blocks))


def slices(length: int, step: int) -> list[slice]:
    """Split `range(length)` into consecutive slices of at most `step`."""
    step = max(1, step)
    return [slice(start, min(start + step, length)) for start in range(0, length, step)]
