"""The model's side: orders, reasons, forecasts, honest accuracy; and what happens when its process dies."""

import json
import os
import signal

import numpy as np
import pytest
from serving import CLASSES, Here, eventually, tickets, write_tickets

from bemps.errors import InputError
from bemps.project_models import VECTORS, project_model
from bemps.serve import coach as coaching
from bemps.serve.coach import Coach
from bemps.serve.insight import Insight
from bemps.serve.progress import advice_of, curve
from bemps.store import Item, open_store


@pytest.fixture
def store(tmp_path):
    made = open_store(tmp_path / "p.bemps", create=True)
    for name in CLASSES:
        made.add_class(name, "test")
    made.add_items(Item(f"i{row}", text) for row, (text, _) in enumerate(tickets(200)))
    made.set("kind", "text")
    made.set("model", "tfidf")
    yield made
    made.close()


def truth(item):
    return tickets(200)[int(item[1:])][1]


def label(store, items, annotator="ann"):
    for item in items:
        store.answer(annotator, item, "label", truth(item))


def coach(store):
    return Coach(store, project_model(store.settings))


def test_without_labels_typical_items_come_and_nothing_is_said_of_what_they_stand_for(store):
    told = coach(store).learn(10)
    assert not told["ready"]
    assert len(told["items"]) >= 10
    assert not any("stands_for" in one for one in told["items"])
    assert all(one["guess"] == [] for one in told["items"])


def test_labels_of_one_class_alone_teach_nothing(store):
    label(store, [item for item in store.ids() if truth(item) == "bug"][:5])
    assert not coach(store).learn(5)["ready"]


def test_an_order_comes_with_its_reasons(store):
    label(store, store.ids()[:30])
    told = coach(store).learn(12)
    assert told["ready"]
    assert told["labels"] == 30
    assert len(told["items"]) == 12
    asked = {one["item"] for one in told["items"]}
    assert not asked & set(store.ids()[:30])
    for one in told["items"]:
        assert 0 <= one["share"] <= 1
        assert set(one["near"]) <= set(store.ids()[:30])
        assert len(one["near"]) == 3
        assert one["item"] not in one["others"]
        assert len(one["others"]) == min(3, one["stands_for"])
        names, shares = zip(*one["guess"], strict=True)
        assert set(names) == set(CLASSES)
        assert sum(shares) == pytest.approx(1)
        assert list(shares) == sorted(shares, reverse=True)
    assert 0 < told["forecast"]["gain"] <= told["remaining"]
    assert told["forecast"]["size"] == 12


def test_what_an_item_stands_for_does_not_depend_on_the_length_of_the_order(store):
    label(store, store.ids()[:30])
    few, many = ({one["item"]: one["stands_for"] for one in coach(store).learn(n)["items"]} for n in (5, 60))
    both = few.keys() & many.keys()
    assert both
    assert {item: few[item] for item in both} == {item: many[item] for item in both}


def test_page_and_learner_look_at_the_same_estimation_pool(store):
    label(store, store.ids()[:30])
    made = coach(store)
    assert made.learn(20)["remaining"] == pytest.approx(made.learner.remaining_gain())


def test_more_labels_leave_less_to_gain(store):
    made, left = coach(store), []
    for labelled in (12, 60, 150):
        label(store, store.ids()[:labelled])
        left.append(made.learn(20)["remaining"])
    assert left[0] > left[2]


def test_audit_items_are_measured_and_never_learnt_from_or_asked(store):
    audit = store.ids()[150:]
    store.mark_audit(audit)
    label(store, [*store.ids()[:40], *audit[:20]])
    store.answer("ann", audit[20], "skip")
    told = coach(store).learn(200)
    assert told["labels"] == 40
    assert not {one["item"] for one in told["items"]} & set(audit)
    assert (told["audit"]["size"], told["audit"]["passed"]) == (20, 1)
    found = told["audit"]["accuracy"]
    assert 0 <= found["low"] <= found["value"] <= found["high"] <= 1
    assert found["value"] > 0.8


