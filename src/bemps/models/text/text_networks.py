"""Networks that classify texts: a pretrained encoder under a head of K logits.

own   the head that belongs to the architecture (`AutoModelForSequenceClassification`), as in the paper
mean  the mean over the tokens, dropout, one linear layer: what suits sentence encoders such as MiniLM
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch
import transformers
from jaxtyping import Float
from torch import nn

from bemps.errors import InputError, unknown_name
from bemps.models.encoders.text_encoder import mean_of_tokens, width_of
from bemps.models.text.pretrained import load_module, load_tokenizer
from bemps.models.text.token_store import TokenStore
from bemps.models.text.tokens import NetworkInputs, Row, TokenInputs, check_length, tokenise

HEAD_SPREAD = 0.02  # standard deviation of fresh weights, as in BERT
HEAD_DROPOUT = 0.1


class OwnHead(nn.Module):
    """A sequence classifier of transformers that returns its logits only."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    @property
    def encoder(self) -> nn.Module:
        """The pretrained encoder under the head."""
        part: Any = self.model.base_model
        encoder: nn.Module = part
        return encoder

    def forward(self, **inputs: torch.Tensor) -> Float[torch.Tensor, "b K"]:
        """The scores of the classes for a batch of tokens."""
        logits: torch.Tensor = self.model(**inputs).logits
        return logits


