"""Selection from shards, in this process: equal to `bemps.select`, exact, resumable, and clear about what is wrong."""

import csv
import json
import subprocess
import sys

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pools import EDGES, Looked, notes, pool, write, write_numbers

import bemps
from bemps.acquisition import batch_rules
from bemps.acquisition.strategy_registry import strategies_on_shards
from bemps.distributed import CorruptShard, select
from bemps.distributed.pools import exact_rank
from bemps.distributed.pools.nearest import NearestItems, pick_nearest
from bemps.errors import InputError
from bemps.gain import ranking

SLOW = {"mocu", "wmocu", "smocu", "corelog", "corelog-topk"}


def options(strategy):
    return {"estimation_size": 40} if strategy in SLOW else {}


def same(found, expected, tolerance=1e-12):
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_allclose(found.scores, expected.scores, rtol=tolerance, atol=tolerance)
    assert (found.clusters is None) == (expected.clusters is None)
    for mine, theirs in zip(found.clusters or (), expected.clusters or (), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [1, 12])
@pytest.mark.parametrize("strategy", strategies_on_shards())
def test_equal_to_select_in_memory(tmp_path, strategy, n, dtype):
    probs = pool(dtype=dtype, zeros=0.1)
    write(tmp_path, probs)
    found = select(tmp_path, None, n, strategy, on="here", seed=5, id="id", **options(strategy))
    # in float32, CoreLog's kernel rounds by the company in which an item is computed
    tolerance = 1e-6 if dtype == np.float32 and strategy.startswith("corelog") else 1e-12
    same(found, bemps.select(probs, n, strategy, seed=5, **options(strategy)), tolerance)
    assert found.ids == tuple(f"i{i}" for i in found.indices)
    places = [(int(name[5]), row) for name, row in zip((s for s in found.shards), found.rows.tolist(), strict=True)]
    assert [EDGES[number] + row for number, row in places] == found.indices.tolist()


def test_epig_is_an_alias(tmp_path):
    probs = pool()
    write(tmp_path, probs)
    same(select(tmp_path, None, 3, "epig", on="here"), bemps.select(probs, 3, "corelog-topk"))


@pytest.mark.parametrize("strategy", ["coremse", "corelog", "coremse-joint", "bald", "coremse-topk"])
def test_weights_and_an_estimation_pool(tmp_path, strategy):
    probs, points, weights = pool(), pool(1, 30), [0.5, 0.0, 0.3, 0.2]
    write(tmp_path, probs)
    arguments = {"weights": weights, "estimation": points, "seed": 2}
    same(select(tmp_path, None, 9, strategy, on="here", **arguments), bemps.select(probs, 9, strategy, **arguments))


@pytest.mark.parametrize("strategy", ["margin", "coremse", "coremse-topk"])
def test_ties_are_drawn_alike(tmp_path, strategy):
    """Copies of few items, so that whole stretches have equal scores: the same ones are drawn."""
    probs = np.tile(pool(3, 6), (1, 100, 1))
    write(tmp_path, probs)
    for seed in range(3):
        found, expected = (
            select(tmp_path, None, 20, strategy, on="here", seed=seed),
            bemps.select(probs, 20, strategy, seed=seed),
        )
        np.testing.assert_array_equal(found.indices, expected.indices)


@pytest.mark.parametrize("strategy", ["margin", "bald", "coremse", "coremse-topk", "coremse-joint", "corelog"])
def test_near_ties_are_drawn_alike(tmp_path, strategy):
    """Copies whose scores differ in the last digits: the shards they lie in do not decide."""
    rng = np.random.default_rng(0)
    probs = np.tile(pool(3, 6), (1, 100, 1))
    probs *= 1 + rng.integers(-8, 9, probs.shape) * 2.0**-52
    write(tmp_path, probs)
    for seed in range(3):
        arguments = {"seed": seed, **options(strategy)}
        same(
            select(tmp_path, None, 20, strategy, on="here", **arguments), bemps.select(probs, 20, strategy, **arguments)
        )


