"""How to weigh a frozen and a fine-tuned classifier: studies/pool_rules.py evidence|rules|simulated [FOLDER ...]

The first two read the cells of `studies/adapted.py run --out FOLDER`: what both models say of held-out labels and of
test items. Nothing is trained.

evidence  a line for each cell: log loss and accuracy of both on held-out labels, the powers that calibrate them, those
          that would calibrate them on the test items, and F1 on these
rules     a line for each rule: F1 above the better model of a set, the mean over draws with its standard error, and the
          log loss
simulated the same of answers drawn at random, 100 held-out labels and 2,000 test items in each draw: two classifiers of
          about the accuracies of each set, the first too modest, the second as sure as on that set. The errors of the
          two are of several correlations, as mixing is worth less the more alike they are
"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from adapted import f1, log_loss
from jaxtyping import Float, Int

from bemps._utils.numerics import softmax
from bemps.models.pool_weights import LEAST, SHARES, Evidence, pool_weights, pooled, raised, total_log_loss
from bemps.types import Array

Probs = Float[Array, "N K"]
SOFTEN = np.sqrt(2.0) ** np.arange(-6, 1)
CALIBRATE = np.sqrt(2.0) ** np.arange(-6, 5)


@dataclass(frozen=True, eq=False)
class Answers:
    """What two models say of held-out labels and of test items."""

    dataset: str
    seed: int
    labels: int
    held: Evidence
    first: Probs
    second: Probs
    truth: Int[Array, " T"]


def mean_of(p: Probs, q: Probs, w: float) -> Probs:
    """The weighed mean of the answers."""
    mean: Probs = (1 - w) * p + w * q
    return mean


def log_mean_of(p: Probs, q: Probs, w: float) -> Probs:
    """The weighed mean of their logarithms, of sum one."""
    return softmax((1 - w) * np.log(np.maximum(p, LEAST)) + w * np.log(np.maximum(q, LEAST)))


def power_of(probs: Probs, labels: Int[Array, " n"], powers: Float[Array, " G"], temperature: float = 1.0) -> float:
    """The mean of the log powers under the tempered likelihood."""
    losses = np.array([total_log_loss(raised(probs, float(power)), labels) for power in powers])
    return float(np.exp(softmax(-losses / temperature) @ np.log(powers)))


@dataclass(frozen=True)
class Weighing:
    """A rule: how the answers are mixed, by which powers, how carefully, and whether sharpening is taken back."""

    mix: Callable[[Probs, Probs, float], Probs]
    powers: tuple[float, ...] = (1.0,)
    temperature: float = 1.0
    back: bool = False

    def __call__(self, cell: Answers) -> Probs:
        held, powers = cell.held, np.array(self.powers)
        a, b = (power_of(probs, held.labels, powers, self.temperature) for probs in (held.first, held.second))
        p, q = raised(held.first, a), raised(held.second, b)
        losses = np.array([total_log_loss(self.mix(p, q, float(w)), held.labels) for w in SHARES])
        w = float(softmax(-losses / self.temperature) @ SHARES)
        if w < 0.05:
            return cell.first
        mixed = self.mix(raised(cell.first, a), raised(cell.second, b), w)
        return raised(mixed, 1 / max(1.0, a ** (1 - w) * b**w)) if self.back else mixed


def chosen(cell: Answers) -> Probs:
    """The model with the smaller log loss of held-out labels."""
    first, second = (total_log_loss(probs, cell.held.labels) for probs in (cell.held.first, cell.held.second))
    return cell.first if first <= second else cell.second


def chosen_calibrated(cell: Answers) -> Probs:
    """The same after both were calibrated."""
    losses = [
        total_log_loss(raised(probs, power_of(probs, cell.held.labels, CALIBRATE)), cell.held.labels)
        for probs in (cell.held.first, cell.held.second)
    ]
    return cell.first if losses[0] <= losses[1] else cell.second


def the_rule(cell: Answers) -> Probs:
    """What `AdaptedText` does."""
    weights = pool_weights(cell.held)
    return pooled(cell.first, cell.second, weights) if weights.share > 0 else cell.first


EVERY = tuple(CALIBRATE)
RULES: dict[str, Callable[[Answers], Probs]] = {
    "frozen": lambda cell: cell.first,
    "fine-tuned": lambda cell: cell.second,
    "one of them, by log loss": chosen,
    "one of them, calibrated": chosen_calibrated,
    "mean": Weighing(mean_of),
    "log mean": Weighing(log_mean_of),
    "mean, softened (the rule until now)": Weighing(mean_of, tuple(SOFTEN)),
    "mean, calibrated": Weighing(mean_of, EVERY),
    "mean, calibrated, back": Weighing(mean_of, EVERY, back=True),
    "log mean, calibrated, back": Weighing(log_mean_of, EVERY, back=True),
    "mean, calibrated, back, temperature 2": Weighing(mean_of, EVERY, 2.0, back=True),
    "mean, calibrated, back, temperature 4": Weighing(mean_of, EVERY, 4.0, back=True),
    "mean, calibrated, back, temperature 8": Weighing(mean_of, EVERY, 8.0, back=True),
    "log mean, calibrated, back, temperature 4": Weighing(log_mean_of, EVERY, 4.0, back=True),
    "mean, softened, temperature 4": Weighing(mean_of, tuple(SOFTEN), 4.0),
    "the rule": the_rule,
}


def cells_in(folders: list[Path], seeds: list[int] | None) -> list[Answers]:
    """The cells of these folders, by set, labels and seed."""
    cells = []
    for path in (path for folder in folders for path in folder.glob("*.npz")):
        dataset, seed, labels = path.stem.split("-")
        if seeds is None or int(seed) in seeds:
            with np.load(path) as file:
                held = Evidence(file["held_labels"], file["held_frozen"], file["held_tuned"])
                cells.append(
                    Answers(dataset, int(seed), int(labels), held, file["frozen"], file["tuned"], file["truth"])
                )
    return sorted(cells, key=lambda cell: (cell.dataset, cell.labels, cell.seed))


@dataclass(frozen=True)
class Situation:
    """Two classifiers: the logits of each are its `signal` for the true class plus normal noise.

    Parameters
    ----------
    K : int
        The number of classes.
    signals : pair of float
        How far the true class stands out in each.
    scales : pair of float
        How sure each is: 1 is calibrated, less is too modest.
    """

    K: int
    signals: tuple[float, float]
    scales: tuple[float, float]

    def draw(self, size: int, correlation: float, rng: np.random.Generator) -> Evidence:
        """Labels and the answers of both, whose noise is so much alike."""
        labels = rng.integers(self.K, size=size)
        common = rng.normal(size=(size, self.K))
        probs = []
        for signal, scale in zip(self.signals, self.scales, strict=True):
            own = rng.normal(size=(size, self.K))
            noise = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own
            probs.append(softmax(scale * signal * (signal * np.eye(self.K)[labels] + noise)))
        return Evidence(labels, probs[0], probs[1])


SITUATIONS = {
    "ag_news": Situation(4, (2.35, 2.2), (0.62, 1.0)),
    "ag_news, as good": Situation(4, (2.3, 2.3), (0.62, 1.0)),
    "trec6": Situation(6, (2.25, 2.85), (0.75, 1.0)),
    "sst5": Situation(5, (0.75, 0.55), (0.75, 2.2)),
    "csabstruct": Situation(5, (1.25, 1.1), (0.8, 1.8)),
    "banking77": Situation(20, (3.0, 2.7), (0.8, 0.8)),
    "imdb": Situation(2, (2.1, 1.45), (0.8, 1.0)),
}
CORRELATIONS = (0.55, 0.75, 0.9)


def simulated(draws: int) -> str:
    """The table of rules for each correlation."""
    lines = []
    for correlation in CORRELATIONS:
        cells = [
            Answers(name, seed, 100, held, test.first, test.second, test.labels)
            for name, situation in SITUATIONS.items()
            for seed in range(draws)
            for rng in [np.random.default_rng([seed, round(100 * correlation)])]
            for held, test in [(situation.draw(100, correlation, rng), situation.draw(2_000, correlation, rng))]
        ]
        lines += [f"Correlation {correlation}:", "", rules(cells), ""]
    return "\n".join(lines)


def evidence(cells: list[Answers]) -> str:
    lines = [
        "| set, labels, seed | held-out log loss frozen / tuned | calibrated | accuracy | powers | powers on test "
        "| test F1 | share |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for cell in cells:
        labels, pairs = cell.held.labels, (cell.held.first, cell.held.second)
        powers = [power_of(probs, labels, CALIBRATE) for probs in pairs]
        columns = [
            (total_log_loss(probs, labels) / len(labels) for probs in pairs),
            (total_log_loss(raised(p, a), labels) / len(labels) for p, a in zip(pairs, powers, strict=True)),
            (float((probs.argmax(axis=1) == labels).mean()) for probs in pairs),
            powers,
            (power_of(probs, cell.truth, CALIBRATE) for probs in (cell.first, cell.second)),
            (f1(probs, cell.truth) for probs in (cell.first, cell.second)),
        ]
        texts = [" / ".join(f"{value:.3f}" for value in column) for column in columns]
        name = f"{cell.dataset}, {cell.labels}, {cell.seed}"
        lines.append(f"| {' | '.join([name, *texts, f'{pool_weights(cell.held).share:.2f}'])} |")
    return "\n".join(lines)


def rules(cells: list[Answers]) -> str:
    groups = sorted({(cell.dataset, cell.labels) for cell in cells})
    members = {group: [cell for cell in cells if (cell.dataset, cell.labels) == group] for group in groups}
    heads = [f"{name}, {labels} ({len(members[name, labels])})" for name, labels in groups]
    lines = [f"| rule | {' | '.join(heads)} | mean | worst | log loss |", "|---|" + "---|" * (len(groups) + 3)]
    quality = {
        (name, group): np.array([f1(rule(cell), cell.truth) for cell in members[group]])
        for name, rule in RULES.items()
        for group in groups
    }
    for name, rule in RULES.items():
        texts, means = [], []
        for group in groups:
            better = max(("frozen", "fine-tuned"), key=lambda model: quality[model, group].mean())
            gains = quality[name, group] - quality[better, group]
            error = gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else np.nan
            texts.append(f"{gains.mean():+.3f} ({error:.3f})")
            means.append(gains.mean())
        loss = np.mean([np.mean([log_loss(rule(cell), cell.truth) for cell in members[group]]) for group in groups])
        lines.append(f"| {name} | {' | '.join(texts)} | {np.mean(means):+.4f} | {min(means):+.3f} | {loss:.3f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("evidence", "rules", "simulated"))
    parser.add_argument("folders", type=Path, nargs="*")
    parser.add_argument("--seeds", type=int, nargs="+")
    parser.add_argument("--draws", type=int, default=100, help="of a simulation")
    given = parser.parse_args()
    if given.action == "simulated":
        sys.stdout.write(simulated(given.draws))
        return
    cells = cells_in(given.folders, given.seeds)
    sys.stdout.write({"evidence": evidence, "rules": rules}[given.action](cells) + "\n")


if __name__ == "__main__":
    main()
