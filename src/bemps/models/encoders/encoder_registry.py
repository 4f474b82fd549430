"""The one table of encoders: from texts or images to vectors that never change.

To add an encoder, write its module and add a row. Grids offer it as a value of `encoder`, projects with the models of
`bemps.models.model_registry` that name it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

from bemps._utils.extras import requires_extra
from bemps.errors import MissingExtra
from bemps.models.encoders.encoder_files import layer_width, view_layers
from bemps.models.encoders.encoder_table import TEXT_ENCODERS


def from_module(path: str) -> Callable[..., Any]:
    """A function that calls what `module:name` says, and imports it no sooner."""
    module, _, name = path.partition(":")

    def make(*arguments: Any, **options: Any) -> Any:
        return getattr(import_module(module), name)(*arguments, **options)

    return make


@dataclass(frozen=True)
class EncoderRow:
    """A row of the table.

    Attributes
    ----------
    reads
        The kind of items.
    help
        What the vectors are, in a few words.
    for_project
        Makes the encoder of a project from the folder of its images and the folder of its cache.
    make
        Makes what encodes the items of a grid one by one; None where vectors are fitted on the pool, or where a grid
        has them without an encoder.
    packages, extra
        What has to be installed, and the extra of bemps that brings it.
    weights
        The name of its weights in `encoder_weights`, which `bemps weights` brings.
    weights_in_extra
        Whether the extra installs them too.
    first_view
        The columns of the first of two views (`bemps.models.encoders.text_views`): the words stand beside them.
    holds
        The encoder whose vectors these columns are: a grid keeps them too, for runs that share the folder.
    in_grids
        Whether grids offer it.
    grid_default
        Whether a grid takes it where it names no encoder.
    """

    reads: Literal["text", "image"]
    help: str
    for_project: Callable[[str, str | None], Any]
    make: Callable[[], Any] | None = None
    packages: tuple[str, ...] = ()
    extra: str = ""
    weights: str | None = None
    weights_in_extra: bool = False
    first_view: int | None = None
    holds: str | None = None
    in_grids: bool = True
    grid_default: bool = False

    def require_packages(self) -> None:
        """Refuse an encoder whose packages are not installed; the message names the extra."""
        absent = next((package for package in self.packages if find_spec(package) is None), None)
        if absent is not None:
            raise MissingExtra(self.help, self.extra, ModuleNotFoundError(f"no module named {absent!r}"))


def minilm_encoder(layer: int | tuple[int, ...] = -1) -> Any:
    """MiniLM in 32 bits: by torch, as the published numbers, where it is installed, else by onnxruntime.

    The two differ by rounding, less than 1e-5.
    """
    if any(find_spec(package) is None for package in _TORCH):
        return onnx_encoder("minilm", layer, bits=32)
    with requires_extra("finetune", "the text encoder MiniLM"):
        from bemps.models.encoders.text_encoder import TextEncoder
    return TextEncoder(layer=layer, device="cpu")


def onnx_encoder(name: str, layer: int | tuple[int, ...] = -1, *, bits: int | None = None) -> Any:
    """An encoder of `TEXT_ENCODERS`, by onnxruntime.

    Parameters
    ----------
    name : str
        A name of `TEXT_ENCODERS`.
    layer : int or tuple of int, optional
        The layer or layers that give the vectors; -1 is the last.
    bits : int, optional
        The bits of a weight; 8 or 32; None is what suits the encoder.

    Returns
    -------
    OnnxTextEncoder
        The encoder.
    """
    from bemps.models.encoders import OnnxTextEncoder

    return OnnxTextEncoder(name, layer=layer, bits=bits)


def efficientnet_encoder() -> Any:
    """EfficientNet-Lite0, on the processor."""
    with requires_extra("vision", "the image encoder EfficientNet-Lite0"):
        from bemps.models.images.efficientnet import EfficientNetLite0
    return EfficientNetLite0(device="cpu")


_CONTENT, _IMAGES = "bemps.models.content_models:", "bemps.models.image_contents:"
_TORCH = ("torch", "transformers")
_ONNX = ("onnxruntime", "tokenizers")
_EFFICIENTNET = ("torch", "PIL")
_LABELS = {"minilm": "MiniLM", "multilingual": "multilingual"}  # where words have another form than the name
_SHORT = {"bge-small": "bge"}


def text_row(encoder: str, make: Callable[..., Any] | None = None) -> EncoderRow:
    """The row of a text encoder alone: a name of `TEXT_ENCODERS`, a folder, or a name on the hub."""
    vectors = from_module(_CONTENT + "TextVectors")
    return EncoderRow(
        "text",
        f"{_LABELS.get(encoder, encoder)} vectors",
        lambda _, cache: vectors(encoder, cache),
        make or partial(onnx_encoder, encoder),
        _ONNX,
        "text",
        weights=encoder if encoder in TEXT_ENCODERS else None,
    )


def text_and_words_row(encoder: str, make: Callable[..., Any] | None = None) -> EncoderRow:
    """The row of a text encoder with the words beside it."""
    vectors, alone = from_module(_CONTENT + "TextAndWords"), text_row(encoder, make)
    return replace(
        alone,
        help=f"{alone.help} and words",
        for_project=lambda _, cache: vectors(encoder, cache),
        make=partial(make or partial(onnx_encoder, encoder), view_layers(encoder)),
        first_view=layer_width(encoder),
        holds=_SHORT.get(encoder, encoder),
    )


def encoder_row(name: str) -> EncoderRow:
    """The row of an encoder: one of the table, or a folder or a name on the hub, with the words beside its layers."""
    return ENCODERS[name] if name in ENCODERS else text_and_words_row(name)


def _text_rows(encoder: str, make: Callable[..., Any] | None = None) -> dict[str, EncoderRow]:
    name = _SHORT.get(encoder, encoder)
    return {f"{name}-words": text_and_words_row(encoder, make), name: text_row(encoder, make)}


_MINILM = _text_rows("minilm", minilm_encoder)

ENCODERS: dict[str, EncoderRow] = {
    **_text_rows("bge-small"),
    **_MINILM,
    "minilm": replace(_MINILM["minilm"], grid_default=True),
    **_text_rows("gte-small"),
    **_text_rows("mpnet"),
    **_text_rows("multilingual"),
    "tfidf": EncoderRow("text", "TF-IDF vectors", lambda *_: from_module(_CONTENT + "TfidfVectors")()),
    "efficientnet": EncoderRow(
        "image",
        "EfficientNet-Lite0 vectors",
        from_module(_IMAGES + "EfficientNetVectors"),
        efficientnet_encoder,
        _EFFICIENTNET,
        "vision",
        weights="efficientnet-lite0",
        weights_in_extra=True,
        grid_default=True,
    ),
    "pixels": EncoderRow(
        "image",
        "small pixels",
        lambda folder, _: from_module(_IMAGES + "PixelVectors")(folder),
        packages=("PIL",),
        extra="images",
        in_grids=False,
    ),
}


def grid_encoders(kind: str) -> list[str]:
    """The encoders that grids offer for a kind of items."""
    return [name for name, row in ENCODERS.items() if row.in_grids and row.reads == kind]


def grid_default(kind: str) -> str | None:
    """The encoder of a grid that names none; None for items that are rows of numbers."""
    return next((name for name, row in ENCODERS.items() if row.grid_default and row.reads == kind), None)