@pytest.mark.parametrize("strategy", ["coremse", "coremse-topk", "coremse-joint"])
@pytest.mark.parametrize(("E", "N"), [(8, 20), (50, 1500)])
def test_few_items_and_many_members(tmp_path, strategy, E, N):
    """Fewer items than pairs; so many pairs that a sample of the pool is the estimation pool."""
    probs = pool(E=E, N=N)
    write(tmp_path, probs, edges=(0, 7, N))
    same(select(tmp_path, None, 5, strategy, on="here"), bemps.select(probs, 5, strategy))


@pytest.mark.parametrize("strategy", ["coremse", "coremse-topk", "coremse-joint"])
@pytest.mark.parametrize("E", [1, 3])
def test_members_that_leave_nothing_to_compare_are_refused_as_in_memory(tmp_path, strategy, E):
    probs = np.repeat(pool(E=1, N=20), E, axis=0)
    write(tmp_path, probs, edges=(0, 7, 20))
    with pytest.raises(InputError) as in_memory:
        bemps.select(probs, 5, strategy)
    with pytest.raises(InputError) as on_shards:
        select(tmp_path, None, 5, strategy, on="here")
    assert str(on_shards.value) == str(in_memory.value)


@pytest.mark.parametrize(("T", "size"), [(0.1, None), (1.0, None), (0.5, 25), (0.5, 600)])
def test_options_of_the_strategy(tmp_path, T, size):
    probs = pool()
    write(tmp_path, probs)
    given = {"T": T, "estimation_size": size}
    same(select(tmp_path, None, 7, "coremse", on="here", **given), bemps.select(probs, 7, "coremse", **given))


def test_the_whole_pool_as_a_batch(tmp_path):
    probs = pool(N=30)
    write(tmp_path, probs, edges=(0, 11, 30))
    same(select(tmp_path, None, 30, "coremse", on="here"), bemps.select(probs, 30, "coremse"))


def test_a_model_that_predicts_gives_the_same(tmp_path):
    probs = pool()
    source = write_numbers(tmp_path / "pool", 600, 5)
    model = Looked(probs, tmp_path / "log")
    for strategy in ("coremse", "margin", "corelog"):
        found = select(source, model, 8, strategy, items="item", on="here", **options(strategy))
        same(found, bemps.select(probs, 8, strategy, **options(strategy)))


def test_lists_of_lists_are_read_too(tmp_path):
    probs = pool(N=50)
    rows = pa.table({"p": [probs[:, i].tolist() for i in range(50)]})
    pq.write_table(rows, tmp_path / "a.parquet")
    same(select(tmp_path, None, 4, "coremse", probs="p", on="here"), bemps.select(probs, 4, "coremse"))


def test_any_file_system(tmp_path):
    """Source and work folder by URL; here one in memory."""
    probs, files = pool(), fsspec.filesystem("memory")
    write(tmp_path, probs)
    files.put(str(tmp_path), "/pool", recursive=True)
    try:
        found = select("memory://pool", None, 6, "coremse", on="here", work="memory://work")
        same(found, bemps.select(probs, 6, "coremse"))
        assert files.find("/work")
    finally:
        files.rm("/pool", recursive=True)
        files.rm("/work", recursive=True)


# -- the exact quantile -----------------------------------------------------------------------------------------------

numbers = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([0.0, 1.0, -1.0, 0.5])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(numbers, max_size=12), min_size=1, max_size=5).filter(any), st.data())
def test_the_edge_is_the_nth_largest(parts, data):
    arrays = [np.array(part, np.float64) + 0.0 for part in parts]
    n = data.draw(st.integers(1, sum(map(len, arrays))))
    found = [exact_rank.sortable_keys(array) for array in arrays]

    def deeper(level, prefix):
        return [exact_rank.count_digits(keys, level, prefix) for keys in found]

    expected = float(np.sort(np.concatenate(arrays))[-n])
    assert exact_rank.nth_largest(n, deeper(0, 0), deeper) == expected
    margin = ranking.tolerance(exact_rank.largest_size(deeper(0, 0)))
    assert margin == ranking.tolerance_of(np.concatenate(arrays))
    for array in arrays:
        above, equal = exact_rank.count_above_and_equal(array, expected - margin, expected + margin)
        assert above == int((array > expected + margin).sum())
        with np.errstate(over="ignore"):  # a difference beyond the range of floats is no tie
            distances = np.abs(array - expected)
        assert equal == int((distances <= margin).sum())


