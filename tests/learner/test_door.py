"""What a learner is given is taken by position or refused at the door, and what a model answers is checked."""

from types import FunctionType

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import bemps
from bemps.learner import ActiveLearner, Budget, GainBelow
from bemps.learner.input_checks import check_rules, checked_names
from bemps.models import SklearnEnsemble, SpectralLogistic, tfidf_classifier
from bemps.models.scikit_learn.forest import ForestMembers
from bemps.scores import check_convexity

X = np.random.default_rng(0).normal(size=(60, 5))
TRUTH = np.where(X[:, 0] > 0, "a", "b").tolist()
TEXTS = [f"{'good fun' if label == 'a' else 'bad mess'} in film {i % 9}" for i, label in enumerate(TRUTH)]


def ensemble(estimator=None):
    return SklearnEnsemble(LogisticRegression() if estimator is None else estimator, members=3)


def told(model, items, **settings):
    learner = ActiveLearner(model, items, classes=["a", "b"], **settings)
    learner.tell({str(i): TRUTH[i] for i in range(12)})
    return learner


# -- items -------------------------------------------------------------------------------------------------------------


def series(index):
    pandas = pytest.importorskip("pandas")
    return pandas.Series(TEXTS, index=index)


@pytest.mark.parametrize(
    "items",
    [
        lambda: tuple(TEXTS),
        lambda: np.array(TEXTS),
        lambda: np.array(TEXTS, dtype=object),
        lambda: series(np.arange(60)[::-1] * 3),
        lambda: series([f"row {i}" for i in range(60)]),
    ],
)
def test_texts_in_any_order_of_their_own_are_taken_by_position(items):
    plain, other = (told(ensemble(tfidf_classifier()), given) for given in (TEXTS, items()))
    assert other.ask(5) == plain.ask(5)
    assert np.array_equal(other.predict(items()), plain.predict(TEXTS))


def test_a_frame_is_taken_by_position():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("vwxyz"), index=np.arange(60)[::-1])
    plain, other = (told(ensemble(make_pipeline(StandardScaler(), LogisticRegression())), rows) for rows in (X, frame))
    assert other.ask(5).items == plain.ask(5).items
    assert np.allclose(other.predict(frame), plain.predict(X))


def test_polars_is_taken_by_position():
    polars = pytest.importorskip("polars")
    assert told(ensemble(tfidf_classifier()), polars.Series(TEXTS)).ask(5).items


def test_a_sparse_matrix_is_taken_by_rows():
    from scipy.sparse import csc_array

    rows = np.where(X > 0, X, 0)
    plain, other = (told(ensemble(), given) for given in (rows, csc_array(rows)))
    assert np.allclose(plain.predict(rows), other.predict(csc_array(rows)))
    assert len(other.ask(5)) == 5


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([*TEXTS[:3], None], "None at position 3"),
        ([*TEXTS[:2], float("nan")], "nan at position 2"),
        ([None, "a"], "None at position 0"),
        (np.array(["a", None], dtype=object), "None at position 1"),
        ("one text", "several items"),
        ({"a": "text"}, "several items"),
        (None, "several items"),
        ((text for text in TEXTS), "several items"),
        (np.array(3.0), "one row for each item"),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), "texts or numbers"),
    ],
)
def test_items_that_cannot_be_taken_are_refused_at_the_door(items, message):
    with pytest.raises(bemps.InputError, match=message):
        ActiveLearner(ensemble(), items)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"classes": ["g", "g"]}, "'g' twice"),
        ({"classes": "ab"}, "a list of names"),
        ({"classes": ["a", None]}, "a text or a whole number"),
        ({"ids": [1.5] * 60}, "a text or a whole number"),
        ({"strategy": "badge"}, "a model with `features`"),
        ({"strategy": "margin", "options": {"rul": "top"}}, "Did you mean 'rule'"),
        ({"strategy": "coremse", "options": {"T": "half"}}, "a number"),
        ({"surprisal": np.ones((3, 2)), "strategy": "alps"}, "surprisal"),
        ({"seed": -1}, "seed"),
        ({"estimation_size": 0}, "estimation_size"),
    ],
)
def test_settings_are_checked_before_anybody_labels(settings, message):
    with pytest.raises(bemps.InputError, match=message):
        ActiveLearner(ensemble(), X, **settings)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.tell(["a"]), "a batch, or labels by id"),
        (lambda s: s.tell("a"), "a batch, or labels by id"),
        (lambda s: s.tell({"20": None}), "label of 20"),
        (lambda s: s.tell({"20": float("nan")}), "label of 20"),
        (lambda s: s.tell(s.ask(2), "ab"), "one for each item"),
        (lambda s: s.ask(61), "from 1 to 48.*Ask for fewer"),
        (lambda s: ActiveLearner(Ridge, X), r"got the class Ridge. Make an instance: Ridge\(\)"),
    ],
)
def test_what_is_told_is_checked(call, message):
    with pytest.raises(bemps.InputError, match=message):
        call(told(ensemble(), X))


