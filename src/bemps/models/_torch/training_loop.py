"""One training loop for every torch model: early stopping, best weights, linear decay, clipping, resume.

The caller gives a function from a batch to the losses of its items; the loop does not look into batches.
Each epoch draws its order and its dropout noise from (seed, epoch) alone, so a training that was interrupted
after any epoch ends with the same numbers as one that was not (on CUDA up to the order in which sums are taken).
The random state of torch is left alone.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from jaxtyping import Float
from torch import nn

from bemps.checks import within
from bemps.errors import InputError, unknown_name
from bemps.models._torch.checkpoints import Checkpoint, Tensors
from bemps.models.base import Diverged

Batch = TypeVar("Batch")

OPTIMISERS: dict[str, type[torch.optim.Adam]] = {"adamw": torch.optim.AdamW, "adam": torch.optim.Adam}


@dataclass(frozen=True)
class TrainingRecipe:
    """How to train; the defaults are the paper's for text.

    Attributes
    ----------
    learning_rate : float
        The largest learning rate.
    epochs : int
        The largest number of epochs.
    patience : int or None
        Stop after this many epochs in a row without a lower validation loss; None never stops early.
    optimiser : {"adamw", "adam"}
        The optimiser.
    betas : tuple of float
        The decay rates of its two moving averages.
    weight_decay : float
        How much it shrinks the weights.
    clip : float or None
        The largest norm of a gradient; None leaves gradients alone.
    decay : {"linear", "none"}
        "linear" lowers the learning rate from step to step towards 0 after `epochs`.
    warm_up : float
        The fraction of all steps over which the rate first rises from 0 (only with linear decay). With so few steps
        that it is less than one of them, there is no warm-up.
    head_rate : float or None
        The learning rate of the parameters outside `module.encoder`, which start from nothing; None: `learning_rate`.
    """

    learning_rate: float = 2e-5
    epochs: int = 30
    patience: int | None = 6
    optimiser: str = "adamw"
    betas: tuple[float, float] = (0.9, 0.999)
    weight_decay: float = 0.01
    clip: float | None = 1.0
    decay: str = "linear"
    warm_up: float = 0.0
    head_rate: float | None = None


@dataclass(frozen=True)
class Epoch:
    """One finished epoch with its mean losses per item.

    Parameters
    ----------
    number : int
        The number of the epoch, from 1.
    of : int
        The largest number of epochs.
    train_loss : float
        The mean loss of the training part.
    valid_loss : float or None
        The mean loss of the validation part, None without one.
    seconds : float
        How long the epoch took.
    """

    number: int
    of: int
    train_loss: float
    valid_loss: float | None
    seconds: float = field(compare=False)


@dataclass(frozen=True)
class History:
    """All epochs of a training, and the one (counted from 1) whose weights were kept."""

    epochs: tuple[Epoch, ...]
    best_epoch: int

    @property
    def best(self) -> Epoch:
        """The epoch whose weights were kept."""
        return self.epochs[self.best_epoch - 1]


def train(
    module: nn.Module,
    loss_of_batch: Callable[[nn.Module, Batch], Float[torch.Tensor, " b"]],
    train_batches: Callable[[np.random.Generator], Sequence[Batch]],
    valid: Sequence[Batch] | None,
    *,
    recipe: TrainingRecipe,
    rng: np.random.Generator,
    checkpoint: Path | str | None = None,
    progress: Callable[[Epoch], None] | None = None,
) -> History:
    """Train the parameters of `module` that require a gradient, and leave the best weights in it.

    Parameters
    ----------
    module : torch Module
        The network.
    loss_of_batch : function from module and batch to array (b,)
        The loss of every item of a batch. Multiply the loss of an item to weight it.
    train_batches : function from generator to batches
        The batches of one epoch, from that epoch's own generator.
    valid : sequence of batches, or None
        Batches for early stopping. None (or none) trains all epochs and returns the last weights.
    recipe : TrainingRecipe
        How to train.
    rng : numpy Generator
        The source of randomness.
    checkpoint : path, optional
        Folder of this one training. Called again with the same `rng` state and recipe, it continues.
    progress : function, optional
        Called with every epoch after it is saved. What it raises ends the training.

    Returns
    -------
    History
        All epochs, and the one whose weights were kept.

    Raises
    ------
    Diverged
        A loss or a gradient is not finite.
    """
    _check(recipe)
    seed = int(rng.integers(2**63))
    run = _Run(module, recipe, {"seed": seed, **asdict(recipe), "betas": list(recipe.betas)}, checkpoint)
    while not run.done():
        started = time.perf_counter()
        with _randomness(module, seed, len(run.epochs)) as epoch_rng:
            train_loss = run.step_through(train_batches(epoch_rng), loss_of_batch)
        valid_loss = mean_loss(module, loss_of_batch, valid) if valid else None
        epoch = Epoch(len(run.epochs) + 1, recipe.epochs, train_loss, valid_loss, time.perf_counter() - started)
        run.add(epoch)
        if progress is not None:
            progress(epoch)
    return run.finish()


def mean_loss(
    module: nn.Module,
    loss_of_batch: Callable[[nn.Module, Batch], Float[torch.Tensor, " b"]],
    batches: Sequence[Batch],
) -> float:
    """The mean loss over the items of all batches, without dropout.

    Parameters
    ----------
    module : torch Module
        The network; it is left in evaluation mode.
    loss_of_batch : callable
        Takes the network and a batch, and returns the loss of each item.
    batches : sequence
        The batches.

    Returns
    -------
    float
        The mean loss.

    Raises
    ------
    Diverged
        The mean is not finite.
    """
    module.eval()
    with torch.no_grad():
        losses = torch.cat([loss_of_batch(module, batch) for batch in batches])
    return _finite(float(losses.double().mean()), "validation loss")


def trainable_state(module: nn.Module) -> Tensors:
    """Copies of what training changes: parameters that require a gradient, and buffers (of batch norm)."""
    frozen = {
        name for name, parameter in module.named_parameters(remove_duplicate=False) if not parameter.requires_grad
    }
    return {name: value.detach().clone() for name, value in module.state_dict().items() if name not in frozen}


def load_trainable_state(module: nn.Module, state: Tensors) -> None:
    """Put back what `trainable_state` copied; every name must be known."""
    unexpected = module.load_state_dict(state, strict=False).unexpected_keys
    if unexpected:
        raise InputError(
            "weights",
            expected=f"those of a {type(module).__name__} of the same shape",
            got=f"unknown {unexpected[:3]}",
            fix="Build the module as it was when the weights were saved.",
        )


class _Run:
    """The state of one training: module, optimiser, finished epochs, best weights, and their copy on disk."""

    def __init__(
        self, module: nn.Module, recipe: TrainingRecipe, identity: dict[str, Any], folder: Path | str | None
    ) -> None:
        self.module, self.recipe, self.identity = module, recipe, identity
        self.parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
        self.optimiser = OPTIMISERS[recipe.optimiser](
            _rated(module, recipe),
            betas=recipe.betas,
            weight_decay=recipe.weight_decay,
            fused=True,  # one pass over the weights instead of ten: a quarter of a step of MiniLM on a processor
        )
        self.epochs: list[Epoch] = []
        self.best_epoch = 0
        self.best: Tensors = {}
        self.checkpoint = None if folder is None else Checkpoint(folder)
        self._resume()

    def done(self) -> bool:
        """All epochs are over, or the last improvement is `patience` epochs ago."""
        waited = len(self.epochs) - self.best_epoch
        patience = self.recipe.patience
        return len(self.epochs) >= self.recipe.epochs or (patience is not None and waited >= patience)

    def step_through(
        self, batches: Sequence[Batch], loss_of_batch: Callable[[nn.Module, Batch], torch.Tensor]
    ) -> float:
        """One epoch of steps; the mean loss of the items as they were met."""
        if not batches:
            raise InputError("training", expected="at least one batch", got="none", fix="Label some items first.")
        self.module.train()
        total, items = 0.0, 0
        steps = len(batches) * self.recipe.epochs
        for i, batch in enumerate(batches):
            self._set_rate(_decay(self.recipe, len(self.epochs) * len(batches) + i, steps))
            losses = loss_of_batch(self.module, batch)
            self._step(losses.mean())
            total, items = total + float(losses.detach().double().sum()), items + len(losses)
        return total / items

    def _set_rate(self, factor: float) -> None:
        for group in self.optimiser.param_groups:
            group["lr"] = group["rate"] * factor

    def _step(self, loss: torch.Tensor) -> None:
        _finite(float(loss.detach()), "training loss")
        self.optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        limit = math.inf if self.recipe.clip is None else self.recipe.clip
        norm = nn.utils.clip_grad_norm_(self.parameters, limit)
        _finite(float(norm), "norm of the gradient")
        self.optimiser.step()

    def add(self, epoch: Epoch) -> None:
        """Note a finished epoch, keep its weights if they are the best so far, and save."""
        self.epochs.append(epoch)
        if self._is_best(epoch):
            self.best_epoch, self.best = epoch.number, trainable_state(self.module)
        self._save(self._state() if self.checkpoint else None)

    def _is_best(self, epoch: Epoch) -> bool:
        if epoch.valid_loss is None or self.best_epoch == 0:
            return True
        best = self.epochs[self.best_epoch - 1].valid_loss
        return best is None or epoch.valid_loss < best

    def finish(self) -> History:
        """Put the best weights back into the module."""
        load_trainable_state(self.module, self.best)
        self.module.eval()
        self._save(None)
        return History(tuple(self.epochs), self.best_epoch)

    def _state(self) -> Tensors:
        moments = {
            f"optimiser.{index}.{name}": value
            for index, entries in self.optimiser.state_dict()["state"].items()
            for name, value in entries.items()
        }
        return moments | {f"module.{name}": value for name, value in trainable_state(self.module).items()}

    def _save(self, state: Tensors | None) -> None:
        if self.checkpoint is not None:
            epochs = [asdict(epoch) for epoch in self.epochs]
            self.checkpoint.write(self.identity, epochs, best_epoch=self.best_epoch, best=self.best, state=state)

    def _resume(self) -> None:
        saved = self.checkpoint.read(self.identity) if self.checkpoint else None
        if self.checkpoint is None or saved is None:
            return
        self.epochs = [Epoch(**entry) for entry in saved.epochs]
        self.best_epoch = int(saved.weights.removeprefix("best-").removesuffix(".safetensors"))
        self.best = self.checkpoint.tensors(saved.weights)
        if saved.state is not None:
            self._restore(self.checkpoint.tensors(saved.state))

    def _restore(self, state: Tensors) -> None:
        moments: dict[int, Tensors] = {}
        for key, value in state.items():
            if key.startswith("optimiser."):
                _, index, name = key.split(".", 2)
                moments.setdefault(int(index), {})[name] = value
        groups = self.optimiser.state_dict()["param_groups"]
        self.optimiser.load_state_dict({"state": moments, "param_groups": groups})
        weights = {key.removeprefix("module."): v for key, v in state.items() if key.startswith("module.")}
        load_trainable_state(self.module, weights)


def _check(recipe: TrainingRecipe) -> None:
    within(recipe.learning_rate, "learning_rate", 0, open_low=True)
    within(recipe.learning_rate if recipe.head_rate is None else recipe.head_rate, "head_rate", 0, open_low=True)
    within(recipe.epochs, "epochs", 1)
    within(1 if recipe.patience is None else recipe.patience, "patience", 1)
    within(recipe.warm_up, "warm_up", 0, 0.99)
    if recipe.optimiser not in OPTIMISERS:
        raise unknown_name("optimiser", recipe.optimiser, OPTIMISERS)
    if recipe.decay not in ("linear", "none"):
        raise unknown_name("decay", recipe.decay, ("linear", "none"))


def _rated(module: nn.Module, recipe: TrainingRecipe) -> list[dict[str, Any]]:
    """The parameters that learn in groups with their peak learning rates: the encoder's, and those of the head."""
    encoder = getattr(module, "encoder", None)
    inside = {id(parameter) for parameter in encoder.parameters()} if isinstance(encoder, nn.Module) else set()
    learning = [parameter for parameter in module.parameters() if parameter.requires_grad]
    head = recipe.learning_rate if recipe.head_rate is None else recipe.head_rate
    groups = [
        ([parameter for parameter in learning if id(parameter) in inside], recipe.learning_rate),
        ([parameter for parameter in learning if id(parameter) not in inside], head),
    ]
    return [{"params": parameters, "rate": rate, "lr": rate} for parameters, rate in groups if parameters]