def test_keys_keep_the_order_of_numbers():
    values = np.sort(np.array([-np.inf, -1e300, -1.0, -1e-310, 0.0, 5e-324, 1e-9, 2.5, np.inf]))
    assert (np.diff(exact_rank.sortable_keys(values).astype(object)) > 0).all()
    assert [exact_rank.score_of(int(key)) for key in exact_rank.sortable_keys(values)] == values.tolist()


# -- more vectors than memory -----------------------------------------------------------------------------------------


def test_a_sample_of_vectors_is_said_and_repeated(tmp_path):
    probs = pool(N=2_000)
    write(tmp_path, probs, edges=(0, 900, 2_000))
    first, again = (select(tmp_path, None, 4, "coremse", on="here", seed=1, cluster_memory=48 * 300) for _ in range(2))
    assert (first.candidates, first.sampled) == (1_000, 300)
    np.testing.assert_array_equal(first.indices, again.indices)
    assert first.clusters is None
    assert int(first.cluster_sizes.sum()) == 1_000
    top = np.argsort(-bemps.core_mse(probs).scores)[:1_000]
    assert set(first.indices) <= set(top)
    assert len(set(first.indices)) == 4


def test_a_sample_of_nearly_all_is_nearly_the_exact_batch(tmp_path):
    """The spread within clusters around sampled centres is close to that around the centres of all."""
    probs = pool(N=2_000)
    write(tmp_path, probs, edges=(0, 900, 2_000))
    gain = bemps.core_mse(probs)

    def spread(indices):
        rows, picks = gain.rows(batch_rules.top(gain.scores, 1_000, np.random.default_rng(0))), gain.rows(indices)
        return float(((rows[:, None] - picks[None]) ** 2).sum(2).min(1).mean())

    exact = select(tmp_path, None, 6, "coremse", on="here")
    sampled = select(tmp_path, None, 6, "coremse", on="here", cluster_memory=48 * 500)
    random = select(tmp_path, None, 6, "random", on="here")
    assert exact.sampled is None
    assert spread(sampled.indices) < 1.3 * spread(exact.indices) < spread(random.indices)


def test_the_nearest_items_are_distinct_and_in_turn():
    """All centres at one place: the first takes the nearest, each next one the nearest left, over several questions."""
    distances, asked = np.arange(40.0), []

    def ask(each):
        asked.append(each)
        halves = []
        for start in (0, 20):
            rows = np.broadcast_to(np.arange(20)[:each], (30, min(each, 20)))
            near = NearestItems(rows, rows.astype(float), distances[start : start + 20][rows])
            halves.append((start, near, np.zeros(30, np.int64)))
        return halves

    picked, _ = pick_nearest(ask, 30)
    assert picked.positions.tolist() == list(range(30))
    assert asked == [8, 16, 30]


# -- stopping and going on --------------------------------------------------------------------------------------------


def test_finished_shards_are_not_predicted_again(tmp_path):
    probs, work, log = pool(), tmp_path / "work", tmp_path / "log"
    source = write_numbers(tmp_path / "pool", 600, 6)

    class Stopped(Looked):
        def predict(self, items):
            if items[0] >= 300 and not self.log.with_name("go on").exists():
                raise KeyboardInterrupt
            return super().predict(items)

    arguments = {"items": "item", "on": "here", "work": work, "version": "v1"}
    with pytest.raises(KeyboardInterrupt):
        select(source, Stopped(probs, log), 8, "coremse", **arguments)
    assert len(notes(log)) == 3
    log.with_name("go on").touch()
    same(select(source, Looked(probs, log), 8, "coremse", **arguments), bemps.select(probs, 8, "coremse"))
    assert len(notes(log)) == 6
    select(source, Looked(probs, log), 8, "entropy", **arguments)  # another strategy, the same predictions
    assert len(notes(log)) == 6
    (source / "part-002.parquet").touch()  # another time, the same content
    select(source, Looked(probs, log), 8, "coremse", **arguments)
    assert len(notes(log)) == 6
    pq.write_table(pa.table({"item": np.arange(200, 290)}), source / "part-002.parquet")
    changed = select(source, Looked(probs, log), 8, "coremse", **arguments)
    assert len(notes(log)) == 7
    same(changed, bemps.select(np.delete(probs, np.arange(290, 300), axis=1), 8, "coremse"))
    assert not list(work.rglob("*.part"))


