"""Helpers that every package uses: files, locks, child processes, progress, optional packages."""
