"""Labels and predictions to and from files: CSV, JSONL, Parquet, and the formats of other labelling tools."""

from bemps.exchange.entries import Predicted as Predicted
from bemps.exchange.exporting import export_events as export_events
from bemps.exchange.exporting import export_labels as export_labels
from bemps.exchange.exporting import export_predictions as export_predictions
from bemps.exchange.formats import FORMATS as FORMATS
from bemps.exchange.importing import Imported as Imported
from bemps.exchange.importing import import_labels as import_labels
