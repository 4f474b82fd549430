"""The model's side: orders, reasons, forecasts, honest accuracy; and what happens when its process dies."""

import json
import os
import signal

import numpy as np
import pytest
from encoder_weights import needs_weights
from serving import CLASSES, Here, eventually, tickets, write_tickets

from bemps.errors import InputError
from bemps.models.encoders.encoder_registry import ENCODERS
from bemps.project.history import Outcome, Round
from bemps.project.project_models import project_model
from bemps.server.model.messages import Ranking, State
from bemps.server.model.model_status import ModelStatus
from bemps.server.model.trainer import Trainer
from bemps.server.panels.progress_panel import advice_of, curve, outcome_words, times_right
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


class Coach(Trainer):
    """A trainer whose rankings are the fields that reach the page."""

    def learn(self, n):
        return vars(super().learn(n))


def coach(store):
    return Coach(store, project_model(store.read_settings()))


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
    assert told["forecast"] is None  # nothing is known of how the predictions move
    assert advice_of(told)["numbers"].startswith("It is not yet known what more labels will bring")


def test_what_an_item_stands_for_does_not_depend_on_the_length_of_the_order(store):
    label(store, store.ids()[:30])
    few, many = ({one["item"]: one["stands_for"] for one in coach(store).learn(n)["items"]} for n in (5, 60))
    both = few.keys() & many.keys()
    assert both
    assert {item: few[item] for item in both} == {item: many[item] for item in both}


def test_the_second_round_forecasts_and_the_history_goes_on_after_a_restart(store):
    audit = store.ids()[150:]
    store.mark_audit(audit)
    made = coach(store)
    for labelled in (20, 30, 40):
        label(store, store.ids()[:labelled])
        told = made.learn(10)
        store.set("history", told.get("history") or store.settings.get("history"))
    assert [one["labels"] for one in told["history"]["rounds"]] == [20, 40]
    assert len(told["history"]["rounds"][0]["codes"]) == 50
    assert told["forecast"]["low"] < told["forecast"]["mean"] < told["forecast"]["high"]
    again = coach(store)
    assert again.learn(10)["forecast"] == told["forecast"]
    label(store, store.ids()[:60])
    assert [one["labels"] for one in again.learn(10)["history"]["rounds"]] == [20, 40, 60]


def test_the_page_draws_on_one_estimation_pool(store):
    label(store, store.ids()[:30])
    made = coach(store)
    made.learn(20)
    rows = made.learner.estimation_rows()
    probs, weights = made.learner.fitted_model.members(rows)
    np.testing.assert_array_equal(made.measures._classes, np.tensordot(weights, probs, 1).argmax(1))


def test_audit_items_are_measured_and_never_learnt_from_or_asked(store):
    audit = store.ids()[150:]
    store.mark_audit(audit)
    label(store, [*store.ids()[:40], *audit[:20]])
    store.answer("ann", audit[20], "skip")
    told = coach(store).learn(200)
    assert told["labels"] == 40
    assert not {one["item"] for one in told["items"]} & set(audit)
    assert (told["audit"]["size"], told["audit"]["passed"]) == (20, 1)
    assert told["curve"] == [[40, *(told["curve"][0][1:])]]
    found = told["audit"]["accuracy"]
    assert 0 <= found["low"] <= found["value"] <= found["high"] <= 1
    assert found["value"] > 0.8


@pytest.mark.parametrize("audited", [0, 1, 19])
def test_few_audit_items_say_nothing_of_the_accuracy(store, audited):
    audit = store.ids()[150:]
    store.mark_audit(audit)
    label(store, [*store.ids()[:40], *audit[:audited]])
    told = coach(store).learn(5)
    assert told["audit"] == {"size": audited, "drawn": 50, "needed": 20, "passed": 0}
    assert (told["curve"], told["outcomes"]) == ([], [])


def test_chosen_labels_narrow_the_accuracy(store):
    audit = store.ids()[120:]
    store.mark_audit(audit)
    label(store, [*store.ids()[:50], *audit[:30]])
    made = coach(store)
    wide = made.learn(5)["audit"]["accuracy"]
    label(store, store.ids()[:80])
    narrow = made.learn(5)["audit"]["accuracy"]
    assert made.measures._estimate is not None
    assert narrow["high"] - narrow["low"] < wide["high"] - wide["low"]
    store.set("history", made.history.as_json())
    again = coach(store).learn(5)["audit"]
    assert again["narrowed"]
    assert again["accuracy"] == pytest.approx(narrow)  # also right after a start


