"""A report of real active learning."""

import csv

import pytest
from real_run import real_run

from bemps.report import write_report


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("real") / "digits"
    real_run(place, strategies=("coremse", "random"), seeds=2, rounds=5)
    write_report(place)
    return place


def rows(folder, name):
    with (folder / "report" / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_it_learns_and_the_page_says_so(folder):
    curve = [float(r["mean"]) for r in rows(folder, "rounds-digits-spectral-b10-f1") if r["strategy"] == "coremse"]
    assert len(curve) == 6
    assert curve[-1] > curve[0] + 0.03
    assert "digits, spectral, batches of 10: coremse needs" in (folder / "report.html").read_text()


def test_every_item_has_a_place_on_the_map_and_in_a_region(folder):
    items = rows(folder, "data_map-digits")
    assert len(items) == 1297
    assert sum(r["region"] == "easy" for r in items) > 0.8 * len(items)


def test_shares_of_the_regions_sum_to_one(folder):
    shares = rows(folder, "acquired-digits-spectral-b10")
    assert len(shares) == 2 * 5
    for found in shares:
        assert sum(float(found[name]) for name in ("easy", "medium", "hard", "impossible")) == pytest.approx(1)


def test_the_projection_shows_everything_acquired(folder):
    import pyarrow.parquet as pq

    there = {r["id"] for r in rows(folder, "tsne-digits")}
    table = pq.read_table(folder / "acquired.parquet").to_pylist()
    assert {r["id"] for r in table if r["seed"] == 0} <= there


def test_reliability_holds_every_prediction(folder):
    bins = [r for r in rows(folder, "reliability-digits-spectral-b10") if r["strategy"] == "random"]
    assert sum(int(r["items"]) for r in bins) == 2 * 500
    confidence = [float(r["confidence"]) for r in bins]
    assert confidence == sorted(confidence)
    assert all(0 <= float(r["accuracy"]) <= 1 for r in bins)
