"""A job beside the model: `python -m bemps.server.model.job_worker`. It reads texts, or fine-tunes an encoder.

Results go to the folder of vectors of the project, so that nothing is lost when the process is killed: what was read is
there, and a training that was cut short starts again. It speaks JSON lines and ends with the process of the model.
"""

import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np

from bemps.limits import library_threads
from bemps.models.content_models import ReadsOnce
from bemps.models.encoders.feature_cache import keys_of
from bemps.models.pool_weights import Evidence
from bemps.models.text.adapted_text import AdaptedText
from bemps.models.text.adapted_vectors import centred
from bemps.project.adapted_model import Adaptation, adaptation_file
from bemps.project.project_models import ProjectModel, cache_folder, project_model
from bemps.server.model.messages import JOB_REQUESTS, JobEnded, JobProgress, Message, StartJob, decode
from bemps.server.model.process_streams import Voice, own_output, start_listening, work_slowly
from bemps.server.model.time_left import TimeLeft
from bemps.server.model.window import ADAPTED_WINDOW, audit_order, window_of
from bemps.store import Store, open_store
from bemps.types import Array

NICE = 12  # after the people and the model
LONGEST = 900.0  # CPU seconds of fine-tuning; a machine that needs more stays with the frozen encoder
JUDGED_AFTER = 20.0  # CPU seconds after which the speed of the machine is known
READING_SHARE = 0.3  # of the work of an adaptation: the part that reads the texts with the new encoder
BLOCK = 256  # texts between two reports
STEPS = 1_000
EVERY = 1.0  # seconds between two reports
Report = Callable[[Message], None]


class SlowMachine(Exception):
    """The training would take too long here."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"this machine would need about {seconds / 60:.0f} minutes for it")


class Clock:
    """Reports how far a job is, at most every second; with `longest`, ends one that would take more CPU seconds.

    The time that passes also depends on what else the machine does. It is told, and not judged.
    """

    def __init__(self, report: Report, longest: float | None = None) -> None:
        self._report, self._longest = report, longest
        self._start, self._worked = time.monotonic(), time.process_time()
        self._last, self._left = -EVERY, TimeLeft()

    def show(self, share: float) -> None:
        """Report the share of the work that is done."""
        passed = time.monotonic() - self._start
        if passed - self._last < EVERY and share < 1:
            return
        self._last = passed
        self._judge(share)
        self._report(JobProgress(int(STEPS * share), STEPS, self._left.seconds(passed, share)))

    def _judge(self, share: float) -> None:
        worked = time.process_time() - self._worked
        if self._longest is not None and share > 0 and worked > JUDGED_AFTER and worked / share > self._longest:
            raise SlowMachine(worked / share)


def main() -> None:
    """Do the job that standard input names, then end."""
    speak = Voice(own_output())
    work_slowly(NICE)
    job = decode(sys.stdin.readline(), JOB_REQUESTS)
    assert isinstance(job, StartJob)
    start_listening(JOB_REQUESTS)
    with library_threads(1):
        run_job(job, speak)


def run_job(job: StartJob, speak: Report) -> None:
    """Do a job and say that it is done, or why it cannot be done on this machine."""
    file = None if "://" in job.project else Path(job.project)
    try:
        with closing(open_store(job.project)) as store:
            TASKS[job.task](store, cache_folder(file), speak)
        speak(JobEnded())
    except SlowMachine as slow:
        speak(JobEnded(str(slow)))


def read(store: Store, cache: Path, speak: Report) -> None:
    """Encode the texts that the model ranks and the texts that measure it, and store the vectors.

    Parameters
    ----------
    store : Store
        The database of the project.
    cache : Path
        The folder of the vectors.
    speak : callable
        A function that reports the progress.
    """
    clock, settings = Clock(speak), store.read_settings()
    model = project_model(settings, cache=cache, progress=lambda _, done, total: clock.show(done / max(total, 1)))
    if isinstance(model.encode, ReadsOnce):
        model.encode.read(_contents(store, [*window_of(store, settings), *audit_order(store, settings)]))


def adapt(store: Store, cache: Path, speak: Report) -> None:
    """Fine-tune an encoder on the labels, compare it with the frozen encoder, and encode the texts with it.

    Parameters
    ----------
    store : Store
        The database of the project.
    cache : Path
        The folder of the vectors. The fine-tuned encoder's results are saved there.
    speak : callable
        A function that reports the progress.
    """
    clock, settings = Clock(speak, LONGEST), store.read_settings()
    model = project_model(settings, cache=cache)
    window = _contents(store, window_of(store, settings, ADAPTED_WINDOW))
    both = model.adapting(lambda _, done, total: clock.show((1 - READING_SHARE) * done / total))
    both.see_pool(window)
    labels = _train(both, store)
    audit = _contents(store, audit_order(store, settings))
    adaptation_of(model, both, labels, [*window, *audit], clock).save(adaptation_file(cache, settings.id))


def _train(both: AdaptedText, store: Store) -> int:
    """Train on the labels as they are now; returns how many."""
    audit, classes, settings = store.audit(), [each.name for each in store.classes()], store.read_settings()
    answers = {name: answer for name, answer in store.current().items() if name not in audit}
    labels = {name: str(answer.label) for name, answer in answers.items() if settings.learns_from(answer)}
    items = list(store.items(labels))
    codes = np.array([classes.index(labels[item.id]) for item in items])
    both.fit_encoder([item.content for item in items], codes, classes, np.random.default_rng(len(items)))
    return len(items)


def adaptation_of(model: ProjectModel, both: AdaptedText, labels: int, texts: list[str], clock: Clock) -> Adaptation:
    """Return what fine-tuning learnt, with the vectors of the texts if it helps.

    Parameters
    ----------
    model : ProjectModel
        The model of the project with the frozen encoder.
    both : AdaptedText
        The fitted model that weighs the fine-tuned encoder against the frozen one.
    labels : int
        The number of labels that it learnt from.
    texts : list of str
        The texts to encode.
    clock : Clock
        Reports the progress.

    Returns
    -------
    Adaptation
        The weights, the evidence and the vectors. It has no vectors if fine-tuning does not help.
    """
    assert both.pool_weights_ is not None
    evidence = both.evidence_ or Evidence(np.zeros(0, np.int64), np.zeros((0, 2)), np.zeros((0, 2)))
    texts = list(dict.fromkeys(texts)) if both.pool_weights_.share > 0 else []
    vectors = _last_layer(both, texts, clock)
    return Adaptation(model.name, labels, both.pool_weights_, evidence, tuple(keys_of(texts)), vectors)


def _last_layer(both: AdaptedText, texts: list[str], clock: Clock) -> Array:
    """The vectors of the fine-tuned encoder, around their mean; no rows where nothing is asked."""
    parts: list[Array] = []
    for start in range(0, len(texts), BLOCK):
        parts.append(both.tuned.last_layer(texts[start : start + BLOCK]))
        clock.show(1 - READING_SHARE + READING_SHARE * (start + len(parts[-1])) / len(texts))
    if not parts:
        return np.zeros((0, 0), np.float32)
    vectors = np.concatenate(parts)
    return centred(vectors, vectors)


def _contents(store: Store, names: list[str] | tuple[str, ...]) -> list[str]:
    return [item.content for item in store.items(names)]


TASKS: dict[str, Callable[[Store, Path, Report], None]] = {"read": read, "adapt": adapt}

if __name__ == "__main__":
    main()
