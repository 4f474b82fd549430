"""The command line as a newcomer uses it."""

import csv
import io
import json
from importlib import metadata

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from making import predictions
from typer.testing import CliRunner

import bemps
from bemps.cli import app
from bemps.cli.options.project_wishes import wishes_of
from bemps.models.from_file import FromFile
from bemps.models.model_registry import grid_models

run = CliRunner().invoke


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    arrays = {"probs": predictions(rng, 4, 30, 3), "features": rng.normal(size=(30, 5))}
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
    np.savez(tmp_path / "both.npz", **arrays)
    return tmp_path, arrays


def test_help_names_every_command_and_shows_examples():
    out = run(app, ["--help"]).output
    for name in ("demo", "select", "strategies", "weights"):
        assert name in out
        assert run(app, [name, "--help"]).exit_code == 0
    assert "bemps select probs.npy -n 50" in run(app, ["select", "--help"]).output


def test_help_of_run_names_every_model():
    out = " ".join(run(app, ["run", "--help"], env={"COLUMNS": "200"}).output.replace("│", " ").split())
    assert f"{', '.join(grid_models())};" in out


def test_strategies_lists_them_all():
    out = run(app, ["strategies"]).output
    assert all(name in out for name in bemps.strategies())


def test_select_writes_csv_to_standard_output(files):
    folder, arrays = files
    result = run(app, ["select", str(folder / "probs.npy"), "-n", "5", "--strategy", "coremse", "--seed", "3"])
    assert result.exit_code == 0, result.output
    rows = [line.split(",") for line in result.stdout.splitlines()]
    wanted = bemps.select(arrays["probs"], 5, "coremse", seed=3)
    assert rows[0] == ["rank", "index", "score", "stands_for", "cluster"]
    assert [int(row[1]) for row in rows[1:]] == wanted.indices.tolist()
    assert [float(row[2]) for row in rows[1:]] == wanted.scores.tolist()
    assert [int(i) for i in rows[1][4].split()] == wanted.clusters[0].tolist()
    assert [int(row[3]) for row in rows[1:]] == [len(cluster) for cluster in wanted.clusters]


@pytest.mark.parametrize("word", ["False", "false"])
def test_select_takes_true_and_false_as_python_and_json_spell_them(files, word):
    folder, arrays = files
    vectors = np.random.default_rng(0).normal(size=(40, 3))
    labelled = {"labelled_embeddings": vectors[:10], "labelled_probs": arrays["probs"][0, :10]}
    np.savez(folder / "ties.npz", probs=arrays["probs"], embeddings=vectors[10:], **labelled)
    arguments = ["-n", "4", "--strategy", "corelog-ties", "-o", f"balance={word}"]
    result = run(app, ["select", str(folder / "ties.npz"), *arguments])
    assert result.exit_code == 0, result.output
    wanted = bemps.select(arrays["probs"], 4, "corelog-ties", embeddings=vectors[10:], **labelled, balance=False)
    assert [int(line.split(",")[1]) for line in result.stdout.splitlines()[1:]] == wanted.indices.tolist()


