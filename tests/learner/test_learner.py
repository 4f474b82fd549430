"""Ask and tell, as a user lives with it."""

import json
import subprocess
import sys

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import bemps
from bemps.errors import InputError, unknown_name
from bemps.learner import ActiveLearner, Budget, GainBelow, Stable
from bemps.models.encoders.tfidf import tfidf_classifier
from bemps.models.linear.spectral_classifiers import SpectralLaplace
from bemps.models.scikit_learn.sklearn_ensemble import SklearnEnsemble


@pytest.fixture(scope="module")
def digits():
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    return x[:400] / 16, [str(k) for k in y[:400]]


def learner_on(digits, **settings):
    model = SklearnEnsemble(LogisticRegression(C=30, max_iter=100), members=4)
    return ActiveLearner(model, digits[0], **settings)


def answers(batch, truth):
    return [truth[int(name)] for name in batch.items]


def test_a_whole_run_from_no_labels_learns(digits):
    x, y = digits
    learner = learner_on(digits, classes=[str(k) for k in range(10)])
    accuracy = []
    for _ in range(4):
        batch = learner.ask(15)
        assert len(batch) == 15 == len(set(batch.items))
        learner.tell(batch, answers(batch, y))
        accuracy.append(np.mean(learner.predict(x).argmax(1) == np.array(y).astype(int)))
    assert len(learner.labels) == 60
    assert accuracy[-1] > 0.85
    assert accuracy[-1] > accuracy[0]


def test_cold_start_takes_typical_items_and_says_what_they_stand_for(digits):
    learner = learner_on(digits)
    batch = learner.ask(10)
    assert batch.strategy == "typiclust"
    assert all(why.gain == 0 for why in batch.why)
    assert sum(why.stands_for for why in batch.why) > 200
    assert len(set(answers(batch, digits[1]))) >= 6  # spread over the digits


def test_asking_again_gives_the_same_batch_until_something_is_told(digits):
    learner = learner_on(digits)
    batch = learner.ask(6)
    assert learner.ask(6) is batch
    learner.tell(batch, [*answers(batch, digits[1])[:5], None])
    after = learner.ask(6)
    assert after.id != batch.id
    assert not set(after.items) & set(batch.items[:5])
    learner.skip(after.items[:2])
    assert not set(learner.ask(6).items) & set(after.items[:2])


def test_why_is_the_expected_gain_and_its_share(digits):
    learner = learner_on(digits, strategy="coremse")
    first = learner.ask(12)
    learner.tell(first, answers(first, digits[1]))
    batch = learner.ask(5)
    rows = learner.pool.candidates()
    probs = learner.model.predict(digits[0][rows])
    scores = dict(zip((learner.pool.ids[i] for i in rows), bemps.core_mse(probs).scores, strict=True))
    for name, why, score in zip(batch.items, batch.why, batch.scores, strict=True):
        assert why.gain == pytest.approx(scores[name])
        assert why.gain == pytest.approx(score)
        assert why.share == pytest.approx(why.gain / bemps.remaining_gain(probs))
    assert sum(why.stands_for for why in batch.why) == np.ceil(len(rows) / 2)


def test_repeats_are_harmless_and_corrections_count(digits):
    learner = learner_on(digits)
    batch = learner.ask(4)
    assert learner.tell(batch, answers(batch, digits[1])) == 4
    version = learner.pool.version
    assert learner.tell(batch, answers(batch, digits[1])) == 0
    assert learner.pool.version == version
    assert learner.tell({batch.items[0]: "9"}) == 1
    assert learner.labels[batch.items[0]] == "9"


def test_the_order_of_telling_does_not_matter(digits):
    one, two = learner_on(digits), learner_on(digits)
    batch = one.ask(12)
    two.ask(12)
    labels = answers(batch, digits[1])
    one.tell(batch, labels)
    two.tell(dict(reversed(list(zip(batch.items, labels, strict=True)))))
    one.pool.classes.sort()  # open classes come in the order they are told
    two.pool.classes.sort()
    assert one.ask(5).items == two.ask(5).items