def test_the_accuracy_is_cross_validated_again_once_a_tenth_of_the_labels_is_new(store, monkeypatch):
    store.mark_audit(store.ids()[150:])
    made, sizes = coach(store), []
    monkeypatch.setattr(made.measures, "_estimated", lambda: sizes.append(len(made.learner.labels)))
    for labelled in (60, 65, 80, 81, 100, 120, 140):
        label(store, store.ids()[:labelled])
        made.learn(5)
    assert sizes == [60, 80, 100, 120, 140]
    monkeypatch.setattr("bemps.server.model.measures.NEW_SHARE", 0.3)
    made, sizes[:] = coach(store), []
    monkeypatch.setattr(made.measures, "_estimated", lambda: sizes.append(len(made.learner.labels)))
    made.learn(5)
    label(store, store.ids()[140:149])
    made.learn(5)
    assert sizes == [140]


def test_the_accuracy_is_cross_validated_with_the_last_label_since_no_round_ends_after_it(store, monkeypatch):
    store.mark_audit(store.ids()[150:])
    made, sizes = coach(store), []
    monkeypatch.setattr(made.measures, "_estimated", lambda: sizes.append(len(made.learner.labels)))
    for labelled in (140, 149, 150, 160):  # the last ten measure the model
        label(store, store.ids()[:labelled])
        made.learn(5)
    assert sizes == [140, 150]


def test_steady_predictions_are_a_reason_to_stop_and_moving_ones_are_not(store):
    made = coach(store)
    changes = iter([None, 0.3, 0.01, 0.02, 0.0, 0.05])
    made.measures._changed = lambda answers: next(changes)
    said = []
    for labelled in range(20, 140, 20):
        label(store, store.ids()[:labelled])
        said.append(made.learn(10)["advice"])
    assert [one["stop"] for one in said[:4]] == [False] * 4
    assert said[4]["stop"]
    assert "98.0% of the predictions stayed the same in each of the last 3 rounds" in said[4]["reasons"]
    assert not any("stayed the same" in reason for reason in said[5]["reasons"])


def test_a_forecast_that_was_wrong_is_not_made_again(store):
    audit = store.ids()[150:]
    store.mark_audit(audit)
    label(store, [*store.ids()[:60], *audit])
    made = coach(store)
    made.history.name_items(list(made.measures.audit))
    for labels, codes in ((20, [3] * 50), (60, [3] * 50)):
        made.history.add(Round(labels - 20, 0.05, (0.0, 0.0, 0.01), tuple(codes), "tfidf"))
    told = made.learn(5)
    assert told["forecast"] is not None
    label(store, store.ids()[:145])
    told = made.learn(5)
    assert [one["wrong"] for one in told["outcomes"]] == [True]
    assert told["forecast"] is None
    assert "the last forecast was wrong here" in advice_of(told)["numbers"]


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


def test_a_large_pool_is_looked_at_through_a_window(store):
    label(store, store.ids()[:30])
    made = Coach(store, project_model(store.read_settings()), window=50)
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
    made = Coach(tiny, project_model(tiny.read_settings()))
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


def test_the_advice_is_in_plain_words_without_scores_or_many_digits():
    last = {"ready": True, "waiting": 9, "forecast": {"mean": 0.0312, "low": -0.011, "high": 0.0712, "size": 100}}
    go_on = advice_of(last | {"advice": {"stop": False, "reasons": (), "rises": True, "little": False}})
    assert go_on["numbers"] == (
        "The next 100 labels are expected to make about 3 more of 100 items right. "
        "The likely range is 2 fewer to 8 more. Such ranges hold 9 times in 10."
    )
    assert go_on["verdict"] == "Worth going on."
    little = last | {"forecast": {"mean": 0.004, "low": 0.0, "high": 0.02, "size": 100}}
    stop = advice_of(little | {"advice": {"stop": True, "reasons": ("x",), "rises": False, "little": True}})
    assert "fewer than 1 more of 100 items right. The likely range is 0 to 2 more." in stop["numbers"]
    assert stop["verdict"].startswith("You may stop")
    assert advice_of({}) is None


def judged(mean, **advice):
    """The advice on a forecast of the last round."""
    forecast = None if mean is None else {"mean": mean, "low": -0.01, "high": mean + 0.02, "size": 100}
    rises = None if mean is None else mean >= 0.01
    known = {"stop": False, "reasons": (), "rises": rises, "little": False} | advice
    return advice_of({"ready": True, "waiting": 9, "forecast": forecast, "advice": known})


