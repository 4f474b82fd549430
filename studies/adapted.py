"""Frozen, fine-tuned and both weighed by the labels: studies/adapted.py run|keep|table [--out FOLDER]

run    one cell after the other: a set of 2,000 pool items and 800 test items, and random labels of the pool. What is
       there already is not computed again; a cell is written whole or not at all. Seeds from 100 on, with which the
       rule was chosen, have pools and test items of their own.
keep   weighted F1 and log loss of the three in every cell of the run, into studies/results/texts/adapted.parquet; cells
       that are only there stay there
table  the means over the draws from that file, with the seconds that one core took

Each cell of a run keeps the answers themselves, so that rules of weighing can be compared without training anything
again (studies/pool_rules.py).
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from bemps._utils.files import written_whole
from bemps.limits import limits
from bemps.models.content_models import BgeAndWords, ContentLaplace
from bemps.models.encoders.text_views import MEANING
from bemps.models.pool_weights import Evidence, PoolWeights, pool_weights, pooled
from bemps.models.text.adapted_text import AdaptedText
from bemps.models.text.finetuned_laplace import FineTunedLaplace
from bemps.types import Array

RESULTS = Path(__file__).parent / "results" / "texts" / "adapted.parquet"
KEY = ["dataset", "seed", "labels", "rule"]
RULE = "calibrated"  # the rule of `pool_weights`; rows of the earlier one, which sharpened nothing, are "softened"
MODELS = ("frozen", "tuned", "both")
POOL, TEST = 2_000, 800
LABELS = (100, 300, 50)
SETS = {"trec6": {}, "sst5": {}, "csabstruct": {}, "banking77": {"classes": 20}, "ag_news": {}, "imdb": {"words": 80}}
CHOOSING = ("trec6", "sst5", "ag_news", "banking77")  # the sets on which the rule was chosen, with seeds from 100 on
LEAST = 1e-9


@dataclass(frozen=True)
class Cell:
    """A set, a seed of the draw, and a number of labels."""

    dataset: str
    seed: int
    labels: int

    def path(self, folder: Path) -> Path:
        return folder / f"{self.dataset}-{self.seed}-{self.labels}.npz"


@dataclass(frozen=True, eq=False)
class Draw:
    """The texts of a cell; those labelled are the first of the pool."""

    pool: list[str]
    codes: Int[Array, " N"]
    test: list[str]
    truth: Int[Array, " T"]
    K: int


@dataclass(frozen=True)
class Plan:
    """What to run or to show."""

    seeds: Sequence[int] = (0, 1, 2)
    sets: Sequence[str] = tuple(SETS)
    labels: Sequence[int] = LABELS

    def cells(self) -> Iterator[Cell]:
        """The first seeds of all sets come first, so that a run that is stopped early has something of each."""
        for labels in self.labels:
            for seed in self.seeds:
                for dataset in self.sets:
                    if seed < 100 or dataset in CHOOSING:
                        yield Cell(dataset, seed, labels)


def drawn(cell: Cell, data: Path) -> Draw:
    """Texts that stand in one part only; the first classes of many; short reviews of films."""
    import pandas as pd

    name = "train_subset" if cell.dataset == "ag_news" else "train"
    options = SETS[cell.dataset]
    frames = [pd.read_parquet(data / cell.dataset / f"{part}.parquet") for part in (name, "test")]
    frames = [frame[frame.text.str.strip() != ""].drop_duplicates("text") for frame in frames]
    frames[0] = frames[0][~frames[0].text.isin(frames[1].text)]
    frames = [frame[frame.label < options.get("classes", frame.label.max() + 1)] for frame in frames]
    frames = [frame[frame.text.str.split().str.len() <= options.get("words", 10**6)] for frame in frames]
    rng = np.random.default_rng([cell.seed >= 100, 19])
    pool, test = (f.iloc[rng.permutation(len(f))[:size]] for f, size in zip(frames, (POOL, TEST), strict=True))
    pool = pool.iloc[np.random.default_rng(cell.seed).permutation(len(pool))]
    codes, truth = (frame.label.to_numpy().astype(np.int64) for frame in (pool, test))
    return Draw(pool.text.tolist(), codes, test.text.tolist(), truth, int(codes.max()) + 1)


def run_cell(cell: Cell, data: Path, cache: Path, encoder: str) -> dict[str, Any]:
    """The answers of both models, what they said of held-out labels, and the CPU seconds."""
    draw = drawn(cell, data)
    frozen = ContentLaplace(BgeAndWords(str(cache)), first_view=MEANING)
    tuned = FineTunedLaplace(encoder, cache=cache / encoder, device="cpu")
    model = AdaptedText(frozen, tuned)
    model.see_pool(draw.pool)
    frozen.embeddings(draw.pool + draw.test)  # what is encoded once does not count below
    known, rng = (draw.pool[: cell.labels], draw.codes[: cell.labels]), np.random.default_rng(cell.seed)
    classes = [str(code) for code in range(draw.K)]
    start = time.process_time()
    model.fit_encoder(*known, classes, rng)
    if model.pool_weights_ is not None and model.pool_weights_.share == 0:
        tuned.fit_encoder(*known, classes, rng)  # the table shows it alone too
    trained = time.process_time()
    tuned.fit_head(*known, classes, rng)
    frozen.fit(*known, classes, rng)
    second = tuned.predict_map(draw.test)
    assert model.evidence_ is not None
    return {
        "truth": draw.truth,
        "frozen": frozen.predict_map(draw.test),
        "tuned": second,
        "held_labels": model.evidence_.labels,
        "held_frozen": model.evidence_.first,
        "held_tuned": model.evidence_.second,
        "seconds": np.array([trained - start, time.process_time() - trained]),
    }


def f1(probs: Float[Array, "N K"], truth: Int[Array, " N"]) -> float:
    from sklearn.metrics import f1_score

    return float(f1_score(truth, probs.argmax(axis=1), average="weighted"))


def log_loss(probs: Float[Array, "N K"], truth: Int[Array, " N"]) -> float:
    return float(-np.log(np.maximum(probs[np.arange(len(truth)), truth], LEAST)).mean())


def weights_of(cell: Any) -> PoolWeights:
    return pool_weights(Evidence(cell["held_labels"], cell["held_frozen"], cell["held_tuned"]))


def answers(path: Path) -> tuple[dict[str, Float[Array, "N K"]], Int[Array, " N"], float, float]:
    """What the three say of the test items, the truth, the share of the fine-tuned one, and seconds of training."""
    with np.load(path) as cell:
        weights = weights_of(cell)
        three = {"frozen": cell["frozen"], "tuned": cell["tuned"]}
        alone = weights.share == 0
        three["both"] = three["frozen"] if alone else pooled(three["frozen"], three["tuned"], weights)
        return three, cell["truth"], weights.share, float(cell["seconds"][0])


def rows_of(folder: Path) -> Any:
    """A row for each cell of a run."""
    import pandas as pd

    rows = []
    for path in sorted(folder.glob("*.npz")):
        dataset, seed, labels = path.stem.split("-")
        three, truth, share, seconds = answers(path)
        quality = {f"f1_{name}": f1(three[name], truth) for name in MODELS}
        quality |= {f"loss_{name}": log_loss(three[name], truth) for name in MODELS}
        key = {"dataset": dataset, "seed": int(seed), "labels": int(labels), "rule": RULE}
        rows.append({**key, **quality, "share": share, "cpu_seconds": seconds})
    return pd.DataFrame(rows)


def keep(folder: Path) -> None:
    """Put the cells of a run into the committed file."""
    import pandas as pd

    tables = [rows_of(folder)]
    if RESULTS.exists():
        tables.append(pd.read_parquet(RESULTS))
    rows = pd.concat(tables).drop_duplicates(KEY).sort_values(KEY)
    RESULTS.parent.mkdir(exist_ok=True)
    rows.to_parquet(RESULTS, index=False)


def table(plan: Plan, rule: str) -> str:
    """A line for each set and number of labels: means over the draws, and what the pool gains on the better one."""
    import pandas as pd

    rows = pd.read_parquet(RESULTS)
    rows = rows[rows.rule == rule]
    lines = [
        "| set, labels | draws | F1 frozen | fine-tuned | both | both - better (standard error) | "
        "log loss frozen | fine-tuned | both | share | CPU s |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for dataset in plan.sets:
        for labels in sorted(plan.labels):
            part = rows[(rows.dataset == dataset) & (rows.labels == labels) & rows.seed.isin(plan.seeds)]
            if len(part):
                lines.append(_line(f"{dataset}, {labels}", part))
    return "\n".join(lines)


def _line(what: str, part: Any) -> str:
    quality = part[[f"f1_{name}" for name in MODELS]].to_numpy()
    losses = part[[f"loss_{name}" for name in MODELS]].to_numpy().mean(axis=0)
    means = quality.mean(axis=0)
    gains = quality[:, 2] - quality[:, int(means[:2].argmax())]
    gain = f"{gains.mean():+.3f}"
    if len(gains) > 1:
        gain += f" ({gains.std(ddof=1) / np.sqrt(len(gains)):.3f})"
    cells = [what, str(len(part)), *(f"{mean:.3f}" for mean in means), gain, *(f"{loss:.3f}" for loss in losses)]
    return f"| {' | '.join([*cells, f'{part.share.mean():.2f}', f'{part.cpu_seconds.mean():.0f}'])} |"


def run(out: Path, data: Path, plan: Plan, encoder: str) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for cell in plan.cells():
        if not cell.path(out).exists():
            found = run_cell(cell, data, out / "cache", encoder)
            with written_whole(cell.path(out)) as draft:
                np.savez_compressed(draft, **found)
            sys.stdout.write(f"{cell}\n")
            sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("run", "keep", "table"))
    parser.add_argument("--out", type=Path, default=Path("runs/adapted"))
    parser.add_argument("--data", type=Path, default=Path("datasets"))
    parser.add_argument("--encoder", default="minilm", help="what is fine-tuned; another one needs another --out")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--sets", nargs="+", choices=tuple(SETS), default=list(SETS))
    parser.add_argument("--labels", type=int, nargs="+", default=list(LABELS))
    parser.add_argument("--rule", choices=(RULE, "softened"), default=RULE, help="of a table")
    given = parser.parse_args()
    plan = Plan(given.seeds, given.sets, given.labels)
    if given.action == "keep":
        keep(given.out)
    if given.action != "run":
        sys.stdout.write(table(plan, given.rule) + "\n")
        return
    with limits(threads=1):
        run(given.out, given.data, plan, given.encoder)


if __name__ == "__main__":
    main()
