"""The training loop, on real handwritten digits."""

import json
import math

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional

from bemps.errors import InputError
from bemps.models._torch.checkpoints import PROGRESS
from bemps.models._torch.devices import pick_device
from bemps.models._torch.training_loop import OPTIMISERS, TrainingRecipe, mean_loss, train, trainable_state
from bemps.models.base import Diverged

RECIPE = TrainingRecipe(learning_rate=0.01, epochs=6, patience=3)


class Interrupted(Exception):
    pass


@pytest.fixture(scope="module")
def digits():
    images, codes = load_digits(return_X_y=True)
    return torch.from_numpy(images[:300] / 16).float(), torch.from_numpy(codes[:300])


def make_network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 10))


def loss_on(digits):
    images, codes = digits

    def loss_of_batch(network, positions):
        return functional.cross_entropy(network(images[positions]), codes[positions], reduction="none")

    return loss_of_batch


def batches_of(count, size=20):
    return lambda rng: np.array_split(rng.permutation(count), count // size)


def fit(digits, *, network=None, recipe=RECIPE, seed=1, valid=True, **options):
    network = make_network() if network is None else network
    held = [np.arange(200, 250), np.arange(250, 300)] if valid else None
    history = train(
        network,
        loss_on(digits),
        batches_of(200),
        held,
        recipe=recipe,
        rng=np.random.default_rng(seed),
        **options,
    )
    return network, history


def same_weights(one, other):
    first, second = one.state_dict(), other.state_dict()
    return all(torch.equal(first[name], second[name]) for name in first)


def test_loss_goes_down_and_predictions_beat_chance(digits):
    network, history = fit(digits)
    assert history.epochs[-1].train_loss < history.epochs[0].train_loss / 2
    images, codes = digits
    accuracy = (network(images[200:]).argmax(1) == codes[200:]).float().mean()
    assert accuracy > 0.7


def test_same_seed_same_numbers(digits):
    (first, history), (second, again) = fit(digits), fit(digits)
    assert history == again
    assert same_weights(first, second)


def test_another_seed_gives_other_numbers(digits):
    assert fit(digits, seed=1)[1] != fit(digits, seed=2)[1]


def test_random_state_of_torch_is_left_alone(digits):
    network = make_network()
    before = torch.random.get_rng_state()
    fit(digits, network=network)
    assert torch.equal(before, torch.random.get_rng_state())


def test_patience_counts_from_the_last_improvement(digits):
    """A learning rate that soon overshoots: the loss stops falling well before the last epoch."""
    recipe = TrainingRecipe(learning_rate=0.5, epochs=40, patience=4, decay="none")
    network, history = fit(digits, recipe=recipe)
    losses = [epoch.valid_loss for epoch in history.epochs]
    assert history.best_epoch == int(np.argmin(losses)) + 1
    assert len(history.epochs) == history.best_epoch + 4 < 40
    kept = mean_loss(network, loss_on(digits), [np.arange(200, 250), np.arange(250, 300)])
    assert kept == history.best.valid_loss


def test_without_validation_all_epochs_run_and_the_last_weights_stay(digits):
    network, history = fit(digits, valid=False)
    assert (len(history.epochs), history.best_epoch) == (6, 6)
    assert history.best.valid_loss is None
    assert not network.training


def test_linear_decay_with_warm_up(digits, monkeypatch):
    rates = []

    class Watched(torch.optim.AdamW):
        def step(self, *args, **kwargs):
            rates.append(self.param_groups[0]["lr"])
            return super().step(*args, **kwargs)

    monkeypatch.setitem(OPTIMISERS, "adamw", Watched)
    fit(digits, recipe=TrainingRecipe(learning_rate=1.0, epochs=2, warm_up=0.25))
    assert len(rates) == 20
    assert np.allclose(rates[:6], np.arange(6) / 5)
    assert np.allclose(rates[5:], np.linspace(1, 0, 16)[:-1])


def test_a_single_step_learns_in_spite_of_the_warm_up(digits):
    network = make_network()
    before = trainable_state(network)
    recipe = TrainingRecipe(epochs=1, warm_up=0.1)
    train(network, loss_on(digits), lambda rng: [np.arange(20)], None, recipe=recipe, rng=np.random.default_rng(0))
    assert not torch.equal(before["0.weight"], network.state_dict()["0.weight"])


def test_gradients_are_clipped(digits):
    """With Adam's second moment fed by tiny clipped gradients, epsilon rules and nothing moves."""
    network = make_network()
    before = trainable_state(network)["0.weight"]
    fit(digits, network=network, recipe=TrainingRecipe(learning_rate=0.01, epochs=1, clip=1e-12, weight_decay=0.0))
    moved = (network.state_dict()["0.weight"] - before).abs().max()
    assert moved < 1e-3
    free = make_network()
    fit(digits, network=free, recipe=TrainingRecipe(learning_rate=0.01, epochs=1, clip=None, weight_decay=0.0))
    assert (free.state_dict()["0.weight"] - before).abs().max() > 1e-2


def test_frozen_parameters_stay(digits):
    network = make_network()
    network[0].requires_grad_(False)
    before = network[0].weight.clone()
    fit(digits, network=network)
    assert torch.equal(before, network[0].weight)
    assert "0.weight" not in trainable_state(network)
    assert "1.running_mean" in trainable_state(network)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_is_diverged(digits, bad):
    images, codes = digits

    def loss_of_batch(network, positions):
        return functional.cross_entropy(network(images[positions]), codes[positions], reduction="none") * bad

    with pytest.raises(Diverged, match="training loss: expected a finite number"):
        train(make_network(), loss_of_batch, batches_of(200), None, recipe=RECIPE, rng=np.random.default_rng(0))


def test_exploding_weights_are_diverged(digits):
    with pytest.raises(Diverged):
        fit(digits, recipe=TrainingRecipe(learning_rate=1e30, epochs=5))


@pytest.mark.parametrize("after", [1, 3, 6])
def test_an_interrupted_training_ends_with_the_same_numbers(digits, tmp_path, after):
    def interrupt(epoch):
        if epoch.number == after:
            raise Interrupted

    expected, history = fit(digits)
    with pytest.raises(Interrupted):
        fit(digits, checkpoint=tmp_path, progress=interrupt)
    seen = []
    resumed, again = fit(digits, checkpoint=tmp_path, progress=lambda epoch: seen.append(epoch.number))
    assert seen == list(range(after + 1, 7))
    assert again == history
    assert same_weights(resumed, expected)


def test_a_finished_training_is_only_read(digits, tmp_path):
    expected, history = fit(digits, checkpoint=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"best-{history.best_epoch}.safetensors",
        PROGRESS,
    ]

    def never(epoch):
        raise Interrupted

    resumed, again = fit(digits, checkpoint=tmp_path, progress=never)
    assert again == history
    assert same_weights(resumed, expected)


def test_a_torn_write_goes_on_from_the_epoch_before(digits, tmp_path):
    """Tensors of epoch 3 were written, the JSON that names them was not."""

    def interrupt(epoch):
        if epoch.number == 2:
            raise Interrupted

    with pytest.raises(Interrupted):
        fit(digits, checkpoint=tmp_path, progress=interrupt)
    (tmp_path / "state-3.safetensors").write_bytes(b"torn")
    (tmp_path / "best-3.safetensors").write_bytes(b"torn")
    assert fit(digits, checkpoint=tmp_path)[1] == fit(digits)[1]


@pytest.mark.parametrize("change", [{"seed": 2}, {"recipe": TrainingRecipe(learning_rate=0.02, epochs=6)}])
def test_the_folder_of_another_training_is_refused(digits, tmp_path, change):
    fit(digits, checkpoint=tmp_path)
    kept = json.loads((tmp_path / PROGRESS).read_text())
    with pytest.raises(InputError, match="Give another folder"):
        fit(digits, checkpoint=tmp_path, **change)
    assert json.loads((tmp_path / PROGRESS).read_text()) == kept


@pytest.mark.parametrize(
    "recipe",
    [
        TrainingRecipe(learning_rate=0.0),
        TrainingRecipe(epochs=0),
        TrainingRecipe(patience=0),
        TrainingRecipe(optimiser="sgdd"),
        TrainingRecipe(decay="cosine"),
        TrainingRecipe(warm_up=1.0),
    ],
    ids=lambda recipe: f"{recipe.optimiser}-{recipe.decay}-{recipe.epochs}-{recipe.patience}-{recipe.learning_rate}",
)
def test_bad_settings_are_refused(digits, recipe):
    with pytest.raises(InputError):
        fit(digits, recipe=recipe)


def test_no_batches_are_refused(digits):
    with pytest.raises(InputError, match="at least one batch"):
        train(make_network(), loss_on(digits), lambda rng: [], None, recipe=RECIPE, rng=np.random.default_rng(0))


class Headed(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.classifier = nn.Linear(64, 16), nn.Linear(16, 10)

    def forward(self, images):
        return self.classifier(torch.tanh(self.encoder(images)))


def steps_of(network, before):
    """How far the encoder and the head moved, as largest change of a weight."""
    return [
        float((part.weight.detach() - old).abs().max())
        for part, old in zip((network.encoder, network.classifier), before, strict=True)
    ]


def test_the_head_has_its_own_rate(digits):
    torch.manual_seed(0)
    network = Headed()
    before = [part.weight.detach().clone() for part in (network.encoder, network.classifier)]
    recipe = TrainingRecipe(learning_rate=1e-5, head_rate=1e-3, epochs=1, patience=None, decay="none", weight_decay=0.0)
    fit(digits, network=network, recipe=recipe, valid=False)
    encoder, head = steps_of(network, before)
    assert 50 < head / encoder < 200


def test_without_a_head_rate_all_learn_alike(digits):
    torch.manual_seed(0)
    network = Headed()
    before = [part.weight.detach().clone() for part in (network.encoder, network.classifier)]
    recipe = TrainingRecipe(learning_rate=1e-5, epochs=1, patience=None, decay="none", weight_decay=0.0)
    fit(digits, network=network, recipe=recipe, valid=False)
    encoder, head = steps_of(network, before)
    assert 0.5 < head / encoder < 2


def test_a_head_rate_of_zero_is_refused(digits):
    with pytest.raises(InputError, match="head_rate"):
        fit(digits, recipe=TrainingRecipe(head_rate=0.0))


@pytest.mark.parametrize("device", ["gpu", "cuda:64"])
def test_a_device_that_torch_cannot_use_is_refused_in_words(device):
    with pytest.raises(InputError, match=f'one that this torch can use; got {device}. Use device="cpu"'):
        pick_device(device)