def test_select_writes_json_and_takes_named_arrays_and_options(files):
    folder, arrays = files
    out = folder / "next.json"
    strategy = ["-n", "4", "--strategy", "coremse-km", "-o", "pool=3"]
    result = run(app, ["select", str(folder / "both.npz"), *strategy, "--out", str(out)])
    assert result.exit_code == 0, result.output
    wanted = bemps.select(arrays["probs"], 4, "coremse-km", features=arrays["features"], pool=3)
    assert json.loads(out.read_text())["indices"] == wanted.indices.tolist()
    single = run(app, ["select", str(folder / "probs.npy"), *strategy, "--features", str(folder / "features.npy")])
    assert [int(line.split(",")[1]) for line in single.stdout.splitlines()[1:]] == wanted.indices.tolist()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["probs.npy", "-n", "31"], "from 1 to 30"),
        (["probs.npy", "-n", "2", "--strategy", "coremsse"], "Did you mean 'coremse'"),
        (["probs.npy", "-n", "2", "-o", "T"], "NAME=VALUE"),
        (["probs.npy", "-n", "2", "--out", "next.xlsx"], ".csv or .json"),
        (["missing.npy", "-n", "2"], "a .npy or .npz file"),
        (["text.npy", "-n", "2"], "a .npy or .npz file"),
        (["objects.npy", "-n", "2"], "a .npy or .npz file"),
        (["odd.npz", "-n", "2"], "arrays named probs"),
        (["broken.npz", "-n", "2"], "a .npy or .npz file"),
        (["probs.npy", "-n", "2", "-o", "n=4"], "an option of the strategy"),
        (["probs.npy", "-n", "2", "--seed", "-1"], "seed: expected a whole number"),
        (["probs.npy", "-n", "2", "--out", "nowhere/next.csv"], "an existing folder"),
        (["probs.csv", "-n", "2"], "a table. Save the probabilities"),
        ([".", "-n", "2"], "--on here"),
        (["probs.npy", "-n", "2", "--id", "name"], "--ids FILE"),
        (["probs.npy", "-n", "2", "--ids", "few.txt"], "30 different ids"),
        (["probs.npy", "-n", "2", "--ids", "missing.txt"], "No such file"),
        (["probs.npy", "-n", "2", "--labelled", "few.txt"], "positions in the pool, 0 to 29"),
        (["pool.parquet", "-n", "2", "--on", "here", "--ids", "few.txt"], "--id COLUMN"),
    ],
)
def test_select_refuses_in_one_sentence(files, arguments, message, monkeypatch):
    folder, arrays = files
    monkeypatch.chdir(folder)
    (folder / "text.npy").write_text("not an array")
    (folder / "few.txt").write_text("a\nb\n")
    np.save(folder / "objects.npy", np.array([{"a": 1}]), allow_pickle=True)
    np.savez(folder / "odd.npz", p=arrays["probs"])
    (folder / "broken.npz").write_bytes((folder / "both.npz").read_bytes()[:200])
    result = run(app, ["select", *arguments])
    assert result.exit_code == 2
    assert message in result.stderr.replace("\n", " ")
    assert "Traceback" not in result.output
    assert not (folder / "next.xlsx").exists()


