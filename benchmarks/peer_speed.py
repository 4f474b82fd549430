"""Benchmarks against other libraries on the same inputs: one run, one thread, results compared before times.

E members, N candidates, M estimation points, K classes, H features, B picks. Every peer gets its input in its own
layout and type, prepared outside of the measured time. A peer is imported when it is measured. For a missing peer the
row says so.
"""

import contextlib
import gc
import io
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from bemps.acquisition.baselines import badge
from bemps.acquisition.batchbald import batchbald
from bemps.errors import BempsError
from bemps.gain import core_log
from bemps.limits import DEFAULT, library_threads, limits
from benchmarks.measuring import ensemble


@dataclass(frozen=True)
class PeerRow:
    """One comparison, in seconds of processor time on one thread.

    They are None where nothing was measured, and `note` says why.
    """

    what: str
    size: str
    seconds_theirs: float | None
    seconds_ours: float | None
    note: str

    @property
    def ratio(self) -> float | None:
        """How many times faster ours is."""
        if self.seconds_theirs is None or self.seconds_ours is None:
            return None
        return self.seconds_theirs / self.seconds_ours


@dataclass(frozen=True)
class Pair:
    """The same work done by both, and whether two results agree."""

    theirs: Callable[[], Any]
    ours: Callable[[], Any]
    agree: Callable[[Any, Any], bool]


@dataclass(frozen=True)
class Comparison:
    """`prepare(**size)` imports the peer and makes the inputs; `note` says what is in the measured time."""

    what: str
    prepare: Callable[..., Pair]
    size: dict[str, int]
    note: str


def epig(*, N: int, M: int, E: int, K: int) -> Pair:
    """Scores of all candidates: baal's EPIG (items, classes, members) and CoreLog."""
    peer = import_module("baal.active.heuristics").EPIG()
    probs, points = ensemble(E, N, K), ensemble(E, M, K, seed=1)
    theirs = [np.ascontiguousarray(p.transpose(1, 2, 0)) for p in (probs, points)]
    return Pair(
        lambda: peer.compute_score(*theirs),
        lambda: core_log(probs, points).scores,
        lambda a, b: float(np.abs(a - b).max()) < 1e-5,  # float32 entropies
    )


def batch_bald(*, N: int, E: int, K: int, B: int, samples: int) -> Pair:
    """A greedy batch: batchbald-redux from logarithms (items, members, classes) and ours from probabilities."""
    torch, peer = import_module("torch"), import_module("batchbald_redux.batchbald")
    probs, weights = ensemble(E, N, K), np.full(E, 1 / E)
    logarithms = torch.from_numpy(np.log(probs.transpose(1, 0, 2)))
    return Pair(
        lambda: peer.get_batchbald_batch(logarithms, B, samples),
        lambda: batchbald(probs, weights, B, np.random.default_rng(0), samples=samples),
        lambda a, b: bool(np.allclose(a.scores[:3], np.cumsum(b[1])[:3], rtol=1e-4)),  # later picks are sampled
    )


def badge_batch(*, N: int, H: int, K: int, B: int) -> Pair:
    """A BADGE batch from a fitted logistic regression on given features, which both ask for probabilities."""
    pool, wrappers = import_module("skactiveml.pool"), import_module("skactiveml.classifier")
    linear = import_module("sklearn.linear_model")
    rng = np.random.default_rng(0)
    centres, labels = rng.normal(size=(K, H)), rng.integers(K, size=N + 25 * K)
    features = centres[labels] / 8 + rng.normal(size=(len(labels), H))
    model = wrappers.SklearnClassifier(linear.LogisticRegression(), classes=list(range(K)), random_state=0)
    model.fit(features[N:], labels[N:])
    candidates, unlabelled = features[:N], np.full(N, np.nan)
    peer = pool.Badge(random_state=0)
    return Pair(
        lambda: peer.query(candidates, unlabelled, model, fit_clf=False, batch_size=B),
        lambda: badge(model.predict_proba(candidates)[None], np.ones(1), candidates, B, np.random.default_rng(0)),
        lambda a, b: a[0] == b[0][0] and len(set(b[0].tolist())) == B,  # later picks are random
    )


_EPIG = "from float32 probabilities to the scores of all candidates"
_BATCH = "theirs float32; ours float64, float32 once sampled; without the garbage collection of theirs"
_BADGE = "probabilities from a fitted model and the seeds; no fitting; theirs also checks X and y and forms N x KH"

COMPARISONS = (
    Comparison("baal EPIG, CoreLog scores", epig, {"N": 4_000, "M": 400, "E": 20, "K": 4}, _EPIG),
    Comparison("baal EPIG, CoreLog scores", epig, {"N": 4_000, "M": 400, "E": 20, "K": 10}, _EPIG),
    Comparison(
        "batchbald-redux BatchBALD",
        batch_bald,
        {"N": 1_000, "E": 20, "K": 4, "B": 10, "samples": 10_000},
        _BATCH,
    ),
    Comparison(
        "batchbald-redux BatchBALD",
        batch_bald,
        {"N": 1_000, "E": 20, "K": 10, "B": 10, "samples": 10_000},
        _BATCH,
    ),
    Comparison("scikit-activeml BADGE", badge_batch, {"N": 5_000, "H": 384, "K": 4, "B": 50}, _BADGE),
)


def peer_rows(repeat: int = 3, comparisons: tuple[Comparison, ...] = COMPARISONS) -> list[PeerRow]:
    """Every comparison measured here and now: the best of `repeat` runs of each, taken in turn, on one thread."""
    return [_row(comparison, repeat) for comparison in comparisons]


def _row(comparison: Comparison, repeat: int) -> PeerRow:
    size = " ".join(f"{axis}={count:,}" for axis, count in comparison.size.items())
    try:
        pair = comparison.prepare(**comparison.size)
    except ImportError as cause:
        return PeerRow(comparison.what, size, None, None, f"not measured, the peer cannot be imported: {cause}")
    with _fair():
        rounds = [(_cpu_seconds(pair.theirs), _cpu_seconds(pair.ours)) for _ in range(repeat)]
    theirs, ours = (min(cost for cost, _ in side) for side in zip(*rounds, strict=True))
    (_, their_result), (_, our_result) = rounds[-1]
    if not pair.agree(their_result, our_result):
        raise BempsError(f"{comparison.what} {size}: the two results differ, so their times cannot be compared.")
    return PeerRow(comparison.what, size, theirs, ours, comparison.note)


def _cpu_seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """Processor time of one call, which on one thread is what an idle machine would take, and its result."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


@contextlib.contextmanager
def _fair() -> Iterator[None]:
    """One thread for both, no progress bars, and no garbage collection of objects from before."""
    torch = sys.modules.get("torch")
    threads = torch.get_num_threads() if torch else 1
    gc.collect()
    gc.freeze()
    try:
        with library_threads(1), limits(memory=DEFAULT.memory, threads=1), contextlib.redirect_stderr(io.StringIO()):
            if torch:
                torch.set_num_threads(1)
            yield
    finally:
        gc.unfreeze()
        if torch:
            torch.set_num_threads(threads)
