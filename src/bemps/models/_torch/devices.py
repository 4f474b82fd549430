"""Where torch computes: the device, and how many threads it may use for small work."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from bemps.errors import InputError
from bemps.limits import library_threads


def pick_device(device: str | torch.device | None) -> torch.device:
    """The requested device, else CUDA where there is one, else the processor."""
    try:
        torch_device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    except RuntimeError:
        raise _unusable(device) from None
    if torch_device.type == "cuda" and (torch_device.index or 0) >= torch.cuda.device_count():
        raise _unusable(torch_device)
    return torch_device


def _unusable(device: str | torch.device | None) -> InputError:
    fix = 'Use device="cpu", or "cuda:0" with a GPU.'
    return InputError("device", expected="one that this torch can use", got=str(device), fix=fix)


@contextmanager
def torch_threads(threads: int) -> Iterator[None]:
    """Limit torch, and the libraries under NumPy, to `threads`.

    A step of a head is too small for many threads: they would mostly wait for each other.
    """
    before = torch.get_num_threads()
    with library_threads(threads):
        torch.set_num_threads(threads)
        try:
            yield
        finally:
            torch.set_num_threads(before)
