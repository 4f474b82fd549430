"""Benchmarks behind `bemps bench`."""
