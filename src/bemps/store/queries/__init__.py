"""What can be asked of a project: its present state, and searches."""
