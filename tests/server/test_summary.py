"""The sentence in the header: words that anyone reads, from the numbers that were measured."""

import pytest

from bemps.learner.forecast_calibration import ACCURACY, improvement
from bemps.learner.stopping import LabellingProgress, RiseBelow, advice
from bemps.server.model.measures import STABLE, STOP_BELOW
from bemps.server.panels.progress_panel import advice_of
from bemps.server.panels.summary import right_words, summary_words
from bemps.server.review.goals import next_goal

ACCURATE = {"accuracy": {"value": 0.8, "low": 0.68, "high": 0.89}, "size": 30, "needed": 20, "drawn": 40}
GO_ON = {"stop": False, "rises": True}
LITTLE = {"stop": True, "rises": False, "little": True}
STEADY = {"stop": True, "rises": True, "little": False}


def last(audit=ACCURATE, advice=GO_ON, goal=None):
    return {"ready": True, "audit": audit, "advice": advice, "forecast": {"mean": 0.03, "goal": goal}}


def test_how_often_it_is_right_is_no_finer_than_it_is_known():
    assert right_words(ACCURATE["accuracy"]) == "Right about 8 times in 10 (6 to 9)."
    fine = {"value": 0.841, "low": 0.8, "high": 0.9}
    assert right_words(fine) == "Right about 84 times in 100 (80 to 90)."


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({}, ""),
        ({"ready": False}, ""),
        (
            last(advice=LITTLE),
            "Right about 8 times in 10 (6 to 9). More labels are expected to help little. You may stop.",
        ),
        (
            last(advice=STEADY),
            "Right about 8 times in 10 (6 to 9). The predictions hardly change any more. You may stop.",
        ),
        (last(), "Right about 8 times in 10 (6 to 9). More labels help."),
        (last(advice={"stop": False, "rises": None}), "Right about 8 times in 10 (6 to 9)."),
        (
            last({"size": 7, "needed": 20, "drawn": 30}, {"stop": False, "rises": None}),
            "How often it is right is not known yet (7 of 20 items that measure it).",
        ),
        (last({"size": 7, "needed": 20, "drawn": 12}, {"stop": False, "rises": None}), ""),
        (last() | {"waiting": 3}, "Right about 8 times in 10 (6 to 9). More labels help."),
        (last() | {"waiting": 0}, "Right about 8 times in 10 (6 to 9)."),
        (last(advice=LITTLE) | {"waiting": 0}, "Right about 8 times in 10 (6 to 9)."),
        (last(goal=[0.9, 120]), "Right about 8 times in 10 (6 to 9). About 120 more labels for 9 in 10."),
    ],
)
def test_the_sentence(message, words):
    assert summary_words(message) == words


@pytest.mark.parametrize(
    ("labels", "changed", "words"),
    [
        (1000, 0.1, "More labels are expected to help little. You may stop."),  # each round changed a tenth
        (100, 0.01, "The predictions hardly change any more. You may stop."),  # and yet labels help
    ],
)
def test_the_reason_to_stop_is_the_one_that_holds_in_the_header_as_under_progress(labels, changed, words):
    rise = improvement(ACCURACY, labels, 6, 100, changed=changed).mean
    rules = [RiseBelow(STOP_BELOW), STABLE]
    judged = advice(rules, LabellingProgress(labels, None, (1 - changed,) * STABLE.rounds, rise))
    message = last(advice=vars(judged) | {"rises": rise >= STOP_BELOW, "little": rise < STOP_BELOW}) | {"waiting": 9}
    message["forecast"] |= {"mean": rise, "low": 0.0, "high": 0.02, "size": 100}
    assert summary_words(message).endswith(words)
    reason = words.removesuffix(" You may stop.")
    assert advice_of(message)["verdict"] == f"You may stop: {reason[0].lower()}{reason[1:]}"


def test_how_long_it_takes_is_told_at_the_speed_of_those_who_label():
    words = summary_words(last(goal=[0.95, 120]), speed=120 / (35 * 60))
    assert words.endswith("About 120 more labels, 35 minutes at your speed, for 95 in 100.")
    slow = summary_words(last(goal=[0.9, 120]), speed=120 / (3 * 3600), people=2)
    assert "3 hours at your common speed" in slow


def test_a_goal_is_the_first_that_the_forecast_reaches():
    share, labels = next_goal(0.86, 100, 6, 0.1)
    assert share == 0.9
    gain = lambda size: improvement(ACCURACY, 100, 6, size, changed=0.1).mean  # noqa: E731
    assert 0.86 + gain(labels) >= 0.9 > 0.86 + gain(labels - 20)
    assert next_goal(0.62, 300, 2, 0.002) is None  # too far to be told
    assert next_goal(0.97, 100, 6, 0.1) is None