def chosen_rows(*arguments):
    """The lines of a selection as dictionaries."""
    result = run(app, ["select", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return list(csv.DictReader(io.StringIO(result.stdout)))


def test_select_names_items_by_a_file_of_ids_or_by_the_npz_that_models_read(files):
    folder, arrays = files
    names = [f"ticket {i}, open" for i in range(30)]
    (folder / "ids.txt").write_text("\n".join(names))
    np.save(folder / "ids.npy", np.array(names))
    np.savez(folder / "named.npz", probs=arrays["probs"], ids=names)
    FromFile(folder / "named.npz").fit(names[:3], np.array([0, 1, 2]), ["a", "b", "c"], np.random.default_rng(0))
    wanted = bemps.select(arrays["probs"], 5, "coremse").indices.tolist()
    same = ("-n", 5, "--strategy", "coremse")
    for source in (
        (folder / "probs.npy", "--ids", folder / "ids.txt"),
        (folder / "probs.npy", "--ids", folder / "ids.npy"),
        (folder / "named.npz",),
    ):
        rows = chosen_rows(*source, *same)
        assert [int(row["index"]) for row in rows] == wanted
        assert [row["id"] for row in rows] == [names[index] for index in wanted]
    out = folder / "named.json"
    assert run(app, ["select", str(folder / "named.npz"), *map(str, same), "--out", str(out)]).exit_code == 0
    assert json.loads(out.read_text())["ids"] == [names[index] for index in wanted]


@pytest.mark.parametrize(
    ("name", "content"), [("done.txt", ""), ("done.txt", "\n\n"), ("done.txt", "id\n"), ("done.csv", "id,label\n")]
)
def test_a_file_without_labels_is_no_labels_yet(files, name, content):
    folder, _ = files
    (folder / name).write_text(content)
    rows = chosen_rows(folder / "probs.npy", "-n", 30, "--labelled", folder / name)
    assert len(rows) == 30


def test_spaces_around_ids_are_no_part_of_them(files):
    folder, _ = files
    (folder / "done.txt").write_text("3 \n\t5\n")
    rows = chosen_rows(folder / "probs.npy", "-n", 28, "--labelled", folder / "done.txt")
    assert len(rows) == 28


def test_missing_vectors_are_named_as_an_option(files):
    folder, _ = files
    result = run(app, ["select", str(folder / "probs.npy"), "-n", "2", "--strategy", "maxherding"])
    assert "--embeddings FILE" in " ".join(result.output.split())


def test_blank_lines_and_tables_of_ids_are_read(files):
    folder, _ = files
    names = [f"i{i}" for i in range(30)]
    (folder / "ids.txt").write_text("\n".join([*names[:9], "", *names[9:], "", ""]))
    (folder / "ids.csv").write_text("text,id\n" + "".join(f"hello,{name}\n" for name in names))
    (folder / "done.csv").write_text("id,label\ni3,a\n\ni5,b\n")
    for ids in ("ids.txt", "ids.csv"):
        rows = chosen_rows(
            *(folder / "probs.npy", "-n", 28, "--ids", folder / ids, "--labelled", folder / "done.csv"),
        )
        assert {row["id"] for row in rows} == set(names) - {"i3", "i5"}


def test_a_table_of_ids_without_such_a_column_is_refused(files):
    folder, _ = files
    (folder / "done.csv").write_text("name,label\ni3,a\n")
    result = run(app, ["select", str(folder / "probs.npy"), "-n", "2", "--labelled", str(folder / "done.csv")])
    assert result.exit_code == 2
    assert "a column id" in result.stderr


def test_select_never_chooses_what_is_labelled(files):
    folder, arrays = files
    done = [int(row["index"]) for row in chosen_rows(folder / "probs.npy", "-n", 6, "--strategy", "margin")]
    (folder / "done.txt").write_text("\n".join(map(str, done)))
    rows = chosen_rows(folder / "both.npz", "-n", 5, "--strategy", "badge", "--labelled", folder / "done.txt")
    left = np.setdiff1d(np.arange(30), done)
    wanted = bemps.select(arrays["probs"][:, left], 5, "badge", features=arrays["features"][left])
    assert [int(row["index"]) for row in rows] == left[wanted.indices].tolist()
    everything = chosen_rows(folder / "probs.npy", "-n", 24, "--strategy", "margin", "--labelled", folder / "done.txt")
    assert {int(row["index"]) for row in everything} == set(left.tolist())
    (folder / "ids.txt").write_text("\n".join(f"i{i}" for i in range(30)))
    (folder / "done.txt").write_text("\n".join(f"i{i}" for i in done))
    named = chosen_rows(
        *(folder / "probs.npy", "-n", 24, "--strategy", "coremse"),
        *("--ids", folder / "ids.txt", "--labelled", folder / "done.txt"),
    )
    assert {row["id"] for row in named} == {f"i{i}" for i in left}
    clusters = [int(i) for row in named for i in row["cluster"].split()]
    assert sorted(clusters) == left.tolist()
    assert sum(int(row["stands_for"]) for row in named) == len(left)


def test_select_takes_the_default_strategy_of_the_library(files):
    folder, arrays = files
    rows = chosen_rows(folder / "probs.npy", "-n", 5)
    assert [int(row["index"]) for row in rows] == bemps.select(arrays["probs"], 5).indices.tolist()


def test_select_on_parquet_here_works_as_the_message_says(files):
    folder, arrays = files
    table = pa.table({"probs": arrays["probs"].transpose(1, 0, 2).tolist(), "id": [f"i{i}" for i in range(30)]})
    pq.write_table(table, folder / "pool.parquet")
    refused = run(app, ["select", str(folder / "pool.parquet"), "-n", "5"])
    assert refused.exit_code == 2
    assert "--on here" in refused.stderr
    rows = chosen_rows(folder / "pool.parquet", "--on", "here", "-n", 5, "--id", "id", "--strategy", "coremse")
    wanted = bemps.select(arrays["probs"], 5, "coremse")
    assert [row["id"] for row in rows] == [f"i{i}" for i in wanted.indices]
    assert [int(row["stands_for"]) for row in rows] == [len(cluster) for cluster in wanted.clusters]


def test_select_asks_about_more_members_than_items(files):
    folder, _ = files
    np.save(folder / "turned.npy", predictions(np.random.default_rng(0), 300, 5, 3))
    refused = run(app, ["select", str(folder / "turned.npy"), "-n", "2"])
    assert refused.exit_code == 2
    assert "300 members for 5 items" in refused.stderr
    assert len(chosen_rows(folder / "turned.npy", "-n", 2, "--members", 300)) == 2
    assert run(app, ["select", str(folder / "turned.npy"), "-n", "2", "--members", "5"]).exit_code == 2


def test_version():
    assert run(app, ["--version"]).output == f"bemps {metadata.version('bemps')}\n"


@pytest.mark.parametrize("kilobytes", [16])
def test_select_on_a_full_disk_leaves_no_file(files, small_disk, kilobytes):
    folder, _ = files
    disk = small_disk(kilobytes)
    (disk / "filler").write_bytes(b"x" * (kilobytes - 8) * 1024)
    result = run(app, ["select", str(folder / "probs.npy"), "-n", "30", "--out", str(disk / "next.json")])
    while result.exit_code == 0:  # until there is no room
        (disk / "next.json").rename(disk / f"{len(list(disk.iterdir()))}.json")
        result = run(app, ["select", str(folder / "probs.npy"), "-n", "30", "--out", str(disk / "next.json")])
    assert result.exit_code == 2, result.output
    assert "No space left" in result.stderr
    assert not (disk / "next.json").exists()
    assert not list(disk.glob(".*"))


def test_select_without_a_model_yet(files):
    folder, _ = files
    np.savez(folder / "cold.npz", embeddings=np.random.default_rng(0).normal(size=(20, 3)))
    for strategy in ("typiclust", "coreset", "maxherding"):
        out = folder / f"{strategy}.json"
        result = run(app, ["select", str(folder / "cold.npz"), "-n", "3", "--strategy", strategy, "--out", str(out)])
        assert result.exit_code == 0, result.output
        assert np.isfinite(json.loads(out.read_text())["scores"]).all()


def test_select_takes_the_classes_of_labelled_items(files):
    folder, arrays = files
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(arrays["probs"].shape[1], 3))
    np.savez(folder / "known.npz", probs=arrays["probs"], embeddings=vectors, labelled_embeddings=vectors[:4] + 0.1)
    np.save(folder / "classes.npy", np.array([0, 0, 1, 1]))
    command = ["select", str(folder / "known.npz"), "-n", "3", "--strategy", "anchor-margin"]
    result = run(app, [*command, "--labelled-classes", str(folder / "classes.npy")])
    assert result.exit_code == 0, result.output
    assert len(result.stdout.splitlines()) == 4
    assert "labelled_classes" in run(app, command).stderr


def test_demo_is_a_grid_with_its_report(tmp_path):
    result = run(app, ["demo", "--seeds", "1", "--budget", "60", "--batch", "30", "--out", str(tmp_path / "demo")])
    assert result.exit_code == 0, result.output
    text = (tmp_path / "demo" / "report.html").read_text()
    assert all(name in text for name in ("corelog-ties", "coremse", "margin", "random"))
    assert "Labels to reach" in result.output
    shown = [line.split("│")[1:-1] for line in result.output.splitlines() if line.strip().startswith("│")]
    first, last = ([float(value) for value in row] for row in (shown[0], shown[-1]))
    assert (first[0], last[0]) == (20, 80)
    assert all(after > before for before, after in zip(first[1:], last[1:], strict=True))
    assert len(set(first[1:])) == 1  # the same initial labels


def test_select_without_a_strategy_takes_margin_or_margin_km(files):
    folder, arrays = files
    by_vectors = bemps.select(arrays["probs"], 5, "margin-km", features=arrays["features"])
    for extra, expected in (
        ([], bemps.select(arrays["probs"], 5, "margin")),
        (["--features", str(folder / "features.npy")], by_vectors),
    ):
        result = run(app, ["select", str(folder / "probs.npy"), "-n", "5", *extra])
        assert result.exit_code == 0, result.output
        assert [int(line.split(",")[1]) for line in result.stdout.splitlines()[1:]] == expected.indices.tolist()


def test_select_refuses_one_member_where_members_are_compared(tmp_path):
    np.save(tmp_path / "one.npy", np.random.default_rng(0).dirichlet(np.ones(3), size=(1, 30)))
    result = run(app, ["select", str(tmp_path / "one.npy"), "-n", "5", "--strategy", "coremse"])
    assert result.exit_code == 2
    assert "two members or more" in " ".join(result.output.split())
    assert run(app, ["select", str(tmp_path / "one.npy"), "-n", "5"]).exit_code == 0


def test_select_speaks_of_its_own_options(tmp_path):
    np.save(tmp_path / "p.npy", np.random.default_rng(0).dirichlet(np.ones(3), size=(4, 5)))
    (tmp_path / "done.txt").write_text("\n".join(map(str, range(5))))
    missing = run(app, ["select", str(tmp_path / "p.npy"), "-n", "2", "--strategy", "badge"])
    assert "Pass --features FILE, or choose another strategy" in missing.output
    done = run(app, ["select", str(tmp_path / "p.npy"), "-n", "1", "--labelled", str(tmp_path / "done.txt")])
    assert "--labelled: expected an item without a label; got labels of all 5" in done.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["label", "t.csv", "--project", "a.bemps", "--store", "postgresql://h/d"],
            "expected one place for the project",
        ),
        (["label", "t.csv", "--folder", "."], "--folder: expected no DATA; got both"),
        (["label", "gone.csv"], "DATA: expected a file or folder; got gone.csv, which does not exist"),
        (
            ["label", "t.csv", "--guidelines", "long.md"],
            "--guidelines: expected at most 200,000; got 200,001 characters",
        ),
        (["label", "t.csv", "--guidelines", "gone.md"], "--guidelines: expected a text file in UTF-8; got gone.md"),
        (["label", "t.csv", "--keywords", "latin.txt"], "--keywords: expected a text file in UTF-8; got latin.txt"),
        (["label", "t.csv", "--assign", "ann"], "--assign: expected VALUE=NAMES; got 'ann'"),
        (["label", "--title", "x", "--text", "body"], "got --text, --title alone"),
        (["run", "--dataset", "digits"], "--out: expected a folder for the results; got None"),
        (["run", "--out", "r", "--jobs", "0"], "--jobs: expected a whole number, 1 or more; got 0"),
        (["run", "on.toml", "--out", "r"], "on: expected a text; got 3"),
        (["run", "--out", "r", "--axis", "T"], "expected NAME=VALUE,VALUE; got 'T'"),
        (["report", "."], "expected a folder with the results of a run; got no results.parquet in it"),
        (["weights", "bge-smal"], "Did you mean 'bge-small'"),
    ],
)
def test_what_contradicts_itself_is_refused_before_anything_is_made(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    contents = {"t.csv": b"body\none\n", "long.md": b"x" * 200_001, "latin.txt": b"caf\xe9", "on.toml": b"on = 3"}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    result = run(app, arguments, env={"COLUMNS": "500"})
    assert result.exit_code == 2, result.output
    assert message in " ".join(result.output.replace("│", " ").split())
    assert {path.name for path in tmp_path.iterdir()} == {*contents}


def test_options_with_commas_and_files_are_the_wishes_of_a_project(tmp_path):
    (tmp_path / "words.txt").write_text("refund\n\n crash: bug \n")
    (tmp_path / "rules.md").write_text("Be kind.")
    (tmp_path / "topics.csv").write_text("name,description\nbug,it fails\nwish,\n")
    typed = {"classes": "bug,wish", "guidelines": tmp_path / "rules.md", "keywords": str(tmp_path / "words.txt")}
    wishes = wishes_of({**typed, "assign": [" north  sea = ann, ben  b,", "a=b=cy"]})
    assert (wishes.classes, wishes.guidelines, wishes.keywords) == (
        ["bug", "wish"],
        "Be kind.",
        ["refund", "crash: bug"],
    )
    assert wishes.assigned_to == {"north sea": ["ann", "ben b"], "a=b": ["cy"]}
    from_file = wishes_of(
        {"classes": str(tmp_path / "topics.csv"), "guidelines": None, "keywords": "a,b", "assign": None}
    )
    assert [new.name for new in from_file.classes] == ["bug", "wish"]
    assert (from_file.guidelines, from_file.keywords, from_file.assigned_to) == (None, ["a", "b"], None)


def test_ctrl_c_in_a_run_says_how_to_continue(tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("bemps.experiments.run", interrupted)
    result = run(
        app, ["run", "--dataset", "digits", "--strategies", "random", "--out", str(tmp_path / "r"), "--axis", "T=0.3"]
    )
    assert result.exit_code == 130
    assert f"Every finished round is safe in {tmp_path / 'r'}; to continue:" in result.output
