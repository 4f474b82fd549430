"""One self-contained HTML page of a run, and its figures and tables as files."""

from bemps.report.figures import Lines as Lines
from bemps.report.figures import Matrix as Matrix
from bemps.report.figures import Points as Points
from bemps.report.figures import Series as Series
from bemps.report.html_tables import Table as Table
from bemps.report.report_writing import write_report as write_report
from bemps.report.style import Styles as Styles
from bemps.report.svg.svg_figure import draw as draw
