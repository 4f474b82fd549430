"""The tables of the docs that come from committed results: python studies/appendix_tables.py [--check]

Writes every table of docs/appendices that tables.py and its like print, those of docs/results.md and that of README.md,
each into its block `<!-- generated: TITLE -->` ... `<!-- end of generated: TITLE -->`. What people wrote around the
blocks stays. `--check` writes nothing, names the tables that are not what the results give, and fails if there are any.
The figures come from findings.py, systems_table.py, figures.py and labels_needed.py.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import adapted
import batch_sizes
import better_vectors
import encoder_quality
import encoder_table
import findings
import labels_needed
import readme_table
import systems_table
from table_parts import study as of
from table_parts import there, title_of
from table_shapes import (
    Row,
    ahead_of_random,
    by_classes,
    by_study,
    counts,
    duels,
    fresh_default,
    matrix,
    one_pair,
    one_set,
    paired,
    random_levels,
    rows_by_set,
    sizes,
    strategies,
)

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.document_blocks import with_block  # noqa: E402

Table = Callable[[], str]
TIES, KM = "corelog-ties", "margin-km"
SIX = "corelog-ties,margin-km,margin,badge,coremse,random"  # run at every batch size
MEASURES = {"f1": "weighted F1", "accuracy": "accuracy", "brier": "Brier score"}
FRESH, TEN, TWENTY = of("words-fresh"), of("words-ten"), of("words-ten", "words-fresh")
WORDS, ALL_WORDS = of("words"), ("words-5", "words-10", "words", "words-100")
EVERY_SIZE = of(*ALL_WORDS, rules=SIX)
MINILM = ("tiny-batches", "small-batches", "main", "alps")
HEADS = ("heads-5", "heads", "heads-ten")
BGE_STUDIES = {5: ("bge-5",), 10: ("bge-10",), 50: ("bge-fresh", "bge-rules"), 100: ("bge-100",)}
BGE = {size: of(*there(*names)) for size, names in BGE_STUDIES.items() if there(*names)}  # what has results so far
BGE_TOGETHER = of(*(name for study in BGE.values() for name in study.names), rules=SIX)
GOALS = (126, 226, 276, 376, None)

MAIN: dict[str, Table] = {
    "words-fresh": lambda: fresh_default(FRESH),
    "words-fresh, seed by seed": lambda: paired(FRESH, TIES),
    "all twenty seeds, seed by seed": lambda: paired(TWENTY, TIES),
    "saved by seeds": lambda: rows_by_set(
        [Row("seeds 0 to 9", TEN, TIES), Row("seeds 10 to 19", FRESH, TIES), Row("all twenty seeds", TWENTY, TIES)],
        "saved",
        first="labels saved",
    ),
    "smaller budgets": lambda: rows_by_set(
        [Row(f"{goal} random labels" if goal else "526, all", FRESH, TIES) for goal in GOALS],
        "saved",
        goals=GOALS,
        first="on the way to",
    ),
    "SST5, seed by seed": lambda: one_pair(
        [
            Row("ten fresh seeds", of("words-fresh", sets="sst5"), TIES),
            Row("all twenty seeds, half of them seen before", of("words-ten", "words-fresh", sets="sst5"), TIES),
            Row("four batch sizes, seeds 0 to 4", of(*ALL_WORDS, rules=SIX, sets="sst5"), TIES),
        ],
        "random",
        "SST5: `corelog-ties` is ahead of random, over",
    ),
    "against random on MiniLM": better_vectors.table,
    "words": lambda: strategies(WORDS, "gap"),
    "random labels": lambda: random_levels(
        [Row("MiniLM's vectors", of("main", size=50), "random"), Row("better vectors", WORDS, "random")],
        "random labels, mean F1",
    ),
    "duels": lambda: duels(
        [
            Row("corelog-ties, B = 50, seeds 10 to 19 (`words-fresh`)", FRESH, TIES),
            Row("corelog-ties, B = 50, seeds 0 to 9 (`words-ten`)", TEN, TIES),
            Row("corelog-ties, B = 50, five seeds (`words`)", WORDS, TIES),
            Row("corelog-ties, B = 100, five seeds (`words-100`)", of("words-100"), TIES),
            Row("corelog-ties, B = 10, five seeds (`words-10`)", of("words-10"), TIES),
            Row("corelog-ties, B = 5, five seeds (`words-5`)", of("words-5"), TIES),
            Row("corelog-laplace, B = 50, seeds 10 to 19", FRESH, "corelog-laplace"),
            Row("corelog-laplace, B = 50, seeds 0 to 9", TEN, "corelog-laplace"),
            Row("corelog-laplace, B = 50, five seeds", WORDS, "corelog-laplace"),
            Row("corelog-laplace, B = 100, five seeds", of("words-100"), "corelog-laplace"),
            Row("margin-km, B = 50, seeds 10 to 19", FRESH, KM),
            Row("margin-km, B = 50, seeds 0 to 9", TEN, KM),
        ],
        ("margin", KM, "badge", "wmocu", "coremse", "random"),
    ),
    "summed matrix": lambda: matrix(EVERY_SIZE, area=True),
    "summed counts": lambda: counts([Row(rule, EVERY_SIZE, rule) for rule in (TIES, KM, "margin")], MEASURES),
    "summed, seed by seed": lambda: paired(EVERY_SIZE, TIES),
    "words-5": lambda: strategies(of("words-5"), "gap", "saved"),
    "all rules": lambda: matrix(of(*ALL_WORDS)),
    "closed forms": lambda: counts(
        [
            Row("corelog-laplace, B = 50 and 100", of("words", "words-100"), "corelog-laplace"),
            Row("corelog-ties, B = 50 and 100", of("words", "words-100"), TIES),
            Row("corelog-laplace, B = 50, fresh seeds", FRESH, "corelog-laplace"),
            Row("corelog-ties, B = 50, fresh seeds", FRESH, TIES),
            Row("CoreMSE-joint, B = 50", WORDS, "coremse-joint"),
            Row("CoreMSE, B = 50", WORDS, "coremse"),
        ],
        MEASURES,
    ),
    "other sizes": lambda: rows_by_set(
        [
            Row("corelog-ties, B = 100", of("words-100"), TIES),
            Row("corelog-ties, B = 10", of("words-10"), TIES),
            Row("margin-km, B = 10", of("words-10"), KM),
        ],
        "saved",
    ),
    "saved by batch size": lambda: rows_by_set(
        [
            Row("B = 5", of("words-5"), TIES),
            Row("B = 10", of("words-10"), TIES),
            Row("B = 50, fresh seeds", FRESH, TIES),
            Row("B = 50, the five seeds of the other sizes", WORDS, TIES),
            Row("B = 100", of("words-100"), TIES),
        ],
        "saved",
    ),
}
COMPARISON: dict[str, Table] = {
    "ten seeds": lambda: strategies(of("ten-seeds", "alps", "alps-ten", size=50), "gap", "saved"),
    "ten seeds, seed by seed": lambda: ahead_of_random(of("ten-seeds", "alps", "alps-ten", size=50)),
    "who beats whom": lambda: matrix(of(*MINILM)),
    "who beats whom in accuracy": lambda: matrix(of(*MINILM), "accuracy"),
    "every size, seed by seed": lambda: ahead_of_random(of(*MINILM)),
    "Brier scores": lambda: by_study(
        {f"B = {size}": of(*MINILM, size=size) for size in (5, 10, 50, 100)}
        | {"all four": of(*MINILM), "better vectors": WORDS, "fresh seeds": FRESH},
        "brier",
    ),
    "batches of 5": lambda: strategies(of("tiny-batches", "alps", size=5), "gap"),
    "batches of 10": lambda: strategies(of("small-batches", "alps", size=10), "gap"),
    "batches of 100": lambda: strategies(of("main", "alps", size=100), "gap"),
    "ALPS": lambda: rows_by_set(
        [
            Row("B = 5", of("tiny-batches", "alps", size=5), "alps"),
            Row("B = 10", of("small-batches", "alps", size=10), "alps"),
            Row("B = 50", of("ten-seeds", "alps", "alps-ten", size=50), "alps"),
            Row("B = 100", of("main", "alps", size=100), "alps"),
        ],
        "gap",
        "saved",
        first="against random",
    ),
    "many classes": lambda: one_set(of("many-classes"), with_saving=True),
    "number of classes": lambda: by_classes(
        [of("some-classes"), of("many-classes-words")], (KM, "corelog-laplace", TIES)
    ),
    "one label at a time": lambda: one_set(of("single"), with_saving=False),
    **{
        f"{title}, B = {size}": lambda model=model, size=size: strategies(of(*HEADS, size=size, model=model), "gap")
        for model, title in (("heads", "deep ensembles"), ("heads-mc", "MC-dropout"))
        for size in (5, 10, 50, 100)
    },
    "ensembles and masks": lambda: matrix(of(*HEADS)),
    "ensembles and masks, seed by seed": lambda: ahead_of_random(of(*HEADS)),
    "rules of recent papers": lambda: strategies(of("rules"), "gap", mean=True),
}
DEFAULT: dict[str, Table] = {
    "vectors and choice together": readme_table.by_vectors,
    "labels needed": labels_needed.table,
    "bge-fresh": lambda: strategies(BGE[50], "gap", "saved", mean=True),
    "bge-fresh, counts": lambda: counts([Row(TIES, BGE[50], TIES)], MEASURES),
    "bge-fresh, seed by seed": lambda: paired(BGE[50], TIES),
    "bge-fresh, Brier score": lambda: paired(BGE[50], TIES, "brier"),
    "batch sizes": lambda: sizes({size: study for size, study in BGE.items() if size != 50}, "gap", "saved"),
    "batch sizes at common labels": lambda: batch_sizes.at_common_labels(BGE, SIX.removesuffix(",random").split(",")),
    "batch sizes together": lambda: counts(
        [Row(title_of(rule), BGE_TOGETHER, rule) for rule in SIX.split(",")], MEASURES
    ),
    "batch sizes together, seed by seed": lambda: paired(BGE_TOGETHER, TIES),
    "encoders": encoder_table.table,
    "encoders, differences": encoder_table.differences,
}
QUALITY: dict[str, Table] = {
    "every encoder": encoder_quality.table,
    "frozen, fine-tuned, both: earlier rule": lambda: adapted.table(adapted.Plan(), "softened"),
    "frozen, fine-tuned, both": lambda: adapted.table(adapted.Plan(), adapted.RULE),
}
PAGES: dict[str, dict[str, Table]] = {
    "README.md": {"labels saved": readme_table.table},
    "docs/results.md": {
        "whole systems": systems_table.short_table,
        **{f"finding {number}": table for number, (table, _) in enumerate(findings.FINDINGS, 1)},
    },
    "docs/appendices/main.md": MAIN,
    "docs/appendices/comparison.md": COMPARISON,
    "docs/appendices/default.md": DEFAULT,
    "docs/appendices/quality.md": QUALITY,
    "docs/appendices/systems.md": {"whole systems": systems_table.long_table},
}


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def with_tables(page: str, text: str) -> str:
    """A page with its tables as the results give them."""
    for title, table in PAGES[page].items():
        text = with_block(text, title, table(), "generated")
    return text


def stale(page: str, text: str) -> Iterator[str]:
    """The tables of a page that are not what the results give."""
    for title, table in PAGES[page].items():
        if with_block(text, title, table(), "generated") != text:
            yield title


if __name__ == "__main__":
    if "--check" in sys.argv:
        old = [f"{page}: {title}" for page in PAGES for title in stale(page, text_of(page))]
        sys.exit("\n".join([*old, "run: python studies/appendix_tables.py"]) if old else 0)
    for page in PAGES:
        (ROOT / page).write_text(with_tables(page, text_of(page)), encoding="utf-8")
