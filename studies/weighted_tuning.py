"""Fine-tuning on texts whose labels count differently; studies/self_training.py uses it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from jaxtyping import Float, Int
from safetensors.torch import save_file

from bemps.models._torch.training_loop import TrainingRecipe
from bemps.models.text.finetuned_laplace import BATCH, FINE_TUNING, MAX_LENGTH, FineTunedLaplace
from bemps.models.text.text_networks import WholeBackbone
from bemps.models.text.text_training import LabelledInputs, train_network
from bemps.models.validation_splits import Split
from bemps.types import Array


@dataclass(frozen=True)
class Tuning:
    """The pretrained weights, and how they are trained."""

    encoder: str | Path = "minilm"
    recipe: TrainingRecipe = FINE_TUNING
    max_length: int = MAX_LENGTH


def fine_tuned(
    texts: Sequence[str],
    codes: Int[Array, " n"],
    weights: Float[Array, " n"],
    K: int,
    seed: int,
    *,
    tuning: Tuning = Tuning(),  # noqa: B008
) -> FineTunedLaplace:
    """`FineTunedLaplace.fit_encoder` where the loss of each text is multiplied by its weight."""
    device, rng = torch.device("cpu"), np.random.default_rng(seed)
    backbone = WholeBackbone(
        tuning.encoder, head="mean", dropout=None, max_length=tuning.max_length, device=device, learn_words=False
    )
    member = train_network(
        backbone.network(K, int(rng.integers(2**63))),
        LabelledInputs(backbone.inputs(texts, _silent), codes, weights),
        Split(np.arange(len(texts)), np.arange(0)),
        recipe=tuning.recipe,
        batch_size=BATCH,
        rng=rng,
        checkpoint=None,
        report=_silent,
    )
    model = FineTunedLaplace(tuning.encoder, max_length=tuning.max_length, device="cpu")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "encoder.safetensors"
        save_file({name: value.contiguous() for name, value in member.weights.items()}, path)
        return model.load_encoder(path)


def _silent(done: int, total: int) -> None:
    """Report nothing."""
