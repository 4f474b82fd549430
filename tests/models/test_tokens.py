import numpy as np
import pytest
import torch
from tiny_bert import TEXTS, tiny_distilbert

from bemps.errors import InputError
from bemps.models.text.pretrained import load_tokenizer
from bemps.models.text.tokens import TokenInputs, check_texts, fixed_batches, lengths_of, random_batches, tokenise

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def rows():
    return tokenise(load_tokenizer(tiny_distilbert()), TEXTS, 16)


def test_texts_are_cut_with_their_special_tokens(rows):
    assert max(map(len, rows)) == 16
    assert {row[0] for row in rows} == {2}
    assert {row[-1] for row in rows} == {3}
    assert tokenise(load_tokenizer(tiny_distilbert()), [], 16) == []


def test_random_batches_hold_every_text_once_and_texts_of_like_length(rows):
    lengths = np.random.default_rng(0).integers(4, 60, size=203)
    batches = random_batches(lengths, 16, np.random.default_rng(0))
    assert sorted(np.concatenate(batches).tolist()) == list(range(203))
    padding = sum(len(batch) * lengths[batch].max() for batch in batches) / lengths.sum()
    plain = np.array_split(np.random.default_rng(1).permutation(203), 13)
    assert padding < 1.2 < sum(len(batch) * lengths[batch].max() for batch in plain) / lengths.sum()
    again = random_batches(lengths, 16, np.random.default_rng(0))
    assert all(np.array_equal(a, b) for a, b in zip(batches, again, strict=True))


def test_the_shape_that_answers_a_text_does_not_depend_on_its_company(rows):
    def shapes(chosen):
        inputs = TokenInputs([rows[i] for i in chosen], 0, CPU)
        found = {}
        for batch in fixed_batches(inputs.lengths, inputs.size):
            shape = tuple(inputs.fixed(batch)["input_ids"].shape)
            found |= {chosen[i]: shape for i in batch}
        return found

    alone = {i: shapes([i])[i] for i in range(len(rows))}
    assert shapes(list(range(len(rows)))) == alone
    assert {shape[0] for shape in alone.values()} == {8}


def test_padding_is_masked(rows):
    inputs = TokenInputs(rows, 0, CPU).batch(np.arange(4))
    assert inputs["attention_mask"].sum(dim=1).tolist() == lengths_of(rows[:4]).tolist()
    assert (inputs["input_ids"][inputs["attention_mask"] == 0] == 0).all()


def test_what_is_not_a_text_is_refused():
    assert check_texts(np.array(["a", "b"])) == ["a", "b"]
    with pytest.raises(InputError, match="one string"):
        check_texts("a text")
    with pytest.raises(InputError, match="a int"):
        check_texts(np.array(["a", 3], dtype=object))
