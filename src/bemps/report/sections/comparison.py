"""The section "Who beats whom": the paper's counting matrix, and a paired test over seeds."""

import math
from collections.abc import Iterator

from bemps.report.blocks import Block, Section, file_stem
from bemps.report.figures import Matrix
from bemps.report.formatting import p_value
from bemps.report.html_tables import Table
from bemps.report.style import Styles
from bemps.results import METRICS, PairTest, Pairwise, RunFolder, Setting, paired_tests, pairwise_matrix

LEAD = (
    "A cell counts in how many datasets and models the row beats the column (the paper’s matrix). A win is t > 2.776 "
    "over the differences at five maximally spaced points of the mean curves. Points of one curve are not independent, "
    "but seeds are. So the table tests the difference in area under the curve over seeds, with Holm’s correction for "
    "the number of pairs."
)
MOST_SHOWN_TESTS = 12


def section(run: RunFolder, styles: Styles) -> Section | None:
    """Make a block for every metric and batch size, and one for all batch sizes together."""
    blocks = tuple(_blocks(run)) if len(run.results.contestants) > 1 else ()
    return Section("Who beats whom", LEAD, blocks) if blocks else None


def _blocks(run: RunFolder) -> Iterator[Block]:
    sizes = sorted({setting.batch_size for setting in run.results.curves})
    for metric in run.results.metrics:
        if not METRICS[metric].better:
            continue
        for size in sizes:
            settings = [setting for setting in run.results.curves if setting.batch_size == size]
            yield _block(run, metric, settings, {"metric": metric, "batch": str(size)}, f"batches of {size}")
        if len(sizes) > 1:
            yield _block(run, metric, list(run.results.curves), {"metric": metric}, "all batch sizes")


def _block(run: RunFolder, metric: str, settings: list[Setting], shown: dict[str, str], what: str) -> Block:
    matrix = pairwise_matrix(run.results, metric, settings).ranked()
    tests = paired_tests(run.results, metric, settings)
    name = file_stem(metric, what.replace(" ", "-"))
    tables = {f"paired-{name}": _tests(tests, what)} if tests else {}
    few = len(tests) <= MOST_SHOWN_TESTS
    return Block(
        shown,
        {f"pairwise-{name}": _figure(matrix, metric, what)},
        tables if few else {},
        {f"pairwise-{name}": _counts(matrix)} | ({} if few else tables),
        " ".join(matrix.notes[:3])
        + (f" And {len(matrix.notes) - 3} more such pairs." if len(matrix.notes) > 3 else ""),
    )


def _figure(matrix: Pairwise, metric: str, what: str) -> Matrix:
    title = METRICS[metric].title.removesuffix(" (lower is better)")
    return Matrix(f"{title}, {what}", matrix.names, matrix.wins, matrix.totals, int(matrix.compared.max(initial=0)))


def _counts(matrix: Pairwise) -> Table:
    rows = zip(matrix.names, matrix.wins.tolist(), matrix.totals.tolist(), strict=True)
    return Table(
        ("wins of", *matrix.names, "total"), tuple((name, *map(str, wins), str(total)) for name, wins, total in rows)
    )


def _tests(tests: list[PairTest], what: str) -> Table:
    rows = tuple(
        (
            f"{test.first} − {test.second}" if test.difference >= 0 else f"{test.second} − {test.first}",
            f"{abs(test.difference):.4f}",
            "–" if math.isnan(test.p) else f"{_ends(test)[0]:+.4f} to {_ends(test)[1]:+.4f}",
            p_value(test.p),
            p_value(test.corrected),
            str(test.seeds),
        )
        for test in tests
    )
    names = ("first", "second", "better_by", "low", "high", "p", "p_holm", "seeds", "settings")
    raw = tuple((t.first, t.second, t.difference, t.low, t.high, t.p, t.corrected, t.seeds, t.settings) for t in tests)
    return Table((f"better by, {what}", "area", "95 % interval", "p", "p (Holm)", "seeds"), rows, names, raw)


def _ends(test: PairTest) -> tuple[float, float]:
    return (test.low, test.high) if test.difference >= 0 else (-test.high, -test.low)
