"""Arrays, lists and numbers of the wrong kind: refused at the door, with what to do."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

import bemps
from bemps.errors import InputError
from bemps.learner import ActiveLearner, Budget, GainBelow, Stable
from bemps.learner.stopping import RiseBelow
from bemps.models import SpectralLaplace

RNG = np.random.default_rng(0)
PROBS = RNG.dirichlet(np.ones(3), size=(4, 200))
VECTORS = RNG.normal(size=(200, 5))
GAPS = np.where(np.arange(1000).reshape(200, 5) == 7, np.nan, VECTORS)
MASKED = np.ma.masked_array(VECTORS, mask=np.abs(VECTORS) > 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"probs": PROBS.transpose(1, 0, 2)}, r"transpose\(1, 0, 2\).*weights=np\.ones\(200\)"),
        ({"probs": PROBS[:, :20].transpose(1, 0, 2), "embeddings": VECTORS[:20]}, r"transpose\(1, 0, 2\)\.$"),
        ({"probs": np.ma.masked_array(PROBS, mask=PROBS > 0.9)}, r"\.filled"),
        ({"probs": [[[0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]]]}, "as many numbers"),
        ({"embeddings": MASKED}, r"\.filled"),
        ({"embeddings": GAPS}, "fill the gaps"),
        ({"embeddings": [[1, 2], [3]]}, "as many numbers"),
        ({"labelled_classes": [0, 1, 7]}, r"from 0 to 2 for each of the 3 labelled items; got numbers from 0 to 7"),
        ({"labelled_classes": [0, -1, 1]}, "got numbers from -1 to 1"),
        ({"labelled_classes": [[0], [0, 1], 2]}, "labelled_classes"),
    ],
)
def test_select_says_what_to_do_with_such_arrays(arguments, message):
    usual = {"probs": PROBS, "embeddings": VECTORS, "labelled_embeddings": VECTORS[:3], "labelled_classes": [0, 1, 2]}
    if "embeddings" not in arguments and "probs" in arguments:
        usual = {}
    if arguments.get("embeddings", VECTORS) is not VECTORS:
        usual = {"probs": PROBS}
    with pytest.raises(InputError, match=message):
        bemps.select(n=2, strategy="margin", **(usual | arguments))


def test_many_members_are_taken_with_their_weights():
    many = PROBS.transpose(1, 0, 2)
    assert len(bemps.select(many, 2, weights=np.ones(200))) == 2
    assert len(bemps.select(PROBS[:, :3], 2)) == 2, "few members may be more than the items that are left"


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([], "at least one item"),
        (np.zeros((0, 3)), "at least one item"),
        ([[1, 2], [3]], "rows of different lengths"),
        (MASKED, r"\.filled"),
        (GAPS, "fill the gaps"),
        (sp.csr_matrix(VECTORS), r"items\.toarray\(\)"),
        (pd.DataFrame(VECTORS), r"items\.to_numpy\(float\)"),
    ],
)
def test_a_learner_refuses_such_items_before_anybody_labels(items, message):
    with pytest.raises(InputError, match=message):
        ActiveLearner(SpectralLaplace(), items)


@pytest.mark.parametrize(
    ("rule", "arguments"),
    [(Budget, (-1,)), (Budget, (0,)), (GainBelow, (np.nan,)), (RiseBelow, (-1,)), (Stable, (2.0,))],
)
def test_a_rule_refuses_numbers_that_cannot_be_meant(rule, arguments):
    with pytest.raises(InputError, match=rule.__name__):
        rule(*arguments)


OF_ANOTHER_TYPE = """
import numpy as np, scipy.sparse as sp
import bemps
from bemps.learner import ActiveLearner, Budget, GainBelow, Stable
from bemps.models import SpectralLaplace

probs = np.random.default_rng(0).dirichlet(np.ones(3), size=(4, 20))
vectors = np.random.default_rng(0).normal(size=(20, 5))
sparse = sp.csr_matrix(vectors)
learner = ActiveLearner(SpectralLaplace(), vectors)
CALLS = [
    ("embeddings.toarray()", lambda: bemps.select(probs, 2, embeddings=sparse)),
    ("embeddings.toarray()", lambda: bemps.select(None, 2, "typiclust", embeddings=sparse)),
    ("labelled_embeddings.toarray()", lambda: bemps.select(probs, 2, embeddings=vectors, labelled_embeddings=sparse)),
    *[("the path of a folder", lambda path=path: ActiveLearner.load(path)) for path in (None, 3)],
    *[("the path of a folder", lambda path=path: learner.save(path)) for path in (None, 3)],
    *[("labels of Budget", lambda value=value: Budget(value)) for value in ("x", None, 1.5, True)],
    *[("gain of GainBelow", lambda value=value: GainBelow(value)) for value in ("x", None)],
    ("agreement of Stable", lambda: Stable("x")),
    ("in the order of the batch", lambda: learner.tell(learner.ask(2), 5)),
    ("rounds of Stable", lambda: Stable(0.9, 1.5)),
]
for words, call in CALLS:
    try:
        raise SystemExit(f"{words}: nothing was refused, {call()}")
    except bemps.InputError as error:
        assert words in str(error), (words, error)
