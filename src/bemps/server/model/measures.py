"""Where a project is: the accuracy on the audit slice, what the next labels bring, and whether one may stop.

Runs in the model's process, after every fit. What costs more than a prediction (more fits, for cross-validation) is
done at the end of a round of 20 labels, and only where the labels have changed by a tenth since the last time.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from bemps.learner import ActiveLearner, Stable
from bemps.learner.cross_validation import cross_validate
from bemps.learner.forecast_calibration import ACCURACY, FEWEST, ROUND, Improvement, improvement
from bemps.learner.stopping import LabellingProgress, RiseBelow, advice
from bemps.metrics import Share, wilson
from bemps.models import Model
from bemps.models.base import take
from bemps.project.accuracy import FEWEST_AUDITED, FEWEST_LABELS, Estimate, accuracy_from, estimated_accuracy
from bemps.project.history import AHEAD, History, Outcome, Round
from bemps.server.review.goals import next_goal
from bemps.store import Answer
from bemps.store.events import LISTED
from bemps.types import Array

STOP_BELOW = 0.01  # one more right in 100
NO_CLASS = -1
FEWEST_CLASSES = 2
NEW_SHARE = 0.1  # of the labels: with fewer new labels an estimate of the accuracy stays
STABLE = Stable(agreement=0.98, rounds=3)
HeldOut = tuple[Float[Array, " n"], Bool[Array, " n"]]


class Measures:
    """The measurements that follow a learner from round to round.

    Parameters
    ----------
    learner : ActiveLearner
        The learner that is measured.
    spare : Model
        A model like that of the learner, free to be fitted to parts of the labels.
    history : History
        The rounds so far.
    audit : sequence of str
        The names of the audit slice, in the order in which they are asked.
    encode : callable
        A function from names to the names that can be read and their vectors.
    stop_below : float
        The advice is to stop if the next 100 labels raise the accuracy by less than this.
    model : str
        The kind of the model. Rounds of other kinds are not compared with its own.
    held_out : tuple of arrays, optional
        The confidence in held-out labels and whether it was right. It is needed where the vectors themselves have seen
        the labels.
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
        model: str = "",
        held_out: HeldOut | None = None,
    ) -> None:
        self.learner, self.spare, self.history, self.audit, self.encode = learner, spare, history, audit, encode
        self.stop_below, self.model, self.held_out = stop_below, model, held_out
        self._vectors: dict[str, Float[Array, " H"]] = {}
        self._classes: Int[Array, " M"] | None = None
        self.numbers: Int[Array, " K"] | None = None  # of the classes, which never change; codes do
        self._estimate: Estimate | None = None
        self._estimated_at: int | None = None  # the number of labels
        self._listed: frozenset[str] = frozenset()  # items that were labelled at once

    def follow_classes(self, numbers: Sequence[int], counted: Sequence[int]) -> None:
        """Note the numbers of the learner's classes, and for every number that of the class which it counts as."""
        self.numbers = np.array(numbers, dtype=np.int64)
        self.history.counted = dict(enumerate(counted))
        if self._classes is not None:
            self._classes = np.array(counted, dtype=np.int64)[self._classes]

    def _numbered(self, codes: Int[Array, " n"]) -> Int[Array, " n"]:
        return codes if self.numbers is None else self.numbers[codes]

    def report(self, answers: Mapping[str, Answer]) -> dict[str, Any]:
        """Return what the page shows; `history` is included if a round was added and must be saved."""
        self._listed = frozenset(name for name, answer in answers.items() if answer.method == LISTED)
        audited = {name: answers[name] for name in self.audit if name in answers}
        truth = self._truth({name: answer.label for name, answer in audited.items() if answer.label is not None})
        labels, left = len(self.learner.labels), len(self.learner.pool.candidates())
        due = self.history.is_due(labels, self.model)
        if due:
            self._add_round(labels, answers)
        if self._is_estimate_due(labels, due, left):
            self._estimate, self._estimated_at = self._estimated(), labels
        ahead = self._ahead(labels, size=min(AHEAD, left))
        outcomes = self.history.outcomes(truth) if len(truth) >= FEWEST_AUDITED else []
        if outcomes and outcomes[-1].wrong:
            ahead = None  # a forecast that was wrong here is not made again
        audit = self._audited(truth)
        goal = self._goal(labels, left, audit, outcomes)
        return {
            "audit": audit | {"passed": sum(map(_passed, audited.values()))},
            "forecast": ahead and vars(ahead) | {"size": min(AHEAD, left), "goal": goal},
            "advice": self._advice(labels, ahead),
            "curve": self._curve(truth),
            "outcomes": [vars(outcome) | {"wrong": outcome.wrong} for outcome in outcomes],
        } | ({"history": self.history.as_json()} if due else {})

    def _is_estimate_due(self, labels: int, round_ends: bool, left: int) -> bool:
        """Right after a start; later with the end of a round, unless few labels have come since the last estimate.

        With the last label of a project as well: no round ends after it.
        """
        before = self._estimated_at
        if before is None or not left:
            return before != labels
        return round_ends and abs(labels - before) >= NEW_SHARE * before

    def _add_round(self, labels: int, answers: Mapping[str, Answer]) -> None:
        """Compare the predictions with those of the last round, and forecast."""
        changed = self._changed(answers)
        codes = self._codes(self.history.name_items(self.audit))
        self.history.add(Round(labels, changed, None, codes, self.model))
        ahead = self._ahead(labels)
        if ahead is not None:
            forecast = ahead.mean, ahead.low, ahead.high
            self.history.rounds[-1] = Round(labels, changed, forecast, codes, self.model)

    def _changed(self, answers: Mapping[str, Answer]) -> float | None:
        """The share of predicted classes of the estimation pool that are others than a round ago."""
        before = self._classes_before(answers) if self._classes is None else self._classes
        self._classes = self._numbered(self.learner.predicted_classes())
        return None if before is None else float((before != self._classes).mean())

    def _classes_before(self, answers: Mapping[str, Answer]) -> Int[Array, " M"] | None:
        """What this model would have predicted a round ago, after a start or a change: fitted without the last labels.

        None while there are too few labels for a forecast.
        """
        latest = sorted(self.learner.labels, key=lambda name: answers[name].time)[-ROUND:]
        rows, codes = self.learner.pool.labelled()
        early = ~np.isin(rows, self.learner.pool.positions(latest))
        if early.sum() < FEWEST or len(np.unique(codes[early])) < FEWEST_CLASSES:
            return None
        items = self.learner.items
        self.spare.fit(take(items, rows[early]), codes[early], list(self.learner.classes), np.random.default_rng(0))
        probs = self.spare.predict(take(items, self.learner.estimation_rows()))
        return self._numbered(np.asarray(probs.mean(axis=0).argmax(axis=1)))

    def _ahead(self, labels: int, rounds: int = 1, size: int = AHEAD) -> Improvement | None:
        """What the next labels bring, by the changes of the last rounds; nothing before some are known."""
        changes = self.history.changes(rounds, self.model)
        if labels < FEWEST or len(changes) < rounds:
            return None
        return improvement(ACCURACY, labels, len(self.learner.classes), size, changed=sum(changes) / rounds)

    def _goal(
        self, labels: int, left: int, audit: Mapping[str, Any], outcomes: Sequence[Outcome]
    ) -> tuple[float, int] | None:
        """The next goal and the labels that it takes; only where every forecast so far has held, and they are left."""
        changes = self.history.changes(1, self.model)
        if "accuracy" not in audit or not changes or not outcomes or any(outcome.wrong for outcome in outcomes):
            return None
        goal = next_goal(audit["accuracy"]["value"], labels, len(self.learner.classes), changes[0])
        return goal if goal is not None and goal[1] <= left else None

    def _advice(self, labels: int, ahead: Improvement | None) -> dict[str, Any]:
        """Stop where little is to come, judged by three rounds, or where the predictions no longer change.

        `rises` says whether the last round alone expects enough to go on; None where it expects nothing. `little`
        says whether the three rounds expect too little: then that is the first of the reasons.
        """
        stayed = tuple(1 - changed for changed in self.history.changes(STABLE.rounds, self.model))
        steady = None if ahead is None else self._ahead(labels, STABLE.rounds)
        rise = None if steady is None else steady.mean
        judged = advice([RiseBelow(self.stop_below), STABLE], LabellingProgress(labels, None, stayed, rise))
        rises = None if ahead is None else ahead.mean >= self.stop_below
        return vars(judged) | {"rises": rises, "little": rise is not None and rise < self.stop_below}

    # -- accuracy ----------------------------------------------------------------------------------------------------

    def _audited(self, truth: Mapping[str, int]) -> dict[str, Any]:
        """Size of the audit; accuracy from FEWEST_AUDITED items on."""
        sizes: dict[str, Any] = {"size": len(truth), "drawn": len(self.audit), "needed": FEWEST_AUDITED}
        if len(truth) < FEWEST_AUDITED:
            return sizes
        codes = np.array(list(truth.values()))
        probs = self._predict(list(truth))
        guessed = self._numbered(probs.argmax(1))
        right = int((guessed == codes).sum())
        accuracy = self._accuracy(right, len(codes))
        guesses = dict(zip(truth, np.stack([codes, guessed], 1).tolist(), strict=True))
        sizes |= {"right": right, "narrowed": self._estimate is not None, "guesses": guesses}
        return sizes | {"accuracy": vars(accuracy)}

    def _accuracy(self, right: int, n: int) -> Share:
        return wilson(right, n) if self._estimate is None else accuracy_from(right, n, self._estimate)

    def _estimated(self) -> Estimate | None:
        """The accuracy as the chosen labels tell it; None with few labels or without an audit slice.

        Items that were labelled at once are alike, so that those left out of a fit teach nothing: they do not count.
        """
        rows, codes = self.learner.pool.labelled()
        single = np.array([self.learner.pool.ids[row] not in self._listed for row in rows], dtype=bool)
        if self.held_out is not None and not single.all():
            return None
        rows, codes = rows[single], codes[single]
        everywhere = self._readable(self.history.items)
        if len(rows) < FEWEST_LABELS or not everywhere:
            return None
        judged = self.held_out
        if judged is None:
            judged = cross_validate(self.spare, take(self.learner.items, rows), codes, self.learner.classes)
        if judged is None or len(judged[0]) < FEWEST_LABELS // 2:
            return None
        return estimated_accuracy(*judged, self._predict(everywhere).max(1))

    def _curve(self, truth: Mapping[str, int]) -> list[list[Any]]:
        """Labels, accuracy, low, high and kind of model of each round, all on the same items."""
        if len(truth) < FEWEST_AUDITED:
            return []
        points = self.history.accuracies(truth)
        return [[round_.labels, share.value, share.low, share.high, round_.model] for round_, share, _ in points]

    # -- audit items -------------------------------------------------------------------------------------------------

    def _truth(self, labels: Mapping[str, str]) -> dict[str, int]:
        """The numbers of the classes of labelled audit items, without those that cannot be read any more."""
        numbers = self._numbered(np.arange(len(self.learner.classes))).tolist()
        by_name = dict(zip(self.learner.classes, numbers, strict=True))
        return {name: by_name[labels[name]] for name in self._readable(list(labels))}

    def _codes(self, names: Sequence[str]) -> tuple[int, ...]:
        """The number of the predicted class of each; NO_CLASS where an item cannot be read."""
        readable = self._readable(names)
        guessed = self._numbered(self._predict(readable).argmax(1)).tolist() if readable else []
        codes = dict(zip(readable, guessed, strict=True))
        return tuple(codes.get(name, NO_CLASS) for name in names)

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
