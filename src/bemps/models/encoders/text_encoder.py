"""Frozen text features: a pretrained encoder, pooled over the tokens; nothing is trained.

With its defaults `TextEncoder` gives the vectors that sentence-transformers gives for all-MiniLM-L6-v2: the mean
of the last hidden states over the tokens, of norm one.
"""

from pathlib import Path
from typing import Any

import torch
import transformers
from jaxtyping import Float
from torch import nn
from torch.nn import functional

from bemps.errors import InputError, unknown_name
from bemps.limits import current_limits
from bemps.models._torch.devices import pick_device, torch_threads
from bemps.models.base import Items
from bemps.models.text.pretrained import MINILM, load_module, load_tokenizer
from bemps.models.text.tokens import Inputs, Progress, TokenInputs, answers, check_length, check_texts, tokenise
from bemps.types import Array

POOLINGS = ("mean", "cls")


class TextEncoder:
    """Vectors of texts from a pretrained encoder.

    Parameters
    ----------
    name : str or Path
        `minilm`, a local folder, or a name on the Hugging Face hub.
    layer : int or tuple of int
        The hidden states: 0 is the embeddings, -1 the last layer. Vectors of several layers stand side by side.
    pooling : {"mean", "cls"}
        The mean over the tokens, or the first token.
    normalise : bool
        Whether each vector (of each layer) is divided by its norm.
    max_length : int
        Tokens of a text that are read.
    device : str, optional
        The torch device. None takes CUDA where there is one.
    progress : function, optional
        Called with (task, done, total).
    """

    def __init__(
        self,
        name: str | Path = MINILM,
        *,
        layer: int | tuple[int, ...] = -1,
        pooling: str = "mean",
        normalise: bool = True,
        max_length: int = 256,
        device: str | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.name, self.layer, self.pooling, self.normalise = name, layer, pooling, normalise
        self.max_length, self.device, self.progress = max_length, device, progress
        self._loaded: tuple[Any, nn.Module] | None = None

    @property
    def identity(self) -> str:
        """What the vectors depend on beside the texts; a folder of weights is known by its path."""
        how = f"layer {self.layer} pooling {self.pooling} normalise {self.normalise}"
        return f"text {self.name} {how} length {self.max_length}"

    def embeddings(self, items: Items) -> Float[Array, "N H"]:
        """One vector for each text; `CachedEncoder` of `bemps.models.encoders.feature_cache` keeps them on disk."""
        texts = check_texts(items)
        if self.pooling not in POOLINGS:
            raise unknown_name("pooling", self.pooling, POOLINGS)
        tokenizer, module = self._load()
        rows = tokenise(tokenizer, texts, self.max_length)
        inputs = TokenInputs(rows, tokenizer.pad_token_id, pick_device(self.device))

        def report(done: int) -> None:
            if self.progress is not None:
                self.progress("embed", done, len(texts))

        width = len(self._layers()) * width_of(module)
        with torch_threads(current_limits().threads):
            return answers(inputs, lambda batch: self._pooled(module, batch), width, report)

    def _load(self) -> tuple[Any, nn.Module]:
        if self._loaded is None:
            device = pick_device(self.device)
            module = load_module(transformers.AutoModel, self.name, seed=0, device=device)
            check_length(self.max_length, module)
            self._loaded = load_tokenizer(self.name), module
        return self._loaded

    def _layers(self) -> tuple[int, ...]:
        return (self.layer,) if isinstance(self.layer, int) else self.layer

    def _pooled(self, module: nn.Module, batch: Inputs) -> Float[torch.Tensor, "b H"]:
        pooled = [
            states[:, 0] if self.pooling == "cls" else mean_of_tokens(states, batch["attention_mask"])
            for states in hidden_states(module, batch, *self._layers())
        ]
        return torch.cat(
            [functional.normalize(vectors, dim=-1) for vectors in pooled] if self.normalise else pooled, dim=-1
        )


def hidden_states(module: nn.Module, batch: Inputs, *layers: int) -> list[Float[torch.Tensor, "b t H"]]:
    """The hidden states of some layers of an encoder.

    Parameters
    ----------
    module : torch Module
        The encoder.
    batch : dict of str to tensor
        Its inputs.
    *layers : int
        The numbers of the layers; 0 is the embeddings, -1 the last layer.

    Returns
    -------
    list of tensor (b, t, H)
        The states, in the order of `layers`.

    Raises
    ------
    InputError
        The encoder has no such layer.
    """
    if layers == (-1,):
        return [module(**batch).last_hidden_state]
    states = module(**batch, output_hidden_states=True).hidden_states
    for layer in layers:
        if not -len(states) <= layer < len(states):
            raise InputError(
                "layer", expected=f"0 to {len(states) - 1}, or from the end", got=str(layer), fix="-1 is the last."
            )
    return [states[layer] for layer in layers]


def mean_of_tokens(states: Float[torch.Tensor, "b t H"], attention: torch.Tensor) -> Float[torch.Tensor, "b H"]:
    """The mean of the hidden states over the tokens of each text, padding left out."""
    weights = attention[:, :, None].to(states.dtype)
    return (states * weights).sum(dim=1) / weights.sum(dim=1)


def width_of(module: nn.Module) -> int:
    """H, the width of the hidden states of a transformer."""
    config: Any = module.config
    return int(config.hidden_size)