# -- models ------------------------------------------------------------------------------------------------------------


class Answers:
    def __init__(self, answer):
        self.answer = answer

    def fit(self, items, labels, classes, rng):
        return self

    def predict(self, items):
        return self.answer(len(items))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda n: np.full((n, 2, 2), 0.5), "members, items, classes"),
        (lambda n: np.full((n, 2), 0.5), "add the member axis"),
        (lambda n: np.full((2, n + 1, 2), 0.5), "Answers.predict"),
        (lambda n: np.full((2, n, 3), 1 / 3), "one column for each class"),
        (lambda n: np.full((2, n, 2), 3.0), "softmax"),
        (lambda n: np.full((2, n, 2), np.nan), "finite"),
        (lambda n: None, "Answers.predict"),
    ],
)
def test_what_a_model_answers_is_checked_with_the_words_of_select(answer, message):
    learner = told(Answers(answer), X)
    for call in (lambda: learner.ask(3), lambda: learner.predict(X)):
        with pytest.raises(bemps.InputError, match=message):
            call()


def test_a_tensor_is_an_answer():
    torch = pytest.importorskip("torch")
    answer = Answers(lambda n: torch.full((2, n, 2), 0.5, requires_grad=True))
    assert told(answer, X).predict(X).shape == (60, 2)


def test_a_classifier_of_scikit_learn_is_a_model():
    learner = told(LogisticRegression(), X)
    assert isinstance(learner.model, SklearnEnsemble)
    assert len(learner.ask(4)) == 4
    learner.tell({str(i): TRUTH[i] for i in range(40)})
    assert np.mean(learner.predict(X).argmax(1) == (np.array(TRUTH) == "b")) > 0.8


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (LinearSVC(), "CalibratedClassifierCV"),
        (Ridge(), "a classifier, such as LogisticRegression"),
        (lambda: SklearnEnsemble(Ridge()), "a classifier, such as LogisticRegression"),
        (lambda: SklearnEnsemble(LogisticRegression(), resample="jackknife"), "resample"),
        (lambda: SklearnEnsemble(LogisticRegression(), members=0), "members"),
        (lambda: ForestMembers(LogisticRegression()), "RandomForestClassifier"),
        (LogisticRegression, "a model with fit"),
        ("model", "a model with fit"),
        (None, "a model with fit"),
    ],
)
def test_what_is_no_model_is_refused_at_the_door(model, message):
    with pytest.raises(bemps.InputError, match=message):
        ActiveLearner(model() if isinstance(model, FunctionType) else model, X)


def test_an_unknown_posterior_of_heads_is_refused():
    pytest.importorskip("torch")
    from bemps.models.heads.head_classifier import HeadClassifier

    with pytest.raises(bemps.InputError, match="posterior"):
        HeadClassifier(posterior="none")


def test_an_unknown_cold_start_is_refused_by_its_own_name():
    with pytest.raises(bemps.InputError, match=r"^cold_start: expected one of"):
        ActiveLearner(LogisticRegression(), X, cold_start="x")


