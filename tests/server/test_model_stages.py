"""Words first, then the encoder, then one that has learnt from the labels: which model answers, and what is said."""

import os
import queue
import time

import numpy as np
import pytest
from serving import Here, eventually, tickets, write_tickets

from bemps.models.encoders import find_weights
from bemps.models.model_registry import MODELS
from bemps.models.pool_weights import FIRST_ALONE, PoolWeights
from bemps.project import project_models
from bemps.project.adapted_model import AdaptedProjectModel, adaptation_file, load_adaptation
from bemps.server.model import job_worker, model_stages
from bemps.server.model.background_job import BackgroundJob
from bemps.server.model.job_worker import Clock, SlowMachine, run_job
from bemps.server.model.messages import Activity, JobEnded, JobFailed, JobProgress, StartJob, State
from bemps.server.model.model_stages import ModelStages, TrainerReady, is_due
from bemps.server.model.model_status import ModelStatus
from bemps.server.model.process_streams import work_slowly
from bemps.server.model.time_left import TimeLeft, in_minutes
from bemps.server.project_start import Source, Wishes, prepared
from bemps.store import Said

TRUTH = dict(tickets())


@pytest.fixture
def bge():
    if find_weights("bge-small") is None:
        assert not os.environ.get("BEMPS_REQUIRE_ALL"), "bemps weights bge-small was not run"
        pytest.skip("the weights of bge-small are not here: bemps weights bge-small")


@pytest.fixture
def project(bge, tmp_path):
    """A project of 120 tickets, in its folder; `label` gives labels to some."""
    write_tickets(tmp_path / "tickets.csv", tickets(120))
    where = str(tmp_path / "tickets.bemps")
    wishes = Wishes(classes=("bug", "feature", "question"), model="bge-words", adapt="auto")
    store, _ = prepared(where, Source(tmp_path / "tickets.csv", {"text": "body"}), wishes)
    yield store, where
    store.close()


def label(store, count):
    audit = store.audit()
    items = [item for item in store.items() if item.id not in audit][:count]
    store.record([Said("ann", item.id, "label", TRUTH[item.content]) for item in items])


class Jobs:
    """Jobs that are done at once, in this process, or as a test says."""

    def __init__(self, monkeypatch, run=None):
        self.started, self.run = [], run
        monkeypatch.setattr(model_stages, "BackgroundJob", self.start)

    def start(self, where, task, tell):
        self.started.append(task)
        self.task = task
        if self.run is not None:
            self.run(StartJob(where, task), tell)
        return self


def staged(store, where):
    inbox, said = queue.SimpleQueue(), []
    stages = ModelStages(store, where, inbox.put, said.append)
    stages.start()
    return stages, inbox, said


def introduced(said):
    """What was last said of the model that answers."""
    return [message for message in said if isinstance(message, State)][-1]


def settle(stages, inbox, seconds=60):
    """Take in everything until a new model has taken over."""
    while True:
        message = inbox.get(timeout=seconds)
        stages.receive(message)
        if isinstance(message, TrainerReady | JobFailed):
            return message


@pytest.mark.parametrize(
    ("labels", "learnt_from", "due"),
    [(49, 0, False), (50, 0, True), (99, 50, False), (100, 50, True), (120, 70, False), (140, 70, True)],
)
def test_the_encoder_learns_again_when_the_labels_have_doubled(labels, learnt_from, due):
    assert is_due(labels, learnt_from) == due


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(20, "less than a minute"), (70, "about a minute"), (130, "about 2 minutes")],
)
def test_a_time_is_said_as_people_say_it(seconds, words):
    assert in_minutes(seconds) == words


