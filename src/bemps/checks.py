"""The door: bad input is refused with what was expected, what came, and what to do; nothing is repaired silently."""

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from bemps.errors import InputError
from bemps.types import Array, Seed

SUM_TOLERANCE = 1e-3  # float16 softmax rows are this far from one
_SOFTMAX = "Pass probabilities, never logits: apply a softmax over the last axis first."


def _floats(value: ArrayLike, what: str) -> Array:
    """`value` as float32 or float64, refused if it is neither numbers nor real."""
    array = np.asarray(value)
    if array.dtype.kind not in "fiu":
        raise InputError(
            what,
            expected="an array of real numbers",
            got=f"dtype {array.dtype}",
            fix="Convert it to a float array.",
        )
    small = array.dtype == np.float32 or (array.dtype.kind == "f" and array.dtype.itemsize < 4)
    return array.astype(np.float32 if small else np.float64, copy=False)


def _shape(array: Array) -> str:
    return f"shape {array.shape}"


def _refuse_non_finite(array: Array, what: str) -> None:
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        first = tuple(int(i) for i in bad[0])
        raise InputError(
            what,
            expected="finite numbers",
            got=f"{len(bad)} NaN or infinite, the first at {first}",
            fix="A diverged member or an overflow in a softmax is the usual cause.",
        )


def probabilities(value: ArrayLike, what: str = "probs") -> Float[Array, "E N K"]:
    """Class probabilities (E, N, K): finite, not negative, rows summing to one, at least one of each axis."""
    array = _floats(value, what)
    if array.ndim != 3:
        raise InputError(
            what,
            expected="an array (E, N, K): members, items, classes",
            got=_shape(array),
            fix="For a single model add the member axis, probs[None], and use strategy='margin' or 'entropy'.",
        )
    if array.size == 0:
        raise InputError(
            what, expected="at least one member, item and class", got=_shape(array), fix="The pool is empty."
        )
    sums = array @ np.ones(array.shape[2], array.dtype)  # a NaN or an infinity anywhere shows in its row's sum
    if not np.isfinite(sums).all():
        _refuse_non_finite(array, what)
    lowest = array.min()
    if lowest < 0:
        raise InputError(what, expected="no negative entry", got=f"a smallest entry of {lowest:.4g}", fix=_SOFTMAX)
    worst = np.unravel_index(np.abs(sums - 1).argmax(), sums.shape)
    if abs(sums[worst] - 1) > SUM_TOLERANCE:
        place = tuple(int(i) for i in worst)
        raise InputError(
            what,
            expected=f"rows that sum to one within {SUM_TOLERANCE}",
            got=f"a sum of {sums[worst]:.6g} at (member, item) {place}",
            fix=_SOFTMAX,
        )
    return array


def same_members_and_classes(probs: Float[Array, "E N K"], other: Float[Array, "F M J"], what: str) -> None:
    """The estimation pool must come from the same members and classes as the candidates."""
    if probs.shape[0] != other.shape[0] or probs.shape[2] != other.shape[2]:
        raise InputError(
            what,
            expected=f"E={probs.shape[0]} members and K={probs.shape[2]} classes, as in probs",
            got=_shape(other),
            fix="Predict both pools with the same members.",
        )


def one_member(what: str, got: str) -> InputError:
    """The error for what compares members, where there is nothing to compare."""
    return InputError(
        what,
        expected="two members or more that differ: it compares their predictions",
        got=got,
        fix="With a single model use strategy='margin', 'entropy', 'least-confidence', or 'margin-km' with embeddings; "
        "for members of a scikit-learn model use bemps.members.SklearnEnsemble.",
    )


def disagreement(probs: Float[Array, "E N K"], what: str) -> None:
    """Refuse one member, or members whose predictions are all the same: their gain is 0 whatever is asked."""
    if not differ(probs):
        raise equal_members(what, len(probs))


def equal_members(what: str, members: int) -> InputError:
    """The error for members that leave nothing to compare."""
    return one_member(what, "one member" if members == 1 else f"{members} members that predict the same everywhere")


