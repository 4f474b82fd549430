"""Tables as HTML and as CSV."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Table:
    """Columns and rows for the page and for a CSV file.

    Parameters
    ----------
    columns, rows : tuple of str, and tuple of rows
        Headings and cells as the page shows them.
    raw_columns, raw : tuple of str, and tuple of rows
        Headings and full numbers of the CSV file; empty where they are the same.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    raw_columns: tuple[str, ...] = ()
    raw: tuple[tuple[object, ...], ...] = ()

    def html(self) -> str:
        """Return the table as HTML, in a box that scrolls sideways where the screen is narrow.

        Returns
        -------
        str
            The element.
        """
        head = "".join(f"<th scope=col>{escape(name)}</th>" for name in self.columns)
        lines = "".join(f"<tr>{_cells(row)}</tr>" for row in self.rows)
        return f'<div class="table"><table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>'

    def csv(self) -> str:
        """Return the table as comma-separated text with a header.

        Returns
        -------
        str
            The lines of the file.
        """
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.raw_columns or self.columns)
        writer.writerows(self.raw or self.rows)
        return out.getvalue()


def _cells(row: Sequence[str]) -> str:
    first, *rest = row
    return f"<th scope=row>{escape(first)}</th>" + "".join(f"<td>{escape(cell)}</td>" for cell in rest)
