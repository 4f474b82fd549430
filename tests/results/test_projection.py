"""t-SNE keeps neighbours together, and what is shown contains what was acquired."""

import numpy as np
import pytest

from bemps.errors import InputError
from bemps.results.tsne import projection, shown_items


def test_clusters_stay_together():
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1, 2], 30)
    vectors = rng.standard_normal((90, 6)) + 12 * np.eye(6)[groups]
    places = projection(vectors, np.random.default_rng(1))
    assert places.shape == (90, 2)
    apart = np.linalg.norm(places[:, None] - places[None], axis=2) + np.diag(np.full(90, np.inf))
    assert (groups[apart.argmin(1)] == groups).mean() > 0.95


def test_the_same_seed_gives_the_same_picture():
    vectors = np.random.default_rng(0).standard_normal((20, 4))
    one, other = (projection(vectors, np.random.default_rng(2)) for _ in range(2))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("vectors", [np.ones((3, 2)), np.full((9, 2), np.nan)])
def test_what_is_refused(vectors):
    with pytest.raises(InputError, match="vectors"):
        projection(vectors, np.random.default_rng(0))


def test_shown_items_hold_everything_acquired_up_to_the_limit():
    found = shown_items(100, [7, 3, 3, 99], 10, np.random.default_rng(0))
    assert len(found) == 10 == len(set(found.tolist()))
    assert {3, 7, 99} <= set(found.tolist())


@pytest.mark.parametrize(("limit", "count"), [(2, 3), (500, 50)])
def test_the_limit_never_drops_what_was_acquired_and_never_exceeds_the_pool(limit, count):
    assert len(shown_items(50, [1, 2, 3], limit, np.random.default_rng(0))) == count
