"""Loading a folder runs nothing, and a damaged or hostile one is refused in a sentence."""

import copy
import json
import random
import shutil
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import bemps
from bemps.learner import ActiveLearner
from bemps.models import SklearnEnsemble, SpectralLaplace, tfidf_classifier

DATA = Path(__file__).parent / "data"
X = np.random.default_rng(0).normal(size=(40, 4))
TEXTS = [f"{['good', 'bad', 'fine', 'dull'][i % 4]} film {i % 6}" for i in range(40)]
CASES = 100  # for each folder


def written(model, items, folder, **settings):
    learner = ActiveLearner(model, items, classes=["a", "b"], **settings)
    learner.tell({str(i): "ab"[i % 2] for i in range(12)})
    learner.ask(3)
    learner.save(folder)


def arrays(folder):
    written(SpectralLaplace(X[:30] * 2, members=2), X, folder, strategy="coremse", options={"T": 0.4})


def pipeline(folder):
    steps = make_pipeline(FunctionTransformer(np.square), LogisticRegression())
    written(SklearnEnsemble(steps, members=2), X, folder)


def texts(folder):
    written(SklearnEnsemble(tfidf_classifier(), members=2), TEXTS, folder)


def first_format(folder):
    shutil.copytree(DATA / "format-1-vectors", folder)


FOLDERS = {"arrays": arrays, "pipeline": pipeline, "texts": texts, "first format": first_format}


def changed(folder, **fields):
    state = json.loads((folder / "learner.json").read_text())
    state.pop("digest", None)  # which shows accidents, and can be left out on purpose
    (folder / "learner.json").write_text(json.dumps(state | fields))


@pytest.mark.parametrize("version", [1, 2])
def test_a_folder_cannot_name_a_function_to_run(tmp_path, version):
    (first_format if version == 1 else arrays)(tmp_path / "evil")
    notes = tmp_path / "evil" / "notes.py"
    notes.write_text(f"open({str(tmp_path / 'PWNED')!r}, 'w')")
    (tmp_path / "precious").mkdir()
    for module, name, arguments in [
        ("bemps.experiments.plugins", "load", {"path": str(notes)}),
        ("bemps.server.routes.routes_items", "rmtree", {"path": str(tmp_path / "precious")}),
        ("os", "system", {"command": f"touch {tmp_path / 'PWNED'}"}),
        ("sklearn.utils", "resample", {}),
        ("sklearn.datasets", "fetch_openml", {"name": "iris"}),
        ("numpy", "load", {"file": "x"}),
    ]:
        named = {"class": f"{module}:{name}"} if version == 1 else {"object": f"{module}.{name}"}
        model = named | {"arguments": arguments}
        for where in (model, ours(version, model)):
            changed(tmp_path / "evil", model=where)
            with pytest.raises(bemps.InputError, match="a class of bemps or scikit-learn"):
                ActiveLearner.load(tmp_path / "evil")
    assert not (tmp_path / "PWNED").exists()
    assert (tmp_path / "precious").exists()


def ours(version, estimator):
    """The same name inside a model that is allowed."""
    if version == 1:
        return {
            "class": "bemps.members.sklearn_members:SklearnEnsemble",
            "arguments": {"estimator": estimator},
        }
    return {"object": "SklearnEnsemble", "arguments": {"estimator": estimator}}


def test_a_folder_cannot_have_pickles_read_or_files_written(tmp_path):
    """scikit-learn reads pickles from the folder `memory`; encoders write to the folder `cache`."""
    arrays(tmp_path / "evil")
    steps = [{"tuple": ["a", {"object": "sklearn.linear_model.LogisticRegression", "arguments": {}}]}]
    cached = {"object": "sklearn.pipeline.Pipeline", "arguments": {"steps": steps, "memory": str(tmp_path)}}
    changed(tmp_path / "evil", model=ours(2, cached))
    with pytest.raises(bemps.InputError, match="memory"):
        ActiveLearner.load(tmp_path / "evil")
    files = {"object": "sklearn.feature_extraction.text.TfidfVectorizer", "arguments": {"input": "filename"}}
    changed(tmp_path / "evil", model=ours(2, files))
    with pytest.raises(bemps.InputError, match="input"):
        ActiveLearner.load(tmp_path / "evil")
    (tmp_path / "precious").mkdir()
    encode = {"object": "MiniLMVectors", "arguments": {"cache": str(tmp_path / "precious")}}
    changed(tmp_path / "evil", model={"object": "ContentLaplace", "arguments": {"encode": encode}})
    assert ActiveLearner.load(tmp_path / "evil").model.encode.cache is None


@pytest.mark.parametrize("name", ["../items.npy", "/etc/passwd", "array-0.npy/../items.npy", "learner.json", ""])
def test_arrays_are_read_from_the_folder_alone(tmp_path, name):
    arrays(tmp_path / "evil")
    state = json.loads((tmp_path / "evil" / "learner.json").read_text())
    del state["digest"]
    state["model"]["arguments"]["pool"] = {"array": name}
    (tmp_path / "evil" / "learner.json").write_text(json.dumps(state))
    with pytest.raises(bemps.InputError, match="an array named"):
        ActiveLearner.load(tmp_path / "evil")


