"""A real Ray on this machine, with two workers: selections, grids and ensembles give what one process gives."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from pools import Looked, Made, dying, napping, notes, pool, write, write_numbers
from processes import children, end, gone
from sklearn.linear_model import LogisticRegression

import bemps
from bemps.distributed import Cluster, RayCells, Resources, on_ray, select
from bemps.distributed.grids.data_transfer import cache_of, digest_of
from bemps.distributed.job_executor import TASKS_PER_SLOT, RayExecutor, WorkerDied, task_slots
from bemps.errors import InputError
from bemps.experiments import config_of, run
from bemps.experiments.workers import Task
from bemps.models.scikit_learn.sklearn_ensemble import SklearnEnsemble
from benchmarks import scale

pytestmark = pytest.mark.usefixtures("local_ray")
SMALL = {"dataset": "digits", "strategies": ["coremse", "random"], "seeds": 2, "budget": 20, "axes": {"members": 3}}
SAME = ("results.parquet", "acquired.parquet", "full.json", "config.json")


def same(found, expected):
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-12, atol=1e-12)


# -- pools ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["coremse", "corelog", "entropy", "random"])
def test_equal_to_select_in_memory(tmp_path, strategy):
    probs = pool()
    write(tmp_path, probs)
    options = {"estimation_size": 50} if strategy == "corelog" else {}
    found = select(tmp_path, None, 9, strategy, seed=4, id="id", **options)
    same(found, bemps.select(probs, 9, strategy, seed=4, **options))
    assert found.ids == tuple(f"i{i}" for i in found.indices)


def test_a_model_is_made_once_in_each_worker(tmp_path):
    probs = pool()
    source = write_numbers(tmp_path / "pool", 600, 12)
    found = select(source, Made(probs, tmp_path / "log"), 9, items="item", work=tmp_path / "work")
    same(found, bemps.select(probs, 9))
    made, asked = notes(tmp_path / "log" / "made"), notes(tmp_path / "log" / "asked")
    assert len(made) == len(set(made)) <= 2
    assert len(asked) == 12
    assert {line.split()[0] for line in asked} == set(made)


def test_refusals_come_home_whole(tmp_path):
    write(tmp_path, pool())
    (tmp_path / "part-1.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"shard part-1\.parquet: expected a whole Parquet file"):
        select(tmp_path, None, 3)
    assert select(tmp_path, None, 3, skip_corrupt=True).skipped == ("part-1.parquet",)


def test_few_tasks_are_under_way(local_ray, tmp_path):
    """Back-pressure: however many jobs there are, only a few have been handed to Ray."""
    flow, seen = RayExecutor(local_ray, Resources()), []
    for number, (_, begun) in enumerate(flow.map(napping, None, [(str(tmp_path), i) for i in range(40)])):
        seen.append(begun - number)
    assert len(seen) == 40
    assert max(seen) <= TASKS_PER_SLOT * task_slots(local_ray, Resources()) + 1


def test_a_job_that_kills_its_workers_is_named(local_ray):
    with pytest.raises(WorkerDied, match="poison"):
        list(RayExecutor(local_ray, Resources()).map(dying, None, [("poison",)]))


DRIVER = """
import numpy as np
from pools import Looked, Made, dying, napping, notes, pool, write, write_numbers
from bemps.distributed import select
probs = np.load({probs!r})
select({source!r}, Looked(probs, {log!r}, 0.2), 9, items="item", work={work!r}, version="v1")
"""


@pytest.mark.soak  # about half a minute
def test_a_driver_that_is_killed_goes_on_where_it_was(tmp_path):
    probs, log, work = pool(), tmp_path / "log", tmp_path / "work"
    source = write_numbers(tmp_path / "pool", 600, 20)
    np.save(tmp_path / "probs.npy", probs)
    names = {"probs": str(tmp_path / "probs.npy"), "log": str(log), "work": str(work), "source": str(source)}
    code = [sys.executable, "-c", DRIVER.format(**names)]
    driver = subprocess.Popen(code, start_new_session=True, stderr=subprocess.PIPE)
    while len(list(work.rglob("facts-*/*.npz"))) < 4 and driver.poll() is None:
        time.sleep(0.05)
    own = children(driver.pid)
    driver.kill()
    driver.communicate()
    assert driver.returncode == -signal.SIGKILL
    end(own)  # Ray's own helpers notice only after a minute
    finished = len(list(work.rglob("facts-*/*.npz")))
    assert 4 <= finished < 20
    before = len(notes(log))
    found = select(source, Looked(probs, log), 9, items="item", work=work, version="v1")
    same(found, bemps.select(probs, 9))
    assert 20 - finished - 2 <= len(notes(log)) - before <= 20 - finished  # some had predictions but no facts yet


# -- grids ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def golden(tmp_path_factory):
    out = tmp_path_factory.mktemp("golden") / "run"
    run(config_of(SMALL), out)
    return out


def bytes_of(out):
    return {name: (out / name).read_bytes() for name in SAME}


@pytest.mark.parametrize("in_place", [True, False])
def test_a_grid_gives_the_same_files(golden, tmp_path, monkeypatch, in_place):
    """Also where workers cannot see the run folder: the data travel there, and the rounds back."""
    monkeypatch.chdir(tmp_path)
    outcome = run(config_of(SMALL), "here", executor=RayCells(in_place=in_place))
    assert outcome.failures == ()
    assert bytes_of(tmp_path / "here") == bytes_of(golden)
    sent = cache_of(digest_of(tmp_path / "here" / "shared" / "digits", "plain"))
    assert in_place or sent.exists()
    shutil.rmtree(sent, ignore_errors=True)
    assert {path.name for path in (tmp_path / "here" / "journals").iterdir()} == {
        path.name for path in (golden / "journals").iterdir()
    }


def test_a_grid_that_was_stopped_goes_on(golden, tmp_path):
    """From journals cut off in the middle of a line, and without some."""
    out = tmp_path / "run"
    run(config_of(SMALL), out)
    journals = sorted((out / "journals").iterdir())
    journals[0].write_bytes(journals[0].read_bytes()[:-20])
    journals[1].unlink()
    (out / "results.parquet").unlink()
    assert run(config_of(SMALL), out, executor=RayCells()).failures == ()
    assert bytes_of(out) == bytes_of(golden)


@pytest.mark.soak
def test_a_command_that_is_killed_goes_on(golden, tmp_path):
    """SIGKILL in the middle of `bemps run --on ray`, then the same command again."""
    out = tmp_path / "run"
    code = "import typer; from bemps.cli.run import run; typer.run(run)"
    settings = ["--dataset", "digits", "--strategies", "coremse,random", "--seeds", "2", "--budget", "20"]
    command = [sys.executable, "-c", code, *settings, "--axis", "members=3", "--out", str(out), "--on", "ray"]
    first = subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while sum(path.read_bytes().count(b"\n") for path in out.glob("journals/*")) < 4 and first.poll() is None:
        time.sleep(0.05)
    own = children(first.pid)
    first.kill()
    first.communicate()
    end(own)
    assert not (out / "results.parquet").exists()
    subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=300)
    assert bytes_of(out) == bytes_of(golden)


PLUGIN = """import os, bemps

