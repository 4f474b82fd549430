"""The quality benchmark measures paired differences on the same labels."""

import numpy as np
import pytest
from encoder_weights import needs_weights

from benchmarks import model_quality


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(model_quality, "LABELS", (20, 60))

    def few(name):
        kept = (model_quality.BASELINE, "spectral logistic (default, one model)")
        return {family: how for family, how in model_quality.families(name).items() if family in kept}

    return list(model_quality.measure("digits", None, seeds=3, families_of=few))


def test_differences_are_paired_with_plain_logistic_regression(small):
    plain, ours = small
    assert plain.difference == (0.0, 0.0)
    assert np.allclose(np.subtract(ours.f1, plain.f1), ours.difference)
    assert plain.f1[0] < plain.f1[1]
    assert min(ours.difference) > 0


def test_the_table_shows_errors_beside_differences(small):
    plain, ours = model_quality.as_markdown(small).splitlines()[2:]
    assert "±" not in plain
    assert ours.count("±") == 2


@pytest.mark.parametrize("name", ["mnist", "cifar10", "trec6"])
def test_networks_read_the_items_and_the_baseline_their_vectors(name):
    pytest.importorskip("torch")
    baseline, network = model_quality.networks(name).values()
    assert not baseline.raw
    assert network.raw
    assert hasattr(network.make(np.zeros((2, 3))), "fit")


def test_words_beside_meaning_tell_questions_apart_better(data_dir, monkeypatch):
    needs_weights("minilm")
    monkeypatch.setattr(model_quality, "LABELS", (200,))
    plain, meaning, both = model_quality.measure(
        "trec6", str(data_dir), seeds=3, most=500, families_of=model_quality.words
    )
    assert both.f1[0] > meaning.f1[0] + 0.02
    assert both.f1[0] > plain.f1[0]