def test_new_classes_in_the_middle(digits):
    learner = learner_on(digits, classes=["0", "1"])
    learner.tell({"0": "0", "1": "1"})
    with pytest.raises(bemps.InputError, match="add_class"):
        learner.tell({"2": "2"})
    assert "2" not in learner.labels
    learner.add_class("2")
    learner.tell({"2": "2"})
    assert learner.predict(digits[0][:3]).shape == (3, 3)
    assert learner.classes == ("0", "1", "2")
    free = learner_on(digits)
    free.tell({"0": "x", "1": "y"})
    free.tell({"2": "z"})
    assert free.classes == ("x", "y", "z")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.tell({"nobody": "1"}), "item"),
        (lambda s: s.tell(s.ask(3), ["1"]), "3, one for each item"),
        (lambda s: s.tell(s.ask(3)), "one for each item"),
        (lambda s: s.skip(["nobody"]), "item"),
        (lambda s: s.ask(401), "from 1 to 400"),
        (lambda s: s.predict(np.zeros((1, 64))), "labels of at least two classes"),
        (lambda s: s.remaining_gain(), "labels of at least two classes"),
        (lambda s: s.add_class("x") or s.add_class("x"), "there already"),
    ],
)
def test_refusals(digits, call, message):
    with pytest.raises(bemps.InputError, match=message):
        call(learner_on(digits))


def test_an_unknown_id_does_not_list_all_the_others(digits):
    learner = ActiveLearner(SpectralLaplace(members=2), digits[0][:400])
    with pytest.raises(InputError, match=r"one of the 400 ids \(0, 1, 2, \.\.\.\)") as error:
        learner.tell({"nobody": "a"})
    assert len(str(error.value)) < 200
    assert len(str(unknown_name("class", "x", [f"class {i}" for i in range(500)]))) < 200


def test_unknown_strategies_and_ids_are_refused_at_once(digits):
    with pytest.raises(bemps.InputError, match="Did you mean 'coremse'"):
        learner_on(digits, strategy="coremsee")
    with pytest.raises(bemps.InputError, match="one for each item"):
        learner_on(digits, ids=["a"])
    with pytest.raises(bemps.InputError, match="a different id"):
        learner_on(digits, ids=["a"] * 400)


@pytest.mark.parametrize("name", sorted(set(bemps.strategies()) - {"alps", "badge", "epig"}))
def test_every_strategy_runs_in_the_learner(digits, name):
    """The default model on frozen features brings what they need."""
    learner = ActiveLearner(SpectralLaplace(members=5), digits[0], strategy=name, seed=2)
    learner.tell({str(i): digits[1][i] for i in range(20)})
    batch = learner.ask(7)
    assert len(set(batch.items)) == 7
    assert batch.strategy == name
    assert all(why.stands_for >= 1 for why in batch.why)


def test_a_strategy_that_the_model_cannot_serve(digits):
    with pytest.raises(bemps.InputError, match="a model with `surprisal`"):
        learner_on(digits, strategy="alps")


def test_forecast_remaining_gain_and_rules(digits):
    learner = learner_on(digits)
    learner.tell({str(i): digits[1][i] for i in range(25)})
    told = learner.forecast(10)
    assert 0 < told.gain <= told.remaining
    assert told.remaining == pytest.approx(learner.remaining_gain())
    assert told.standard_error > 0
    assert "the next 10 labels" in str(told)
    assert not learner.advice([Budget(26), GainBelow(1e-9), Stable()], 10).stop
    spent = learner.advice([Budget(25), GainBelow(10.0)], 10)
    assert spent.stop
    assert len(spent.reasons) == 2
    assert "budget of 25" in spent.reasons[0]


def test_stability_is_seen(digits):
    learner = learner_on(digits)
    learner.tell({str(i): digits[1][i] for i in range(200)})
    for i in range(200, 203):
        learner.ask(1)
        learner.tell({str(i): digits[1][i]})
    learner.ask(1)
    assert len(learner.agreement) == 3
    assert min(learner.agreement) > 0.9
    assert learner.advice([Stable(0.9, 3)]).stop
    assert not learner.advice([Stable(0.9, 4)]).stop


def test_texts_without_a_backbone():
    good, bad = (
        ["good film", "great fun", "lovely story", "nice cast"],
        ["bad film", "dull plot", "awful cast", "boring"],
    )
    learner = ActiveLearner(SklearnEnsemble(tfidf_classifier(), members=3), good + bad, classes=["pos", "neg"])
    batch = learner.ask(4)
    learner.tell({name: "pos" if int(name) < 4 else "neg" for name in batch.items})
    assert len(learner.ask(2)) == 2


