"""Texts as batches of token numbers: tokenise once, batch texts of like length, pad on the right.

Predictions use batches of fixed shapes: a text of t tokens is always in a batch of the same number of rows and columns,
whatever the other texts are. So its numbers do not depend on them; matrix products of other shapes would round
differently. This is exact for encoders of usual width, and up to the last bit but one for tiny ones.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Int

from bemps.errors import InputError
from bemps.models.base import Items
from bemps.types import Array

Inputs = dict[str, torch.Tensor]
# the token numbers of a text: a list, or a view of a mapped file
Row = Sequence[int] | Int[Array, " _"]
# progress(task, done, total)
Progress = Callable[[str, int, int], None]

# Batches that are sorted by length together: enough to save most padding, few enough to keep batches random.
BUCKET = 8
# Lengths are rounded up to a multiple of this where shapes are fixed.
LENGTH_STEP = 8


def check_texts(items: Items) -> list[str]:
    """The items as a list of texts."""
    bad = next((item for item in items if not isinstance(item, str)), None)
    if isinstance(items, str) or bad is not None:
        got = "one string" if isinstance(items, str) else f"a {type(bad).__name__}"
        raise InputError("items", expected="a sequence of texts", got=got, fix="Give a list of strings.")
    return [str(item) for item in items]


def tokenise(tokenizer: Any, texts: Sequence[str], max_length: int) -> list[list[int]]:
    """The token numbers of each text with the special tokens, cut to `max_length`.

    Parameters
    ----------
    tokenizer : transformers tokenizer
        The tokenizer.
    texts : sequence of str
        The texts.
    max_length : int
        The largest number of tokens of a text.

    Returns
    -------
    list of list of int
        The token numbers of each text.
    """
    if not texts:
        return []
    encoded = tokenizer(list(texts), truncation=True, max_length=max_length, padding=False, return_attention_mask=False)
    rows: list[list[int]] = encoded["input_ids"]
    return rows


def check_length(max_length: int, module: Any) -> None:
    """Texts of `max_length` tokens, rounded up, must fit into the positions that a network has."""
    positions = getattr(module.config, "max_position_embeddings", None)
    if max_length < 1 or (positions is not None and rounded_up(np.array([max_length]))[0] > positions):
        raise InputError(
            "max_length",
            expected=f"at most {positions} tokens, the positions of this model, and at least one",
            got=str(max_length),
            fix="Texts that are longer are cut: choose a smaller multiple of 8.",
        )


def lengths_of(rows: Sequence[Row]) -> Int[Array, " n"]:
    """How many tokens each text has."""
    return np.array([len(row) for row in rows], dtype=np.int64)


def random_batches(lengths: Int[Array, " n"], size: int, rng: np.random.Generator) -> list[Int[Array, " _"]]:
    """Positions in random batches of `size`, texts of like length together, in random order.

    Parameters
    ----------
    lengths : array (n,) of int
        The number of tokens of each text.
    size : int
        The number of texts of a batch.
    rng : numpy Generator
        The source of randomness.

    Returns
    -------
    list of array of int
        The positions of each batch.
    """
    order = rng.permutation(len(lengths))
    buckets = _cut(order, size * BUCKET)
    batches = [batch for bucket in buckets for batch in _cut(bucket[np.argsort(lengths[bucket], kind="stable")], size)]
    return [batches[i] for i in rng.permutation(len(batches))]


def fixed_batches(lengths: Int[Array, " n"], size: int) -> list[Int[Array, " _"]]:
    """Positions in batches of at most `size` texts of one rounded length, the longest first."""
    rounded = rounded_up(lengths)
    return [batch for t in np.unique(rounded)[::-1] for batch in _cut(np.flatnonzero(rounded == t), size)]


def fixed_rows(device: torch.device) -> int:
    """Rows of a batch of fixed shape: a processor gains nothing from more than a few, a graphics card does."""
    return 8 if device.type == "cpu" else 64


def rounded_up(lengths: Int[Array, " n"]) -> Int[Array, " n"]:
    """Lengths rounded up to a multiple of LENGTH_STEP."""
    return -(-lengths // LENGTH_STEP) * LENGTH_STEP


def _cut(order: Int[Array, " n"], size: int) -> list[Int[Array, " _"]]:
    return [order[start : start + size] for start in range(0, len(order), size)]


def pad(rows: Sequence[Row], padding: int, device: torch.device, length: int | None = None) -> Inputs:
    """Token numbers and attention mask (1 for a token, 0 for padding), as long as the longest text or `length`.

    Parameters
    ----------
    rows : sequence of sequence of int
        The token numbers of each text.
    padding : int
        The number of the padding token.
    device : torch device
        Where the tensors go.
    length : int, optional
        The columns; None is the length of the longest text.

    Returns
    -------
    dict of str to tensor
        `input_ids` and `attention_mask`.
    """
    lengths = lengths_of(rows)
    t = int(lengths.max()) if length is None else length
    ids = np.full((len(rows), t), padding, dtype=np.int64)
    for numbers, row in zip(ids, rows, strict=True):
        numbers[: len(row)] = row
    attention = (np.arange(t) < lengths[:, None]).astype(np.int64)
    return {"input_ids": torch.from_numpy(ids).to(device), "attention_mask": torch.from_numpy(attention).to(device)}


@runtime_checkable
class NetworkInputs(Protocol):
    """Prepared items that turn positions into the inputs of a network.

    `batch` pads to the longest of a batch (training); `fixed` to the shape that answers need (see above), of
    `size` rows: the rows left over repeat the first item, and the caller drops them.
    """

    lengths: Int[Array, " n"]
    size: int

    def batch(self, positions: Int[Array, " b"]) -> Inputs:
        """The inputs at these positions, padded to the longest text of the batch."""
        ...

    def fixed(self, positions: Int[Array, " b"]) -> Inputs:
        """The inputs at these positions in the fixed shape that answers need."""
        ...


class TokenInputs:
    """Inputs of a whole encoder: token numbers.

    Parameters
    ----------
    rows : sequence of sequence of int
        The token numbers of each text.
    padding : int
        The number of the padding token.
    device : torch device
        Where the tensors go.
    """

    def __init__(self, rows: Sequence[Row], padding: int, device: torch.device) -> None:
        self.rows, self.padding, self.device = rows, padding, device
        self.size = fixed_rows(device)
        self.lengths = lengths_of(rows)

    def batch(self, positions: Int[Array, " b"]) -> Inputs:
        """The token numbers at these positions, padded to the longest text of the batch."""
        return pad([self.rows[i] for i in positions], self.padding, self.device)

    def fixed(self, positions: Int[Array, " b"]) -> Inputs:
        """The token numbers at these positions in the fixed shape; see `NetworkInputs`."""
        length = int(rounded_up(self.lengths[positions]).max())
        return pad([self.rows[i] for i in filled(positions, self.size)], self.padding, self.device, length)


def filled(positions: Int[Array, " b"], size: int) -> Int[Array, " size"]:
    """The positions, then the first again until there are `size`."""
    return np.concatenate([positions, np.repeat(positions[:1], size - len(positions))])


def answers(
    inputs: NetworkInputs,
    ask: Callable[[Inputs], Float[torch.Tensor, "rows width"]],
    width: int,
    report: Callable[[int], None] | None = None,
) -> Float[Array, "n width"]:
    """`ask` of all items in batches of fixed shape: one row of `width` numbers for each, in their order.

    Parameters
    ----------
    inputs : NetworkInputs
        The prepared items.
    ask : callable
        Takes the inputs of a batch and returns one row for each item.
    width : int
        The numbers of a row.
    report : callable, optional
        Takes the number of items done.

    Returns
    -------
    array (n, width)
        The rows.
    """
    out = np.empty((len(inputs.lengths), width), dtype=np.float32)
    done = 0
    with torch.inference_mode():
        for positions in fixed_batches(inputs.lengths, inputs.size):
            out[positions] = ask(inputs.fixed(positions))[: len(positions)].float().cpu().numpy()
            done += len(positions)
            if report is not None:
                report(done)
    return out