# -- one member --------------------------------------------------------------------------------------------------------


def test_one_member_is_refused_where_members_are_compared():
    probs = np.random.default_rng(0).dirichlet(np.ones(3), size=(1, 50))
    for name in ("coremse", "corelog", "bald", "batchbald", "mocu", "coremse-joint", "coremse-topk", "gain"):
        with pytest.raises(bemps.InputError, match=r"one member\. With a single model use strategy='margin'"):
            bemps.select(probs, 10, name)
    for name in ("auto", "margin", "entropy", "least-confidence", "random"):
        assert len(bemps.select(probs, 10, name)) == 10
    assert len(bemps.select(probs, 10, embeddings=np.eye(50))) == 10


def test_one_model_never_says_that_nothing_is_left_to_gain():
    with pytest.raises(bemps.InputError, match="one member"):
        ActiveLearner(SpectralLogistic(), X, strategy="coremse")
    learner = told(SpectralLogistic(), X)
    for call in (
        learner.remaining_gain,
        lambda: learner.forecast(3),
        lambda: learner.advice([Budget(100), GainBelow(0.01)]),
    ):
        with pytest.raises(bemps.InputError, match="one member"):
            call()
    assert not learner.advice([Budget(100)]).stop
    assert len(learner.ask(5)) == 5


def test_members_that_agree_are_refused_where_members_are_compared():
    copies = told(Answers(lambda n: np.full((4, n, 2), 0.5)), X, strategy="coremse")
    with pytest.raises(bemps.InputError, match="4 members that predict the same"):
        copies.ask(5)
    with pytest.raises(bemps.InputError, match="4 members that predict the same"):
        copies.remaining_gain()
    assert len(copies.ask(48)) == 48  # everything that is left: no choice


# -- ask, advice, forecast ---------------------------------------------------------------------------------------------


def test_ask_returns_as_many_as_asked():
    learner = told(ensemble(), X)
    assert [len(learner.ask(n)) for n in (3, 20, 1, 3)] == [3, 20, 1, 3]
    assert learner.ask(3) == told(ensemble(), X).ask(3)  # what was asked before does not matter
    learner.tell({str(i): TRUTH[i] for i in range(60)})
    with pytest.raises(bemps.InputError, match="nothing more to label"):
        learner.ask(1)


def test_no_stop_while_nothing_is_known_of_what_labels_bring():
    rng = np.random.default_rng(3)
    items = rng.normal(size=(600, 2))
    truth = np.where((items > 0).sum(1) == 1, "a", "b").tolist()  # no line tells them apart
    learner = ActiveLearner(SklearnEnsemble(LogisticRegression(), members=5), items, strategy="random")
    for _ in range(3):
        learner.tell({i: truth[int(i)] for i in learner.ask(6).items})
        assert not learner.advice([GainBelow(0.9)]).stop
        assert not learner.advice([GainBelow(0.9)], 20).stop
    learner.tell({i: truth[int(i)] for i in learner.ask(30).items})
    assert "the next 30 labels" in learner.advice([GainBelow(0.9)]).reasons[0]
    assert not learner.advice([GainBelow(0.9)], 1).stop
    assert not learner.advice([GainBelow(0.9)], 200).stop


def test_advice_and_forecast_ask_for_nothing():
    learner = told(ensemble(), X)
    learner.advice([GainBelow(0.001)])
    learner.forecast(7)
    assert learner.asked is None
    assert learner.agreement == []
    batch = learner.ask(20)
    assert len(batch) == 20
    learner.forecast(3)
    learner.advice([GainBelow(0.001)], 5)
    assert learner.asked is batch
    assert learner.ask(20) is batch
    assert not learner.advice([GainBelow(1e-9)], 500).stop  # fewer are left: then those