"""


def test_arguments_of_another_type_are_refused_in_a_sentence():
    """In a process of its own: the type checker of the tests would be faster."""
    done = subprocess.run([sys.executable, "-c", OF_ANOTHER_TYPE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _digits_learner() -> ActiveLearner:
    """A learner whose ids look like its classes."""
    return ActiveLearner(SpectralLaplace(), VECTORS[:10], classes=[str(i) for i in range(10)])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"0": "7", "1": "7"}, r"a list in the order of the batch; got a dict.*tell\(\{id: label\}\)"),
        ({"7", "8"}, "a list in the order of the batch; got a set"),
        (pd.DataFrame({"7": [1, 2], "8": [1, 2]}), "got a DataFrame"),
    ],
)
def test_labels_of_a_batch_without_an_order_of_their_own_are_refused(labels, message):
    learner = _digits_learner()
    with pytest.raises(InputError, match=message):
        learner.tell(learner.ask(2), labels)
    assert learner.labels == {}, "the keys of a mapping were taken for labels"


@pytest.mark.parametrize("argument", ["classes", "ids"])
def test_names_in_a_set_are_refused_since_their_order_changes_from_run_to_run(argument):
    names = {str(i) for i in range(10)}
    with pytest.raises(InputError, match=f"{argument}: expected a list, in order; got a set"):
        ActiveLearner(SpectralLaplace(), VECTORS[:10], **{argument: names})


def test_a_sparse_matrix_that_is_a_mapping_is_taken_as_rows():
    learner = ActiveLearner(LogisticRegression(), sp.dok_matrix(VECTORS[:10]), classes=["a", "b"])
    assert len(learner.ask(3)) == 3


@pytest.mark.parametrize(("argument", "words"), [("classes", "class"), ("ids", "id at position 0")])
def test_an_empty_name_is_no_missing_label(argument, words):
    with pytest.raises(InputError, match=rf"^{words}: expected a name; got an empty text\. Give it a name\.$"):
        ActiveLearner(SpectralLaplace(), VECTORS[:2], **{argument: ["", "b"]})
    with pytest.raises(InputError, match=r"label of 0: .*Leave the item out"):
        _digits_learner().tell({"0": " "})


@pytest.mark.parametrize(
    ("probs", "message"),
    [
        (PROBS[:0], r"got shape \(0, 200, 3\)\. There are no members\.$"),
        (PROBS[:, :0], r"got shape \(4, 0, 3\)\. The pool is empty\.$"),
        (PROBS[:, :, :0], r"got shape \(4, 200, 0\)\. There are no classes\.$"),
        (PROBS[None], r"got shape \(1, 4, 200, 3\)\. Bring the axes into this order\.$"),
        (PROBS[0], r"probs\[None\]"),
    ],
)
def test_a_wrong_shape_is_named_for_what_it_is(probs, message):
    with pytest.raises(InputError, match=message):
        bemps.select(probs, 2)


def test_tensors_that_numpy_cannot_read_say_how_to_convert_them():
    torch = pytest.importorskip("torch")
    trained = torch.tensor(PROBS, requires_grad=True)
    assert list(bemps.select(trained.detach(), 3).indices) == list(bemps.select(PROBS, 3).indices)
    for tensor in (trained, torch.tensor(PROBS).bfloat16()):
        with pytest.raises(InputError, match=r"probs: .*Pass probs\.detach\(\)\.float\(\)\.cpu\(\)\.numpy\(\)"):
            bemps.select(tensor, 3)


@pytest.mark.parametrize("path", ["/", "n" * 300])
def test_a_folder_that_cannot_be_is_refused_in_a_sentence(tmp_path, path):
    with pytest.raises(InputError, match=r"Check path and rights|the path of a folder"):
        ActiveLearner(SpectralLaplace(), VECTORS[:10]).save(tmp_path / path)
