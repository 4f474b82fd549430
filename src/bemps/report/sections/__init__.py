"""The sections of a report, one module each: from a run to figures and tables."""
