"""Surprisal for encoders without a masked language model: a head adapted on the pool.

Sentence encoders such as MiniLM come without the head that guesses masked tokens. `AdaptedSurprisal` adds one (a
transform, then the encoder's own input embeddings as output weights, and a bias that starts at the frequencies of
the tokens) and trains it, and nothing else, to guess masked tokens of the pool. It is a stand-in: not the
pretrained language model that ALPS was published with.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from jaxtyping import Float, Int
from torch import nn

from bemps.errors import InputError
from bemps.models._torch.training_loop import Epoch, History, TrainingRecipe, train
from bemps.models.base import Items
from bemps.models.text.pretrained import MINILM, load_module, load_tokenizer
from bemps.models.text.surprisal import FRACTION, Surprisal, choose, token_losses, with_choices
from bemps.models.text.tokens import Inputs, Progress, check_texts, lengths_of, pad, random_batches, tokenise
from bemps.types import Array

HIDE, REPLACE = 0.8, 0.1  # shares of the sampled tokens; the rest stays, as in BERT
HELD_OUT = 0.1
BATCH = 32


class AdaptedSurprisal(Surprisal):
    """Surprisal under an encoder with a masked-language-model head adapted on `pool`.

    Parameters
    ----------
    pool : sequence of str
        The texts to adapt on.
    name : str or Path
        The encoder.
    texts : int
        At most so many texts are used, a random choice. Texts times epochs bounds the time.
    recipe : TrainingRecipe, optional
        How to train the head.
    cache : path, optional
        Folder for the adapted head, by pool and settings. An interrupted adaptation continues there.
    fraction, masked, seed, max_length, device, progress
        As in `Surprisal`.

    Notes
    -----
    Adapted on first use; `history` then has the losses per token guessed, and `frequency_loss` what the
    frequencies of tokens alone score on the same held-out texts.
    """

    def __init__(
        self,
        pool: Items,
        name: str | Path = MINILM,
        *,
        texts: int = 4000,
        recipe: TrainingRecipe | None = None,
        cache: Path | str | None = None,
        fraction: float = FRACTION,
        masked: bool = False,
        seed: int = 0,
        max_length: int = 128,
        device: str | None = None,
        progress: Progress | None = None,
    ) -> None:
        super().__init__(
            name,
            fraction=fraction,
            masked=masked,
            seed=seed,
            max_length=max_length,
            device=device,
            progress=progress,
        )
        self.pool, self.texts, self.cache = pool, texts, cache
        self.recipe = recipe or TrainingRecipe(learning_rate=1e-3, epochs=3, patience=None)
        self.history: History | None = None
        self.frequency_loss: float | None = None

    def _load(self, device: torch.device) -> tuple[Any, nn.Module]:
        tokenizer, rng = load_tokenizer(self.name), np.random.default_rng(self.seed)
        rows = self._sample(tokenizer, rng)
        head = AdaptedHead(self.name, int(rng.integers(2**63)), device)
        held_out = max(1, round(HELD_OUT * len(rows)))
        self._adapt(head, Masking(tokenizer, head.vocabulary, device), rows[held_out:], rows[:held_out], rng)
        return tokenizer, head.model.eval()

    def _sample(self, tokenizer: Any, rng: np.random.Generator) -> list[list[int]]:
        """At most `texts` texts of the pool, tokenised, in random order."""
        rows = tokenise(tokenizer, check_texts(self.pool), self.max_length)
        if len(rows) < 2 or self.texts < 2:
            got = f"{len(rows)} texts in the pool, texts={self.texts}"
            raise InputError("adaptation", expected="at least 2 texts", got=got, fix="Give the whole pool.")
        return [rows[i] for i in rng.permutation(len(rows))[: self.texts]]

    def _adapt(
        self,
        head: "AdaptedHead",
        masking: "Masking",
        train_rows: Sequence[Sequence[int]],
        held_rows: Sequence[Sequence[int]],
        rng: np.random.Generator,
    ) -> None:
        frequencies = token_frequencies(train_rows, head.vocabulary)
        head.start_at(frequencies)
        held_out = masking.batches(held_rows, rng)
        self.frequency_loss = frequency_loss(frequencies, held_out)
        self.history = train(
            head,
            masked_loss,
            lambda epoch_rng: masking.batches(train_rows, epoch_rng),
            held_out,
            recipe=self.recipe,
            rng=rng,
            checkpoint=None if self.cache is None else Path(self.cache) / f"mlm-{self._fingerprint()}",
            progress=self._report_epoch,
        )

    def _report_epoch(self, epoch: Epoch) -> None:
        if self.progress is not None:
            self.progress("adapt a language-model head", epoch.number, epoch.of)

    def _fingerprint(self) -> str:
        facts = [str(self.name), self.texts, self.seed, self.max_length, asdict(self.recipe), list(self.pool)]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]


class AdaptedHead(nn.Module):
    """A masked language model of which only the head learns; the encoder stays frozen and without dropout.

    Parameters
    ----------
    name : str or Path
        The encoder: a name of the table, a folder, or a name on the hub.
    seed : int
        The seed of the weights that are not pretrained.
    device : torch device
        Where the model runs.
    """

    def __init__(self, name: str | Path, seed: int, device: torch.device) -> None:
        super().__init__()
        model: Any = load_module(transformers.AutoModelForMaskedLM, name, seed=seed, device=device)
        self.model = model
        self.model.base_model.requires_grad_(False)
        self.vocabulary = len(self.model.get_input_embeddings().weight)

    def train(self, mode: bool = True) -> "AdaptedHead":
        """Set the mode of the head; the encoder stays in evaluation mode."""
        super().train(mode)
        self.model.base_model.eval()
        return self

    def start_at(self, frequencies: Float[Array, " V"]) -> None:
        """Start with the bias that predicts the frequency of each token."""
        bias = self.model.get_output_embeddings().bias
        with torch.no_grad():
            bias.copy_(torch.from_numpy(np.log(frequencies)))


class Masking:
    """Batches of texts with some tokens hidden, as BERT was trained: 80 % masked, 10 % replaced, 10 % as they are.

    Parameters
    ----------
    tokenizer : transformers tokenizer
        The tokenizer of the texts.
    vocabulary : int
        The number of tokens in the vocabulary.
    device : torch device
        Where the batches go.
    """

    def __init__(self, tokenizer: Any, vocabulary: int, device: torch.device) -> None:
        self.tokenizer, self.vocabulary, self.device = tokenizer, vocabulary, device

    def batches(self, rows: Sequence[Sequence[int]], rng: np.random.Generator) -> list[Inputs]:
        """All texts, in random batches of like length, each with its own random choice of tokens."""
        return [
            self._masked([rows[i] for i in positions], rng)
            for positions in random_batches(lengths_of(rows), BATCH, rng)
        ]

    def _masked(self, rows: Sequence[Sequence[int]], rng: np.random.Generator) -> Inputs:
        choices = [choose(row, self.tokenizer, FRACTION, rng) for row in rows]
        width = max(1, *(len(positions) for positions in choices))
        inputs = with_choices(pad(rows, self.tokenizer.pad_token_id, self.device), choices, width)
        hidden = [self._hide(row, positions, rng) for row, positions in zip(rows, choices, strict=True)]
        return inputs | pad(hidden, self.tokenizer.pad_token_id, self.device)

    def _hide(self, row: Sequence[int], positions: Int[Array, " n"], rng: np.random.Generator) -> list[int]:
        seen, fate = list(row), rng.random(len(positions))
        for position, draw in zip(positions, fate, strict=True):
            if draw < HIDE:
                seen[position] = self.tokenizer.mask_token_id
            elif draw < HIDE + REPLACE:
                seen[position] = int(rng.integers(self.vocabulary))
        return seen


def masked_loss(head: nn.Module, batch: Inputs) -> Float[torch.Tensor, " tokens"]:
    """-log p of each hidden token of a batch."""
    model: Any = head
    return token_losses(model.model, batch)[batch["counted"] > 0]


def token_frequencies(rows: Sequence[Sequence[int]], vocabulary: int) -> Float[Array, " V"]:
    """The distribution of the tokens of the vocabulary; each counts once more than it occurs."""
    counts = np.bincount(np.concatenate([np.asarray(row) for row in rows]), minlength=vocabulary) + 1.0
    normalised: Array = counts / counts.sum()
    return normalised


def frequency_loss(frequencies: Float[Array, " V"], batches: Sequence[Inputs]) -> float:
    """Mean -log frequency of the hidden tokens."""
    targets = torch.cat([batch["target"][batch["counted"] > 0] for batch in batches])
    return float(-np.log(frequencies[targets.cpu().numpy()]).mean())
