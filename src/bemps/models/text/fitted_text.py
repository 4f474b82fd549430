"""Fine-tuned members that predict: one network, into which the weights of each member are loaded in turn."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float

from bemps.models._torch.checkpoints import Tensors
from bemps.models._torch.dropout_masks import ConsistentDropout, dropout_active, sequences_up_to
from bemps.models._torch.training_loop import History, load_trainable_state
from bemps.models.ensembling import at_temperature
from bemps.models.text.text_networks import Network, features_of, last_layer
from bemps.models.text.tokens import Inputs, NetworkInputs, answers, rounded_up
from bemps.types import Array

Report = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Member:
    """The weights of a trained network, and what makes them a member.

    Parameters
    ----------
    weights : dict of str to tensor
        The weights of the network.
    history : History
        How the training went.
    mask : int, optional
        The seed of the dropout mask, where the member is one.
    temperature : float, optional
        The temperature of its probabilities.
    log_likelihood : float, optional
        The log-likelihood of its held-out labels.
    """

    weights: Tensors
    history: History
    mask: int | None = None
    temperature: float = 1.0
    log_likelihood: float = 0.0


class FittedText:
    """Members and the network that computes them.

    Parameters
    ----------
    network : Network
        The network, into which the weights of each member are loaded.
    members : sequence of Member
        The members.
    K : int
        The number of classes.
    max_length : int
        The largest number of tokens of a text.
    """

    def __init__(self, network: Network, members: Sequence[Member], K: int, max_length: int) -> None:
        self.network, self.members, self.K = network, list(members), K
        self.max_length = int(rounded_up(np.array([max_length]))[0])

    @property
    def networks(self) -> list[Member]:
        """One member for each network: masks of the same network count once."""
        return self.members if self.members[0].mask is None else self.members[:1]

    def probs(self, inputs: NetworkInputs, reporter: Callable[[str], Report]) -> Float[Array, "E N K"]:
        """The probabilities of every member."""
        E = len(self.members)
        return np.stack(
            [
                self.probs_of(member, inputs, reporter(f"predict, member {e} of {E}"))
                for e, member in enumerate(self.members, start=1)
            ]
        )

    def probs_of(self, member: Member, inputs: NetworkInputs, report: Report) -> Float[Array, "N K"]:
        """The probabilities of one member, at its temperature.

        Parameters
        ----------
        member : Member
            The member.
        inputs : NetworkInputs
            The prepared texts.
        report : callable
            Takes the number of texts done and the number of all.

        Returns
        -------
        array (N, K)
            The probabilities.
        """
        network, total = self.loaded(member), len(inputs.lengths)

        def done(n: int) -> None:
            report(n, total)

        if member.mask is None:
            probs = answers(inputs, lambda batch: _softmax(network(**batch)), self.K, done)
        else:
            probs = self._masked(network, member.mask, inputs, done)
        return probs if member.temperature == 1.0 else at_temperature(probs, member.temperature)

    def _masked(
        self, network: Network, seed: int, inputs: NetworkInputs, done: Callable[[int], None]
    ) -> Float[Array, "N K"]:
        with dropout_active(network), ConsistentDropout(seed, sequences_up_to(self.max_length)) as masks:

            def ask(batch: Inputs) -> Float[torch.Tensor, "rows K"]:
                masks.restart()
                return _softmax(network(**batch))

            return answers(inputs, ask, self.K, done)

    def features(self, inputs: NetworkInputs) -> Float[Array, "N D"]:
        """What goes into the last layers, without dropout, divided by the root of the number of networks."""
        parts = [self._features_of(member, inputs) for member in self.networks]
        return np.hstack(parts) / np.float32(np.sqrt(len(parts)))

    def _features_of(self, member: Member, inputs: NetworkInputs) -> Float[Array, "N H"]:
        network = self.loaded(member)
        width = last_layer(network, self.K).in_features
        return answers(inputs, lambda batch: features_of(network, self.K, batch), width)

    def loaded(self, member: Member) -> Network:
        """The network with the weights of a member."""
        load_trainable_state(self.network, member.weights)
        return self.network.eval()


def _softmax(logits: Float[torch.Tensor, "b K"]) -> Float[torch.Tensor, "b K"]:
    return logits.softmax(dim=-1)
