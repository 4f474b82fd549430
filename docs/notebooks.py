"""Write the tutorials as notebooks: python docs/notebooks.py

docs/start/NAME.md becomes docs/start/NAME.ipynb, without output. One test compares them, another follows the pages.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

START = Path(__file__).parent / "start"
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def pages() -> list[Path]:
    return sorted(START.glob("*.md"))


def cell(kind: str, text: str, place: int) -> dict[str, Any]:
    """A cell. Its id follows from its place and text, so that the same page gives the same file."""
    digest = hashlib.sha256(f"{place} {text}".encode()).hexdigest()[:8]
    content = {"cell_type": kind, "id": digest, "metadata": {}, "source": text.strip("\n").splitlines(keepends=True)}
    return content | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def parts(text: str) -> Iterator[tuple[str, str]]:
    """Kind and text of each cell. The server of `bemps label` runs in a terminal: its command stays text."""
    end = 0
    for block in BLOCK.finditer(text):
        runs_here = block[1] == "python" or "bemps label" not in block[2]
        if runs_here:
            yield "markdown", text[end : block.start()]
            yield "code", block[2] if block[1] == "python" else re.sub(r"(?m)^(?=.)", "!", block[2])
            end = block.end()
    yield "markdown", text[end:]


def notebook(text: str) -> str:
    """A notebook, as text."""
    cells = [cell(kind, part, place) for place, (kind, part) in enumerate(parts(text)) if part.strip()]
    content = {"cells": cells, "metadata": {"kernelspec": KERNEL}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for page in pages():
        page.with_suffix(".ipynb").write_text(notebook(page.read_text(encoding="utf-8")), encoding="utf-8")