def differ(probs: Float[Array, "E N K"]) -> bool:
    """Whether any two members predict anything different, beyond the last digits."""
    return is_difference(float(np.abs(probs[1:] - probs[0]).max(initial=0)), probs.dtype)


def is_difference(spread: float, dtype: np.dtype) -> bool:
    """Whether a difference between probabilities is more than rounding."""
    return spread > 4 * float(np.finfo(dtype).eps)


def distribution(value: ArrayLike | None, size: int, what: str) -> Float[Array, " size"]:
    """Weights that sum to one after normalising; uniform where none are given."""
    if value is None:
        return np.full(size, 1.0 / size)
    weights = _floats(value, what).astype(np.float64)
    if weights.shape != (size,):
        raise InputError(
            what, expected=f"shape ({size},)", got=_shape(weights), fix="Give one weight for each, in order."
        )
    _refuse_non_finite(weights, what)
    total = float(weights.sum())
    if weights.min() < 0 or total <= 0:
        raise InputError(
            what,
            expected="weights that are not negative and not all zero",
            got=f"smallest {weights.min():.4g}, sum {total:.4g}",
            fix="Weights need not sum to one; they are normalised.",
        )
    return weights / total


NO_WEIGHT = 1e-25  # a member below it changes nothing but the range of the numbers


def weighted_members(
    weights: ArrayLike | None, *probs: Float[Array, "E _ K"]
) -> tuple[Float[Array, " F"], list[Float[Array, "F _ K"]]]:
    """The weights, and the predictions of the members that have any: the others say nothing."""
    w = distribution(weights, len(probs[0]), "weights")
    kept = w > NO_WEIGHT
    if kept.all():
        return w, list(probs)
    return w[kept] / w[kept].sum(), [p[kept] for p in probs]


def matrix(value: ArrayLike, what: str, rows: int | None = None, columns: int | None = None) -> Float[Array, "N H"]:
    """A finite two-dimensional array (items, features), with a given number of rows or columns where they are known."""
    array = _floats(value, what)
    wanted = f"an array ({'items' if rows is None else rows}, {'features' if columns is None else columns})"
    fits = array.ndim == 2 and rows in (None, array.shape[0]) and columns in (None, array.shape[1])
    if not fits or array.shape[1] == 0:
        raise InputError(what, expected=wanted, got=_shape(array), fix="One row for each item, in the order of probs.")
    _refuse_non_finite(array, what)
    _refuse_overflow(array, what)
    return array


def _refuse_overflow(array: Array, what: str) -> None:
    """Numbers whose squared distances are no numbers any more."""
    largest, limit = float(np.abs(array).max(initial=0)), 1e-6 * float(np.sqrt(np.finfo(array.dtype).max))
    if largest > limit:
        fix = "Scale the columns, for example to a standard deviation of 1."
        raise InputError(what, expected=f"numbers below {limit:.0e} in {array.dtype}", got=f"{largest:.3g}", fix=fix)


def batch_size(n: object, available: int) -> int:
    """A batch has between one and all candidates."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 1 <= n <= available:
        raise InputError(
            "n",
            expected=f"a whole number from 1 to {available}, the number of candidates",
            got=repr(n),
            fix="Ask for fewer items or give a larger pool.",
        )
    return int(n)


def within(value: object, what: str, low: float, high: float = np.inf, *, open_low: bool = False) -> float:
    """A number in [low, high], or (low, high] with open_low."""
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    found = float(value) if number else np.nan  # type: ignore[arg-type]
    if not (np.isfinite(found) and (low < found if open_low else low <= found) and found <= high):
        bracket = "(" if open_low else "["
        raise InputError(
            what,
            expected=f"a number in {bracket}{low:g}, {high:g}]",
            got=repr(value),
            fix="Choose another value.",
        )
    return found


def whole(value: object, what: str, low: int) -> int:
    """A whole number, at least `low`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < low:
        raise InputError(what, expected=f"a whole number, at least {low}", got=repr(value), fix="Choose another value.")
    return int(value)


def generator(seed: Seed) -> np.random.Generator:
    """A generator from a seed, a whole number from 0 on; a generator is passed through."""
    if isinstance(seed, np.random.Generator):
        return seed
    return np.random.default_rng(whole(seed, "seed", 0))
