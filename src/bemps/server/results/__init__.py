"""The results of a project from the page: files that are made in a process of their own."""