def test_words_choose_while_the_encoder_reads_and_nothing_is_lost_when_it_takes_over(project, monkeypatch, bge):
    store, where = project
    monkeypatch.setattr(model_stages, "READ_AT_ONCE", 20)
    jobs = Jobs(monkeypatch)
    label(store, 30)
    stages, inbox, said = staged(store, where)
    assert introduced(said).alive
    assert introduced(said).model.startswith("TF-IDF")
    assert said[-1] == Activity("so far it looks at words, and a better one reads your texts: 0 %")
    assert jobs.started == ["read"]
    before = stages.learn(5)
    assert (before.ready, before.labels) == (True, 30)
    stages.receive(JobProgress(400, 1000, 12.0))
    assert said[-1] == Activity("so far it looks at words, and a better one reads your texts: 40 %")
    run_job(StartJob(where, "read"), inbox.put)
    assert isinstance(settle(stages, inbox), TrainerReady)
    assert Activity("") in said
    assert introduced(said).model.startswith("bge-small")
    label(store, 34)
    after = stages.learn(5)
    assert (after.ready, after.labels) == (True, 34)
    rounds = after.history["rounds"]
    assert [(one["labels"], one["model"]) for one in rounds] == [(30, "tfidf"), (34, "bge-words")]
    assert jobs.started == ["read"]  # nothing more to do with so few labels


def test_vectors_that_are_there_are_used_at_once(project, monkeypatch, bge):
    store, where = project
    run_job(StartJob(where, "read"), lambda _: None)
    monkeypatch.setattr(model_stages, "READ_AT_ONCE", 0)
    jobs = Jobs(monkeypatch)
    _, _, said = staged(store, where)
    assert introduced(said).model.startswith("bge-small")
    assert jobs.started == []


def tuned_by(monkeypatch, weights):
    """A tiny encoder is fine-tuned instead, and counts so much."""
    from tiny_bert import tiny_bert

    monkeypatch.setattr(project_models, "_tuned_and_reason", lambda row, adapt: (str(tiny_bert(128)), ""))
    monkeypatch.setattr("bemps.models.text.adapted_text.pool_weights", lambda evidence: weights)


def test_the_encoder_learns_in_the_background_and_takes_over(project, monkeypatch, bge):
    store, where = project
    tuned_by(monkeypatch, PoolWeights(0.4))
    jobs = Jobs(monkeypatch, run=lambda job, tell: None)
    label(store, 49)
    stages, inbox, said = staged(store, where)
    stages.learn(5)
    assert jobs.started == []
    label(store, 50)
    before = stages.learn(5)
    assert jobs.started == ["adapt"]
    label(store, 52)
    assert stages.learn(5).labels == 52  # the head follows meanwhile
    assert jobs.started == ["adapt"]
    stages.receive(JobProgress(100, 1000, 130.0))
    assert said[-1] == Activity("it is learning the language of your texts: 10 %", 130.0)
    run_job(StartJob(where, "adapt"), inbox.put)
    settle(stages, inbox)
    assert "learnt from 52 of your labels (40 % of the weight)" in introduced(said).model
    assert isinstance(stages.trainer.project_model, AdaptedProjectModel)
    after = stages.learn(5)
    assert (after.ready, after.labels, len(after.items)) == (True, 52, 5)
    assert after.history["rounds"][-1]["model"] == "bge-words, adapted"
    assert before.forecast is not None
    assert after.forecast is not None  # a new model tells at once what the next labels bring
    item = next(item for item in store.items() if item.id in store.audit())
    assert stages.look(item.id)["guess"]
    again, _, words = staged(store, where)  # a server that starts again needs no training
    assert "learnt from 52" in introduced(words).model
    assert np.array_equal(again.learn(5).items, after.items)
    assert jobs.started == ["adapt"]


def test_an_encoder_that_does_not_help_changes_nothing_until_there_are_twice_the_labels(project, monkeypatch, bge):
    store, where = project
    tuned_by(monkeypatch, FIRST_ALONE)
    jobs = Jobs(monkeypatch, run=run_job)
    label(store, 50)
    stages, inbox, _ = staged(store, where)
    stages.learn(5)
    settle(stages, inbox)
    assert not isinstance(stages.trainer.project_model, AdaptedProjectModel)
    stages.learn(5)
    assert jobs.started == ["adapt"]
    saved = load_adaptation(adaptation_file(project_models.cache_folder(store.path), store.settings["id"]), "bge-words")
    assert (saved.labels, saved.helps) == (50, False)
    label(store, 100)
    stages.learn(5)
    assert jobs.started == ["adapt", "adapt"]


