"""The model's process: `python -m bemps.server.model.model_worker`. It speaks JSON lines and ends with the server."""

import sys
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, runtime_checkable

from bemps.errors import COMMAND_OPTIONS, NO_OPTIONS, BempsError
from bemps.limits import library_threads
from bemps.server.model.messages import (
    REQUESTS,
    Ask,
    Learn,
    Look,
    Looked,
    MalformedMessage,
    NotLearnt,
    OpenProject,
    Ranking,
    State,
    decode,
)
from bemps.server.model.process_streams import Inbox, Voice, own_output, start_listening, work_slowly
from bemps.server.review.model_tasks import answer_of

if TYPE_CHECKING:
    from bemps.server.model.model_stages import ModelStages

NICE = 10  # people come first


@runtime_checkable
class Answering(Protocol):
    """An object that learns and looks, such as `ModelStages`."""

    def learn(self, n: int) -> Ranking:
        """Learn from the labels and return a new order of n items."""
        ...

    def look(self, name: str) -> dict[str, Any]:
        """Return what the model thinks of one item."""
        ...


def main() -> None:
    """Read the project's address, get ready, then answer until standard input ends."""
    speak = Voice(own_output())
    COMMAND_OPTIONS.set(NO_OPTIONS)  # what it says stands on the page
    work_slowly(NICE)
    first = decode(sys.stdin.readline(), {OpenProject.kind: OpenProject})
    assert isinstance(first, OpenProject)
    inbox = start_listening(REQUESTS)
    with library_threads(1):
        _work(first.project, inbox, speak)


def _work(where: str, inbox: Inbox, speak: Voice) -> None:
    from bemps.server.model.model_stages import ModelStages
    from bemps.store import open_store

    speak(State("model gets ready"))
    stages = ModelStages(open_store(where), where, inbox.put, speak)
    stages.start()
    _obey(stages, inbox, speak)


def _obey(stages: "ModelStages", inbox: Inbox, speak: Voice) -> NoReturn:
    """Answer every request; one that is malformed ends the process, with its words on standard error."""
    while True:
        message = inbox.get()
        if isinstance(message, MalformedMessage):
            raise message
        if isinstance(message, Learn):
            speak(_learnt(stages, message.n))
        elif isinstance(message, Look):
            speak(_looked(stages, message))
        elif isinstance(message, Ask):
            speak(answer_of(stages.trainer, message))
        else:
            stages.receive(message)


def _learnt(model: Answering, n: int) -> Ranking | NotLearnt:
    """A new order; what bemps itself refuses (a database that is away) ends nothing and is tried again."""
    try:
        return model.learn(n)
    except BempsError as error:
        return NotLearnt(str(error))


def _looked(model: Answering, look: Look) -> Looked:
    """What the model makes of an item; nothing where that fails, as one item must not end the model."""
    try:
        return Looked(look.call, model.look(look.item))
    except Exception as error:  # noqa: BLE001 -- the server logs it
        return Looked(look.call, {"item": look.item}, f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
