"""Where torch computes: the device, and how many threads it may use for small work."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from bemps.errors import InputError
from bemps.limits import library_threads


def pick_device(device: str | torch.device | None) -> torch.device:
    """The device asked for, else CUDA where there is one, else the processor."""
    chosen = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    if chosen.type == "cuda" and (chosen.index or 0) >= torch.cuda.device_count():
        raise InputError("device", expected="one that this torch can use", got=str(chosen), fix='Use device="cpu".')
    return chosen


@contextmanager
def torch_threads(threads: int) -> Iterator[None]:
    """Hold torch, and the libraries under NumPy, at `threads`.

    A step of a head is too small for a pool of threads that others compete with: it would mostly wait.
    """
    before = torch.get_num_threads()
    with library_threads(threads):
        torch.set_num_threads(threads)
        try:
            yield
        finally:
            torch.set_num_threads(before)
