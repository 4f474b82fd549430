"""One mask for a member, shared by every input, wherever the network drops."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from bemps.errors import InputError
from bemps.models._torch.dropout_masks import ConsistentDropout, QuickDropout, dropout_active, sequences_up_to


def drop(shape, seed=0, p=0.5):
    with ConsistentDropout(seed, sequences_up_to(16)):
        return functional.dropout(torch.ones(shape), p, training=True)


@pytest.mark.parametrize("shape", [(8, 5, 6), (8, 3, 5, 5), (8, 6)], ids=["hidden", "attention", "pooled"])
def test_every_row_of_a_batch_has_the_same_mask(shape):
    dropped = drop(shape)
    assert (dropped == dropped[:1]).all()
    assert set(dropped.unique().tolist()) == {0.0, 2.0}


def test_a_longer_batch_only_adds_to_the_mask():
    assert torch.equal(drop((1, 16, 6))[:, :5], drop((3, 5, 6))[:1])
    assert torch.equal(drop((1, 2, 16, 16))[:, :, :5, :5], drop((1, 2, 5, 5)))


def test_seed_and_place_tell_masks_apart():
    assert not torch.equal(drop((1, 5, 6), seed=0), drop((1, 5, 6), seed=1))
    with ConsistentDropout(0) as masks:
        first, second = (functional.dropout(torch.ones(1, 40), 0.5, training=True) for _ in range(2))
        masks.restart()
        again = functional.dropout(torch.ones(1, 40), 0.5, training=True)
    assert not torch.equal(first, second)
    assert torch.equal(first, again)


def fresh(shape, p, seed=0):
    with torch.random.fork_rng(devices=[]), QuickDropout():
        torch.manual_seed(seed)
        return functional.dropout(torch.ones(shape), p, training=True)


@pytest.mark.parametrize("noise", [lambda shape, p: drop(shape, p=p), fresh], ids=["masks", "quick"])
@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_the_rate_is_kept_and_the_mean_is_one(p, noise):
    dropped = noise((1, 16, 4000), p)
    assert (dropped == 0).float().mean().item() == pytest.approx(p, abs=0.01)
    assert dropped.mean().item() == pytest.approx(1, abs=0.05)


def test_noise_of_training_differs_from_row_to_row_follows_the_seed_and_is_in_the_gradient():
    first = fresh((2, 400), 0.5)
    assert not torch.equal(first[0], first[1])
    assert torch.equal(first, fresh((2, 400), 0.5))
    assert not torch.equal(first, fresh((2, 400), 0.5, seed=1))
    x = torch.ones(2, 400, requires_grad=True)
    with QuickDropout():
        dropped = nn.Dropout(0.5).train()(x)
        assert torch.equal(nn.Dropout(0.5).eval()(x), x)
        assert functional.dropout2d(torch.ones(1, 2, 3, 3), 0.5, training=True).shape == (1, 2, 3, 3)
    dropped.sum().backward()
    assert torch.equal(x.grad, dropped)  # of ones


def test_a_mask_lies_in_memory_as_what_it_multiplies():
    x = torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last)
    with ConsistentDropout(0) as masks:
        dropped = functional.dropout(x, 0.5, training=True)
    assert masks._masks[0].stride() == x[0].stride()
    with ConsistentDropout(0):
        assert torch.equal(functional.dropout(x.contiguous(), 0.5, training=True), dropped)


def test_modules_functions_and_in_place_alike():
    x = torch.ones(2, 6)
    with ConsistentDropout(3) as masks:
        answers = []
        for call in (nn.Dropout(0.5).train(), lambda x: torch.dropout(x, 0.5, True), nn.Dropout(0.5, inplace=True)):
            masks.restart()
            answers.append(call(x.clone()))
    assert torch.equal(answers[0], answers[1])
    assert torch.equal(answers[0], answers[2])


def test_dropout_that_is_off_stays_off():
    x = torch.ones(2, 6)
    with ConsistentDropout(3):
        assert torch.equal(nn.Dropout(0.5).eval()(x), x)
        assert torch.equal(functional.dropout(x, 0.0, training=True), x)


@pytest.mark.parametrize(
    "call",
    [
        lambda: functional.dropout2d(torch.ones(1, 2, 3, 3), 0.5, training=True),
        lambda: functional.scaled_dot_product_attention(*[torch.ones(1, 1, 3, 4)] * 3, dropout_p=0.1),
    ],
    ids=["channels", "attention of torch"],
)
def test_dropout_that_cannot_have_a_mask_is_refused(call):
    with ConsistentDropout(0), pytest.raises(InputError, match="eager"):
        call()


def test_inputs_that_outgrow_the_mask_are_refused():
    with pytest.raises(InputError, match="max_length"):
        drop((1, 17, 6))


def test_batch_norm_keeps_its_statistics():
    network = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5)).eval()
    before = network[1].running_mean.clone()
    with dropout_active(network):
        assert network[2].training
        network(torch.from_numpy(np.random.default_rng(0).normal(size=(8, 4))).float())
    assert torch.equal(before, network[1].running_mean)
    assert not any(part.training for part in network.modules())
