"""Speed, scale and quality of bemps, beside other libraries: `python -m benchmarks`, `make bench`."""
