"""How many more labels a goal takes is told only where the forecasts of the same project have held."""

import json
import random
import re
from dataclasses import replace

import pytest
from serving import CLASSES

from bemps.project.history import Outcome
from bemps.project.project_models import project_model
from bemps.server.model.trainer import Trainer
from bemps.server.panels.progress_panel import advice_of
from bemps.server.panels.summary import summary_words
from bemps.server.review.goals import next_goal
from bemps.store import Item, open_store

ITEMS, AUDIT, WORDS = 560, 60, 150
MIXED_UP = dict(zip(CLASSES, (*CLASSES[1:], CLASSES[0]), strict=True))
GOAL = re.compile(r"About \d+ more labels for 9 in 10\.")


def texts():
    """Each class has words of its own, some of them rare: a model gets better with every round."""
    rng = random.Random(0)
    weights = [1 / (number + 1) ** 0.8 for number in range(WORDS)]
    for row in range(ITEMS):
        name = rng.choice(CLASSES)
        words = [f"{name}{number}" for number in rng.choices(range(WORDS), weights, k=2)]
        yield " ".join([*words, *(f"other{rng.randrange(100)}" for _ in range(3)), f"n{row}"]), name


TEXTS = list(texts())


@pytest.fixture
def store(tmp_path):
    with open_store(tmp_path / "p.bemps", create=True) as made:
        for name in CLASSES:
            made.add_class(name, "test")
        made.add_items(Item(f"i{row}", text) for row, (text, _) in enumerate(TEXTS))
        made.set_all({"kind": "text", "model": "tfidf"})
        audit = made.ids()[-AUDIT:]
        made.mark_audit(audit)
        label(made, audit)
        yield made


def trainer(store):
    return Trainer(store, project_model(store.read_settings()))


def label(store, items, mix_up=False):
    for item in items:
        name = TEXTS[int(item[1:])][1]
        store.answer("ann", item, "label", MIXED_UP[name] if mix_up else name)


def learnt(store, labels, mixed_up=range(0)):
    """The trainer after so many labels, 20 in a round, and its last ranking."""
    made = trainer(store)
    for start in range(0, labels, 20):
        label(store, store.ids()[start : start + 20], start in mixed_up)
        told = made.learn(5)
    return made, told


def words_of(told):
    """The sentence in the header, of what came to the page from the process of the model."""
    return summary_words(json.loads(json.dumps(vars(told))))


def reachable(made, told):
    """The next goal by the forecast alone, whatever became of earlier forecasts."""
    (changed,) = made.history.changes(1, made.measures.model)
    return next_goal(told.audit["accuracy"]["value"], told.labels, len(CLASSES), changed)


def test_the_next_goal_is_told_where_the_forecasts_held_and_only_then(store):
    made, told = learnt(store, 160)
    assert [outcome["wrong"] for outcome in told.outcomes] == [False]
    assert told.forecast["goal"] == reachable(made, told)
    assert GOAL.search(words_of(told))
    # the same labels, where what was forecast after 40 of them has not come
    history = made.history
    promised = [replace(one, forecast=(0.8, 0.7, 0.9)) if one.labels == 40 else one for one in history.rounds]
    history.rounds = promised
    store.set("history", history.as_json())
    again = trainer(store)
    told = again.learn(5)
    assert [outcome["wrong"] for outcome in told.outcomes] == [True]
    assert reachable(again, told) is not None
    assert told.forecast is None
    assert "more labels" not in words_of(told)
    assert "the last forecast was wrong here" in advice_of(vars(told))["numbers"]


def test_one_wrong_forecast_among_those_that_held_is_enough_to_tell_no_goal(store):
    made, told = learnt(store, 160)
    held = [Outcome(**{name: value for name, value in one.items() if name != "wrong"}) for one in told.outcomes]
    wrong = replace(held[0], low=0.7, high=0.9)
    left = len(made.learner.pool.candidates())
    goal = made.measures._goal(told.labels, left, told.audit, held)
    assert goal == told.forecast["goal"]
    assert made.measures._goal(told.labels, left, told.audit, [wrong, *held]) is None
    assert made.measures._goal(told.labels, left, told.audit, []) is None
    assert made.measures._goal(told.labels, goal[1] - 1, told.audit, held) is None  # so many are not left


def test_before_a_forecast_has_been_held_against_what_came_no_goal_is_told(store):
    _, told = learnt(store, 100)
    assert told.outcomes == []
    assert told.forecast["mean"] > 0
    assert told.forecast["goal"] is None


def test_labels_that_are_mixed_up_make_the_forecast_wrong(store):
    """As nobody could foresee."""
    _, told = learnt(store, 140, mixed_up=range(40, 140))
    (outcome,) = told.outcomes
    assert outcome["came"] < outcome["low"]
    assert outcome["wrong"]
    assert told.forecast is None
    assert "About" not in words_of(told).partition(".")[2]