def test_saved_and_loaded_in_a_new_process_it_asks_for_the_same(digits, tmp_path):
    learner = learner_on(digits, strategy="coremse", options={"T": 0.4}, seed=5)
    learner.tell({str(i): digits[1][i] for i in range(25)})
    learner.skip(["30", "31"])
    learner.save(tmp_path / "saved")
    code = f"""
import json, bemps
learner = bemps.ActiveLearner.load({str(tmp_path / "saved")!r})
batch = learner.ask(8)
print(json.dumps([batch.id, batch.items, [w.gain for w in batch.why]]))
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    batch = learner.ask(8)
    assert json.loads(out.stdout) == [batch.id, list(batch.items), [why.gain for why in batch.why]]
    learner.save(tmp_path / "saved")
    again = ActiveLearner.load(tmp_path / "saved")
    assert again.asked == batch
    assert again.ask(8) == batch
    names = {path.name for path in (tmp_path / "saved").iterdir()}
    assert names == {"learner.json", "items.json", "items.npy", ".bemps"}


def test_what_cannot_be_saved_or_loaded_says_so(digits, tmp_path):
    class Mine:
        def fit(self, items, labels, classes, rng):
            self.K = len(classes)
            return self

        def predict(self, items):
            return np.full((2, len(items), self.K), 1 / self.K)

    learner = ActiveLearner(Mine(), digits[0])
    learner.tell({"0": "a", "1": "b"})
    with pytest.raises(bemps.InputError, match="with_model=False"):
        learner.save(tmp_path / "mine")
    assert not (tmp_path / "mine").exists()
    learner.save(tmp_path / "mine", with_model=False)
    with pytest.raises(bemps.InputError, match="load\\(path, model="):
        ActiveLearner.load(tmp_path / "mine")
    assert ActiveLearner.load(tmp_path / "mine", Mine()).labels == {"0": "a", "1": "b"}
    with pytest.raises(bemps.InputError, match="a folder written by"):
        ActiveLearner.load(tmp_path)
    state = json.loads((tmp_path / "mine" / "learner.json").read_text())
    del state["digest"]
    (tmp_path / "mine" / "learner.json").write_text(json.dumps(state | {"version": 99}))
    with pytest.raises(bemps.InputError, match="format 99"):
        ActiveLearner.load(tmp_path / "mine")
    evil = {"object": "os.system", "arguments": {"command": "true"}}
    (tmp_path / "mine" / "learner.json").write_text(json.dumps(state | {"model": evil}))
    with pytest.raises(bemps.InputError, match="a class of bemps or scikit-learn"):
        ActiveLearner.load(tmp_path / "mine")
    own = learner_on(digits, strategy=lambda context: None)
    with pytest.raises(bemps.InputError, match="by name"):
        own.save(tmp_path / "own")


def test_without_reasons_the_batch_is_the_same(digits, tmp_path):
    """`explain=False` saves the work, chooses the same and survives saving."""
    x, y = digits
    asked = []
    for explain in (True, False):
        learner = ActiveLearner(SpectralLaplace(), x, explain=explain)
        learner.tell({str(i): y[i] for i in range(40)})
        learner.save(tmp_path / str(explain))
        asked.append(learner.ask(5))
        assert ActiveLearner.load(tmp_path / str(explain), SpectralLaplace()).ask(5) == asked[-1]
    assert asked[0].items == asked[1].items
    assert [len(batch.why) for batch in asked] == [5, 0]


class Company(SklearnEnsemble):
    """A model whose last digits depend on how many items are predicted together, as those of float32 networks do."""

    def predict(self, items):
        probs = super().predict(items)
        return probs * (1 - 1e-6 * len(items)) + 1e-6 * len(items) / probs.shape[2]


@pytest.mark.parametrize(("told", "points"), [(40, 50), (360, 50), (360, 300)])  # of 400 items
def test_what_was_looked_at_before_changes_nothing(digits, told, points):
    def learner():
        model = Company(LogisticRegression(C=30, max_iter=100), members=4)
        made = ActiveLearner(model, digits[0], seed=3, estimation_size=points)
        made.tell({str(i): digits[1][i] for i in range(told)})
        return made

    first, second = learner(), learner()
    batch, gain = first.ask(20), first.remaining_gain()
    assert second.remaining_gain() == gain
    assert second.ask(20) == batch


def test_a_strategy_that_writes_into_its_context_spoils_nothing(digits):
    def rude(context):
        context.probs[:] = 0.1
        context.estimation[:] = 0.1
        return bemps.Selection(np.arange(context.n), np.zeros(context.n))

    rude.needs = ("estimation",)
    learner = learner_on(digits, strategy=rude, estimation_size=50, seed=1)
    learner.tell({str(i): digits[1][i] for i in range(40)})
    before = learner.remaining_gain()
    learner.ask(5)
    assert learner.remaining_gain() == before > 0
