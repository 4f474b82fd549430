"""The report of a project: one HTML page that says what was labelled and how good it is."""