def test_a_changed_label_is_noticed_unless_the_digest_was_removed_too(tmp_path):
    arrays(tmp_path / "own")
    path = tmp_path / "own" / "learner.json"
    state = json.loads(path.read_text())
    item, label = next(iter(state["labels"].items()))
    state["labels"][item] = next(name for name in state["classes"] if name != label)
    path.write_text(json.dumps(state))
    with pytest.raises(bemps.InputError, match=r"learner\.json as learner\.save wrote it; got one that was changed"):
        ActiveLearner.load(tmp_path / "own")
    del state["digest"]  # as older releases wrote it
    path.write_text(json.dumps(state))
    assert ActiveLearner.load(tmp_path / "own").labels[item] != label


def test_a_file_in_place_of_the_folder(tmp_path):
    (tmp_path / "mine").write_text("text")
    with pytest.raises(bemps.InputError, match="got a file that is neither such a folder nor a zip file"):
        ActiveLearner.load(tmp_path / "mine")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize("name", ["items.npy", "items.json", "array-1.npy"])
def test_a_file_that_changed_is_noticed(tmp_path, name):
    arrays(tmp_path / "saved")
    data = bytearray((tmp_path / "saved" / name).read_bytes())
    data[-3] ^= 1
    (tmp_path / "saved" / name).write_bytes(bytes(data))
    with pytest.raises(bemps.InputError, match="damaged"):
        ActiveLearner.load(tmp_path / "saved")


def test_object_arrays_are_never_unpickled(tmp_path):
    class Evil:
        def __reduce__(self):
            return (open, (str(tmp_path / "PWNED"), "w"))

    arrays(tmp_path / "evil")
    np.save(tmp_path / "evil" / "items.npy", np.array([Evil()], dtype=object), allow_pickle=True)
    with pytest.raises(bemps.InputError, match="damaged"):
        ActiveLearner.load(tmp_path / "evil")
    assert not (tmp_path / "PWNED").exists()


# -- seeded mutations of every field -----------------------------------------------------------------------------------

VALUES = [
    None, True, -1, 0, 3, 10**30, 1.5, float("inf"), float("nan"), "", "x", "a", "0", [], {}, [None], [[]], ["a", "a"],
    {"object": "x"}, {"object": "Fixed", "arguments": {}}, {"items": True}, {"array": "items.npy"}, {"tuple": 3},
    {"dict": [[[], 1]]}, {"function": "os.system"}, {"function": "numpy.square"}, {"dtype": "float64"},
    {"number": "nan"}, {"slice": [1, 2]}, {"file": "/nowhere", "digest": ""}, {"kind": "texts", "texts": [1]},
    {"object": "SpectralRecipe", "arguments": {"alpha": "x"}}, "\ud800",
]  # fmt: skip


def paths_of(value, path=()):
    yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in list(parts):
        yield from paths_of(part, (*path, key))


def mutated(state, rng):
    state = copy.deepcopy(state)
    *inner, last = rng.choice([path for path in paths_of(state) if path])
    holder = state
    for key in inner:
        holder = holder[key]
    action = rng.randrange(4)
    if action == 0 and isinstance(holder, dict):
        del holder[last]
    elif action == 1 and isinstance(holder, dict):
        holder[rng.choice(["x", "arguments", "pool", "", "object"])] = holder.pop(last)
    else:
        holder[last] = rng.choice(VALUES)
    return state


def damaged_file(path, rng):
    data = bytearray(path.read_bytes())
    for _ in range(rng.randrange(1, 4)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    path.write_bytes(bytes(data[: rng.randrange(len(data))] if rng.random() < 0.3 else data))


@pytest.mark.parametrize("kind", FOLDERS)
def test_damaged_folders_are_refused_in_a_sentence_or_work(kind, tmp_path):
    """Whatever a field holds: an error of bemps, or a learner that asks and predicts."""
    FOLDERS[kind](tmp_path / "whole")
    rng = random.Random(f"seed of {kind}")
    refused = 0
    for case in range(CASES):
        folder = tmp_path / "case"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(tmp_path / "whole", folder)
        names = sorted(path.name for path in folder.iterdir() if path.name != ".bemps")
        if case % 5 == 0:
            damaged_file(folder / rng.choice(names), rng)
        else:
            name = rng.choice([name for name in names if name.endswith(".json")])
            state = mutated(json.loads((folder / name).read_text()), rng)
            (folder / name).write_text(json.dumps(state))
        try:
            learner = ActiveLearner.load(folder)
            learner.ask(2)
            learner.predict(learner.items[:2])
        except bemps.BempsError:
            refused += 1
    assert refused > CASES // 4
