"""The benchmark beside peers: every comparison runs, agrees, and says when it could not."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from bemps.errors import BempsError
from benchmarks.peer_speed import COMPARISONS, Comparison, Pair, badge_batch, batch_bald, epig, peer_rows

SMALL = (
    Comparison("EPIG", epig, {"N": 50, "M": 20, "E": 5, "K": 3}, ""),
    Comparison("BatchBALD", batch_bald, {"N": 40, "E": 5, "K": 3, "B": 6, "samples": 100}, ""),
    Comparison("BADGE", badge_batch, {"N": 60, "H": 8, "K": 3, "B": 10}, ""),
)


def test_small_sizes_of_every_comparison() -> None:
    threads = torch.get_num_threads()
    assert {c.prepare for c in SMALL} == {c.prepare for c in COMPARISONS}
    rows = peer_rows(2, SMALL)
    assert [row.size for row in rows] == ["N=50 M=20 E=5 K=3", "N=40 E=5 K=3 B=6 samples=100", "N=60 H=8 K=3 B=10"]
    for row in rows:
        assert row.seconds_theirs > 0
        assert row.ratio == pytest.approx(row.seconds_theirs / row.seconds_ours)
    assert torch.get_num_threads() == threads


@pytest.mark.parametrize("module", ["baal.active.heuristics", "batchbald_redux.batchbald", "skactiveml.pool"])
def test_a_missing_peer_is_a_row_that_says_so(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    rows = peer_rows(1, SMALL)
    missing = [row for row in rows if row.ratio is None]
    assert len(rows) == 3
    assert len(missing) == 1
    assert "cannot be imported" in missing[0].note
    assert module in missing[0].note


def test_no_ratio_for_results_that_differ() -> None:
    def prepare(**size: int) -> Pair:
        right = epig(**size)
        return replace(right, ours=lambda: 2 * np.asarray(right.ours()) + 1)

    with pytest.raises(BempsError, match="the two results differ"):
        peer_rows(1, (replace(SMALL[0], prepare=prepare),))
