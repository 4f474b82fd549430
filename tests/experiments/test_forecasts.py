"""What the committed rounds of simulated projects say of the constants in the package."""

import sys
from pathlib import Path

import numpy as np
import pytest

from bemps.learner.forecast_calibration import ACCURACY, BRIER, improvement
from bemps.project import accuracy

FOLDER = Path(__file__).parents[2] / "studies"


@pytest.fixture(scope="module")
def fitting():
    sys.path.insert(0, str(FOLDER))
    import forecast_fit

    yield forecast_fit
    sys.path.remove(str(FOLDER))


@pytest.fixture(scope="module")
def rounds(fitting):
    return fitting._usable(fitting.read())


def test_there_are_more_than_six_sets_and_three_models(rounds):
    assert len(np.unique(rounds["dataset"])) >= 6
    assert len(np.unique(rounds["model"])) >= 3
    assert len(rounds["labels"]) > 1_500


@pytest.mark.parametrize("measure", ["rise", "fall"])
def test_intervals_of_sets_that_were_left_out_hold_85_to_95_of_100_rounds(fitting, rounds, measure):
    inside, _ = fitting.left_out(measure, rounds)
    assert 0.85 <= inside.mean() <= 0.95
    for dataset in np.unique(rounds["dataset"]):
        assert inside[rounds["dataset"] == dataset].mean() > 0.75, dataset


@pytest.mark.parametrize(("measure", "calibration"), [("rise", ACCURACY), ("fall", BRIER)])
def test_the_package_has_the_constants_that_the_rounds_give(fitting, rounds, measure, calibration):
    theta = fitting.fit(measure, rounds)
    names = ("labels", "changed", "classes")
    mean = dict(zip(fitting.MEASURES[measure], theta[1:], strict=False))
    first = 1 + len(fitting.MEASURES[measure])
    spread = dict(zip(fitting.SPREAD_OF[measure], theta[first + 1 : -1], strict=False))
    assert calibration.mean == pytest.approx((theta[0], *(mean.get(name, 0) for name in names)), abs=0.01)
    assert calibration.spread == pytest.approx((theta[first], *(spread.get(name, 0) for name in names)), abs=0.01)
    assert calibration.between == pytest.approx(np.exp(theta[-1]), abs=0.01)
    assert (calibration.low, calibration.high) == pytest.approx(fitting.bounds(measure, theta, rounds), abs=0.01)


@pytest.mark.parametrize("ahead", [1, 5])
def test_the_forecast_of_the_page_holds_for_20_and_for_100_labels(fitting, rounds, ahead):
    inside = []
    projects = fitting._projects(rounds)
    for project in range(projects.max() + 1):
        rows = np.flatnonzero(projects == project)
        for start in range(len(rows) - ahead + 1):
            row = rows[start]
            labels, classes, changed = (rounds[name][row] for name in ("labels", "classes", "changed"))
            found = improvement(ACCURACY, int(labels), int(classes), 20 * ahead, changed=float(changed))
            came = rounds["rise"][rows[start : start + ahead]].sum()
            inside.append(found.low <= came <= found.high)
    assert 0.85 <= np.mean(inside) <= 0.95


def test_what_the_members_promise_says_less_than_the_number_of_labels(rounds):
    from scipy.stats import spearmanr

    def tells(name):
        return abs(spearmanr(rounds[name], rounds["fall"])[0])

    assert tells("gain") < 0.15
    assert tells("remaining") < 0.15
    assert tells("labels") > 0.35


def test_chosen_labels_narrow_the_accuracy_at_its_coverage(fitting):
    rows = fitting.read()
    known = ~np.isnan(rows["estimated"])
    rows = {name: column[known] for name, column in rows.items()}
    assert pytest.approx(fitting.shift_of(rows), abs=0.01) == (accuracy.SHIFT, accuracy.SPREAD)
    for n, narrower in ((20, 0.8), (40, 0.85), (80, 0.92), (160, 0.96)):
        (_, wide), (inside, narrow) = (fitting.coverage(rows, n, name) for name in ("wilson", "narrowed"))
        assert 0.94 <= inside.mean() <= 0.98
        assert narrow.mean() < narrower * wide.mean()
        for dataset in np.unique(rows["dataset"]):
            assert inside[rows["dataset"] == dataset].mean() > 0.91, (n, dataset)


def test_who_is_advised_to_stop_misses_little(fitting):
    rows = fitting.read()
    at, missed = fitting.stops(rows, fitting.says_stop)
    assert len(at) >= 10
    assert missed.max() < 0.02
    assert missed.mean() < 0.01
    _, before = fitting.stops(rows, fitting.said_stop)
    assert before.max() > 0.05  # the members' own account stopped some far too early