def test_a_job_that_dies_is_said_and_tried_again_some_times(project, monkeypatch, bge):
    store, where = project
    monkeypatch.setattr(model_stages, "READ_AT_ONCE", 20)
    monkeypatch.setattr(model_stages, "WAITS", (0.0,))
    jobs = Jobs(monkeypatch, run=lambda job, tell: tell(JobFailed("killed")))
    label(store, 10)
    stages, inbox, said = staged(store, where)
    for _ in range(5):
        while not inbox.empty():
            stages.receive(inbox.get())
        assert stages.learn(3).labels == 10
    assert jobs.started == ["read"] * model_stages.TRIES
    spoken = [message.text for message in said if isinstance(message, Activity)]
    assert "a better one could not be made (killed); it tries again later" in spoken
    assert spoken[-1] == "a better one could not be made (killed); it stays as it is"


def test_a_machine_without_room_for_a_job_goes_on(project, monkeypatch, bge):
    store, where = project
    monkeypatch.setattr(model_stages, "READ_AT_ONCE", 20)

    def refuse(*_):
        raise OSError("Cannot allocate memory")

    monkeypatch.setattr(model_stages, "BackgroundJob", refuse)
    label(store, 10)
    stages, _, said = staged(store, where)
    assert stages.learn(3).labels == 10
    assert "Cannot allocate memory" in said[-1].text


def test_a_slow_machine_stays_with_the_frozen_encoder_and_says_why(project, monkeypatch, bge):
    store, where = project
    tuned_by(monkeypatch, PoolWeights(0.4))
    monkeypatch.setattr(job_worker, "JUDGED_AFTER", 0.0)
    monkeypatch.setattr(job_worker, "LONGEST", 0.0)
    jobs = Jobs(monkeypatch, run=run_job)
    label(store, 50)
    stages, inbox, said = staged(store, where)
    stages.learn(5)
    stages.receive(inbox.get(timeout=60))
    assert "does not learn the language of your texts: this machine would need about" in introduced(said).model
    assert introduced(said).model.startswith("bge-small")
    label(store, 100)
    assert stages.learn(5).labels == 100
    assert jobs.started == ["adapt"]


def test_the_speed_is_judged_by_what_is_done_and_what_is_left(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "process_time", lambda: now[0] / 2)
    said = []
    clock = Clock(said.append, longest=900)
    now[0] = 30.0
    clock.show(0.1)
    assert (said[0].done, said[0].total, said[0].seconds) == (100, 1000, None)
    now[0] = 30.5
    clock.show(0.11)
    assert len(said) == 1  # not more than every second
    now[0] = 100.0
    clock.show(0.06)  # 28 minutes, of which it works 14
    now[0] = 102.0
    with pytest.raises(SlowMachine, match="about 17 minutes"):
        clock.show(0.05)


def told_left(*steps):
    """The seconds that are told after each step: seconds that passed, and the share of the work."""
    left = TimeLeft()
    return [left.seconds(passed, share) for passed, share in steps]


def test_the_time_that_is_left_follows_the_speed_that_was_measured():
    even = [(10.0 * step, step / 20) for step in range(1, 21)]
    assert told_left(*even) == [None, *(pytest.approx(200 - 10 * step) for step in range(2, 21))]


def test_no_time_is_told_by_a_single_step_nor_at_the_beginning():
    assert told_left((60.0, 0.3)) == [None]
    assert told_left((1.0, 0.02), (2.0, 0.04), (5.0, 0.1)) == [None] * 3
    assert told_left((20.0, 0.02), (40.0, 0.04)) == [None] * 2


def test_no_time_is_told_while_the_machine_is_taken_away_and_a_true_one_when_the_speed_is_known_again():
    quick = [(5.0 * step, step / 20) for step in range(1, 6)]  # 100 seconds in all
    starved = [(25.0 + 100 * (step - 5), step / 20) for step in range(6, 21)]  # 100 seconds a step
    told = told_left(*quick, *starved)
    assert told[4] == pytest.approx(75)
    assert told[5:7] == [None, None]
    truth = [starved[-1][0] - passed for passed, _ in starved]
    for seconds, left in zip(told[5:], truth, strict=True):
        assert seconds is None or seconds == pytest.approx(left, rel=0.35)
    assert told[-2] == pytest.approx(100)