def test_renamed_and_added_classes_and_taken_back_labels_are_followed(store):
    made = coach(store)
    label(store, store.ids()[:30])
    made.learn(5)
    store.rename_class("bug", "defect", "ann")
    store.add_class("praise", "ann")
    store.undo("ann")
    told = made.learn(5)
    assert told["labels"] == 29
    assert made.learner.classes == ("defect", "feature", "question", "praise")
    assert {name for one in told["items"] for name, _ in one["guess"]} <= {"defect", "feature", "question", "praise"}


def test_any_item_can_be_looked_at(store):
    made = coach(store)
    assert made.look("i7") == {"item": "i7"}
    label(store, store.ids()[:30])
    made.learn(5)
    told = made.look("i7")
    assert told["guess"][0][1] > 0
    assert told["near"][0] == "i7"


def test_a_large_pool_is_looked_at_through_a_window(store, monkeypatch):
    monkeypatch.setattr(coaching, "WINDOW", 50)
    label(store, store.ids()[:30])
    made = coach(store)
    assert 50 <= len(made.ids) <= 80
    assert made.learn(10)["labels"] == 30
    outside = next(item for item in store.ids() if item not in made.ids)
    label(store, [outside])
    assert made.learn(10)["labels"] == 31


@pytest.mark.parametrize("count", [2, 3, 5])
def test_tiny_pools_are_no_trouble(tmp_path, count):
    tiny = open_store(tmp_path / "tiny.bemps", create=True)
    for name in CLASSES:
        tiny.add_class(name, "test")
    tiny.add_items(Item(f"i{row}", text) for row, (text, _) in enumerate(tickets(count)))
    tiny.set("model", "tfidf")
    made = Coach(tiny, project_model(tiny.settings))
    for item in [*tiny.ids(), None]:
        json.dumps(made.learn(10), allow_nan=False)
        if item is not None:
            tiny.answer("ann", item, "label", CLASSES[int(item[1:]) % 3])
    tiny.close()


def test_everything_labelled_is_an_end(store):
    label(store, store.ids())
    told = coach(store).learn(10)
    assert told["items"] == []
    assert advice_of(told)["verdict"] == "Everything is labelled."


def test_the_advice_is_in_plain_words_with_its_numbers():
    last = {"ready": True, "remaining": 0.05, "forecast": {"gain": 0.002, "error": 0.001, "size": 20}}
    go_on = advice_of(last | {"advice": {"stop": False, "reasons": ()}})
    assert go_on["numbers"] == (
        "The next 20 labels are expected to improve the Brier score by 0.0020 ± 0.0010, of 0.0500 that is left to gain."
    )
    assert go_on["verdict"] == "Worth going on."
    assert advice_of(last | {"advice": {"stop": True, "reasons": ("x",)}})["verdict"].startswith("You may stop")
    assert advice_of({}) is None


def test_the_curve_goes_back_with_labels_that_are_taken_back():
    insight = Insight([])
    for labels, left in ((10, 0.5), (11, 0.4), (12, 0.3), (11, 0.35)):
        insight._add_point(labels, left)
    assert insight.curve == [[10, 0.5], [11, 0.35]]
    for labels in range(12, 2000):
        insight._add_point(labels, 0.1)
    assert len(insight.curve) <= 300
    assert [point[0] for point in insight.curve] == sorted(point[0] for point in insight.curve)


def test_the_curve_is_drawn_inside_its_frame():
    drawn = curve([[10, 0.5], [20, 0.2], [40, 0.0]])
    points = np.array([point.split(",") for point in drawn["line"].split()], dtype=float)
    assert (points >= 0).all()
    assert (points[:, 0] <= drawn["width"]).all()
    assert (np.diff(points[:, 1]) > 0).all()
    assert curve([[10, 0.5]]) is None


