"""Beyond one machine: pools in Parquet shards, grids and ensembles on Ray (`pip install 'bemps[ray]'`)."""

from bemps._utils.extras import requires_extra

with requires_extra("ray", "bemps.distributed"):
    import fsspec as _fsspec  # type: ignore[import-untyped]  # noqa: F401
    import pyarrow as _pyarrow  # type: ignore[import-untyped]  # noqa: F401

from bemps.distributed.cluster import Cluster as Cluster
from bemps.distributed.cluster import Resources as Resources
from bemps.distributed.ensembles import on_ray as on_ray
from bemps.distributed.grids.grid_executor import RayCells as RayCells
from bemps.distributed.pools.shard_writing import write_shard as write_shard
from bemps.distributed.pools.sharded_select import PoolSelection as PoolSelection
from bemps.distributed.pools.sharded_select import select as select
from bemps.distributed.pools.shards import CorruptShard as CorruptShard
