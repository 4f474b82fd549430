"""A process that labels as fast as it can and passes on what was acknowledged, one message for each answer."""

import json
import random
import uuid
from multiprocessing.connection import Connection

from bemps.store import open_store


def label(place: str, annotator: str, seed: int, count: int, told: Connection) -> None:
    """`count` answers, or until killed if it is 0. A message is in the pipe only after its answer was acknowledged."""
    rng = random.Random(seed)
    store = open_store(place)
    ids = list(store.ids())
    done = 0
    while not count or done < count:
        rng.shuffle(ids)
        act = rng.random()
        request = uuid.uuid4().hex
        if act < 0.1:
            event = store.undo(annotator, request=request)
        elif act < 0.15:
            event = store.redo(annotator, request=request)
        else:
            free = store.lease(annotator, ids, 1, 60)
            if not free:
                return
            event = store.answer(annotator, free[0], "label", rng.choice(["bug", "wish"]), request=request)
        if event is not None:
            done += 1
            message = [event.seq, event.annotator, event.item, event.kind, event.label, event.request]
            told.send_bytes(json.dumps(message).encode())
