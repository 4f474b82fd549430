"""Options of commands as annotated types, and what their values mean."""
