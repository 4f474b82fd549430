"""Selection from a pool in Parquet shards, on this machine or on Ray."""
