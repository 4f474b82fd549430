"""Readers of MNIST and CIFAR10 in the formats they were published in. Nothing is unpickled.

Each takes the files of one part, the name of the part and the ordered classes, and returns images and class names.

n  images    H W  height and width
"""

import gzip
import io
import struct
import zipfile
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from bemps.data.images import ImageArray, pillow
from bemps.errors import InputError

Paths = tuple[Path, ...]
Classes = tuple[str, ...]
Pictures = tuple[ImageArray, list[str]]

CIFAR_SIDE, CIFAR_PIXELS = 32, 3 * 32 * 32
CIFAR_PREFIX = {"pool": "train", "test": "test"}


def mnist(paths: Paths, part: str, classes: Classes) -> Pictures:
    """Read the idx files of images and of labels, compressed with gzip or not (then memory-mapped)."""
    images, labels = idx(paths[0], dimensions=3), idx(paths[1], dimensions=1)
    _same_count(paths[0], len(images), len(labels))
    return ImageArray.from_array(images), _names(paths[1], labels, classes)


def idx(path: Path, *, dimensions: int) -> UInt8[np.ndarray, "..."]:
    """Read an idx file of unsigned bytes: magic 0 0 8 d, d big-endian sizes, then the values."""
    head = 4 + 4 * dimensions
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        start = file.read(head)
        if len(start) < head or start[:4] != bytes([0, 0, 8, dimensions]):
            raise _odd_file(path, f"an idx file of bytes in {dimensions} dimensions", start[:4].hex(" "))
        shape = struct.unpack(f">{dimensions}I", start[4:])
        values = file.read() if path.suffix == ".gz" else np.memmap(path, np.uint8, "r", offset=head)
    flat = np.frombuffer(values, np.uint8) if isinstance(values, bytes) else values
    if flat.size != np.prod(shape):
        raise _odd_file(path, f"{np.prod(shape):,} values, as its head says", f"{flat.size:,}")
    return flat.reshape(shape)


def cifar_binary(paths: Paths, part: str, classes: Classes) -> Pictures:
    """Read `data_batch_1.bin` to 5, `test_batch.bin`: records of one label byte and 3 x 32 x 32 pixel bytes."""
    records = []
    for path in paths:
        values = np.fromfile(path, np.uint8)
        if not values.size or values.size % (1 + CIFAR_PIXELS):
            raise _odd_file(path, f"records of {1 + CIFAR_PIXELS:,} bytes", f"{values.size:,} bytes")
        records.append(values.reshape(-1, 1 + CIFAR_PIXELS))
    joined = np.concatenate(records)
    planes = joined[:, 1:].reshape(-1, 3, CIFAR_SIDE, CIFAR_SIDE)
    return ImageArray.from_array(planes.transpose(0, 2, 3, 1)), _names(paths[0], joined[:, 0], classes)


def cifar_strips(paths: Paths, part: str, classes: Classes) -> Pictures:
    """Read a zip of lossless WebP strips (images one above the other) and `y_train.npy`, `y_test.npy`."""
    prefix = CIFAR_PREFIX[part]
    image_module = pillow()
    with zipfile.ZipFile(paths[0]) as archive:
        strips = sorted(name for name in archive.namelist() if name.startswith(f"{prefix}_"))
        images = [np.asarray(image_module.open(io.BytesIO(archive.read(name))).convert("RGB")) for name in strips]
        codes = np.load(io.BytesIO(archive.read(f"y_{prefix}.npy")), allow_pickle=False)
    pixels = np.concatenate(images).reshape(-1, CIFAR_SIDE, CIFAR_SIDE, 3)
    _same_count(paths[0], len(pixels), len(codes))
    return ImageArray.from_array(pixels), _names(paths[0], codes, classes)


def _names(path: Path, codes: UInt8[np.ndarray, " n"], classes: Classes) -> list[str]:
    if codes.max() >= len(classes):
        raise _odd_file(path, f"labels below {len(classes)}", str(int(codes.max())))
    return [classes[code] for code in codes.tolist()]


def _same_count(path: Path, images: int, labels: int) -> None:
    if images != labels:
        raise _odd_file(path, "as many labels as images", f"{images:,} images and {labels:,} labels")


def _odd_file(path: Path, expected: str, got: str) -> InputError:
    return InputError(str(path), expected=expected, got=got, fix="Is the file complete, and the published one?")