def _decay(recipe: TrainingRecipe, step: int, steps: int) -> float:
    """The factor of the learning rate in a step; a warm-up of less than one step is none, as that step has rate 0."""
    if recipe.decay == "none":
        return 1.0
    warm_up, elapsed = recipe.warm_up if recipe.warm_up * steps >= 1 else 0.0, step / steps
    if elapsed < warm_up:
        return elapsed / warm_up
    return (1 - elapsed) / (1 - warm_up)


def _finite(value: float, what: str) -> float:
    if not math.isfinite(value):
        raise Diverged(f"{what}: expected a finite number; got {value}. Lower the learning rate.")
    return value


@contextmanager
def _randomness(module: nn.Module, seed: int, epoch: int) -> Iterator[np.random.Generator]:
    """A generator for (seed, epoch), and torch seeded from it; torch's own state comes back afterwards."""
    rng = np.random.default_rng([seed, epoch])
    devices = {parameter.device for parameter in module.parameters() if parameter.device.type != "cpu"}
    # where there are other devices than the processor, torch seeds them all; that takes as long as a small batch
    set_seed = torch.manual_seed if devices else torch.default_generator.manual_seed
    with torch.random.fork_rng(devices=[device for device in devices if device.type == "cuda"]):
        set_seed(int(rng.integers(2**63)))
        yield rng
