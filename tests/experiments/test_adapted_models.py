"""Grids whose model is fine-tuned on the labels, on real questions with the real MiniLM weights."""

import pytest
from encoder_weights import needs_weights
from running import play, rows
from tiny_bert import TEXTS, tiny_bert

from bemps.data import load
from bemps.errors import InputError
from bemps.models.model_registry import grid_model as model


@pytest.fixture
def settings(tmp_path, data_dir):
    needs_weights("minilm")
    trec = load("trec6", data_dir=data_dir)
    lines = [f"{trec.pool.items[i]}\t{trec.classes[trec.pool.labels[i]]}" for i in range(40)]
    (tmp_path / "my.tsv").write_text("\n".join(["body\ttopic", *lines]) + "\n")
    columns = {"dataset": str(tmp_path / "my.tsv"), "text": "body", "label": "topic", "full": False}
    return columns | {"seeds": 1, "batch_size": 2, "budget": 2, "initial": 22}


@pytest.mark.parametrize(
    ("name", "axes"),
    [
        ("finetuned-laplace", {"epochs": 1, "members": 3}),
        ("finetuned-dropout", {"epochs": 1, "members": 3}),
        ("finetuned-ensemble", {"epochs": 1, "members": 2}),
        ("adapted", {"epochs": 1, "members": 3, "frozen": "minilm-words"}),
    ],
)
def test_closed_forms_run_on_fine_tuned_models(tmp_path, settings, name, axes):
    outcome = play(tmp_path / "out", **settings, model=name, axes=axes, strategies=["corelog-laplace"])
    assert outcome.failures == ()
    assert [row["labels"] for row in rows(tmp_path / "out")] == [22, 24]


def test_an_encoder_without_words_beside_is_refused(tmp_path):
    with pytest.raises(InputError, match="one of bge-words, gte-small-words, minilm-words"):
        model("adapted").make(["one text", "another"], tmp_path, frozen="bge")


def test_the_frozen_half_takes_a_folder_of_your_own(tmp_path):
    made = model("adapted").make(TEXTS, tmp_path, frozen=str(tiny_bert()))
    assert made.frozen.first_view == 32
    assert made.frozen.embeddings(TEXTS[:2]).shape[1] > 2 * 32  # two layers, and words beside them