def test_another_model_is_another_result(tmp_path):
    work, source = tmp_path / "work", write_numbers(tmp_path / "pool", 600, 3)
    for seed in (0, 1, 0):
        for strategy in ("margin", "coremse"):
            probs = pool(seed)
            found = select(source, Looked(probs, tmp_path), 8, strategy, items="item", on="here", work=work)
            same(found, bemps.select(probs, 8, strategy))


# -- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["badge", "batchbald", "coreset", "coremse-km", "corelog-laplace"])
def test_strategies_that_need_one_machine_are_refused_with_those_that_do_not(tmp_path, strategy):
    with pytest.raises(InputError, match=r"can be distributed.*coremse.*corelog") as refused:
        select(tmp_path / "not even there", None, 3, strategy, on="here")
    assert refused.value.got == repr(strategy)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"strategy": "coremze"}, "coremse"),
        ({"strategy": "margin", "rule": "power"}, "rule.*'top' on shards"),
        ({"strategy": "coremse", "compat": "official"}, "compat"),
        ({"U": 0.5}, "option of margin"),
        ({"n": 601}, "from 1 to 600"),
        ({"strategy": "coremse", "T": 0}, "T"),
        ({"probs": "q"}, "a column q.*no such column in shard part-0"),
        ({"id": "name"}, "a column name"),
        ({"weights": [0.5, 0.5]}, "2 for 4 members"),
        ({"strategy": "coremse", "estimation": np.full((3, 5, 3), 1 / 3)}, "E=4"),
        ({"model": Looked(pool(), "log")}, "the column that the model reads"),
        ({"model": 3}, "a fitted model with predict"),
        ({"on": "somewhere"}, "ray, auto"),
        ({"on": "ray?gpu=1"}, "gpus"),
        ({"on": "ray?gpus=half"}, "gpus"),
        ({"on": "head:6379"}, "work"),
    ],
)
def test_what_is_refused(tmp_path, arguments, message):
    write(tmp_path, pool())
    with pytest.raises(InputError, match=message):
        select(**{"source": tmp_path, "model": None, "n": 3, "on": "here"} | arguments)


def test_no_shards(tmp_path):
    with pytest.raises(InputError, match="folder or URL"):
        select(tmp_path / "none", None, 3, on="here")
    with pytest.raises(InputError, match=r"ending in \.parquet"):
        select(tmp_path, None, 3, on="here")


