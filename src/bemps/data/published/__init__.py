"""Datasets that others have published: their names, files and readers."""
