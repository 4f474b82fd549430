"""Grids of experiments on Ray."""
