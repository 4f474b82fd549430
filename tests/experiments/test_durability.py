"""Killed at any moment and run again, a run ends in the same bytes."""

import os
import random
import signal
import tempfile
import time
from pathlib import Path

import pytest
from running import SAME, Notes, bytes_of, command, finished, killed, play, rows, without_data

from bemps._utils.files import mark_folder
from bemps.errors import InputError
from bemps.experiments import CannotWrite, OtherConfiguration
from bemps.experiments.journal import open_journal

ARGUMENTS = ("--dataset", "digits", "--strategies", "coremse,margin", "--seeds", "1", "--budget", "40", "--axis")
ARGUMENTS += ("members=3", "--jobs")


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """The files of a run that nothing interrupted."""
    out = tmp_path_factory.mktemp("reference") / "run"
    play(out, strategies=["coremse", "margin"], seeds=1, budget=40)
    return bytes_of(out)


def kill_and_resume(out, reference, kills, seed):
    """Kill runs until so many were hit, each of them up to three times, and compare what is finished afterwards."""
    chance, hits, number = random.Random(seed), 0, 0
    while hits < kills:
        assert number < 3 * kills, f"{hits} of {number} runs were killed before they ended"
        folder = out / str(number // 3)  # a finished run has nothing left to kill: begin another
        jobs = str(1 + (number % 3 == 0))
        hits += killed(folder, *ARGUMENTS, jobs, lines=chance.randint(1, 3), delay=chance.uniform(0, 0.3))
        number += 1
        if number % 3 == 0 or hits == kills:
            code, _, errors = finished(folder, *ARGUMENTS, "1")
            assert code == 0, errors
            assert bytes_of(folder) == reference


def test_sigkill_at_three_moments_changes_nothing(tmp_path, reference):
    kill_and_resume(tmp_path, reference, 3, seed=time.time_ns())


@pytest.mark.soak
def test_sigkill_at_fifty_moments_changes_nothing(tmp_path, reference):
    kill_and_resume(tmp_path, reference, 50, seed=time.time_ns())


def test_interrupt_says_how_to_continue(tmp_path):
    long = ["600" if word == "40" else word for word in ARGUMENTS]  # it cannot end before it is interrupted
    heed = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # noqa: E731  # a shell in the background ignores it
    process = command(tmp_path / "run", *long, "2", start_new_session=True, preexec_fn=heed)
    while without_data(tmp_path / "run") < 3:
        assert process.poll() is None
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)  # as the terminal does: to the run and its workers
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert "to continue" in stdout
    assert "Traceback" not in stderr
    assert rows(tmp_path / "run")


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory):
    out = tmp_path_factory.mktemp("finished") / "run"
    play(out, strategies="margin", seeds=1)
    return out


@pytest.mark.parametrize("damage", ["cut", "changed", "garbage", "two"])
def test_a_damaged_record_is_reported_and_redone(tmp_path, finished_run, damage):
    before = bytes_of(finished_run)
    [journal] = (finished_run / "journals").iterdir()
    sound = journal.read_bytes()
    lines = sound.splitlines(keepends=True)
    broken = {
        "cut": sound[:-20],
        "changed": sound[:-40] + b"9" + sound[-39:],
        "garbage": sound + b'{"check":"0","record":{}}\n',
        "two": b"".join([*lines[:2], lines[2][1:], *lines[3:]]),
    }
    journal.write_bytes(broken[damage])
    watcher = Notes()
    outcome = play(finished_run, strategies="margin", seeds=1, watcher=watcher)
    assert outcome.rounds == outcome.planned
    assert any("damaged" in note for note in watcher.notes)
    assert bytes_of(finished_run) == before


def test_a_finished_run_computes_nothing_again(finished_run):
    before = {path: path.stat().st_mtime_ns for path in (finished_run / "journals").iterdir()}
    timings = (finished_run / "timings.parquet").read_bytes()
    play(finished_run, strategies="margin", seeds=1)
    assert {path: path.stat().st_mtime_ns for path in (finished_run / "journals").iterdir()} == before
    assert (finished_run / "timings.parquet").read_bytes() == timings


