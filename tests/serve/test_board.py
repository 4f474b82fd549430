"""What is asked next: the model's order, audit items at their share, second opinions, random items for the rest."""

from datetime import UTC, datetime

import numpy as np

from bemps.serve.board import Board
from bemps.store import Event

IDS = [f"i{number}" for number in range(400)]


def board(**options):
    return Board(IDS, rng=np.random.default_rng(0), **options)


def event(item, kind="label", annotator="ann", seq=1):
    return Event(seq, datetime.now(UTC), annotator, item, kind, "bug" if kind == "label" else None)


def items(asks):
    return [ask.item for ask in asks]


def test_without_a_model_items_come_in_the_random_order():
    made = board(audit_share=0.0)
    asks = made.choose("ann", 5, set())
    assert items(asks)[:5] == IDS[:5]
    assert {ask.origin for ask in asks} == {"random"}


def test_the_models_order_comes_first_and_what_is_out_is_left_out():
    made = board(audit_share=0.0)
    made.rank(["i9", "i8", "i7"], "model")
    assert items(made.choose("ann", 3, {"i8"}))[:3] == ["i9", "i7", "i0"]


def test_audit_items_come_at_their_share_and_never_by_the_model_or_by_chance():
    audit = IDS[300:]
    made = board(audit=audit, audit_share=0.2)
    made.rank(IDS[:100], "model")
    drawn = 0
    for turn in range(200):
        ask = made.choose("ann", 1, set())[0]
        assert (ask.origin == "audit") == (ask.item in set(audit))
        drawn += ask.origin == "audit"
        made.note([event(ask.item, seq=turn + 1)])
    assert 25 <= drawn <= 55


def test_the_audit_slice_is_asked_in_its_own_order_whatever_is_labelled():
    made = board(audit=IDS[300:], audit_share=0.5)
    order = []
    for turn in range(60):
        ask = made.choose("ann", 1, set())[0]
        order += [ask.item] if ask.origin == "audit" else []
        made.note([event(ask.item, seq=turn + 1)])
    assert order == IDS[300 : 300 + len(order)]


def test_answered_skipped_and_unsure_items_are_not_asked_again():
    made = board(audit_share=0.0)
    made.note([event("i0"), event("i1", "skip"), event("i2", "unsure"), event("i3", "note")])
    assert items(made.choose("ann", 1, set()))[0] == "i3"
    assert items(made.choose("ben", 1, set()))[0] == "i3"
    assert made.left == len(IDS) - 3
    assert made.labelled == {"i0"}


def test_after_an_undo_the_item_can_be_asked_again():
    made = board(audit_share=0.0)
    made.note([event("i0")])
    assert made.note([event("i0", "undo", seq=2)]) == ["i0"]
    made.settle("i0", [])
    assert items(made.choose("ben", 1, set()))[0] == "i0"
    assert not made.labelled


def test_a_second_opinion_is_asked_of_somebody_else_first_and_once():
    made = board(audit_share=0.0)
    made.second = {"i5": None}
    assert items(made.choose("ben", 1, set()))[0] == "i0"
    made.note([event("i5")])
    assert "i5" not in items(made.choose("ann", 1, set()))
    assert made.choose("ben", 1, set())[0].item == "i5"
    made.note([event("i5", annotator="ben", seq=2)])
    assert "i5" not in items(made.choose("eve", 1, set()))


def test_the_share_of_second_opinions_holds_however_often_an_item_comes_up():
    made = board(overlap_share=0.25)
    wanted = {item for item in IDS if made.wants_second(item)}
    assert 70 <= len(wanted) <= 130
    assert {item for item in IDS if made.wants_second(item)} == wanted
    assert not any(board(overlap_share=0.0).wants_second(item) for item in IDS)
    assert all(board(overlap_share=1.0).wants_second(item) for item in IDS)


def test_everything_answered_leaves_nothing_to_ask():
    made = Board(["a", "b"], audit=["b"], audit_share=0.1)
    assert sorted(items(made.choose("ann", 5, set()))) == ["a", "b"]
    made.note([event("a"), event("b", "skip")])
    assert made.choose("ann", 5, set()) == []
