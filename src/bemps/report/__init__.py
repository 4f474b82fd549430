"""One self-contained HTML page of a run, and its figures and tables as files."""

from bemps.report.figures import Lines as Lines
from bemps.report.figures import Matrix as Matrix
from bemps.report.figures import Points as Points
from bemps.report.figures import Series as Series
from bemps.report.style import Styles as Styles
from bemps.report.svg import draw as draw
from bemps.report.tables import Table as Table
from bemps.report.writing import write_report as write_report
