"""Classes as events: the table that follows from the log, and the edits that add to it."""
