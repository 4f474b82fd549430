"""What the server and the model's process say to each other: lines of JSON, checked where they are read."""

import json
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from types import NoneType, UnionType
from typing import Any, ClassVar, get_args, get_origin, get_type_hints

from bemps.errors import BempsError


class MalformedMessage(BempsError):
    """A line that names a message but cannot be decoded."""


@dataclass(frozen=True)
class Message:
    """A message between processes; `kind` names it in JSON."""

    kind: ClassVar[str]


# -- from the server -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OpenProject(Message):
    """The first message: where the project is."""

    kind = "project"
    project: str


@dataclass(frozen=True)
class Learn(Message):
    """Fit to what is in the store and rank n items."""

    kind = "learn"
    n: int


@dataclass(frozen=True)
class Look(Message):
    """Say what the model makes of an item; the answer has the same `call`."""

    kind = "look"
    item: str
    call: int


@dataclass(frozen=True)
class Ask(Message):
    """Compute something of `bemps.server.review.model_tasks`; the answer is a `Looked` with the same `call`.

    Attributes
    ----------
    task : str
        The name of the task.
    call : int
        The number of the call.
    items : list of str
        The ids of the items in question, for tasks that need some.
    label : str
        The class in question, for tasks that need one.
    n : int
        The number of items to return, for tasks that return some.
    """

    kind = "ask"
    task: str
    call: int
    items: list[str] = field(default_factory=list)
    label: str = ""
    n: int = 0


# -- from the model --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class State(Message):
    """The state of the model in words.

    Attributes
    ----------
    text : str
        The words.
    alive : bool
        Whether the model can learn.
    model : str
        A description of the model, once it is ready.
    """

    kind = "state"
    text: str
    alive: bool = False
    model: str = ""


@dataclass(frozen=True)
class Activity(Message):
    """What is prepared beside the model that answers.

    Attributes
    ----------
    text : str
        The words; empty: nothing.
    seconds : float or None
        How long it will still take. None if that is not known.
    """

    kind = "activity"
    text: str
    seconds: float | None = None


@dataclass(frozen=True)
class Ranking(Message):
    """A new order of items, and the state of the project.

    Attributes
    ----------
    ready : bool
        Whether the model has learnt anything: two classes have a label.
    labels, waiting : int
        The number of items that the model learnt from, and the number that may be asked.
    strategy : str
        The name of the strategy that ordered the items.
    items : list of dict
        The items, best first: `item` is the id, and beside it are the reasons, as far as there are any.
    seconds : float
        The time that it took.
    broken : list of str
        The paths of images that cannot be decoded.
    audit, forecast, advice : dict or None
        See `bemps.server.model.measures`. None before the model is ready.
    curve, outcomes : list
        See `bemps.server.model.measures`. Empty before the model is ready.
    history : dict or None
        The rounds so far, to be saved with the project. None if no round was added.
    """

    kind = "ranking"
    ready: bool
    labels: int
    waiting: int
    strategy: str
    items: list[dict[str, Any]]
    seconds: float
    broken: list[str] = field(default_factory=list)
    audit: dict[str, Any] | None = None
    forecast: dict[str, Any] | None = None
    advice: dict[str, Any] | None = None
    curve: list[list[Any]] = field(default_factory=list)
    outcomes: list[dict[str, Any]] = field(default_factory=list)
    history: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        if not all(isinstance(each.get("item"), str) for each in self.items):
            raise MalformedMessage("ranking: every item has an id")


@dataclass(frozen=True)
class NotLearnt(Message):
    """The model could not learn this time, and may be asked again."""

    kind = "not-learnt"
    text: str


@dataclass(frozen=True)
class Looked(Message):
    """What the model thinks of an item or answers to a task, or why it could not.

    Attributes
    ----------
    call : int
        The number of the call that this answers.
    about : dict
        The answer.
    failure : str
        The error, in words; empty if there was none.
    """

    kind = "looked"
    call: int
    about: dict[str, Any] = field(default_factory=dict)
    failure: str = ""


@dataclass(frozen=True)
class Failure(Message):
    """The process has ended; it is started again. Said in the server itself, never in JSON."""

    kind = "failure"
    text: str


# -- between the model and a job beside it ---------------------------------------------------------------------------


@dataclass(frozen=True)
class StartJob(Message):
    """The first message to a job: where the project is, and what is to be done: `read` or `adapt`."""

    kind = "job"
    project: str
    task: str


@dataclass(frozen=True)
class JobProgress(Message):
    """The progress of a job.

    Attributes
    ----------
    done : int
        The steps that are done.
    total : int
        All steps.
    seconds : float or None
        The seconds that the rest will probably take. None if they are not known.
    """

    kind = "progress"
    done: int
    total: int
    seconds: float | None = None


@dataclass(frozen=True)
class JobEnded(Message):
    """A job is done; `refusal` says in words why there will be no result on this machine."""

    kind = "ended"
    refusal: str = ""


@dataclass(frozen=True)
class JobFailed(Message):
    """A job has ended without a result, or what was made of its result failed. Said in the model's process itself."""

    kind = "job-failed"
    text: str


REQUESTS = {each.kind: each for each in (OpenProject, Learn, Look, Ask)}
REPORTS = {each.kind: each for each in (State, Activity, Ranking, NotLearnt, Looked)}
JOB_REQUESTS: dict[str, type[Message]] = {StartJob.kind: StartJob}
JOB_REPORTS: dict[str, type[Message]] = {each.kind: each for each in (JobProgress, JobEnded)}


# -- JSON ------------------------------------------------------------------------------------------------------------


def encode(message: Message) -> str:
    """Return a message as a line without its end; fields with their default value are left out."""
    values = {each.name: getattr(message, each.name) for each in fields(message)}
    defaults = {each.name: _default(each) for each in fields(message)}
    parts = {name: value for name, value in values.items() if value != defaults[name]}
    return json.dumps({"is": message.kind} | parts, allow_nan=False)


def _default(part: Any) -> Any:
    return part.default if part.default_factory is MISSING else part.default_factory()


def names_a_message(line: str | bytes) -> bool:
    """Whether a line is meant as a message; a library's own output is not."""
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(content, dict) and isinstance(content.get("is"), str)


def decode(line: str | bytes, kinds: Mapping[str, type[Message]]) -> Message:
    """Return the message of a line; a message of another kind is refused."""
    if not names_a_message(line):
        raise MalformedMessage(f"expected a message; got {line[:100]!r}")
    content = json.loads(line)
    kind = content.pop("is")
    if kind not in kinds:
        raise MalformedMessage(f"expected one of {', '.join(kinds)}; got {kind[:100]!r}")
    hints = {name: hint for name, hint in get_type_hints(kinds[kind]).items() if name != "kind"}
    wrong = [name for name, value in content.items() if name not in hints or not _fits(value, hints[name])]
    if wrong:
        raise MalformedMessage(f"{kind}: {wrong[0][:100]!r} is not what it should be")
    try:
        return kinds[kind](**content)
    except TypeError as error:
        raise MalformedMessage(f"{kind}: {error}") from error


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value of JSON is of a type."""
    origin, parts = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin is UnionType:
        return any(_fits(value, part) for part in parts)
    if origin is list:
        return isinstance(value, list) and all(_fits(part, parts[0]) for part in value)
    if origin is dict:
        return isinstance(value, dict)
    if hint is float:
        return type(value) in (int, float)
    return value is None if hint is NoneType else type(value) is hint
