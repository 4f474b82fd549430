"""Pretrained transformers by name or local folder, loaded quietly and with errors that say what to do.

`minilm` and the others of the table of text encoders have weights that `bemps weights` brings. Every other name is a
folder, or a name on the Hugging Face hub.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import nn

from bemps.errors import InputError
from bemps.models.encoders.encoder_table import SAFETENSORS, TEXT_ENCODERS
from bemps.models.encoders.weight_files import require_weights

MINILM = "minilm"
PAPER_MODEL = "distilbert-base-uncased"


def locate(name: str | Path) -> str:
    """What transformers can load: the folder of the weights of `minilm` and its like, else the name itself."""
    if str(name) not in TEXT_ENCODERS:
        return str(name)
    paths = require_weights(str(name))
    if SAFETENSORS in paths:
        return str(paths[SAFETENSORS].parent)
    from bemps.models.text.onnx_bert import torch_folder  # which checks the folder with an encoder of this package

    return str(torch_folder(str(name)))


def load_tokenizer(name: str | Path) -> Any:
    """The tokenizer of a model; one without a padding token is refused."""
    tokenizer = _load(transformers.AutoTokenizer.from_pretrained, name)
    if tokenizer.pad_token_id is None:
        raise InputError(
            f"model {str(name)!r}",
            expected="an encoder whose tokenizer has a padding token",
            got=f"{type(tokenizer).__name__} without one",
            fix=f"Use an encoder such as {PAPER_MODEL!r} or {MINILM!r}.",
        )
    return tokenizer


def load_module(auto: Any, name: str | Path, *, seed: int, device: torch.device, **options: Any) -> nn.Module:
    """The module of an auto class (`AutoModel`, ...) in float32, in evaluation mode.

    What has no pretrained weights is drawn from `seed`. Attention is "eager" unless said otherwise, so that its
    dropout can have a mask of its own.

    Parameters
    ----------
    auto : type
        The auto class of transformers.
    name : str or Path
        A name of the table, a folder, or a name on the hub.
    seed : int
        The seed of what has no pretrained weights.
    device : torch device
        Where the module goes.
    **options : object
        More options of `from_pretrained`.

    Returns
    -------
    torch Module
        The module.
    """
    return load_with_missing(auto, name, seed=seed, device=device, **options)[0]


def load_with_missing(
    auto: Any, name: str | Path, *, seed: int, device: torch.device, **options: Any
) -> tuple[nn.Module, list[str]]:
    """Load a module as `load_module` does, and name the parameters that have no pretrained weights.

    Parameters
    ----------
    auto : type
        The auto class of transformers.
    name : str or Path
        A name of the table, a folder, or a name on the hub.
    seed : int
        The seed of what has no pretrained weights.
    device : torch device
        Where the module goes.
    **options : object
        More options of `from_pretrained`.

    Returns
    -------
    tuple of torch Module and list of str
        The module, and the names of those parameters.
    """
    options = {"attn_implementation": "eager", "dtype": torch.float32} | options
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        module, info = _load(auto.from_pretrained, name, output_loading_info=True, **options)
    return module.to(device).eval(), sorted(info["missing_keys"])


def _load(load: Callable[..., Any], name: str | Path, **options: Any) -> Any:
    with _quiet():
        try:
            return load(locate(name), **options)
        except (OSError, ValueError) as cause:
            raise _unloadable(name, cause) from cause


def _unloadable(name: str | Path, cause: Exception) -> InputError:
    reason = str(cause).strip().splitlines()[0].rstrip(".") if str(cause).strip() else type(cause).__name__
    return InputError(
        f"model {str(name)!r}",
        expected="a folder with config.json, tokenizer and weights, or a name on the Hugging Face hub",
        got=reason,
        fix=(
            f"Where there is a network, run `hf download {name} --local-dir FOLDER`, bring the folder here and "
            f"give its path as the name. Or use {MINILM!r}, whose weights come with: bemps weights {MINILM}"
        ),
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """No progress bars and no report of freshly drawn heads: both are expected here."""
    logging: Any = transformers.utils.logging
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
