"""Surprisal vectors for ALPS (Yuan et al. 2020): how unexpected a masked language model finds a text.

For a random 15 % of the tokens of a text (at least one, never a special token) the entry at the position of the
token is -log p(token | text), every other entry is 0; a row has the maximal length and norm one. The text is read
unmasked by default, as ALPS does; `masked=True` hides the sampled tokens first. The sample depends on the text and
the seed only, and so does the vector.
"""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from jaxtyping import Float, Int
from torch import nn
from torch.nn import functional
from transformers.modeling_outputs import BaseModelOutput

from bemps.checks import within
from bemps.errors import InputError
from bemps.limits import current_limits
from bemps.models._torch.devices import pick_device, torch_threads
from bemps.models.base import Items
from bemps.models.text.pretrained import PAPER_MODEL, load_tokenizer, load_with_missing
from bemps.models.text.tokens import (
    Inputs,
    Progress,
    TokenInputs,
    answers,
    check_length,
    check_texts,
    filled,
    rounded_up,
    tokenise,
)
from bemps.types import Array

FRACTION = 0.15


class Surprisal:
    """Surprisal under the masked language model of a checkpoint.

    Parameters
    ----------
    name : str or Path
        A local folder or hub name whose weights include the language-model head.
    fraction : float
        The share of tokens whose surprisal is computed.
    masked : bool
        Whether these tokens are hidden before the model reads the text.
    seed : int
        The seed of the choice of tokens.
    max_length : int
        The largest number of tokens of a text, and the length of a row.
    device : str, optional
        Where the model runs; None takes CUDA where there is one, else the processor.
    progress : callable, optional
        Called with (task, done, total).
    """

    def __init__(
        self,
        name: str | Path = PAPER_MODEL,
        *,
        fraction: float = FRACTION,
        masked: bool = False,
        seed: int = 0,
        max_length: int = 128,
        device: str | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.name, self.fraction, self.masked, self.seed = name, fraction, masked, seed
        self.max_length, self.device, self.progress = max_length, device, progress
        self._loaded: tuple[Any, nn.Module] | None = None

    def surprisal(self, items: Items) -> Float[Array, "N T"]:
        """One row of `max_length` numbers for each text, of norm one (0 for a text without tokens)."""
        texts = check_texts(items)
        within(self.fraction, "fraction", 0, 1, open_low=True)
        with torch_threads(current_limits().threads):
            tokenizer, module = self._ready()
            inputs = SampledTokens(tokenise(tokenizer, texts, self.max_length), tokenizer, self)
            return answers(inputs, lambda batch: self._row(module, batch), self.max_length, self._reporter(len(texts)))

    def _ready(self) -> tuple[Any, nn.Module]:
        if self._loaded is None:
            tokenizer, module = self._load(pick_device(self.device))
            check_length(self.max_length, module)
            self._loaded = tokenizer, module
        return self._loaded

    def _reporter(self, total: int) -> Callable[[int], None]:
        def report(done: int) -> None:
            if self.progress is not None:
                self.progress("surprisal", done, total)

        return report

    def _load(self, device: torch.device) -> tuple[Any, nn.Module]:
        module, missing = load_with_missing(transformers.AutoModelForMaskedLM, self.name, seed=0, device=device)
        if missing:
            raise InputError(
                f"surprisal of {str(self.name)!r}",
                expected="weights with a masked language model",
                got=f"none for {', '.join(missing[:3])}",
                fix="Adapt a head on the pool: bemps.models.text.adapted_surprisal.AdaptedSurprisal(pool).",
            )
        return load_tokenizer(self.name), module

    def _row(self, module: nn.Module, batch: Inputs) -> Float[torch.Tensor, "rows T"]:
        positions, counted = batch["positions"], batch["counted"]
        losses = token_losses(module, batch) * counted
        rows = torch.zeros(len(positions), self.max_length, device=losses.device)
        return functional.normalize(rows.scatter_add(1, positions, losses), dim=-1)


def has_language_model(name: str | Path) -> bool:
    """Whether weights include the head of a masked language model."""
    cpu = torch.device("cpu")
    return not load_with_missing(transformers.AutoModelForMaskedLM, name, seed=0, device=cpu)[1]


class SampledTokens:
    """Tokenised texts, with the tokens that a language model is asked about.

    `positions` (rows, m) are positions of tokens, `target` their numbers, `counted` 1 where one counts and 0 where it
    only fills the row: m depends on the length of the batch alone, so that shapes stay fixed.

    Parameters
    ----------
    rows : sequence of sequence of int
        The token numbers of each text.
    tokenizer : transformers tokenizer
        The tokenizer of the texts.
    settings : Surprisal
        The model's settings: the device and how tokens are drawn.
    """

    def __init__(self, rows: Sequence[Sequence[int]], tokenizer: Any, settings: Surprisal) -> None:
        device = pick_device(settings.device)
        self._tokens = TokenInputs(rows, tokenizer.pad_token_id, device)
        self.lengths, self.size, self.rows = self._tokens.lengths, self._tokens.size, rows
        self.tokenizer, self.settings, self.device = tokenizer, settings, device

    def batch(self, positions: Int[Array, " b"]) -> Inputs:
        """The inputs at these positions, padded to the longest text of the batch."""
        return self._with_choice(self._tokens.batch(positions), positions)

    def fixed(self, positions: Int[Array, " b"]) -> Inputs:
        """The inputs at these positions in the fixed shape; see `NetworkInputs`."""
        return self._with_choice(self._tokens.fixed(positions), filled(positions, self.size))

    def _with_choice(self, inputs: Inputs, positions: Int[Array, " b"]) -> Inputs:
        settings = self.settings
        choices = [
            choose(self.rows[i], self.tokenizer, settings.fraction, text_rng(self.rows[i], settings.seed))
            for i in positions
        ]
        width = how_many(int(rounded_up(self.lengths[positions]).max()), settings.fraction)
        inputs = with_choices(inputs, choices, width)
        if settings.masked:
            inputs["input_ids"] = inputs["input_ids"].masked_fill(_hidden(inputs), self.tokenizer.mask_token_id)
        return inputs


def text_rng(row: Sequence[int], seed: int) -> np.random.Generator:
    """A generator that belongs to a text and a seed."""
    digest = hashlib.sha256(np.asarray(row, dtype=np.int64).tobytes()).digest()[:8]
    return np.random.default_rng([seed, int.from_bytes(digest, "little")])


def how_many(tokens: int, fraction: float) -> int:
    """The number of tokens to choose out of so many: the fraction, at least one."""
    return max(1, round(fraction * tokens))


def choose(row: Sequence[int], tokenizer: Any, fraction: float, rng: np.random.Generator) -> Int[Array, " n"]:
    """Random positions of tokens that are not special; none if there are no such tokens.

    Parameters
    ----------
    row : sequence of int
        The token numbers of a text.
    tokenizer : transformers tokenizer
        The tokenizer, which knows the special tokens.
    fraction : float
        The fraction of the tokens to draw.
    rng : numpy Generator
        The source of randomness.

    Returns
    -------
    array (n,) of int
        The positions, in order.
    """
    special = tokenizer.get_special_tokens_mask(list(row), already_has_special_tokens=True)
    positions = np.flatnonzero(np.asarray(special) == 0)
    if len(positions) == 0:
        return positions
    return np.sort(rng.choice(positions, how_many(len(positions), fraction), replace=False))


def with_choices(inputs: Inputs, choices: Sequence[Int[Array, " _"]], width: int) -> Inputs:
    """The inputs with `positions`, `target` and `counted` (see `SampledTokens`).

    Parameters
    ----------
    inputs : dict of str to tensor
        The inputs of the network.
    choices : sequence of array of int
        The positions of the drawn tokens of each row.
    width : int
        m, the entries of a row.

    Returns
    -------
    dict of str to tensor
        The inputs with the three tensors added.
    """
    positions = np.zeros((len(choices), width), dtype=np.int64)
    counted = np.zeros((len(choices), width), dtype=np.float32)
    for row, marks, choice in zip(positions, counted, choices, strict=True):
        row[: len(choice)], marks[: len(choice)] = choice, 1
    ids = inputs["input_ids"]
    where = torch.from_numpy(positions).to(ids.device)
    return inputs | {
        "positions": where,
        "target": ids.gather(1, where),
        "counted": torch.from_numpy(counted).to(ids.device),
    }


def _hidden(inputs: Inputs) -> torch.Tensor:
    """Which tokens of a batch are chosen, as booleans of the shape of its token numbers."""
    marks = torch.zeros(inputs["input_ids"].shape, device=inputs["input_ids"].device)
    return marks.scatter_add(1, inputs["positions"], inputs["counted"]) > 0


def token_losses(module: nn.Module, batch: Inputs) -> Float[torch.Tensor, "rows m"]:
    """-log p(target) at the sampled tokens; the vocabulary is scored at these positions only, which halves the work."""
    model: Any = module

    def at_positions(_: nn.Module, __: object, output: Any) -> BaseModelOutput:
        states = output.last_hidden_state
        index = batch["positions"][:, :, None].expand(-1, -1, states.shape[-1])
        return BaseModelOutput(last_hidden_state=states.gather(1, index))

    hook = model.base_model.register_forward_hook(at_positions)
    try:
        logits = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
    finally:
        hook.remove()
    return functional.cross_entropy(logits.transpose(1, 2), batch["target"], reduction="none")
