"""What the server and the process that writes a result say to each other."""

from dataclasses import dataclass

from bemps.server.model.messages import Message


@dataclass(frozen=True)
class WriteResult(Message):
    """The order to write a result of a project into an empty folder.

    Attributes
    ----------
    project : str
        The file of the project, or its address in a database server.
    folder : str
        The folder to write into.
    name : str
        The name of the file. What is a folder becomes a zip file of this name.
    what, format, resolved, audit
        As for `Project.export`.
    """

    kind = "write"
    project: str
    folder: str
    name: str
    what: str
    format: str | None = None
    resolved: bool = False
    audit: bool = False


@dataclass(frozen=True)
class Step(Message):
    """The progress of a task.

    Attributes
    ----------
    task : str
        The task, in words.
    done : int
        The steps that are done.
    total : int
        All steps.
    """

    kind = "step"
    task: str
    done: int
    total: int


@dataclass(frozen=True)
class Written(Message):
    """The file is complete; the message has its name in the folder."""

    kind = "written"
    name: str


@dataclass(frozen=True)
class NotWritten(Message):
    """The reason why there is no file."""

    kind = "not-written"
    text: str


STEPS = {each.kind: each for each in (Step, Written, NotWritten)}
