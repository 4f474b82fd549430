"""Training of E heads at once, each with its own start, order, dropout noise and early stopping.

Each member minimises  sum_i w_i CE_i / T + l2/(2T) |W|^2  over its T training items, which is the MAP of logistic
regression under a prior N(0, 1/l2) when there is no hidden layer. No sum mixes members, and Adam works entry by entry:
training them together or one by one is the same up to rounding.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from bemps.checks import within
from bemps.models.heads.stacked_heads import Generators, Layer, Layers, Rows, dropout_noise, logits
from bemps.types import Array


@dataclass(frozen=True)
class HeadRecipe:
    """How to train a head.

    Attributes
    ----------
    epochs : int
        The largest number of epochs.
    learning_rate : float
        The learning rate at the start.
    l2 : float
        The precision of the prior on the weights (weight decay l2/T); biases are free.
    batch_size : int or None
        Labels in a step. None takes all, which is fastest for a few hundred.
    patience : int
        With a validation part, stop that many epochs after the last lower loss and return the best weights.

    Notes
    -----
    The learning rate falls linearly to 0 over `epochs`.
    """

    epochs: int = 40
    learning_rate: float = 0.03
    l2: float = 1.0
    batch_size: int | None = None
    patience: int = 10

    def check(self) -> None:
        """Raise `InputError` where a number is out of its range."""
        within(self.epochs, "epochs", 1)
        within(self.learning_rate, "learning_rate", 0, open_low=True)
        within(self.l2, "l2", 0)
        within(1 if self.batch_size is None else self.batch_size, "batch_size", 1)
        within(self.patience, "patience", 1)


@dataclass(frozen=True, eq=False)
class TrainedHeads:
    """The best weights of all members, and how the training went.

    Parameters
    ----------
    layers : tuple of Layer
        The best weights.
    train_losses : array (epochs, E)
        The mean training losses.
    valid_losses : array (epochs, E) or None
        The mean validation losses, None without a validation part.
    best_epochs : array (E,) of int
        The epoch, from 1, of each member's best weights.
    patience : int
        After how many epochs without progress a member stops.
    """

    layers: Layers
    train_losses: Float[Array, "epochs E"]
    valid_losses: Float[Array, "epochs E"] | None
    best_epochs: Int[Array, " E"]
    patience: int

    @property
    def finite(self) -> Bool[Array, " E"]:
        """Members whose losses were finite until they stopped; later epochs do not count."""
        stopped = np.arange(len(self.train_losses))[:, None] >= self.best_epochs + self.patience
        fine = np.isfinite(self.train_losses)
        if self.valid_losses is not None:
            fine &= np.isfinite(self.valid_losses)
        return (fine | stopped).all(axis=0)

    def with_members(self, which: Int[Array, " e"], others: "TrainedHeads") -> "TrainedHeads":
        """These heads with the members `which` replaced by `others`."""
        layers = tuple(
            Layer(*(mine.index_copy(0, torch.from_numpy(which).to(mine.device), new) for mine, new in pairs))
            for pairs in (
                zip(a.tensors, b.tensors, strict=True) for a, b in zip(self.layers, others.layers, strict=True)
            )
        )
        best = self.best_epochs.copy()
        best[which] = others.best_epochs
        valid = None
        if self.valid_losses is not None and others.valid_losses is not None:
            valid = _spliced(self.valid_losses, which, others.valid_losses)
        losses = _spliced(self.train_losses, which, others.train_losses)
        return TrainedHeads(layers, losses, valid, best, self.patience)


def _spliced(
    losses: Float[Array, "epochs E"], which: Int[Array, " e"], others: Float[Array, "more e"]
) -> Float[Array, "most E"]:
    """Columns `which` replaced; where one training was shorter, its last losses are repeated."""
    most = max(len(losses), len(others))
    longer = [np.pad(part, ((0, most - len(part)), (0, 0)), mode="edge") for part in (losses, others)]
    longer[0][:, which] = longer[1]
    return longer[0]


def train_heads(
    layers: Layers, train: Rows, valid: Rows | None, *, recipe: HeadRecipe, dropout: float, rngs: Generators
) -> TrainedHeads:
    """Train all members from `layers`, which are left as they were.

    Parameters
    ----------
    layers : tuple of Layer
        The first weights.
    train : Rows
        The training part.
    valid : Rows or None
        The validation part; None keeps the last weights.
    recipe : HeadRecipe
        How the heads are trained.
    dropout : float
        The rate of dropout.
    rngs : sequence of numpy Generator
        The generator of each member.

    Returns
    -------
    TrainedHeads
        The trained members.
    """
    steps = _Steps(layers, recipe, dropout, rngs, len(train))
    best = None if valid is None else _Best(steps.layers, recipe.patience)
    train_losses, valid_losses = [], []
    for _ in range(recipe.epochs):
        train_losses.append(steps.epoch(train))
        if valid is not None and best is not None:
            valid_losses.append(mean_losses(steps.layers, valid))
            best.see(steps.layers, valid_losses[-1])
            if best.done():
                break
    E, epochs = len(rngs), len(train_losses)
    return TrainedHeads(
        steps.trained_layers() if best is None else best.layers,
        torch.stack(train_losses).cpu().numpy(),
        torch.stack(valid_losses).cpu().numpy() if valid_losses else None,
        np.full(E, epochs) if best is None else best.epochs.cpu().numpy(),
        recipe.patience,
    )


@torch.no_grad()
def mean_losses(layers: Layers, rows: Rows) -> Float[Tensor, " E"]:
    """Weighted mean cross-entropy of every member, without dropout."""
    losses = functional.cross_entropy(logits(layers, rows.columns), rows.labels, reduction="none")
    return (losses * rows.weights).mean(dim=1)


class _Steps:
    """Adam on the stacked weights."""

    def __init__(self, layers: Layers, recipe: HeadRecipe, dropout: float, rngs: Generators, T: int) -> None:
        self.layers = tuple(Layer(*(tensor.clone().requires_grad_() for tensor in layer.tensors)) for layer in layers)
        self.recipe, self.dropout, self.rngs = recipe, dropout, rngs
        groups = [
            {"params": [layer.weight for layer in self.layers], "weight_decay": recipe.l2 / T},
            {"params": [layer.bias for layer in self.layers], "weight_decay": 0.0},
        ]
        self.optimiser = torch.optim.Adam(groups, lr=recipe.learning_rate, fused=True)
        self.taken, self.total = 0, recipe.epochs * -(-T // (recipe.batch_size or T))

    def epoch(self, rows: Rows) -> Float[Tensor, " E"]:
        """One pass over the items; the mean loss of each member as they were met."""
        sums = [self._step(batch) for batch in rows.shuffled(self.recipe.batch_size, self.rngs)]
        return torch.stack(sums).sum(dim=0) / len(rows)

    def _step(self, batch: Rows) -> Float[Tensor, " E"]:
        scores = logits(self.layers, batch.columns, self._noise(batch))
        losses = functional.cross_entropy(scores, batch.labels, reduction="none") * batch.weights
        self.optimiser.zero_grad()
        (losses.sum() / len(batch)).backward()  # type: ignore[no-untyped-call]
        for group in self.optimiser.param_groups:
            group["lr"] = self.recipe.learning_rate * (1 - self.taken / self.total)
        self.optimiser.step()
        self.taken += 1
        return losses.detach().sum(dim=1)

    def _noise(self, batch: Rows) -> Float[Tensor, "E D n"] | None:
        if self.dropout == 0:
            return None
        shape = (self.layers[-1].weight.shape[2], len(batch))
        noise = torch.from_numpy(dropout_noise(shape, self.dropout, self.rngs))
        return noise.to(batch.labels.device)

    def trained_layers(self) -> Layers:
        return tuple(Layer(*(tensor.detach() for tensor in layer.tensors)) for layer in self.layers)


class _Best:
    """For each member the weights of its lowest validation loss; after `patience` epochs without one they stay."""

    def __init__(self, layers: Layers, patience: int) -> None:
        self.layers = tuple(Layer(*(tensor.detach().clone() for tensor in layer.tensors)) for layer in layers)
        E, device = len(layers[-1].weight), layers[-1].weight.device
        self.losses = torch.full((E,), torch.inf, device=device)
        self.epochs = torch.zeros(E, dtype=torch.int64, device=device)
        self.patience, self.seen = patience, 0

    def see(self, layers: Layers, losses: Float[Tensor, " E"]) -> None:
        better = self._running() & (losses < self.losses)
        self.seen += 1
        self.losses = torch.where(better, losses, self.losses)
        self.epochs = torch.where(better, self.seen, self.epochs)
        for best, now in zip(self.layers, layers, strict=True):
            for mine, theirs in zip(best.tensors, now.tensors, strict=True):
                torch.where(better[:, None, None], theirs.detach(), mine, out=mine)

    def done(self) -> bool:
        return not bool(self._running().any())

    def _running(self) -> Bool[Tensor, " E"]:
        return self.seen - self.epochs < self.patience