def test_to_go_on_is_not_advised_above_a_forecast_that_says_little_or_nothing(store):
    for mean, verdict in (
        (0.004, "The last labels changed little."),
        (None, "It is too early to say whether to go on."),
    ):
        said = judged(mean)
        assert said["verdict"] == verdict  # nothing is too early once it was worth going on
        assert said["numbers"]
    missed = {"ready": True, "waiting": 9, "forecast": None, "outcomes": [{}], "advice": {"stop": False, "rises": None}}
    assert advice_of(missed)["verdict"] == "It is not clear whether to go on."
    assert "three rounds of 20 labels" in judged(0.004)["reasons"][0]
    made = coach(store)
    changes = iter([None, 0.3, 0.0001])
    made.measures._changed = lambda answers: next(changes)
    for labelled in (20, 40, 180):  # the last round alone expects little, three rounds are not there yet
        label(store, store.ids()[:labelled])
        told = made.learn(10)
    assert 100 * told["forecast"]["mean"] < 1
    assert (told["advice"]["stop"], told["advice"]["rises"]) == (False, False)
    assert advice_of(told)["verdict"] == "What is left is expected to help little."


def test_no_more_labels_are_spoken_of_than_there_are_items_left(store):
    made = coach(store)
    changes = iter([None, 0.3, 0.3, 0.3])
    made.measures._changed = lambda answers: next(changes)
    for labelled, words in (
        (20, "It is not yet known"),
        (60, "The next 100 labels are"),
        (161, "The 39 labels that it can still learn from are"),
    ):
        label(store, store.ids()[:labelled])
        told = made.learn(10)
        assert advice_of(told)["numbers"].startswith(words)
    label(store, store.ids()[:199])
    assert advice_of(made.learn(10))["numbers"].startswith(
        "The one label that it can still learn from is expected to make fewer than 1"
    )


def test_a_goal_that_takes_more_labels_than_are_left_is_none(store, monkeypatch):
    monkeypatch.setattr("bemps.server.model.measures.next_goal", lambda *_: (0.9, 120))
    made = coach(store)
    made.measures._changed = lambda answers: 0.3
    audit, outcomes = {"accuracy": {"value": 0.8}}, [Outcome(20, 120, 0.0, 0.1, 0.05, 0.0, 0.1, 30)]
    label(store, store.ids()[:60])
    made.learn(5)
    assert made.measures._goal(60, 120, audit, outcomes) == (0.9, 120)
    assert made.measures._goal(60, 119, audit, outcomes) is None


def test_the_reason_to_stop_is_said_once_and_never_beside_a_number_that_denies_it():
    little = "the next 100 labels are expected to make fewer than 1 more of 100 items right"
    steady = "98.0% of the predictions stayed the same in each of the last 3 rounds"
    by_forecast = judged(0.004, stop=True, reasons=(little, steady), little=True)
    assert "fewer than 1 more" in by_forecast["numbers"]
    assert by_forecast["reasons"] == [steady]
    by_rounds = judged(0.02, stop=True, reasons=(little,), little=True)
    assert (by_rounds["numbers"], by_rounds["reasons"]) == ("", [little])
    stays = judged(0.02, stop=True, reasons=(steady,))
    assert "about 2 more" in stays["numbers"]
    assert stays["verdict"] == "You may stop: the predictions hardly change any more."


@pytest.mark.parametrize(
    ("value", "low", "high", "words"),
    [
        (0.73, 0.52, 0.87, ("7 in 10", "52 to 87 in 100")),
        (0.98, 0.94, 0.995, ("98 in 100", "94 to 100 in 100")),
        (0.7, 0.6, 0.8, ("7 in 10", "60 to 80 in 100")),
    ],
)
def test_accuracy_is_told_as_times_right(value, low, high, words):
    found = times_right({"value": value, "low": low, "high": high})
    assert (found["value"], found["range"]) == words


def test_a_row_of_the_track_record():
    outcome = {
        "first": 40,
        "last": 140,
        "low": -0.011,
        "high": 0.08,
        "came": 0.05,
        "came_low": -0.051,
        "came_high": 0.15,
    }
    assert outcome_words(outcome | {"wrong": False}) == {
        "labels": "40 to 140",
        "forecast": "−2 to +8",
        "came": "+5 (−5 to +15)",
        "wrong": False,
    }


def test_a_history_that_comes_is_to_be_saved():
    insight = ModelStatus()
    insight.receive(Ranking(True, 5, 3, "margin", [], 0.1))
    assert insight.unsaved_since is None
    insight.receive(Ranking(True, 5, 3, "margin", [], 0.1, history={"items": [], "rounds": []}))
    assert insight.unsaved_since is not None
    assert insight.history_to_save() == {"items": [], "rounds": []}
    assert insight.unsaved_since is None


def test_the_curve_is_drawn_inside_its_frame():
    drawn = curve([[10, 0.0, 0.0, 0.2], [20, 0.5, 0.3, 0.7], [40, 1.0, 0.8, 1.0]])
    (part,) = drawn["parts"]
    for name in ("line", "area"):
        points = np.array([point.split(",") for point in part[name].split()], dtype=float)
        assert (points >= 0).all()
        assert (points <= (drawn["width"], drawn["height"])).all()
    line = np.array([point.split(",") for point in part["line"].split()], dtype=float)
    assert (np.diff(line[:, 1]) < 0).all()  # up is better
    assert curve([[10, 0.5, 0.4, 0.6]]) is None


