"""The rounds of a project: every model on the same items, and forecasts held against what came."""

import json

import pytest
from scipy.stats import norm

from bemps.project.history import AHEAD, History, Round, paired_change


def round_at(labels, codes, forecast=(0.02, -0.02, 0.06), changed=0.05, model=""):
    return Round(labels, changed, forecast, tuple(map(int, codes)), model)


def made(*rounds, items="abcd"):
    history = History()
    history.name_items(list(items))
    for one in rounds:
        history.add(one)
    return history


def points(history, truth):
    return [(one.labels, share.value, n) for one, share, n in history.accuracies(truth)]


def test_a_label_that_comes_later_counts_for_every_model():
    history = made(round_at(20, [0, 0, 0, 0]), round_at(40, [0, 1, 1, 0]))
    assert points(history, {"a": 0}) == [(20, 1, 1), (40, 1, 1)]
    assert points(history, {"a": 0, "b": 1, "c": 1}) == [(20, pytest.approx(1 / 3), 3), (40, 1, 3)]


def test_a_model_that_never_saw_an_item_is_left_out_instead_of_compared_on_fewer():
    history = made(round_at(20, [0, 0]), items="ab")
    assert history.name_items(["b", "a", "c"]) == ["a", "b", "c"]
    history.add(round_at(40, [0, 0, 0]))
    assert [labels for labels, *_ in points(history, {"a": 0, "c": 0})] == [40]
    assert [labels for labels, *_ in points(history, {"a": 0})] == [20, 40]


def test_a_round_is_twenty_labels_and_goes_when_its_labels_are_taken_back():
    history = made(round_at(20, "0000"), round_at(40, "0000"))
    assert not history.is_due(59)
    assert history.is_due(60)
    assert not history.is_due(39)
    assert [one.labels for one in history.rounds] == [20]


def test_what_came_is_counted_on_the_same_items():
    start = round_at(40, [1, 1, 0, 0])
    history = made(start, round_at(40 + AHEAD - 1, [9, 9, 9, 9]), round_at(40 + AHEAD, [0, 0, 0, 1]))
    (one,) = history.outcomes({"a": 0, "b": 0, "c": 0, "d": 0})
    assert (one.first, one.last, one.size, one.low, one.high) == (40, 40 + AHEAD, 4, -0.02, 0.06)
    assert one.came == pytest.approx((2 - 1) / 4)
    assert not one.wrong  # four items tell nothing
    assert history.outcomes({}) == []


def test_forecasts_follow_each_other_without_overlap_and_rounds_without_one_are_passed_over():
    rounds = [round_at(20, "00", forecast=None)] + [round_at(labels, "00") for labels in range(40, 300, 20)]
    spans = [(one.first, one.last) for one in made(*rounds, items="ab").outcomes({"a": 0})]
    assert spans == [(40, 140), (140, 240)]


def test_a_forecast_far_from_what_was_measured_is_called_wrong():
    names = [str(i) for i in range(100)]
    history = made(round_at(40, [1] * 100, forecast=(0.01, 0.0, 0.02)), round_at(140, [0] * 60 + [1] * 40), items=names)
    (one,) = history.outcomes(dict.fromkeys(names, 0))
    assert one.wrong


def test_nothing_is_compared_across_a_change_of_the_model():
    history = made(
        *(round_at(labels, "0000", changed=0.4, model="tfidf") for labels in range(20, 160, 20)),
        *(round_at(labels, "1111", changed=0.1, model="bge-words") for labels in range(140, 280, 20)),
    )
    spans = [(one.first, one.last) for one in history.outcomes({"a": 0, "b": 1})]
    assert spans == [(20, 120), (140, 240)]
    assert history.changes(3, "bge-words") == [0.1] * 3
    assert history.changes(20, "bge-words") == [0.1] * 7
    assert history.changes(3, "bge-words, adapted") == []


def test_a_model_of_another_kind_begins_a_round_at_once():
    history = made(round_at(40, "0000", model="tfidf"))
    assert not history.is_due(41, "tfidf")
    assert history.is_due(41, "bge-words")
    history.add(round_at(41, "0000", model="bge-words"))
    assert not history.is_due(60, "bge-words")
    assert history.is_due(61, "bge-words")
    assert len(history.rounds) == 2


def test_what_is_saved_comes_back():
    history = made(round_at(20, [0, 1, 0, 1], forecast=None, changed=None), round_at(40, [0, 0, 1, 1], model="bge"))
    again = History(json.loads(json.dumps(history.as_json())))
    assert again.rounds == history.rounds
    assert again.items == history.items
    assert History(None).rounds == []


def test_a_long_project_keeps_its_beginning_and_its_end():
    history = made(*(round_at(20 * i, [0]) for i in range(1, 1_000)), items="a")
    labels = [one.labels for one in history.rounds]
    assert len(labels) <= 200
    assert labels == sorted(labels)
    assert (labels[0], labels[-1]) == (20, 19_980)


@pytest.mark.parametrize(("better", "worse", "n"), [(3, 1, 20), (0, 0, 30), (10, 2, 80)])
def test_a_paired_change_is_that_of_agresti_and_min(better, worse, n):
    same, total = n - better - worse, n + 2
    p_up, p_down = (better + 0.5) / total, (worse + 0.5) / total
    assert same + better + worse == n
    half = norm.ppf(0.975) * ((p_up + p_down - (p_up - p_down) ** 2) / total) ** 0.5
    found = paired_change(better, worse, n)
    assert found == pytest.approx(((better - worse) / n, p_up - p_down - half, p_up - p_down + half), abs=1e-6)
