"""Calibration over epochs on the page: from what the run wrote, or trained here."""

import csv
import json

import numpy as np
import pytest
from making_runs import synthetic_run, write

from bemps.errors import InputError
from bemps.metrics import BIN_KINDS
from bemps.report import write_report
from bemps.results import ece_of_epochs, read_run, running_average
from bemps.results.run_pools import pools_of

ERRORS = {"equal-mass": [0.4, 0.2, 0.3], "equal-width": [0.5, 0.1, 0.0], "sweep": [0.3, 0.3, 0.3]}


def told(folder, name):
    with (folder / "report" / f"{name}.csv").open(newline="") as file:
        return [{column: float(value) for column, value in row.items()} for row in csv.DictReader(file)]


def lines(errors, **more):
    return [
        {"dataset": "digits", "epoch": epoch, "kind": kind, "ece": value} | more
        for kind, values in errors.items()
        for epoch, value in enumerate(values, start=1)
    ]


def share(folder, *, test=True):
    """A pool and a test set as the runner leaves them; one test item, like an `a`, is of a class that only it has."""
    rng = np.random.default_rng(0)
    place = folder / "shared" / "digits"
    (place / "plain").mkdir(parents=True)
    labels, test_labels = np.arange(200) % 3, np.append(np.arange(59) % 3, 3)
    x, x_test = ((rng.standard_normal((len(y), 6)) + y[:, None] % 3).astype(np.float32) for y in (labels, test_labels))
    meta = {"ids": [f"i{n}" for n in range(200)], "labels": labels.tolist(), "classes": ["a", "b", "c", "d"]}
    np.save(place / "plain" / "pool.npy", x)
    if test:
        np.save(place / "plain" / "test.npy", x_test)
        meta["test_labels"] = test_labels.tolist()
    (place / "meta.json").write_text(json.dumps(meta))
    return ece_of_epochs(x.astype(float), labels, x_test.astype(float), test_labels, np.random.default_rng(0))


def test_what_the_run_wrote_is_drawn_beside_the_map(tmp_path):
    synthetic_run(tmp_path)
    write(tmp_path, "epochs", lines(ERRORS)[::-1])
    text = write_report(tmp_path).read_text()
    block = next(part for part in text.split('<div class="block"') if "Calibration over epochs: digits" in part)
    assert "Data map of digits" in block
    assert "Calibration error after every epoch" in block
    assert (tmp_path / "report" / "epochs-digits.svg").exists()
    found = told(tmp_path, "epochs-digits")
    assert [row["epoch"] for row in found] == [1, 2, 3]
    for kind in BIN_KINDS:
        name = kind.replace("-", "_")
        assert [row[f"ece_{name}"] for row in found] == ERRORS[kind]
        np.testing.assert_allclose(
            [row[f"running_ece_{name}"] for row in found], running_average(np.array(ERRORS[kind]))
        )


def test_without_it_the_training_of_the_map_is_measured_here(tmp_path):
    synthetic_run(tmp_path, analysis=False)
    errors = share(tmp_path)
    write_report(tmp_path)
    found = told(tmp_path, "epochs-digits")
    for kind in BIN_KINDS:
        np.testing.assert_allclose([row[f"ece_{kind.replace('-', '_')}"] for row in found], errors[kind], atol=1e-6)


def test_what_the_run_wrote_counts(tmp_path):
    synthetic_run(tmp_path, analysis=False)
    share(tmp_path)
    write(tmp_path, "epochs", lines(ERRORS))
    write_report(tmp_path)
    assert [row["ece_sweep"] for row in told(tmp_path, "epochs-digits")] == ERRORS["sweep"]


def test_a_network_of_the_user_has_a_figure_of_its_own(tmp_path):
    synthetic_run(tmp_path)
    write(tmp_path, "epochs", lines(ERRORS, model="logistic"))
    write_report(tmp_path)
    assert (tmp_path / "report" / "epochs-digits-logistic.svg").exists()


def test_none_without_a_test_set(tmp_path):
    synthetic_run(tmp_path, analysis=False)
    share(tmp_path, test=False)
    assert "Calibration over epochs" not in write_report(tmp_path).read_text()


@pytest.mark.parametrize("gone", ["a kind", "an epoch"])
def test_missing_rows_are_refused(tmp_path, gone):
    synthetic_run(tmp_path)
    found = lines(ERRORS)
    write(tmp_path, "epochs", found[:6] if gone == "a kind" else found[:7] + found[8:])
    with pytest.raises(InputError, match=r"every epoch from 1 to 3 .* other epochs for sweep"):
        write_report(tmp_path)


def test_the_map_is_of_the_vectors_that_the_run_learnt_from(tmp_path):
    synthetic_run(tmp_path)
    (tmp_path / "embeddings.parquet").unlink()
    share(tmp_path)
    for name, value in (("another", 1.0), ("own", 2.0)):  # as where several runs share a folder
        place = tmp_path / "shared" / "digits" / name
        place.mkdir()
        np.save(place / "pool.npy", np.full((200, 3), value))
    assert pools_of(read_run(tmp_path))["digits", None].vectors[0, 0] == 1.0
    write(tmp_path, "epochs", lines(ERRORS, vectors="own"))
    assert pools_of(read_run(tmp_path))["digits", None].vectors[0, 0] == 2.0
