"""Which model answers, and what is prepared beside it.

    words    TF-IDF, ready in seconds, while the encoder of the project reads the texts
    vectors  the encoder of the project, frozen
    adapted  the same, and an encoder that was fine-tuned on the labels

The head follows every answer. The encoder is fine-tuned again when the labels have doubled, in a job of its own. A new
model is made ready in a thread and takes over between two requests: nobody waits for it, and the rounds so far go over
to it.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bemps.limits import library_threads
from bemps.project.adapted_model import Adaptation, adaptation_file, adapted_model, load_adaptation
from bemps.project.project_models import FEWEST_TO_ADAPT, ProjectModel, cache_folder, first_model, project_model
from bemps.server.model.background_job import BackgroundJob
from bemps.server.model.messages import (
    Activity,
    JobEnded,
    JobFailed,
    JobProgress,
    Message,
    Ranking,
    State,
)
from bemps.server.model.trainer import Trainer
from bemps.server.model.window import ADAPTED_WINDOW, WINDOW, window_of
from bemps.store import Store

GROWTH = 2  # the encoder learns again when there are so many times the labels
READ_AT_ONCE = 200  # texts that the encoder reads in a second or two
TRIES = 3
WAITS = (10.0, 60.0, 300.0)  # seconds before a job that failed starts again
Speak = Callable[[Message], None]


@dataclass(frozen=True, eq=False)
class TrainerReady(Message):
    """A model that can take over. Said in the process itself."""

    kind = "trainer-ready"
    trainer: Trainer


def is_due(labels: int, learnt_from: int) -> bool:
    """Whether the encoder should learn from the labels again."""
    return labels >= max(FEWEST_TO_ADAPT, GROWTH * learnt_from)


class ModelStages:
    """The model of a project, and the better model that is prepared beside it.

    Parameters
    ----------
    store : Store
        The database of the project.
    where : str
        The file of the project, or its address in a database server.
    post : callable
        A function that puts a message where `receive` gets it, in the thread of the requests.
    speak : callable
        A function that sends a message to the server.
    """

    def __init__(self, store: Store, where: str, post: Callable[[Message], None], speak: Speak) -> None:
        self.store, self._where, self._post, self._speak = store, where, post, speak
        self._alive = False
        self.settings = store.read_settings()
        self._cache = cache_folder(None if "://" in where else Path(where))
        self.model = self._new_model()
        self.job: BackgroundJob | None = None
        self._preparing = False
        self._failures, self._not_before = 0, 0.0
        self._learnt_from, self._refusal = 0, ""
        self.trainer = self._first_trainer()

    def start(self) -> None:
        """Report that there is a model, and begin what makes it better."""
        self._introduce()
        self._begin_job()

    def learn(self, n: int) -> Ranking:
        """Return a new order of n items, and begin what makes the model better."""
        ranking = self.trainer.learn(n)
        self._begin_job()
        return ranking

    def look(self, name: str) -> dict[str, Any]:
        """Return what the model thinks of one item."""
        return self.trainer.look(name)

    def receive(self, message: Message) -> None:
        """Handle a message of a background job or of the thread that makes a model."""
        if isinstance(message, JobProgress):
            self._speak(self._activity(message))
        elif isinstance(message, JobEnded):
            self._end_job(message.refusal)
        elif isinstance(message, JobFailed):
            self._fail(message.text)
        elif isinstance(message, TrainerReady):
            self._change_over(message.trainer)

    # -- the first model ---------------------------------------------------------------------------------------------

    def _first_trainer(self) -> Trainer:
        """The best model whose vectors are there; texts that are unread are looked at by their words."""
        quick = first_model(self.settings, self.model)
        contents = [item.content for item in self.store.items(window_of(self.store, self.settings, WINDOW))]
        if quick is not None and self.model.unread(contents) > READ_AT_ONCE:
            return Trainer(self.store, quick)
        return self._best_trainer()

    def _best_trainer(self) -> Trainer:
        """On the vectors of a fine-tuned encoder where there are any and they help, else on those of the project."""
        adaptation, model = self._load_adaptation(), self._new_model()
        if adaptation is None or not adaptation.helps:
            return Trainer(self.store, model)
        return Trainer(self.store, adapted_model(model, adaptation), window=ADAPTED_WINDOW)

    def _new_model(self) -> ProjectModel:
        """A model of its own: encoders are fitted on the pool, and the one that answers must not change."""
        return project_model(self.settings, cache=self._cache, progress=self._reading)

    def _load_adaptation(self) -> Adaptation | None:
        if self.model.tuned is None:
            return None
        saved = load_adaptation(adaptation_file(self._cache, self.settings.id), self.model.name)
        self._learnt_from = 0 if saved is None else saved.labels
        return saved

    def _reading(self, _: str, done: int, total: int) -> None:
        """How far the first model is; later ones are made ready unseen."""
        if not self._alive:
            self._speak(State(f"model reads the items: {100 * done // max(total, 1)} %"))

    # -- jobs --------------------------------------------------------------------------------------------------------

    @property
    def reads_words(self) -> bool:
        """Whether the encoder of the project has still to read the texts."""
        return self.trainer.project_model.name != self.model.name

    def _begin_job(self) -> None:
        """Start what is to be done next, one thing at a time."""
        if self.job is not None or self._preparing or self._failures >= TRIES or time.monotonic() < self._not_before:
            return
        task = self._next_task()
        if task is None:
            return
        try:
            self.job = BackgroundJob(self._where, task, self._post)
        except OSError as error:  # no memory or no process for it: the model that answers goes on
            self._fail(str(error))
        else:
            self._speak(self._activity(JobProgress(0, 1)))

    def _next_task(self) -> str | None:
        if self.reads_words:
            return "read"
        learner = self.trainer.learner
        due = learner.fitted_model.ready and is_due(len(learner.labels), self._learnt_from)
        return "adapt" if due and self.model.tuned is not None else None

    def _activity(self, progress: JobProgress) -> Activity:
        share = f"{100 * progress.done // progress.total} %"
        if self.reads_words:
            return Activity(f"so far it looks at words, and a better one reads your texts: {share}")
        return Activity(f"it is learning the language of your texts: {share}", progress.seconds)

    def _end_job(self, refusal: str) -> None:
        """Make the better model ready; a machine that is too slow for it stays with what it has and says so."""
        self.job, self._failures = None, 0
        if refusal:
            self._give_up(refusal)
            return
        self._preparing = True
        threading.Thread(target=self._prepare, daemon=True).start()

    def _prepare(self) -> None:
        """In a thread: make a model with the vectors that are there now."""
        try:
            with library_threads(1):
                self._post(TrainerReady(self._best_trainer()))
        except Exception as error:  # noqa: BLE001 -- the model that answers goes on, and the page says what happened
            self._post(JobFailed(f"{type(error).__name__}: {error}"))

    def _change_over(self, trainer: Trainer) -> None:
        """The new model answers from now on."""
        self._preparing = False
        trainer.take_history(self.trainer.history)
        self.trainer = trainer
        self._speak(Activity(""))
        self._introduce()
        self._begin_job()

    def _introduce(self) -> None:
        self._alive = True
        self._speak(State("ready", alive=True, model=self.trainer.project_model.words + self._refusal))

    def _fail(self, reason: str) -> None:
        """Say what happened, and try again after a while, some times."""
        self.job, self._preparing = None, False
        self._not_before = time.monotonic() + WAITS[min(self._failures, len(WAITS) - 1)]
        self._failures += 1
        again = "it tries again later" if self._failures < TRIES else "it stays as it is"
        self._speak(Activity(f"a better one could not be made ({reason[:150]}); {again}"))

    def _give_up(self, reason: str) -> None:
        self.model = replace(self.model, tuned=None)
        self._refusal = f"; it does not learn the language of your texts: {reason}"
        self._speak(Activity(""))
        self._introduce()