def test_what_others_have_is_not_asked_and_changes_nothing_else():
    learner, alone = told(ensemble(), X, strategy="margin"), told(ensemble(), X, strategy="margin")
    first = learner.ask(4)
    learner.exclude(first.items[:2])
    second = learner.ask(4)
    assert not set(second.items) & set(first.items[:2])
    assert second.items[:2] == first.items[2:]
    assert np.array_equal(learner.predict(X), alone.predict(X))
    learner.exclude([])
    assert learner.ask(4).items == first.items


def test_a_batch_shows_its_contents():
    learner = told(ensemble(tfidf_classifier()), ["<b>bad</b>", *TEXTS[1:]])
    learner.tell({"0": "b"})
    batch = learner.ask(3)
    assert batch.contents == [TEXTS[int(name)] for name in batch.items]
    assert TEXTS[int(batch.items[0])] in batch._repr_html_()
    cold = ActiveLearner(ensemble(tfidf_classifier()), ["<b>one</b> two", *TEXTS], cold_start="random").ask(61)
    assert "&lt;b&gt;one" in cold._repr_html_()


# -- cold start --------------------------------------------------------------------------------------------------------


def test_the_cold_start_takes_gaps_and_words():
    gaps = np.where(X > 1, np.nan, X)
    mixed = np.array([[x, "wien" if x > 0 else "graz", None if i % 7 else 1] for i, x in enumerate(X[:, 0])], object)
    for items in (gaps, mixed):
        batch = ActiveLearner(ensemble(HistGradientBoostingClassifier()), items).ask(8)
        assert len(set(batch.items)) == 8
        assert batch.strategy == "typiclust"
    towns = {mixed[int(name), 1] for name in ActiveLearner(ensemble(), mixed).ask(8).items}
    assert towns == {"wien", "graz"}


def test_a_column_in_euros_does_not_decide_the_cold_start_alone():
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(4), 50)
    corners = np.array([[0, 0], [0, 8], [8, 0], [8, 8]])[groups] + rng.normal(size=(200, 2))
    rows = np.column_stack([corners, corners, corners, rng.normal(size=200) * 1e6])
    asked = ActiveLearner(ensemble(), rows).ask(4)
    assert {groups[int(name)] for name in asked.items} == {0, 1, 2, 3}


def test_vectors_of_like_scale_are_taken_as_they_are():
    from bemps.learner.unlabelled_vectors import unlabelled_vectors

    vectors = unlabelled_vectors(X, np.random.default_rng(0))
    assert np.shares_memory(vectors, X)
    assert np.array_equal(vectors, X)


def test_a_random_cold_start_looks_at_nothing():
    class Closed(list):
        def __iter__(self):
            return iter([object()] * len(self))

    learner = ActiveLearner(ensemble(), Closed([object()] * 30), cold_start="random", strategy="margin")
    assert len(learner.ask(5)) == 5


# -- scores ------------------------------------------------------------------------------------------------------------


def test_a_concave_score_is_refused():
    probs = np.random.default_rng(0).dirichlet(np.ones(3), size=(4, 30))
    with pytest.raises(bemps.InputError, match="a convex function on the simplex"):
        bemps.expected_gain(probs, score=lambda p: -(p**2).sum(-1))
    with pytest.raises(bemps.InputError, match="a convex function on the simplex"):
        bemps.select(probs, 3, "gain", score=lambda p: -(p**2).sum(-1))
    assert check_convexity(lambda p: (p**2).sum(-1), 3) > 0


# -- the default strategy ----------------------------------------------------------------------------------------------


def test_auto_follows_what_is_there():
    rng = np.random.default_rng(0)
    probs, vectors, labelled = rng.dirichlet(np.ones(3), size=(2, 40)), rng.normal(size=(40, 4)), np.ones((5, 4))
    many = rng.dirichlet(np.ones(12), size=(1, 40))
    cases = [
        ({"probs": probs}, "margin"),
        ({"probs": probs[:1]}, "margin"),
        ({"probs": probs, "embeddings": vectors}, "margin-km"),
        ({"probs": probs, "features": vectors, "labelled_features": labelled}, "margin-km"),
        ({"probs": probs, "embeddings": vectors, "labelled_embeddings": labelled}, "corelog-ties"),
        ({"probs": many, "embeddings": vectors, "labelled_embeddings": labelled}, "margin-km"),
        ({"probs": None, "embeddings": vectors}, "typiclust"),
    ]
    for given, name in cases:
        chosen, named = bemps.select(n=4, **given), bemps.select(n=4, strategy=name, **given)
        assert np.array_equal(chosen.indices, named.indices), name