def test_another_configuration_is_refused_with_the_difference(finished_run):
    before = bytes_of(finished_run)
    with pytest.raises(OtherConfiguration, match=r"config\.budget: was 20, is 30"):
        play(finished_run, strategies="margin", seeds=1, budget=30)
    with pytest.raises(OtherConfiguration, match=r"axes\.members"):
        play(finished_run, strategies="margin", seeds=1, axes={"members": 4})
    assert bytes_of(finished_run) == before


def test_a_run_that_adds_to_the_grid_keeps_the_cells_of_the_smaller_one(tmp_path):
    small, whole = tmp_path / "small", tmp_path / "whole"
    play(small, strategies="margin", seeds=[3])
    before = {path.name: path.stat().st_mtime_ns for path in (small / "journals").iterdir()}
    larger = {"strategies": ["random", "margin"], "seeds": [2, 3], "batch_size": [5, 10]}
    play(small, **larger)
    after = {path.name: path.stat().st_mtime_ns for path in (small / "journals").iterdir()}
    assert before.items() <= after.items()
    assert len(after) == 8
    play(whole, **larger)
    assert bytes_of(small) == bytes_of(whole)
    with pytest.raises(OtherConfiguration, match=r"config\.seeds: was \[2, 3\], is \[3\]"):
        play(small, strategies="margin", seeds=[3])


def test_a_run_with_a_further_axis_is_refused(tmp_path):
    play(tmp_path / "run", strategies="margin", seeds=1, axes={"members": [3]})
    play(tmp_path / "run", strategies="margin", seeds=1, axes={"members": [3, 4]})
    with pytest.raises(OtherConfiguration, match=r"axes\.C"):
        play(tmp_path / "run", strategies="margin", seeds=1, axes={"members": [3, 4], "C": [0.5]})


def test_a_journal_of_another_cell_is_refused(tmp_path):
    with open_journal(tmp_path / "one.jsonl", {"seed": 1}) as journal:
        journal.append({"round": 0})
    with pytest.raises(InputError, match="renamed"), open_journal(tmp_path / "one.jsonl", {"seed": 2}):
        pass


def test_two_runs_in_one_folder_are_refused(finished_run):
    from bemps.experiments.run_folder import locked_folder

    with locked_folder(finished_run), pytest.raises(InputError, match="no other run"):
        play(finished_run, strategies="margin", seeds=1)


def test_a_journal_that_cannot_grow_keeps_what_it_has(tmp_path):
    import resource  # Windows has none

    path, key = tmp_path / "one.jsonl", {"seed": 1}
    with open_journal(path, key) as journal:
        journal.append({"round": 0})
        size = path.stat().st_size
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, limits[1]))
        try:
            with pytest.raises(CannotWrite, match="intact"):
                journal.append({"round": 1})
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    with open_journal(path, key) as journal:
        assert journal.damage is None
        assert journal.rounds == [{"round": 0}]


def test_a_full_disk_is_a_clear_error_and_leaves_results_readable(small_disk, tmp_path):
    disk = small_disk(400)
    # the run needs about 470 kB for its data alone: first let it have that elsewhere
    out = disk / "run"
    out.mkdir()
    (tmp_path / "shared").mkdir()
    (out / "shared").symlink_to(tmp_path / "shared")
    mark_folder(out, "run")
    play(out, strategies="margin", seeds=1)
    before, filler = bytes_of(out), disk / "filler"
    [journal] = (out / "journals").iterdir()
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-1]))
    with pytest.raises(OSError, match="space"):
        filler.write_bytes(b"x" * 10**6)
    with pytest.raises(CannotWrite, match=r"the disk is full.*intact"):
        play(out, strategies="margin", seeds=1)
    assert {name: (out / name).read_bytes() for name in SAME} == before
    assert rows(out)
    filler.unlink()
    play(out, strategies="margin", seeds=1)
    assert bytes_of(out) == before


def test_a_read_only_folder_is_a_clear_error(finished_run):
    import shutil

    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        place.chmod(0o755)
        out = shutil.copytree(finished_run, place / "run")
        for path in [out, *out.rglob("*")]:
            path.chmod(0o555 if path.is_dir() else 0o444)
        root = os.geteuid() == 0
        if root:
            os.seteuid(65534)  # permissions do not bind root
        try:
            with pytest.raises(CannotWrite, match="permission denied"):
                play(out, strategies="margin", seeds=1)
            assert rows(out)
        finally:
            if root:
                os.seteuid(0)
            for path in [out, *out.rglob("*")]:
                path.chmod(0o755)
