"""Beyond one machine: pools in Parquet shards, grids and ensembles on Ray (`pip install 'bemps[ray]'`)."""

from bemps.errors import MissingExtra

try:
    import fsspec as _fsspec  # type: ignore[import-untyped]  # noqa: F401
    import pyarrow as _pyarrow  # type: ignore[import-untyped]  # noqa: F401
except ImportError as cause:
    raise MissingExtra("bemps.distributed", "ray", cause) from cause

from bemps.distributed.cells import RayCells as RayCells
from bemps.distributed.cluster import Needs as Needs
from bemps.distributed.cluster import Place as Place
from bemps.distributed.ensembles import on_ray as on_ray
from bemps.distributed.selecting import PoolSelection as PoolSelection
from bemps.distributed.selecting import select as select
from bemps.distributed.shards import CorruptShard as CorruptShard
from bemps.distributed.writing import write_shard as write_shard
