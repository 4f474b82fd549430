"""Image classifiers as members: one network under E dropout masks, as in the paper, or a deep ensemble.

Items are uint8 images, (N, H, W) or (N, H, W, C), or anything that gives such images one by one. Every fit starts
again from fresh or pretrained weights. A mask has the shape of one feature map and is shared by all inputs.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from bemps.checks import within
from bemps.errors import InputError, unknown_name
from bemps.models._torch.devices import pick_device
from bemps.models._torch.dropout_masks import ConsistentDropout, QuickDropout, dropout_active
from bemps.models._torch.training_loop import History, TrainingRecipe, train
from bemps.models.base import NotFitted, fit_members
from bemps.models.ensembling import (
    RESAMPLERS,
    at_temperature,
    check_choices,
    likelihood_weights,
    temperature_and_likelihood,
)
from bemps.models.images.image_networks import ARCHITECTURES, Architecture, CutNetwork
from bemps.models.images.pixels import ImageRows
from bemps.models.validation_splits import Fixed, Split, SplitPlan, Validation, plan_splits
from bemps.types import Array

VALIDATION_ROWS = 64


class ImageClassifier:
    """A convolutional network on images.

    Parameters
    ----------
    network : {"mnist-bnn", "vgg16bn"} or Architecture
        The network.
    weights : path, optional
        File of pretrained weights (vgg16bn: torchvision's checkpoint of vgg16_bn). None trains from scratch.
    members : int
        E, the number of members.
    posterior : {"dropout", "ensemble"}
        One network under E masks, which stay until the next fit, or E networks.
    dropout : float
        The rate of every dropout.
    validation : {"none", "dynamic", "constant"} or Fixed
        The labels that early stopping, `calibrate` and `weighting="likelihood"` use.
    resample : {"none", "dirichlet", "bootstrap"}
        How labels weigh in each network; "dirichlet" is the Bayesian bootstrap.
    calibrate : bool
        Whether each member's temperature is fitted on its validation part.
    weighting : {"uniform", "likelihood"}
        How members weigh: alike, or by the likelihood of their validation parts.
    recipe : TrainingRecipe, optional
        How to train. None takes the recipe of the architecture.
    batch_size : int
        Images in a step of training.
    epoch_items : int
        The least number of images in an epoch, the labelled ones in turn. With 20 labels, 30 epochs of one step each
        would teach nothing.
    rows : int
        Images that are predicted at once.
    device : str, optional
        The torch device. None takes CUDA where there is one.
    """

    def __init__(
        self,
        network: str | Architecture = "mnist-bnn",
        *,
        weights: Path | str | None = None,
        members: int = 5,
        posterior: str = "dropout",
        dropout: float = 0.5,
        validation: Validation = "none",
        resample: str = "none",
        calibrate: bool = False,
        weighting: str = "uniform",
        recipe: TrainingRecipe | None = None,
        batch_size: int = 32,
        epoch_items: int = 128,
        rows: int = 64,
        device: str | None = None,
    ) -> None:
        self.network, self.pretrained, self.members, self.posterior = network, weights, members, posterior
        self.dropout, self.validation, self.resample, self.calibrate = dropout, validation, resample, calibrate
        self.weighting, self.recipe, self.batch_size, self.epoch_items = weighting, recipe, batch_size, epoch_items
        self.rows, self.device = rows, device
        self._check()
        self.histories_: list[History] = []
        self.K_ = 0
        self._networks: list[CutNetwork] = []
        self._masks: list[ConsistentDropout] = []
        self._temperatures: Float[Array, " E"] = np.ones(0)
        self._weights: Float[Array, " E"] = np.ones(0)

    def fit(
        self, items: ImageRows, labels: Int[Array, " L"], classes: Sequence[str], rng: np.random.Generator
    ) -> "ImageClassifier":
        """Train from fresh or pretrained weights; a network that diverges is tried once more.

        Parameters
        ----------
        items : array, table, or sequence
            The labelled items.
        labels : array (L,) of int
            Codes into `classes`.
        classes : sequence of str
            The ordered class names.
        rng : numpy Generator
            The source of randomness.

        Returns
        -------
        ImageClassifier
            The model itself.

        Raises
        ------
        Diverged
            A network diverged twice.
        """
        self._networks, self.K_ = [], len(classes)
        networks = self.members if self.posterior == "ensemble" else 1
        plan = plan_splits(
            self._seen_validation(), self._stack(items), labels, classes=classes, members=networks, rng=rng
        )
        trained = fit_members(networks, lambda e, member_rng: self._train(plan, plan.splits[e], member_rng), rng)
        self._networks, self.histories_ = [pair[0] for pair in trained], [pair[1] for pair in trained]
        masks = self.members if self.posterior == "dropout" else 0
        self._masks = [ConsistentDropout(int(seed)) for seed in rng.integers(2**63, size=masks)]
        self._validate(plan)
        return self

    def predict(self, items: ImageRows) -> Float[Array, "E N K"]:
        """Predict the probabilities of images; see `Model.predict`."""
        self._require_fit()
        parts = [self._probs(images) for images in self._architecture().pixels.batches(items, self.rows)]
        probs = np.concatenate([np.zeros((self.members, 0, self.K_), dtype=np.float32), *parts], axis=1)
        return np.stack([at_temperature(member, T) for member, T in zip(probs, self._temperatures, strict=True)])

    def features(self, items: ImageRows) -> Float[Array, "N D"]:
        """What goes into the last layer, without dropout; networks side by side over the root of their number."""
        self._require_fit()
        device, widths = pick_device(self.device), [_last_layer(network).in_features for network in self._networks]
        parts = [np.zeros((0, sum(widths)), dtype=np.float32)]
        with torch.inference_mode():
            for images in self._architecture().pixels.batches(items, self.rows):
                inner = [network.eval().penultimate(images.to(device)) for network in self._networks]
                parts.append(torch.cat(inner, dim=1).cpu().numpy())
        return np.concatenate(parts) / np.float32(np.sqrt(len(widths)))

    @property
    def weights(self) -> Float[Array, " E"]:
        """p(theta|L) of the members."""
        self._require_fit()
        return self._weights

    def _check(self) -> None:
        check_choices(
            posterior=self.posterior,
            resample=self.resample,
            weighting=self.weighting,
            calibrate=self.calibrate,
            validation=self.validation,
        )
        within(self.members, "members", 1)
        within(self.batch_size, "batch_size", 4)  # batch norm needs two images in the last batch, too
        within(self.dropout, "dropout", 0, 0.99, open_low=self.posterior == "dropout")

    def _architecture(self) -> Architecture:
        if isinstance(self.network, Architecture):
            return self.network
        if self.network not in ARCHITECTURES:
            raise unknown_name("network", self.network, ARCHITECTURES, "Or give an Architecture.")
        return ARCHITECTURES[self.network]

    def _require_fit(self) -> None:
        if not self._networks:
            raise NotFitted(self)

    def _stack(self, items: ImageRows) -> Float[Array, "L C H W"]:
        """All images as the network sees them."""
        return self._architecture().pixels.batch(items, 0, len(items)).numpy()

    def _seen_validation(self) -> Validation:
        validation = self.validation
        return Fixed(self._stack(validation.items), validation.labels) if isinstance(validation, Fixed) else validation

    def _train(self, plan: SplitPlan, split: Split, rng: np.random.Generator) -> tuple[CutNetwork, History]:
        device = pick_device(self.device)
        network = self._fresh_network(int(rng.integers(2**63))).to(device)
        images, labels = torch.from_numpy(np.asarray(plan.items)).to(device), torch.from_numpy(plan.labels).to(device)
        weights = torch.ones(len(labels), device=device)
        resampled = RESAMPLERS[self.resample](len(split.train), rng)
        weights[torch.from_numpy(split.train)] = torch.from_numpy(resampled).to(weights)

        def loss_of_batch(module: nn.Module, positions: Int[Array, " b"]) -> Float[Tensor, " b"]:
            index = torch.from_numpy(positions).to(device)
            with QuickDropout():
                logits = module(images[index])
            return functional.cross_entropy(logits, labels[index], reduction="none") * weights[index]

        history = train(
            network,
            loss_of_batch,
            lambda epoch_rng: repeated_batches(split.train, self.epoch_items, self.batch_size, epoch_rng),
            [split.valid[start : start + VALIDATION_ROWS] for start in range(0, len(split.valid), VALIDATION_ROWS)],
            recipe=self.recipe or self._architecture().recipe,
            rng=rng,
        )
        return network, history

    def _fresh_network(self, seed: int) -> CutNetwork:
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            file = None if self.pretrained is None else Path(self.pretrained)
            network = self._architecture().build(self.K_, self.dropout, file)
        # channels last: on a processor pooling then takes a tenth of the time
        return network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    @torch.inference_mode()
    def _probs(self, images: Float[Tensor, "b C H W"]) -> Float[Array, "E b K"]:
        """All members on a batch; under masks the trunk runs once."""
        images = images.to(pick_device(self.device))
        if not self._masks:
            return torch.stack([network.eval()(images).softmax(dim=-1) for network in self._networks]).cpu().numpy()
        network = self._networks[0].eval()
        below, answers = network.trunk(images), []
        with dropout_active(network.head):
            for mask in self._masks:
                mask.restart()
                with mask:
                    answers.append(network.head(below).softmax(dim=-1))
        return torch.stack(answers).cpu().numpy()

    def _validate(self, plan: SplitPlan) -> None:
        """Temperatures and weights of the members from their validation parts."""
        self._temperatures, self._weights = np.ones(self.members), np.full(self.members, 1 / self.members)
        if not self.calibrate and self.weighting == "uniform":
            return
        scores = np.zeros(self.members)
        for e in range(self.members):
            part = plan.splits[e % len(plan.splits)].valid
            images = torch.from_numpy(np.asarray(plan.items)[part])
            probs = np.concatenate([self._probs(block)[e] for block in torch.split(images, self.rows)]).astype(
                np.float64
            )
            self._temperatures[e], scores[e] = temperature_and_likelihood(probs, plan.labels[part], self.calibrate)
        if self.weighting == "likelihood":
            self._weights = likelihood_weights(scores)


def repeated_batches(
    positions: Int[Array, " T"], minimum: int, size: int, rng: np.random.Generator
) -> list[Int[Array, " _"]]:
    """Batches of at most `size`, nearly equal, that show every position in turn until `minimum` were shown.

    Parameters
    ----------
    positions : array (T,) of int
        The positions to show.
    minimum : int
        How many positions are shown at least.
    size : int
        The largest batch.
    rng : numpy Generator
        The source of the order.

    Returns
    -------
    list of array of int
        The batches.
    """
    shown = max(len(positions), minimum, 2)
    turns = [rng.permutation(positions) for _ in range(-(-shown // len(positions)))]
    order = np.concatenate(turns)[:shown]
    return list(np.array_split(order, -(-shown // size)))


def _last_layer(network: CutNetwork) -> nn.Linear:
    last = network.head[-1]
    if not isinstance(last, nn.Linear):
        raise InputError(
            "network",
            expected="a head that ends in nn.Linear",
            got=type(last).__name__,
            fix="Add the layer of K logits.",
        )
    return last
