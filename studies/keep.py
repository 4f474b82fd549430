"""Keep the results of runs as a committed file: python studies/keep.py NAME RUN [RUN ...] [--add]

studies/results/NAME.parquet then has the rounds in these folders; with --add, beside those it had. The same round
twice is refused. Measures are kept to seven digits, as float32 bytes that compress: a third of the size.
"""

import argparse
from collections import Counter
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet
from tables import RESULTS

from bemps.experiments.grid import KEY


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="of the experiment")
    parser.add_argument("run", nargs="*", type=Path, help="folder that `bemps run` left")
    parser.add_argument("--add", action="store_true", help="to what is kept already")
    given = parser.parse_args()
    target = RESULTS / f"{given.name}.parquet"
    found = [parquet.read_table(run / "results.parquet") for run in given.run]
    found += [parquet.read_table(target)] if given.add else []
    if not found:
        parser.error("no results: name a folder, or --add to write again what is there")
    measures = [field.name for field in found[0].schema if pa.types.is_floating(field.type)]
    measures = measures[measures.index("accuracy") :]  # axes, which come before, stay as they are
    rows = pa.concat_tables([_narrow(table.select(found[0].column_names), measures) for table in found])
    names = rows.column_names
    order = [*KEY[:-1], *names[len(KEY) : names.index("round")], KEY[-1], "round"]  # the seed last of the key
    rows = rows.sort_by([(name, "ascending") for name in order])
    twice, times = Counter(zip(*(rows[name].to_pylist() for name in order), strict=True)).most_common(1)[0]
    if times > 1:
        parser.error(f"the same round in two places: {dict(zip(order, twice, strict=True))}")
    parquet.write_table(
        rows,
        target,
        compression="zstd",
        compression_level=19,
        use_dictionary=[name for name in names if name not in measures],
        column_encoding=dict.fromkeys(measures, "BYTE_STREAM_SPLIT"),
    )


def _narrow(table: pa.Table, measures: list[str]) -> pa.Table:
    kinds = [pa.float32() if field.name in measures else field.type for field in table.schema]
    return table.cast(pa.schema(list(zip(table.column_names, kinds, strict=True))))


if __name__ == "__main__":
    main()