def damaged(folder, *, footer):
    """One shard with a broken end, or with one bit changed in the middle of its probabilities."""
    path = folder / "part-2.parquet"
    content = bytearray(path.read_bytes())
    if footer:
        content = content[: len(content) // 2]
    else:
        chunk = pq.ParquetFile(path).metadata.row_group(0).column(1)
        content[chunk.data_page_offset + chunk.total_compressed_size // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("footer", [True, False])
@pytest.mark.parametrize("strategy", ["coremse", "margin"])
def test_a_corrupt_shard_is_named_and_skipped_only_if_asked(tmp_path, strategy, footer):
    probs = pool()
    damaged(write(tmp_path, probs), footer=footer)
    with pytest.raises(CorruptShard, match=r"shard part-2\.parquet.*skip_corrupt"):
        select(tmp_path, None, 6, strategy, on="here")
    found = select(tmp_path, None, 6, strategy, on="here", skip_corrupt=True, id="id")
    left = np.delete(probs, np.arange(EDGES[2], EDGES[3]), axis=1)
    among_the_rest = bemps.select(left, 6, strategy)
    np.testing.assert_allclose(found.scores, among_the_rest.scores, rtol=1e-12)
    kept = np.arange(len(left[0])) if footer else np.delete(np.arange(probs.shape[1]), np.arange(EDGES[2], EDGES[3]))
    np.testing.assert_array_equal(found.indices, kept[among_the_rest.indices])  # known where the footer is whole
    for mine, theirs in zip(found.clusters or (), among_the_rest.clusters or (), strict=True):
        np.testing.assert_array_equal(mine, kept[theirs])
    assert found.skipped == ("part-2.parquet",)
    assert found.uncounted == (("part-2.parquet",) if footer else ())
    assert not {f"i{i}" for i in range(EDGES[2], EDGES[3])} & set(found.ids)


def test_only_corrupt_shards(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1 nothing PAR1")
    with pytest.raises(InputError, match="only corrupt"):
        select(tmp_path, None, 1, on="here", skip_corrupt=True)


def test_a_differing_schema_is_named_even_when_corrupt_shards_may_be_skipped(tmp_path):
    write(tmp_path, pool())
    pq.write_table(pa.table({"probs": ["text"]}), tmp_path / "part-9.parquet")
    with pytest.raises(InputError, match=r"schema.*fixed_size_list.*shard part-0.*string in shard part-9"):
        select(tmp_path, None, 3, on="here", skip_corrupt=True)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[[0.5, 0.5], [2.0, -1.0]]], "shard a.parquet.*negative"),
        ([[[0.5, 0.5], [0.7, 0.7]]], "shard a.parquet.*sum to one"),
        ([[[0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]]], "shard a.parquet.*E and K the same"),
        ([[[0.5, 0.5]], None], "shard a.parquet.*1 empty"),
    ],
)
def test_bad_probabilities_name_the_shard(tmp_path, rows, message):
    pq.write_table(pa.table({"probs": rows}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=message):
        select(tmp_path, None, 1, on="here", skip_corrupt=True)


def test_a_model_that_fails_names_the_shard(tmp_path):
    source = write_numbers(tmp_path / "pool", 10, 2)
    with pytest.raises(bemps.BempsError, match=r"shard part-001.*IndexError"):
        select(source, Looked(pool(N=7), tmp_path), 1, items="item", on="here")


def test_a_cluster_that_is_not_there(tmp_path):
    pytest.importorskip("ray")
    with pytest.raises(InputError, match=r"127\.0\.0\.1:1 that answers.*RAY_AUTH_TOKEN"):
        select(tmp_path, None, 1, on="127.0.0.1:1", work=tmp_path)


# -- the command ------------------------------------------------------------------------------------------------------


def command(*arguments):
    code = "import typer; from bemps.cli.select import select; typer.run(select)"
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, check=False
    )


def test_the_command_on_shards(tmp_path):
    probs = pool()
    write(tmp_path / "pool", probs)
    done = command(
        tmp_path / "pool",
        "-n",
        5,
        "--on",
        "here",
        "--id",
        "id",
        "--strategy",
        "coremse",
        "--out",
        tmp_path / "next.json",
    )
    assert done.returncode == 0, done.stderr
    told = json.loads((tmp_path / "next.json").read_text())
    expected = bemps.select(probs, 5, "coremse")
    assert told["indices"] == expected.indices.tolist()
    assert [item["id"] for item in told["items"]] == [f"i{i}" for i in expected.indices]
    assert [item["stands_for"] for item in told["items"]] == [len(cluster) for cluster in expected.clusters]
    assert told["sampled"] is None


@pytest.mark.parametrize("footer", [True, False])
def test_the_command_names_a_corrupt_shard(tmp_path, footer):
    damaged(write(tmp_path, pool()), footer=footer)
    refused = command(tmp_path, "-n", 5, "--on", "here", "--strategy", "margin")
    assert refused.returncode == 2
    assert "part-2.parquet" in refused.stderr
    done = command(tmp_path, "-n", 40, "--on", "here", "--strategy", "margin", "--skip-corrupt", "--id", "id")
    assert done.returncode == 0
    assert "Damaged shards left out: 1 (part-2.parquet)." in done.stderr
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert ("index is left out" in done.stderr) == footer
    if footer:
        assert list(rows[0]) == ["rank", "score", "shard", "row", "id"]
    else:
        assert [row["id"] for row in rows] == [f"i{row['index']}" for row in rows]