@pytest.mark.parametrize(
    ("model", "items", "classes", "name"),
    [
        (ensemble(), X, ["a", "b"], "corelog-ties"),
        (SpectralLogistic(), X, ["a", "b"], "corelog-ties"),
        (ensemble(tfidf_classifier()), TEXTS, ["a", "b"], "corelog-ties"),
        (ensemble(), X, [*"abcdefghijkl"], "margin-km"),
        (Answers(lambda n: np.full((2, n, 2), 0.5)), [object()] * 60, ["a", "b"], "margin"),
    ],
)
def test_a_learner_says_what_auto_took(model, items, classes, name):
    learner = ActiveLearner(model, items, classes=classes, cold_start="random")
    learner.tell({str(i): TRUTH[i] for i in range(12)})
    assert learner.ask(4).strategy == name


def test_what_is_printed_is_short():
    import pydoc

    import bemps.data

    learner = told(ensemble(), X)
    assert repr(learner) == "ActiveLearner(SklearnEnsemble, 60 items, 12 labels, 2 classes, strategy=auto)"
    assert repr(learner.model) == "SklearnEnsemble(LogisticRegression, members=3)"
    assert repr(SpectralLogistic()) == "SpectralLogistic(members=1)"
    assert repr(bemps.data.Table(("a", "b"), ["x" * 1000, "y"])) == "Table(2 items of kind text, 0 labels of 0 classes)"
    assert "numpy._typing" not in pydoc.render_doc(bemps.select)


@pytest.fixture
def small():
    rows = np.random.default_rng(0).normal(size=(40, 3))
    learner = ActiveLearner(LogisticRegression(), rows, classes=["a", "b"])
    learner.tell({str(i): "ab"[i % 2] for i in range(10)})
    return learner


def test_a_batch_is_its_ids_and_can_be_skipped(small):
    batch = small.ask(3)
    assert tuple(batch) == batch.items
    small.skip(batch)
    assert not set(small.ask(5)) & set(batch)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (None, "a list of stopping rules; got None"),
        (3, "a list of stopping rules; got 3"),
        ("stop", "a list of stopping rules; got 'stop'"),
        (["stop"], "a method reason; got 'stop' without it. Give it a method"),
        ([Budget(3), Budget], r"got the class Budget. Make an instance: Budget\(...\)"),
    ],
)
def test_what_is_no_list_of_rules_is_refused(rules, message):
    with pytest.raises(bemps.InputError, match=message):
        check_rules(rules)


def test_names_that_are_empty_are_refused(small):
    for name in ("", "  "):
        with pytest.raises(bemps.InputError, match="an empty text"):
            small.tell({"30": name})
        with pytest.raises(bemps.InputError, match="an empty text"):
            small.add_class(name)
    for ids in (None, 6):
        with pytest.raises(bemps.InputError, match="a list of ids, or a batch"):
            checked_names(ids)


def test_labels_may_come_from_a_generator(small):
    assert small.tell(small.ask(4), (name for name in "abab")) == 4


def test_items_of_another_kind_are_refused_by_predict():
    texts = [f"text number {i}" for i in range(20)]
    learner = ActiveLearner(SklearnEnsemble(tfidf_classifier()), texts, classes=["a", "b"])
    learner.tell({str(i): "ab"[i % 2] for i in range(8)})
    with pytest.raises(bemps.InputError, match="items that it can be asked about"):
        learner.predict([1, 2])


def test_a_path_that_cannot_be_written_is_a_sentence(small):
    with pytest.raises(bemps.InputError, match=r"expected a (folder|path)"):
        small.save("/proc/learner")
