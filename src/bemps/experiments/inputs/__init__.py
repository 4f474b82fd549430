"""Shared inputs of the cells of a run: datasets, vectors of encoders, and their files in the run folder."""
