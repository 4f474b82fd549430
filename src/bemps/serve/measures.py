"""Where a project is: the accuracy on the audit slice, what the next labels bring, and whether one may stop.

Runs in the model's process, after every fit. What costs more than a prediction (five more fits for cross-validation)
is done once in a round of 20 labels.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from bemps.learner import ActiveLearner, Stable
from bemps.learner.cross_validation import cross_validate
from bemps.learner.forecast_calibration import ACCURACY, FEWEST, Improvement, improvement
from bemps.learner.stopping import Advice, Progress, RiseBelow, advice
from bemps.members import Model
from bemps.members.base import take
from bemps.serve.history import AHEAD, History, Round
from bemps.statistics.accuracy import FEWEST_AUDITED, FEWEST_LABELS, accuracy_from, estimated_accuracy
from bemps.statistics.audit import Share, audit_report, wilson
from bemps.store import Answer
from bemps.types import Array

STOP_BELOW = 0.01  # one more right in 100
NO_CLASS = -1
STABLE = Stable(agreement=0.98, rounds=3)


class Measures:
    """learner: what is measured; spare: a model like its own, free to be fitted to parts of the labels.

    audit   names of the slice, in the order in which they are asked
    encode  names -> those that can be read, and their vectors
    """

    def __init__(
        self,
        learner: ActiveLearner,
        *,
        spare: Model,
        history: History,
        audit: Sequence[str],
        encode: Callable[[Sequence[str]], tuple[Sequence[str], Float[Array, "n H"]]],
        stop_below: float = STOP_BELOW,
    ) -> None:
        self.learner, self.spare, self.history, self.audit, self.encode = learner, spare, history, audit, encode
        self.stop_below = stop_below
        self._vectors: dict[str, Float[Array, " H"]] = {}
        self._classes: Int[Array, " M"] | None = None
        self._estimate: float | None = None
        self._judged = False

    def report(self, answers: Mapping[str, Answer]) -> dict[str, Any]:
        """What the page shows; `history` only where a round was added, to be saved with the project."""
        given = {name: answers[name] for name in self.audit if name in answers}
        truth = self._truth({name: answer.label for name, answer in given.items() if answer.label is not None})
        labels = len(self.learner.labels)
        due = self.history.is_due(labels)
        if due:
            self._add_round(labels)
        if due or not self._judged:  # also right after a start
            self._estimate, self._judged = self._estimated(), True
        ahead = self._ahead(labels)
        outcomes = self.history.outcomes(truth) if len(truth) >= FEWEST_AUDITED else []
        if outcomes and outcomes[-1].wrong:
            ahead = None  # a forecast that was wrong here is not made again
        return {
            "audit": self._audited(truth) | {"passed": sum(map(_passed, given.values()))},
            "forecast": ahead and vars(ahead) | {"size": AHEAD},
            "advice": vars(self._advice(labels, ahead)),
            "curve": self._curve(truth),
            "outcomes": [vars(one) | {"wrong": one.wrong} for one in outcomes],
        } | ({"history": self.history.as_json()} if due else {})

    def _add_round(self, labels: int) -> None:
        """Compare the predictions with those of the last round, and forecast."""
        changed = self._changed()
        codes = self._codes(self.history.name_items(self.audit))
        self.history.add(Round(labels, changed, None, codes))
        ahead = self._ahead(labels)
        if ahead is not None:
            self.history.rounds[-1] = Round(labels, changed, (ahead.mean, ahead.low, ahead.high), codes)

    def _changed(self) -> float | None:
        """The share of predicted classes of the estimation pool that are others than at the last call."""
        probs, weights = self.learner.knowledge.members(self.learner.estimation_rows())
        before, self._classes = self._classes, np.tensordot(weights, probs, 1).argmax(1)
        return None if before is None else float((before != self._classes).mean())

    def _ahead(self, labels: int, rounds: int = 1) -> Improvement | None:
        """What the next labels bring, by the changes of the last rounds; nothing before some are known."""
        changes = self.history.changes(rounds)
        if labels < FEWEST or len(changes) < rounds:
            return None
        return improvement(ACCURACY, labels, len(self.learner.classes), AHEAD, changed=sum(changes) / rounds)

    def _advice(self, labels: int, ahead: Improvement | None) -> Advice:
        """Stop where little is to come, judged by three rounds, or where the predictions no longer change."""
        stayed = tuple(1 - changed for changed in self.history.changes(STABLE.rounds))
        steady = None if ahead is None else self._ahead(labels, STABLE.rounds)
        rise = None if steady is None else steady.mean
        return advice([RiseBelow(self.stop_below), STABLE], Progress(labels, None, stayed, rise))

    # -- accuracy ----------------------------------------------------------------------------------------------------

    def _audited(self, truth: Mapping[str, int]) -> dict[str, Any]:
        """Size of the audit; accuracy and F1 from FEWEST_AUDITED items on."""
        sizes = {"size": len(truth), "drawn": len(self.audit), "needed": FEWEST_AUDITED}
        if len(truth) < FEWEST_AUDITED:
            return sizes
        codes = np.array(list(truth.values()))
        probs = self._predict(list(truth))
        right = int((probs.argmax(1) == codes).sum())
        accuracy = self._accuracy(right, len(codes))
        sizes["narrowed"] = self._estimate is not None
        return sizes | {"accuracy": vars(accuracy), "f1": vars(audit_report(probs, codes, len(self.audit)).f1)}

    def _accuracy(self, right: int, n: int) -> Share:
        return wilson(right, n) if self._estimate is None else accuracy_from(right, n, self._estimate)

    def _estimated(self) -> float | None:
        """The accuracy as the chosen labels tell it; None with few labels or without an audit slice."""
        rows, codes = self.learner.pool.labelled()
        everywhere = self._readable(self.history.items)
        if len(rows) < FEWEST_LABELS or not everywhere:
            return None
        found = cross_validate(self.spare, take(self.learner.items, rows), codes, self.learner.classes)
        if found is None:
            return None
        return estimated_accuracy(*found, self._predict(everywhere).max(1))

    def _curve(self, truth: Mapping[str, int]) -> list[list[float]]:
        """Labels, accuracy, low, high of each round, all on the same items."""
        if len(truth) < FEWEST_AUDITED:
            return []
        return [[labels, share.value, share.low, share.high] for labels, share, _ in self.history.accuracies(truth)]

    # -- audit items -------------------------------------------------------------------------------------------------

    def _truth(self, labels: Mapping[str, str]) -> dict[str, int]:
        """The codes of labelled audit items, without those that cannot be read any more."""
        return {name: self.learner.classes.index(labels[name]) for name in self._readable(list(labels))}

    def _codes(self, names: Sequence[str]) -> tuple[int, ...]:
        """The predicted class of each; NO_CLASS where an item cannot be read."""
        readable = self._readable(names)
        found = dict(zip(readable, self._predict(readable).argmax(1).tolist(), strict=True)) if readable else {}
        return tuple(found.get(name, NO_CLASS) for name in names)

    def _readable(self, names: Sequence[str]) -> list[str]:
        """Those of the items that have a vector; it is made once."""
        new = [name for name in names if name not in self._vectors]
        if new:
            self._vectors |= dict(zip(*self.encode(new), strict=True))
        return [name for name in names if name in self._vectors]

    def _predict(self, names: Sequence[str]) -> Float[Array, "n K"]:
        return self.learner.predict(np.stack([self._vectors[name] for name in names]))


def _passed(answer: Answer) -> bool:
    """Skipped or unsure: looked at, and without a label."""
    return answer.label is None and answer.kind != "note"