def test_a_model_that_dies_is_said_and_starts_again_while_labelling_goes_on(folder):
    with Here(folder, model="tfidf") as server, server.person() as ann:
        assert eventually(lambda: server.engine.insight.alive)
        first = server.engine.background.pid
        os.kill(first, signal.SIGKILL)
        assert eventually(lambda: ann.state()["model"]["state"] == "failed")
        assert "items come at random" in ann.state()["model"]["words"]
        (item,) = ann.next()
        assert ann.answer(item["id"], "bug").status_code == 200
        assert eventually(lambda: ann.state()["model"]["state"] == "ready", 60)
        assert server.engine.background.pid != first


def test_an_ensemble_of_heads_keeps_up_with_the_page(tmp_path):
    for package in VECTORS["minilm"].packages:
        pytest.importorskip(package)
    classes = write_tickets(tmp_path / "tickets.csv", tickets(80))
    with Here(tmp_path, model="minilm-heads", audit=0.0) as server, server.person() as ann:
        for _ in range(15):
            (item,) = ann.next()
            ann.answer(item["id"], classes[item["text"]]).raise_for_status()
        insight, done = server.engine.insight, {"state": "ready", "words": "model is up to date"}
        # the model works at low priority: on a busy machine that takes minutes
        assert eventually(lambda: insight.last.get("labels") == 15 and ann.state()["model"] == done, 300)
        assert insight.model == "MiniLM vectors and an ensemble of small networks, as asked"
        assert insight.last["strategy"] == "margin-km"
        guesses = {server.store.item(item).content: about["guess"][0][0] for item, about in insight.about.items()}
        assert sum(classes[text] == guess for text, guess in guesses.items()) > len(guesses) / 2  # a third by chance


@pytest.fixture
def photos(tmp_path):
    """A project of forty pictures, warm and cold, of which two cannot be decoded: one of them in the audit."""
    pillow = pytest.importorskip("PIL.Image")
    made = open_store(tmp_path / "p.bemps", create=True)
    for name in ("warm", "cold"):
        made.add_class(name, "test")
    for number in range(40):
        colour = (200 + number, 40, 30) if number % 2 else (30, 40, 200 + number)
        pillow.new("RGB", (20, 20), colour).save(tmp_path / f"{number}.png")
    for number in (3, 8):
        (tmp_path / f"{number}.png").write_bytes(b"\x89PNG\r\n\x1a\n broken")
    made.add_items(Item(f"i{number}", f"{number}.png") for number in range(40))
    made.mark_audit(["i8", "i9", "i10"])
    made.set_all({"kind": "image", "model": "pixels", "folder": str(tmp_path)})
    yield made
    made.close()


def test_a_broken_image_is_set_aside_and_named_and_the_model_goes_on(photos):
    made = coach(photos)
    for number in (0, 1, 3, 4, 5, 8, 9, 10):
        photos.answer("ann", f"i{number}", "label", "warm" if number % 2 else "cold")
    message = made.learn(10)
    assert message["ready"]
    assert message["broken"] == ["3.png", "8.png"]
    assert message["audit"]["size"] == 2
    assert not {"i3", "i8"} & {known["item"] for known in message["items"]}
    assert made.look("i3") == {"item": "i3", "broken": True}
    assert made.look("i11")["guess"][0][0] == "warm"
    before = made.learner
    assert made.learn(10)["broken"] == ["3.png", "8.png"]
    assert made.learner is before  # a label of a broken one is no reason to read everything again
    heard = Insight([])
    heard.hear({"is": "state", "text": "ready", "alive": True})
    heard.hear(message)
    assert heard.told(8)["words"] == "model is up to date; 2 images cannot be read: 3.png, 8.png"


def test_an_image_that_breaks_later_is_set_aside_too(photos, tmp_path):
    made = coach(photos)
    for number in (0, 1, 4, 5):
        photos.answer("ann", f"i{number}", "label", "warm" if number % 2 else "cold")
    made.learn(10)
    (tmp_path / "9.png").unlink()
    photos.answer("ann", "i9", "label", "warm")
    assert made.learn(10)["audit"]["size"] == 0
    assert made.look("i9") == {"item": "i9", "broken": True}


def test_images_that_are_all_broken_are_refused(photos, tmp_path):
    for path in tmp_path.glob("*.png"):
        path.write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"cannot be decoded, such as 0\.png"):
        coach(photos)
