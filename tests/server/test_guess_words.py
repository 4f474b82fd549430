"""The words that speak for a guess: what is left out, what is counted, and how long it takes."""

import time

import numpy as np
import pytest

from bemps.server.model.guess_words import MOST_WORDS, words_for_class


def counting(weights, calls=None, wait=0.0):
    """A model whose probability of class 1 is the sum of the weights of the words that are there."""

    def predict(texts):
        if calls is not None:
            calls.extend(texts)
        time.sleep(wait)
        sums = [sum(weight for word, weight in weights.items() if word in text.casefold()) for text in texts]
        return np.array([[1 - each, each] for each in sums])

    return predict


def test_the_word_that_matters_most_comes_first_as_it_is_written():
    reasons = words_for_class("The App Crashes when I print", 1, counting({"crashes": 0.6, "print": 0.2, "the": -0.1}))
    assert [word for word, _ in reasons.words] == ["Crashes", "print"]
    assert [drop for _, drop in reasons.words] == pytest.approx([0.6, 0.2])
    assert (reasons.tried, reasons.total) == (6, 6)


def test_a_word_is_left_out_everywhere_and_only_as_a_whole():
    calls = []
    words_for_class("no, No: nothing", 1, counting({"no": 0.5}, calls))
    assert calls == ["no, No: nothing", ", : nothing", "no, No: "]


def test_a_text_of_one_word_has_no_reasons():
    assert words_for_class("crash", 1, counting({"crash": 0.9})).words == []
    assert words_for_class("  ", 1, counting({})).total == 0


def test_of_a_long_text_the_strongest_parts_are_tried():
    words = [f"w{number:03}x" for number in range(600)]
    calls = []
    reasons = words_for_class(" ".join(words), 1, counting({"w517x": 0.4, "w100x": 0.3}, calls))
    assert [word for word, _ in reasons.words] == ["w517x"]  # both parts have 38 words: the second does not fit in
    assert (reasons.tried, reasons.total) == (MOST_WORDS, 600)
    assert len(calls) <= 1 + 16 + MOST_WORDS


def test_when_the_time_is_over_no_further_word_is_tried():
    words = " ".join(f"w{number:03}" for number in range(40))
    start = time.monotonic()
    reasons = words_for_class(words, 1, counting({"w001": 0.4}, wait=0.2), seconds=0.1)
    assert time.monotonic() - start < 2
    assert reasons.tried == 8
    assert reasons.words[0][0] == "w001"


def test_languages_without_spaces_are_cut_into_pieces():
    reasons = words_for_class("我的订单退款了", 1, counting({"退款": 0.5}))
    assert reasons.total == 4
    assert words_for_class("订单退款", 1, counting({"退款": 0.5})).words == [("退款", pytest.approx(0.5))]
