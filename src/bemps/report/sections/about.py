"""The section about the run: its configuration, and what was left out."""

import json

from bemps.report.blocks import Block, Section
from bemps.report.html_tables import Table
from bemps.report.style import Styles
from bemps.results import RunFolder


def section(run: RunFolder, styles: Styles) -> Section | None:
    """Make the section, if there are notes or a configuration."""
    blocks = []
    notes = run.results.notes
    if notes:
        table = Table(("left out or incomplete",), tuple((note,) for note in notes))
        many = f"{len(notes)} remark{'s' * (len(notes) > 1)} on incomplete results."
        short = len(notes) <= 8
        blocks.append(Block({}, {}, {"notes": table} if short else {}, {} if short else {"notes": table}, many))
    if run.config:
        rows = tuple((name, json.dumps(value, ensure_ascii=False)) for name, value in run.config.items())
        blocks.append(Block({}, {}, {}, {"configuration": Table(("setting", "value"), rows)}))
    return Section("About this run", "", tuple(blocks)) if blocks else None
