"""What suggested labels in a project, and how good it is; the server asks for suggestions."""