def test_the_header_counts_down_and_says_nothing_rather_than_a_stale_time(monkeypatch):
    now = [1_000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    status = ModelStatus()
    status.receive(State("ready", alive=True, model="bge"))

    def words():
        return status.as_json(0)["words"].split("; ")[-1]

    status.receive(Activity("it is learning the language of your texts: 40 %", 130.0))
    assert words() == "it is learning the language of your texts: 40 %, about 2 minutes more"
    now[0] += 25.0
    assert words() == "it is learning the language of your texts: 40 %, about 2 minutes more"
    now[0] += 10.0  # no report for so long: the machine is busy with something else
    assert words() == "it is learning the language of your texts: 40 %"
    status.receive(Activity("it is learning the language of your texts: 98 %", 5.0))
    assert words().endswith("98 %, less than a minute more")
    now[0] += 6.0
    assert words().endswith("98 %")
    status.receive(Activity("it is learning the language of your texts: 99 %"))
    assert words().endswith("99 %")


def test_without_what_it_needs_the_encoder_stays_frozen_and_the_words_say_why(monkeypatch):
    find, reason = project_models.find_spec, project_models._tuned_and_reason
    monkeypatch.setattr(project_models, "find_spec", lambda name: None if name == "torch" else find(name))
    assert reason(MODELS["bge-words"], "auto")[0] is None
    assert "[finetune]' (torch is missing)" in reason(MODELS["bge-words"], "auto")[1]
    assert reason(MODELS["bge-words"], "off") == (None, "")
    assert reason(MODELS["tfidf"], "auto") == (None, "")
    monkeypatch.setattr(project_models, "find_spec", lambda name: object())
    monkeypatch.setattr(project_models, "find_weights", lambda name: None)
    assert reason(MODELS["bge-words"], "auto") == (None, "learning from your texts would need bemps weights minilm")
    monkeypatch.setattr(project_models, "find_weights", lambda name: {} if name == "bge-small" else None)
    assert reason(MODELS["bge-words"], "auto") == ("bge-small", "")


def ended(told, seconds=60):
    """The last message of a job."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        message = told.get(timeout=seconds)
        if isinstance(message, JobEnded | JobFailed):
            return message
    raise TimeoutError


def test_a_killed_job_is_said_and_one_without_its_model_ends(project, bge):
    _, where = project
    told = queue.SimpleQueue()
    job = BackgroundJob(where, "read", told.put)
    job.process.kill()
    assert isinstance(ended(told), JobFailed)
    unknown = BackgroundJob(where + ".none", "read", told.put)
    assert "tickets.bemps.none" in ended(told).text
    assert unknown.process.returncode != 0
    orphan = BackgroundJob(where, "read", told.put)
    orphan.process.stdin.close()
    orphan.process.wait(60)


def test_niceness_does_not_add_up_from_parent_to_child(monkeypatch):
    calls = []
    monkeypatch.setattr(os, "nice", lambda more: calls.append(more) or 10)
    work_slowly(12)
    work_slowly(5)
    assert calls == [0, 2, 0, 0]


def test_in_the_page_words_come_first_and_the_encoder_takes_over(tmp_path, monkeypatch, bge):
    write_tickets(tmp_path / "tickets.csv", tickets(300))
    with Here(tmp_path, model="bge-words", adapt="off") as server, server.person() as ann:
        models = []
        receive = server.engine.model_status.receive

        def received(message):
            if isinstance(message, State) and message.model:
                models.append(message.model)
            receive(message)

        monkeypatch.setattr(server.engine.model_status, "receive", received)
        truth, status = dict(tickets(300)), server.engine.model_status
        for item in ann.next(20):
            ann.answer(item["id"], truth[item["text"]]).raise_for_status()
        assert eventually(lambda: status.ready and models[0].startswith("TF-IDF"), 240)
        orders = status.orders
        assert eventually(lambda: status.ready and status.model.startswith("bge-small"), 240)
        assert eventually(lambda: status.orders > orders, 240)  # the new model orders without another answer
        assert "up to date" in ann.state()["model"]["words"]
