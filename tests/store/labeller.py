"""A process that labels as fast as it can and passes on what was acknowledged, one message for each answer."""

import json
import random
import traceback
import uuid
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import TypeVar

from bemps.store import NewAnswer, Store, open_store
from bemps.store.sql.database_errors import AGAIN, NotSaved

Result = TypeVar("Result")


def label(place: str, annotator: str, seed: int, count: int, told: Connection) -> None:
    """`count` answers, or until killed if it is 0. A message is in the pipe only after its answer was acknowledged.

    What ends the process by itself is the last message.
    """
    try:
        answer_items(place, annotator, seed, count, told)
    except Exception:
        told.send_bytes(json.dumps({"failed": traceback.format_exc()}).encode())
        raise


def sent_again(send: Callable[..., Result], *values: object, **named: object) -> Result:
    """Send as clients do: what the store says was not saved, since others write for long, is sent again as it was."""
    while True:
        try:
            return send(*values, **named)
        except NotSaved as refusal:
            if AGAIN not in refusal.fix:
                raise


def answer_items(place: str, annotator: str, seed: int, count: int, told: Connection) -> None:
    with open_store(place) as store:
        answer_items_of(store, annotator, seed, count, told)


def answer_items_of(store: Store, annotator: str, seed: int, count: int, told: Connection) -> None:
    rng = random.Random(seed)
    ids = list(store.ids())
    done = 0
    while not count or done < count:
        rng.shuffle(ids)
        act = rng.random()
        request = uuid.uuid4().hex
        if act < 0.1:
            event = sent_again(store.undo, annotator, request=request)
        elif act < 0.15:
            event = sent_again(store.redo, annotator, request=request)
        else:
            free = sent_again(store.lease, annotator, ids, 1, 60)
            name = rng.choice(["bug", "wish"])
            if free:
                event = sent_again(store.answer, annotator, free[0], "label", name, request=request)
            else:  # all are answered, where the test that reads is slow: take one back, so that writing goes on
                event = sent_again(store.undo, annotator, request=request)
        if event is not None:
            done += 1
            message = [event.seq, event.annotator, event.item, event.kind, event.label, event.request]
            told.send_bytes(json.dumps(message).encode())


def label_lists(place: str, annotator: str, size: int, told: Connection) -> None:
    """Lists of items, taken back and restored, until killed. A message is the last event of a step, and its kind."""
    with open_store(place) as store:
        label_lists_of(store, annotator, size, told)


def label_lists_of(store: Store, annotator: str, size: int, told: Connection) -> None:
    ids = store.ids()
    start = 0
    while True:
        items = [ids[(start + row) % len(ids)] for row in range(size)]
        answers = [NewAnswer(annotator, item, "label", "bug", method="listed", action=f"a{start}") for item in items]
        steps = (
            sent_again(store.record, answers),
            sent_again(store.undo_action, annotator, request=uuid.uuid4().hex),
            sent_again(store.redo_action, annotator, request=uuid.uuid4().hex),
        )
        for events in steps:
            told.send_bytes(json.dumps([events[-1].seq, events[-1].kind]).encode())
        start += size
