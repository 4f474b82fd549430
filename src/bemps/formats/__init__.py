"""File formats of labels and predictions: CSV, JSONL, Parquet, and those of other labelling tools."""