def fails(context: bemps.Context) -> bemps.Selection:
    raise ArithmeticError("on purpose")

def dies(context: bemps.Context) -> bemps.Selection:
    os._exit(3)

def mine(context: bemps.Context) -> bemps.Selection:
    doubt = 1 - context.probs.mean(0).max(1)
    picks = doubt.argsort()[::-1][: context.n].copy()
    return bemps.Selection(picks, doubt[picks])
"""


@pytest.mark.soak  # about half a minute
def test_cells_that_fail_or_kill_their_workers_stop_no_other(tmp_path):
    (tmp_path / "own.py").write_text(PLUGIN)
    strategies = ["mine", "fails", "dies"]
    config = config_of(
        SMALL | {"strategies": strategies, "seeds": 1, "full": False, "plugin": str(tmp_path / "own.py")}
    )
    outcome = run(config, tmp_path / "run", executor=RayCells())
    failed = {failure.key["strategy"]: failure.cause for failure in outcome.failures}
    assert failed.keys() == {"fails", "dies"}
    assert failed["fails"] == "ArithmeticError: on purpose"
    assert "died 4 times" in failed["dies"]
    assert outcome.rounds == 3


def test_other_tasks_are_refused():
    task = Task({"name": "odd"}, print, (1,))
    with pytest.raises(InputError, match="odd"):
        list(RayCells().run([task]))


# -- ensembles --------------------------------------------------------------------------------------------------------


def test_members_trained_apart_are_those_trained_in_turn():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(80, 5)), rng.integers(0, 3, size=80)
    model = SklearnEnsemble(LogisticRegression(), members=4, resample="bootstrap", validation="dynamic")
    alone = model.fit(x, y, ["a", "b", "c"], np.random.default_rng(7)).predict(x)
    twin = on_ray(SklearnEnsemble(LogisticRegression(), members=4, resample="bootstrap", validation="dynamic"))
    assert twin.fit(x, y, ["a", "b", "c"], np.random.default_rng(7)) is twin
    np.testing.assert_array_equal(twin.predict(x), alone)
    np.testing.assert_array_equal(twin.weights, model.weights)


@pytest.mark.soak  # about half a minute
def test_fine_tuned_networks_trained_apart_are_those_trained_in_turn(monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "models"))
    from tiny_bert import CLASSES, LABELS, TEXTS, tiny_distilbert

    from bemps.models._torch.training_loop import TrainingRecipe
    from bemps.models.text.text_classifier import TextClassifier

    told = []
    given = {"members": 2, "recipe": TrainingRecipe(epochs=2), "device": "cpu", "calibrate": True, "max_length": 64}
    alone = TextClassifier(tiny_distilbert(), **given).fit(TEXTS, LABELS, CLASSES, np.random.default_rng(1))
    twin = on_ray(TextClassifier(tiny_distilbert(), **given, progress=lambda *step: told.append(step)))
    twin.fit(TEXTS, LABELS, CLASSES, np.random.default_rng(1))
    assert isinstance(twin, TextClassifier)
    np.testing.assert_array_equal(twin.predict(TEXTS), alone.predict(TEXTS))
    np.testing.assert_array_equal(twin.features(TEXTS), alone.features(TEXTS))
    assert told  # the driver's own callback stays with the driver


def test_a_model_that_trains_its_members_together_is_refused():
    pytest.importorskip("torch")
    from bemps.models.heads.head_classifier import HeadClassifier

    x = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
    with pytest.raises(InputError, match="one by one"):
        on_ray(HeadClassifier(x, device="cpu")).fit(x, np.tile([0, 1], 15), ["a", "b"], np.random.default_rng(0))


# -- where it runs ----------------------------------------------------------------------------------------------------


def test_resources_are_passed_to_ray():
    cluster = Cluster.parse("ray://head:10001?cpus=2&gpus=0.25&memory=1000")
    assert cluster == Cluster("ray://head:10001", Resources(2.0, 0.25, 1000))
    assert cluster.resources.options == {"num_cpus": 2.0, "num_gpus": 0.25, "max_calls": 0, "memory": 1000}


@pytest.mark.soak  # Ray knocks for twenty seconds before it gives up
def test_the_token_is_asked_for(local_ray, tmp_path):
    """Authentication is on: with another token, this Ray does not answer."""
    (tmp_path / "token").write_text("0" * 64)
    code = f"import ray; ray.init({local_ray.get_runtime_context().gcs_address!r}, log_to_driver=False)"
    names = {"RAY_AUTH_TOKEN_PATH": str(tmp_path / "token")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | names, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode != 0
    assert "token" in done.stderr


OWN = """
import json, os
from processes import children, listening
from bemps.distributed.cluster import Cluster, connected
with connected(Cluster.parse("ray"), cpus=1) as ray:
    from ray._private.authentication.authentication_utils import is_token_auth_enabled
    own = children()
    print(json.dumps([own, sorted(listening(own)), is_token_auth_enabled(), ray.cluster_resources()["CPU"]]))
"""


def test_a_ray_of_its_own_listens_on_loopback_alone_and_ends_with_the_block():
    done = subprocess.run([sys.executable, "-c", OWN], capture_output=True, text=True, check=True, timeout=120)
    own, addresses, token, cpus = json.loads(done.stdout.splitlines()[-1])
    assert addresses == ["127.0.0.1"]
    assert token
    assert cpus == 1
    assert own
    assert gone({int(pid): start for pid, start in own.items()})


def test_the_benchmark_measures_what_it_says():
    run = scale.large(20_000, 3, 2)
    assert (run.items, run.shards) == (20_000, 3)
    assert 0 < sum(run.stages.values()) < run.seconds
    assert 50 * 2**20 < max(run.peaks) < 2**30
    assert "| 20,000 | 3 | 2 |" in scale.run_table([run])
    assert "core-hours" in scale.billion(run)
    (pair,) = scale.against_memory(2_000, 2, 2, ("coremse-topk",))
    assert "| coremse-topk | 2,000 |" in scale.memory_table([pair])
