"""The training of one network on labelled texts: its batches, its loss, and what it has learnt."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import nn
from torch.nn import functional

from bemps.models._torch.training_loop import TrainingRecipe, train, trainable_state
from bemps.models.text.fitted_text import Member, Report
from bemps.models.text.text_networks import Network
from bemps.models.text.tokens import NetworkInputs, fixed_batches, random_batches
from bemps.models.validation_splits import Split
from bemps.types import Array

VALIDATION_ROWS = 64


@dataclass(frozen=True, eq=False)
class LabelledInputs:
    """Prepared texts with what a network learns from them.

    Attributes
    ----------
    inputs
        The prepared texts.
    labels
        Their codes.
    weights
        How often the loss of each text counts.
    """

    inputs: NetworkInputs
    labels: Int[Array, " n"]
    weights: Float[Array, " n"]

    def loss(self) -> Callable[[nn.Module, Int[Array, " b"]], Float[torch.Tensor, " b"]]:
        """Return the loss of a network on a batch of positions: cross-entropy of each text, times its weight."""
        codes, factors = torch.from_numpy(self.labels), torch.from_numpy(self.weights).float()

        def loss_of_batch(network: nn.Module, positions: Int[Array, " b"]) -> Float[torch.Tensor, " b"]:
            logits = network(**self.inputs.batch(positions))
            index = torch.from_numpy(positions)
            losses = functional.cross_entropy(logits, codes[index].to(logits.device), reduction="none")
            return losses * factors[index].to(logits.device)

        return loss_of_batch


def train_network(
    network: Network,
    texts: LabelledInputs,
    split: Split,
    *,
    recipe: TrainingRecipe,
    batch_size: int,
    rng: np.random.Generator,
    checkpoint: Path | None,
    report: Report,
) -> Member:
    """Train a network on one part of the texts; the other part stops it.

    Parameters
    ----------
    network : Network
        The network, which is changed.
    texts : LabelledInputs
        All labelled texts.
    split : Split
        The texts that it learns from, and those that are held out.
    recipe : TrainingRecipe
        How to train.
    batch_size : int
        Texts in a step.
    rng : numpy Generator
        The source of randomness.
    checkpoint : Path or None
        Where an interrupted training goes on.
    report : callable
        Takes the number of epochs done and the number of all.

    Returns
    -------
    Member
        What the network has learnt.
    """
    lengths = texts.inputs.lengths

    def batches(epoch_rng: np.random.Generator) -> list[Int[Array, " _"]]:
        return _at(split.train, random_batches(lengths[split.train], batch_size, epoch_rng))

    history = train(
        network,
        texts.loss(),
        batches,
        _at(split.valid, fixed_batches(lengths[split.valid], VALIDATION_ROWS)),
        recipe=recipe,
        rng=rng,
        checkpoint=checkpoint,
        progress=lambda epoch: report(epoch.number, epoch.of),
    )
    return Member({name: value.cpu() for name, value in trainable_state(network).items()}, history)


def _at(positions: Int[Array, " n"], batches: Sequence[Int[Array, " _"]]) -> list[Int[Array, " _"]]:
    """Batches of indices into `positions` as batches of positions."""
    return [positions[batch] for batch in batches]