def test_the_line_breaks_where_another_kind_of_model_took_over():
    drawn = curve(
        [
            [20, 0.4, 0.3, 0.5, "tfidf"],
            [40, 0.5, 0.3, 0.7, "tfidf"],
            [40, 0.7, 0.5, 0.8, "bge"],
            [60, 0.8, 0.6, 0.9, "bge"],
        ]
    )
    assert [len(part["line"].split()) for part in drawn["parts"]] == [2, 2]
    assert drawn["end"] == tuple(drawn["parts"][-1]["line"].split()[-1].split(","))


def test_a_forecast_comes_at_once_after_a_start_with_labels(store):
    label(store, store.ids()[:22])
    for item in store.ids()[22:42]:
        store.answer("ann", item, "label", "bug")  # whatever it is: the predictions move
    told = coach(store).learn(5)
    assert told["forecast"] is not None
    (only,) = told["history"]["rounds"]
    changed = only["changed"]
    assert changed > 0
    slow = coach(store)  # what it would have been if it had been there 20 labels ago
    store_before = [store.ids()[row] for row in range(22)]
    rows = slow.learner.pool.positions(store_before)
    slow.measures.spare.fit(
        slow.learner.items[rows],
        np.array([CLASSES.index(truth(name)) for name in store_before]),
        list(CLASSES),
        np.random.default_rng(0),
    )
    before = slow.measures.spare.predict(slow.learner.items[slow.learner.estimation_rows()]).mean(0).argmax(1)
    slow.learn(5)
    assert changed == pytest.approx((before != slow.learner.predicted_classes()).mean())


def test_a_model_that_dies_is_said_and_starts_again_while_labelling_goes_on(folder):
    with Here(folder, model="tfidf") as server, server.person() as ann:
        assert eventually(lambda: server.engine.model_status.alive)
        first = server.engine.background.pid
        os.kill(first, signal.SIGKILL)
        assert eventually(lambda: ann.state()["model"]["state"] == "failed")
        assert "items come at random" in ann.state()["model"]["words"]
        (item,) = ann.next()
        assert ann.answer(item["id"], "bug").status_code == 200
        assert eventually(lambda: ann.state()["model"]["state"] == "ready", 60)
        assert server.engine.background.pid != first


def test_an_ensemble_of_heads_keeps_up_with_the_page(tmp_path):
    for package in ("torch", *ENCODERS["minilm"].packages):
        pytest.importorskip(package)
    needs_weights("minilm")
    classes = write_tickets(tmp_path / "tickets.csv", tickets(80))
    with Here(tmp_path, model="minilm-heads", audit=0.0) as server, server.person() as ann:
        for _ in range(15):
            (item,) = ann.next()
            ann.answer(item["id"], classes[item["text"]]).raise_for_status()
        insight, done = server.engine.model_status, {"state": "ready", "words": "model is up to date"}
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
    heard = ModelStatus()
    heard.receive(State("ready", alive=True))
    heard.receive(Ranking(**message))
    assert heard.as_json(8)["words"] == "model is up to date; 2 images cannot be read: 3.png, 8.png"


def test_an_image_that_breaks_later_is_set_aside_too(photos, tmp_path):
    made = coach(photos)
    for number in (0, 1, 4, 5):
        photos.answer("ann", f"i{number}", "label", "warm" if number % 2 else "cold")
    (tmp_path / "9.png").unlink()  # audit items are read once, with the first fit
    made.learn(10)
    photos.answer("ann", "i9", "label", "warm")
    assert made.learn(10)["audit"]["size"] == 0
    assert made.look("i9") == {"item": "i9", "broken": True}


def test_images_that_are_all_broken_are_refused(photos, tmp_path):
    for path in tmp_path.glob("*.png"):
        path.write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"cannot be decoded, such as 0\.png"):
        coach(photos)


def test_labels_given_at_once_do_not_count_for_the_accuracy(store, monkeypatch):
    """Items of a list are alike: those left out of a fit are known from the others, whatever the model is worth."""
    sizes = []

    def validated(model, items, codes, classes):
        sizes.append(len(codes))

    monkeypatch.setattr("bemps.server.model.measures.cross_validate", validated)
    store.mark_audit([f"i{row}" for row in range(180, 200)])
    label(store, [f"i{row}" for row in range(70)])
    store.label_list("ann", [f"i{row}" for row in range(70, 170)], "bug", request="list-1")
    made = coach(store)
    assert made.learn(5)["labels"] == 170
    assert sizes == [70]
    made.measures.held_out = np.ones(100), np.ones(100)
    assert made.measures._estimated() is None
