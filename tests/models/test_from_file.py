import numpy as np
import pytest

from bemps.errors import InputError
from bemps.models.from_file import FromFile

CLASSES = ["a", "b", "c"]
IDS = ["x1", "x2", "x3", "x4"]


@pytest.fixture
def probs():
    return np.random.default_rng(0).dirichlet(np.ones(3), size=(2, 4))


def fit(model, classes=CLASSES):
    return model.fit(["x1"], np.array([0]), classes, np.random.default_rng(0))


def test_rows_are_found_by_id_whatever_the_order(tmp_path, probs):
    np.savez(tmp_path / "p.npz", probs=probs, ids=np.array(IDS))
    model = fit(FromFile(tmp_path / "p.npz"))
    assert model.predict(["x3", "x1", "x3"]) == pytest.approx(probs[:, [2, 0, 2]])
    assert model.predict(np.array(["x4"])) == pytest.approx(probs[:, [3]])
    assert model.weights.tolist() == [0.5, 0.5]


def test_whole_numbers_are_ids_too(tmp_path, probs):
    np.savez(tmp_path / "p.npz", probs=probs, ids=np.array([10, 11, 12, 13]))
    assert fit(FromFile(tmp_path / "p.npz")).predict(np.array([12])) == pytest.approx(probs[:, [2]])


def test_npy_takes_its_ids_from_beside(tmp_path, probs):
    np.save(tmp_path / "p.npy", probs)
    (tmp_path / "ids.txt").write_text("\n".join(IDS) + "\n", encoding="utf-8")
    for ids in (IDS, tmp_path / "ids.txt"):
        assert fit(FromFile(tmp_path / "p.npy", ids=ids)).predict(["x2"]) == pytest.approx(probs[:, [1]])
    with pytest.raises(InputError, match="an id for each item"):
        fit(FromFile(tmp_path / "p.npy"))


def test_unknown_ids_are_refused_by_name(tmp_path, probs):
    np.savez(tmp_path / "p.npz", probs=probs, ids=np.array(IDS))
    model = fit(FromFile(tmp_path / "p.npz"))
    with pytest.raises(InputError, match=r"2 unknown, the first 'y1'"):
        model.predict(["x1", "y1", "y2"])


def test_the_next_fit_reads_the_file_anew(tmp_path, probs):
    np.savez(tmp_path / "p.npz", probs=probs, ids=np.array(IDS))
    model = fit(FromFile(tmp_path / "p.npz"))
    before = model.predict(IDS)
    np.savez(tmp_path / "p.npz", probs=probs[:, ::-1], ids=np.array(IDS))
    assert np.array_equal(model.predict(IDS), before)
    assert fit(model).predict(IDS) == pytest.approx(probs[:, ::-1])


def test_weights_of_the_file_are_normalised(tmp_path, probs):
    np.savez(tmp_path / "p.npz", probs=probs, ids=np.array(IDS), weights=np.array([3.0, 1.0]))
    assert fit(FromFile(tmp_path / "p.npz")).weights.tolist() == [0.75, 0.25]


@pytest.mark.parametrize(
    "change",
    [
        {"ids": np.array(["x1", "x1", "x2", "x3"])},
        {"ids": np.array(["x1"])},
        {"ids": np.array(IDS, dtype=object)},
        {"weights": np.array([1.0])},
        {"weights": np.array([-1.0, 1.0])},
        {"probs": np.ones((2, 4, 3))},
        {"probs": np.full((2, 4, 3), np.nan)},
        {"probs": np.ones((4, 3)) / 3},
        {"probs": np.ones((2, 4, 2)) / 2},
    ],
)
def test_files_that_cannot_be_right_are_refused(tmp_path, probs, change):
    np.savez(tmp_path / "p.npz", **({"probs": probs, "ids": np.array(IDS)} | change))
    with pytest.raises(InputError):
        fit(FromFile(tmp_path / "p.npz"))


def test_missing_and_foreign_files_are_refused(tmp_path):
    (tmp_path / "p.npz").write_text("probs", encoding="utf-8")
    for name in ("p.npz", "none.npz"):
        with pytest.raises(InputError):
            fit(FromFile(tmp_path / name))
    np.savez(tmp_path / "q.npz", predictions=np.ones(3))
    with pytest.raises(InputError, match="an array named probs"):
        fit(FromFile(tmp_path / "q.npz"))
