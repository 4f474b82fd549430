"""MC-dropout with consistent masks: a member is one mask for each dropout of a network, shared by all inputs.

A fresh mask for each row would not be a theta: p(theta | L, (x, y)) needs the same member for x and for x'. So inside
`ConsistentDropout` the n-th dropout of a forward pass multiplies by the n-th mask of the member, wherever the network
calls it: in a `nn.Dropout` or as a function in attention.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from bemps.errors import InputError

Shape = tuple[int, ...]

# Dropout over whole channels or with its own scaling would need other masks; no model here has it.
_OTHER_DROPOUTS = {
    functional.dropout1d,
    functional.dropout2d,
    functional.dropout3d,
    functional.alpha_dropout,
    functional.feature_alpha_dropout,
}


def without_batch_axis(shape: Shape) -> Shape:
    """Masks of networks whose inputs all have the same size: the shape without the batch axis."""
    return shape[1:]


def sequences_up_to(length: int) -> Callable[[Shape], Shape]:
    """Masks of text encoders: token i has the same mask in a sequence of any length.

    (b, t, H) hidden states get (length, H), (b, heads, t, t) attention (heads, length, length), (b, H) pooled
    vectors (H,). Masks are cut to the t of a batch, so neither padding nor company changes what an item sees.
    """

    def full(shape: Shape) -> Shape:
        if len(shape) == 4:
            return shape[1], length, length
        return (length, shape[2]) if len(shape) == 3 else shape[1:]

    return full


class QuickDropout(TorchFunctionMode):
    """Draw the noise of every active dropout from uniform numbers, three times faster than torch does.

    For training on a processor, where drawing Bernoulli numbers was two fifths of a step of a small network.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        if func is functional.dropout or func is torch.dropout:
            return self._dropout(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))

    def _dropout(self, x: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> torch.Tensor:
        if not training or p == 0:
            return x
        noise = self._noise(x, p)
        return x.mul_(noise) if inplace else x * noise

    def _noise(self, x: torch.Tensor, p: float) -> Float[torch.Tensor, "*shape"]:
        """Kept entries 1/(1-p), others 0."""
        return (torch.rand_like(x) >= p).to(x.dtype).div_(1 - p)


class ConsistentDropout(QuickDropout):
    """Replace the noise of every active dropout by the masks of one member, drawn from `seed`.

    `full_shape` maps the shape that a dropout meets to the shape of its whole mask. Call `restart` before
    every forward pass: the order in it identifies the mask.
    """

    def __init__(self, seed: int, full_shape: Callable[[Shape], Shape] = without_batch_axis) -> None:
        super().__init__()
        self.seed, self.full_shape = seed, full_shape
        self._masks: list[Float[torch.Tensor, "*shape"]] = []
        self._next = 0

    def restart(self) -> None:
        """The next dropout is the first of a forward pass."""
        self._next = 0

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        if func in _OTHER_DROPOUTS or (
            func is functional.scaled_dot_product_attention and (kwargs or {}).get("dropout_p", 0.0) > 0
        ):
            raise InputError(
                "MC-dropout",
                expected="plain dropout calls, each with one mask for a member",
                got=f"{getattr(func, '__name__', func)} in the network",
                fix='Use nn.Dropout; load transformers with attn_implementation="eager".',
            )
        return super().__torch_function__(func, types, args, kwargs)

    def _noise(self, x: torch.Tensor, p: float) -> Float[torch.Tensor, "*shape"]:
        shape = tuple(x.shape)
        if self._next == len(self._masks):
            self._masks.append(self._like(self._draw(self.full_shape(shape), p), x[0]))
        mask = self._masks[self._next]
        self._next += 1
        if any(have < need for have, need in zip(mask.shape, shape[1:], strict=True)):
            raise InputError(
                "MC-dropout",
                expected=f"at most shape {tuple(mask.shape)} at dropout {self._next}",
                got=f"{shape[1:]}",
                fix="Give every input the same size, or texts of at most the model's max_length.",
            )
        return mask[tuple(slice(size) for size in shape[1:])].to(device=x.device, dtype=x.dtype)

    @staticmethod
    def _like(mask: Float[torch.Tensor, "*shape"], row: torch.Tensor) -> Float[torch.Tensor, "*shape"]:
        """The mask in the memory order of what it multiplies, say channels last: mixed orders take far longer."""
        return torch.empty_like(row, device="cpu", dtype=mask.dtype).copy_(mask) if mask.shape == row.shape else mask

    def _draw(self, shape: Shape, p: float) -> Float[torch.Tensor, "*shape"]:
        """Kept entries 1/(1-p), others 0; a function of the seed and the position in the forward pass."""
        active = np.random.default_rng([self.seed, len(self._masks)]).random(shape, dtype=np.float32) >= p
        return torch.from_numpy(active.astype(np.float32) / np.float32(1 - p))


@contextmanager
def dropout_active(module: nn.Module) -> Iterator[None]:
    """Training mode for all but batch norm, whose statistics stay those of the training; then as before."""
    before = {part: part.training for part in module.modules()}
    for part in before:
        part.training = not isinstance(part, nn.modules.batchnorm._BatchNorm)
    try:
        yield
    finally:
        for part, training in before.items():
            part.training = training
