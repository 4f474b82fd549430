"""Write the coverage of the tests into docs/release.md: python docs/coverage_table.py build/coverage.json

`make coverage` makes that file by `coverage json` and calls this. It fails where a total is below its bound.
"""

import json
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.document_blocks import with_block

LEAST = {"lines": 90, "branches": 85, "both": 90}  # per cent
PAGE = Path(__file__).parent / "release.md"
COUNTS = ("covered_lines", "num_statements", "covered_branches", "num_branches")
MODULES = "modules of `bemps` itself"


def by_package(files: Mapping[str, Mapping[str, Any]]) -> dict[str, Counter[str]]:
    """The counts of each package of bemps, and those of all under `all`."""
    counts: dict[str, Counter[str]] = {}
    for path, file in sorted(files.items()):
        inside = Path(path).as_posix().rpartition("src/bemps/")[2].split("/")
        name = f"`{inside[0]}`" if len(inside) > 1 else MODULES
        counts.setdefault(name, Counter()).update({count: file["summary"][count] for count in COUNTS})
    return {**dict(sorted(counts.items())), "**all**": sum(counts.values(), Counter())}


def shares(counts: Counter[str]) -> dict[str, float]:
    """Per cent of the lines, of the branches, and of both together as coverage counts them."""
    lines, all_lines, branches, all_branches = (counts[count] for count in COUNTS)
    return {
        "lines": percent(lines, all_lines),
        "branches": percent(branches, all_branches),
        "both": percent(lines + branches, all_lines + all_branches),
    }


def percent(covered: int, every: int) -> float:
    """A share; nothing to cover is covered."""
    return 100 * covered / every if every else 100.0


def table(packages: Mapping[str, Counter[str]]) -> str:
    """A row for each package."""
    lines = ["| package | lines | branches | both |", "|---|---|---|---|"]
    for name, counts in packages.items():
        lines.append(f"| {name} | {' | '.join(f'{share:.1f} %' for share in shares(counts).values())} |")
    return "\n".join(lines)


def failures(totals: Mapping[str, float]) -> list[str]:
    """A sentence for each total below its bound."""
    return [
        f"{name}: {totals[name]:.1f} %, at least {least} % expected"
        for name, least in LEAST.items()
        if totals[name] < least
    ]


def main(measured: str) -> None:
    packages = by_package(json.loads(Path(measured).read_text(encoding="utf-8"))["files"])
    page = with_block(PAGE.read_text(encoding="utf-8"), "coverage", table(packages), "generated")
    PAGE.write_text(page, encoding="utf-8")
    sys.exit("\n".join(failures(shares(packages["**all**"]))) or 0)


if __name__ == "__main__":
    main(sys.argv[1])
