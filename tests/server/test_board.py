"""What is asked next: the model's order, audit items at their share, second opinions, random items for the rest."""

from datetime import UTC, datetime

import numpy as np

from bemps.server.queue.schedule import Candidate, Schedule
from bemps.store import Event

IDS = [f"i{number}" for number in range(400)]


def schedule(**options):
    return Schedule(IDS, rng=np.random.default_rng(0), **options)


def event(item, kind="label", annotator="ann", seq=1):
    return Event(seq, datetime.now(UTC), annotator, item, kind, "bug" if kind == "label" else None)


def items(asks):
    return [ask.item for ask in asks]


def test_without_a_model_items_come_in_the_random_order():
    made = schedule(audit_share=0.0)
    asks = made.candidates_for("ann", 5, set())
    assert items(asks)[:5] == IDS[:5]
    assert {ask.origin for ask in asks} == {"random"}


def test_the_models_order_comes_first_and_what_is_out_is_left_out():
    made = schedule(audit_share=0.0)
    made.rank(["i9", "i8", "i7"], "model")
    assert items(made.candidates_for("ann", 3, {"i8"}))[:3] == ["i9", "i7", "i0"]


def test_audit_items_come_at_their_share_and_never_by_the_model_or_by_chance():
    audit = IDS[300:]
    made = schedule(audit=audit, audit_share=0.2)
    made.rank(IDS[:100], "model")
    drawn = 0
    for turn in range(200):
        ask = made.candidates_for("ann", 1, set())[0]
        assert (ask.origin == "audit") == (ask.item in set(audit))
        drawn += ask.origin == "audit"
        made.apply_events([event(ask.item, seq=turn + 1)])
    assert 25 <= drawn <= 55


def test_the_audit_slice_is_asked_in_its_own_order_whatever_is_labelled():
    made = schedule(audit=IDS[300:], audit_share=0.5)
    order = []
    for turn in range(60):
        ask = made.candidates_for("ann", 1, set())[0]
        order += [ask.item] if ask.origin == "audit" else []
        made.apply_events([event(ask.item, seq=turn + 1)])
    assert order == IDS[300 : 300 + len(order)]


def test_answered_skipped_and_unsure_items_are_not_asked_again():
    made = schedule(audit_share=0.0)
    made.apply_events([event("i0"), event("i1", "skip"), event("i2", "unsure"), event("i3", "note")])
    assert items(made.candidates_for("ann", 1, set()))[0] == "i3"
    assert items(made.candidates_for("ben", 1, set()))[0] == "i3"
    assert made.left == len(IDS) - 3
    assert made.labelled == {"i0"}


def test_after_an_undo_the_item_can_be_asked_again():
    made = schedule(audit_share=0.0)
    made.apply_events([event("i0")])
    assert made.apply_events([event("i0", "undo", seq=2)]) == ["i0"]
    made.set_answers("i0", [])
    assert items(made.candidates_for("ben", 1, set()))[0] == "i0"
    assert not made.labelled


def test_a_second_opinion_is_asked_of_somebody_else_first_and_once():
    made = schedule(audit_share=0.0)
    made.mark_overlap(["i5"])
    assert items(made.candidates_for("ben", 1, set()))[0] == "i0"
    made.apply_events([event("i5")])
    assert "i5" not in items(made.candidates_for("ann", 1, set()))
    assert made.candidates_for("ben", 1, set())[0].item == "i5"
    made.apply_events([event("i5", annotator="ben", seq=2)])
    assert "i5" not in items(made.candidates_for("eve", 1, set()))


def test_three_people_answer_an_item_where_three_are_wanted():
    made = schedule(audit_share=0.0, answers=3)
    made.mark_overlap(["i5"])
    made.apply_events([event("i5"), event("i5", "unsure", annotator="ben", seq=2)])
    assert "i5" not in items(made.candidates_for("ann", 1, set()))
    assert made.candidates_for("cem", 1, set())[0] == Candidate("i5", "overlap")
    made.apply_events([event("i5", annotator="cem", seq=3)])
    assert "i5" not in items(made.candidates_for("eve", 1, set()))
    made.set_overlap(0.0, 4)
    assert items(made.candidates_for("eve", 1, set()))[0] == "i5"


def test_what_was_decided_needs_nobody_else():
    made = schedule(audit_share=0.0, answers=3)
    made.mark_overlap(["i5"])
    made.apply_events([event("i5"), event("i5", annotator="ben", seq=2), event("i5", "adjudicate", seq=3)])
    assert "i5" not in items(made.candidates_for("eve", 1, set()))
    assert made.labelled == {"i5"}


def test_what_waits_for_others_is_not_gone_through_for_each_person():
    """Somebody who labels alone makes every item wait for a second person."""
    made = schedule(audit_share=0.0)
    made.mark_overlap(IDS)
    made.apply_events(event(item, seq=number + 1) for number, item in enumerate(IDS[:390]))
    looked_at = []
    made.is_open = lambda item, annotator: looked_at.append(item) or Schedule.is_open(made, item, annotator)
    assert items(made.candidates_for("ann", 1, set())) == IDS[390:]
    assert len(looked_at) == 10
    assert items(made.candidates_for("ben", 1, set()))[:5] == IDS[:5]


class Counted(dict):
    """Counts how often something is looked up."""

    def __init__(self):
        super().__init__()
        self.lookups = 0

    def __contains__(self, key):
        self.lookups += 1
        return super().__contains__(key)


def test_what_is_answered_is_passed_over_once_also_behind_an_audit_item():
    made = schedule(audit=IDS[:1], audit_share=0.0)
    made.answered = Counted()
    made.apply_events(event(item, seq=number + 1) for number, item in enumerate(IDS[1:350]))
    assert items(made.candidates_for("ann", 1, set()))[0] == "i350"
    made.answered.lookups = 0
    assert items(made.candidates_for("ann", 1, set()))[0] == "i350"
    assert made.answered.lookups < 100
    made.apply_events([event("i7", "undo", seq=400)])
    made.set_answers("i7", [])
    assert items(made.candidates_for("ann", 1, set()))[0] == "i7"


def test_the_share_of_second_opinions_holds_however_often_an_item_comes_up():
    made = schedule(overlap_share=0.25)
    wanted = {item for item in IDS if made.is_shared(item)}
    assert 70 <= len(wanted) <= 130
    assert {item for item in IDS if made.is_shared(item)} == wanted
    assert not any(schedule(overlap_share=0.0).is_shared(item) for item in IDS)
    assert all(schedule(overlap_share=1.0).is_shared(item) for item in IDS)


def test_everything_answered_leaves_nothing_to_ask():
    made = Schedule(["a", "b"], audit=["b"], audit_share=0.1)
    assert sorted(items(made.candidates_for("ann", 5, set()))) == ["a", "b"]
    made.apply_events([event("a"), event("b", "skip")])
    assert made.candidates_for("ann", 5, set()) == []
