"""What the model finds: items like others, what an item stands for, and probable members of a class."""

import numpy as np
import pytest
from serving import CLASSES, tickets

from bemps.project.project_models import project_model
from bemps.server.model.likely_items import alike, members, represented
from bemps.server.model.messages import Ask
from bemps.server.model.trainer import Trainer
from bemps.server.review.model_tasks import answer_of
from bemps.store import Item, open_store

ROWS = tickets(200)


@pytest.fixture
def store(tmp_path):
    with open_store(tmp_path / "p.bemps", create=True) as made:
        for name in CLASSES:
            made.add_class(name, "test")
        made.add_items(Item(f"i{row}", text) for row, (text, _) in enumerate(ROWS))
        made.set_all({"kind": "text", "model": "tfidf"})
        made.mark_audit([f"i{row}" for row in range(180, 200)])
        yield made


def trainer(store):
    return Trainer(store, project_model(store.read_settings()))


def label(store, rows):
    for row in rows:
        store.answer("ann", f"i{row}", "label", ROWS[row][1])


def names(answer):
    return [name for name, _ in answer["items"]]


def test_the_nearest_items_by_the_cosine_of_their_vectors_without_audit_and_labelled_ones(store):
    label(store, range(20))
    model = trainer(store)
    model.learn(5)
    answer = alike(model, ["i30", "i190"], 10)  # one outside of what the model looks at: it measures
    vectors = np.asarray(model.encode([text for text, _ in ROWS]))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    like = (vectors @ vectors[[30, 190]].T).max(1)
    free = [row for row in range(20, 180) if row != 30]
    best = sorted(free, key=lambda row: (-round(float(like[row]), 4), row))[:10]
    assert [round(share, 3) for _, share in answer["items"]] == [round(float(like[row]), 3) for row in best]
    assert not set(names(answer)) & {f"i{row}" for row in [30, *range(20), *range(180, 200)]}
    assert names(alike(model, ["i30"], 1_000)) == names(alike(model, ["i30"], 159))


def test_what_an_item_stands_for_is_as_much_as_why_says(store):
    label(store, range(20))
    model = trainer(store)
    reasons = model.learn(5).items
    for reason in reasons:
        found = names(represented(model, reason["item"], 500))
        assert len(found) == reason["stands_for"]
        assert found[: len(reason["others"])] == reason["others"]
    assert len(names(represented(model, reasons[0]["item"], 2))) <= 2
    assert names(represented(model, "i0", 500)) == []  # it is labelled itself


def test_before_labels_an_item_stands_for_nothing_and_is_like_others_all_the_same(store):
    model = trainer(store)
    model.learn(5)
    assert represented(model, "i3", 10) == {"items": []}
    assert len(names(alike(model, ["i3"], 10))) == 10


def test_members_of_a_class_come_by_the_probability_of_the_model(store):
    label(store, range(60))
    model = trainer(store)
    model.learn(5)
    answer = members(model, "question", 15)
    assert answer["by"] == "model"
    rows = [int(name[1:]) for name in names(answer)]
    assert all(60 <= row < 180 for row in rows)
    assert sum(ROWS[row][1] == "question" for row in rows) >= 13  # a third of them are, by chance five
    shares = [share for _, share in answer["items"]]
    assert shares == sorted(shares, reverse=True)
    probs = model.learner.predict(model.encode([ROWS[row][0] for row in rows]))
    assert np.allclose(probs[:, CLASSES.index("question")], shares, atol=1e-3)


def test_before_the_model_knows_a_class_its_examples_are_what_is_looked_for(store):
    bugs = [row for row in range(180) if ROWS[row][1] == "bug"]
    label(store, bugs[:3])
    model = trainer(store)
    model.learn(5)
    answer = members(model, "bug", 10)
    assert answer["by"] == "examples"
    assert names(answer) == names(alike(model, [f"i{row}" for row in bugs[:3]], 10))
    store.add_class("praise", "test")
    store.answer("ann", "i170", "label", "praise")  # the model has not seen it
    assert members(model, "praise", 5)["by"] == "examples"
    assert len(names(members(model, "praise", 5))) == 5


def test_without_an_example_or_with_one_that_measures_nothing_is_looked_for(store):
    label(store, range(10))
    store.add_class("praise", "test")
    store.answer("ann", "i190", "label", "praise")
    model = trainer(store)
    model.learn(5)
    assert members(model, "praise", 5) == {"items": [], "by": ""}


def test_a_task_that_fails_is_part_of_the_answer(store):
    model = trainer(store)
    looked = answer_of(model, Ask("alike", 7, ["nowhere"], n=3))
    assert looked.call == 7
    assert "nowhere" in looked.failure
    assert names(answer_of(model, Ask("alike", 8, ["i3"], n=3)).about) == names(alike(model, ["i3"], 3))


def test_items_that_are_drawn_later_to_measure_the_model_leave_what_it_learns_from(store):
    label(store, range(30))
    own = trainer(store)
    own.learn(5)
    later = [f"i{row}" for row in range(100, 120)]
    store.mark_audit([*(f"i{row}" for row in range(180, 200)), *later])
    label(store, range(100, 120))
    ranking = own.learn(5)
    assert not set(later) & set(own.learner.labels)
    assert ranking.audit["size"] == 20
    assert "accuracy" in ranking.audit