class MeanHead(nn.Module):
    """The mean of the last hidden states over the tokens, dropout, a linear layer.

    Parameters
    ----------
    encoder : torch Module
        The pretrained encoder.
    K : int
        The number of classes.
    seed : int
        The seed of the linear layer.
    """

    def __init__(self, encoder: nn.Module, K: int, seed: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.dropout = nn.Dropout(HEAD_DROPOUT)
        self.classifier = nn.Linear(width_of(encoder), K)
        generator = torch.Generator().manual_seed(seed)
        nn.init.normal_(self.classifier.weight, std=HEAD_SPREAD, generator=generator)
        nn.init.zeros_(self.classifier.bias)

    def forward(self, **inputs: torch.Tensor) -> Float[torch.Tensor, "b K"]:
        """The scores of the classes for a batch of tokens."""
        states = self.encoder(**inputs).last_hidden_state
        logits: torch.Tensor = self.classifier(self.dropout(mean_of_tokens(states, inputs["attention_mask"])))
        return logits


Network = OwnHead | MeanHead


def own_head(name: str | Path, K: int, seed: int, device: torch.device) -> Network:
    """A pretrained encoder under the head of its architecture.

    Parameters
    ----------
    name : str or Path
        The encoder: a name of the table, a folder, or a name on the hub.
    K : int
        The number of classes.
    seed : int
        The seed of the head.
    device : torch device
        Where the network goes.

    Returns
    -------
    Network
        The network.
    """
    auto = transformers.AutoModelForSequenceClassification
    return OwnHead(load_module(auto, name, seed=seed, device=device, num_labels=K))


def mean_head(name: str | Path, K: int, seed: int, device: torch.device) -> Network:
    """A pretrained encoder under a linear layer on the mean of its tokens.

    Parameters
    ----------
    name : str or Path
        The encoder: a name of the table, a folder, or a name on the hub.
    K : int
        The number of classes.
    seed : int
        The seed of the head.
    device : torch device
        Where the network goes.

    Returns
    -------
    Network
        The network.
    """
    encoder = load_module(transformers.AutoModel, name, seed=seed, device=device)
    freeze_unused(encoder)
    return MeanHead(encoder, K, seed).to(device)


HEADS: dict[str, Callable[[str | Path, int, int, torch.device], Network]] = {
    "own": own_head,
    "mean": mean_head,
}


def build_network(
    name: str | Path, K: int, *, head: str, dropout: float | None, seed: int, device: torch.device
) -> Network:
    """A network with pretrained weights and a fresh head.

    Parameters
    ----------
    name : str or Path
        The encoder: a name of the table, a folder, or a name on the hub.
    K : int
        The number of classes.
    head : {"own", "mean"}
        The kind of head.
    dropout : float or None
        The rate that replaces all rates of dropout; None leaves them.
    seed : int
        The seed of the head.
    device : torch device
        Where the network goes.

    Returns
    -------
    Network
        The network, in evaluation mode.

    Raises
    ------
    InputError
        The kind of head is unknown.
    """
    if head not in HEADS:
        raise unknown_name("head", head, HEADS)
    network = HEADS[head](name, K, seed, device)
    for part in network.modules():
        if isinstance(part, nn.Dropout) and dropout is not None:
            part.p = dropout
    return network.eval()


def has_dropout(network: nn.Module) -> bool:
    """Whether the network has a dropout of a rate above 0."""
    return any(isinstance(part, nn.Dropout) and part.p > 0 for part in network.modules())


def freeze_unused(encoder: nn.Module) -> None:
    """Freeze a pooler that nothing uses, so that no member stores its weights."""
    pooler = getattr(encoder, "pooler", None)
    if pooler is not None:
        pooler.requires_grad_(False)


def freeze_words(encoder: Any) -> None:
    """Freeze the vectors of the words: half the weights of a small encoder, of which a few labels touch hardly any."""
    encoder.get_input_embeddings().requires_grad_(False)


def last_layer(network: nn.Module, K: int) -> nn.Linear:
    """The linear layer that gives the K logits; what goes into it are the features of the model."""
    layers = [part for part in network.modules() if isinstance(part, nn.Linear) and part.out_features == K]
    if not layers:
        raise InputError(
            "features",
            expected=f"a network that ends in a linear layer of {K} outputs",
            got=type(network).__name__,
            fix='Use head="mean".',
        )
    return layers[-1]


def features_of(network: nn.Module, K: int, inputs: dict[str, torch.Tensor]) -> Float[torch.Tensor, "b H"]:
    """What goes into the last layer for these inputs.

    Parameters
    ----------
    network : torch Module
        The network.
    K : int
        The number of classes.
    inputs : dict of str to tensor
        The inputs of the network.

    Returns
    -------
    tensor (b, H)
        The inputs of the last layer.
    """
    seen: list[torch.Tensor] = []
    hook = last_layer(network, K).register_forward_pre_hook(lambda _, arguments: seen.append(arguments[0]))
    try:
        network(**inputs)
    finally:
        hook.remove()
    return seen[-1]


@runtime_checkable
class Backbone(Protocol):
    """Pretrained weights as a source of networks and of what they read."""

    def network(self, K: int, seed: int) -> Network:
        """A fresh network of K logits on the pretrained weights, its head drawn from `seed`."""
        ...

    def whole_encoder(self, network: Network) -> tuple[nn.Module, Any]:
        """The encoder of a network with all its layers, and its tokenizer."""
        ...

    def inputs(self, texts: Sequence[str], report: Callable[[int, int], None]) -> NetworkInputs:
        """The texts, prepared for these networks; `report(done, total)` where that takes time."""
        ...


class WholeBackbone:
    """An encoder of which all layers learn; its networks read token numbers.

    Parameters
    ----------
    name : str or Path
        The encoder: a name of the table, a folder, or a name on the hub.
    head : {"own", "mean"}
        The kind of head.
    dropout : float or None
        The rate that replaces all rates of dropout; None leaves them.
    max_length : int
        The largest number of tokens of a text.
    device : torch device
        Where the networks run.
    cache : Path or str, optional
        The folder of the token numbers; None stores none.
    learn_words : bool, optional
        Whether the embeddings of the words learn too.
    """

    def __init__(
        self,
        name: str | Path,
        *,
        head: str,
        dropout: float | None,
        max_length: int,
        device: torch.device,
        cache: Path | str | None = None,
        learn_words: bool = True,
    ) -> None:
        self.name, self.head, self.dropout, self.learn_words = name, head, dropout, learn_words
        self.max_length, self.device = max_length, device
        self.tokenizer = load_tokenizer(name)
        self._store = None if cache is None else TokenStore(self.tokenizer, max_length, cache)

    def network(self, K: int, seed: int) -> Network:
        """A new network with a head of K classes, drawn from `seed`."""
        network = build_network(self.name, K, head=self.head, dropout=self.dropout, seed=seed, device=self.device)
        check_length(self.max_length, network.encoder)
        if not self.learn_words:
            freeze_words(network.encoder)
        return network

    def whole_encoder(self, network: Network) -> tuple[nn.Module, Any]:
        """The encoder of a network, and its tokenizer."""
        return network.encoder, self.tokenizer

    def inputs(self, texts: Sequence[str], report: Callable[[int, int], None]) -> NetworkInputs:
        """The texts as token numbers; `report` is not used."""
        return TokenInputs(self.rows(texts), self.tokenizer.pad_token_id, self.device)

    def rows(self, texts: Sequence[str]) -> Sequence[Row]:
        """The token numbers of each text."""
        return tokenise(self.tokenizer, texts, self.max_length) if self._store is None else self._store.rows(texts)
