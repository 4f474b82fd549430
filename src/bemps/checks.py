"""Checks of input. Bad input is refused with an error that says what to do. Nothing is repaired."""

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from bemps.errors import InputError, parameter
from bemps.types import Array, Seed

SUM_TOLERANCE = 1e-3  # float16 softmax rows are this far from one
_SOFTMAX = "Pass probabilities, never logits: apply a softmax over the last axis first."


def numpy_array(value: ArrayLike, what: str) -> Array:
    """Convert a value to an array of NumPy. Masked, sparse and ragged values are refused."""
    if hasattr(value, "tocsr"):
        fix = f"Pass {what}.toarray()."
        raise InputError(what, expected="an array", got=f"a sparse matrix, {type(value).__name__}", fix=fix)
    if np.ma.is_masked(value):
        fix = "Drop these items, or fill the gaps with .filled(value)."
        raise InputError(what, expected="an array without gaps", got="a masked array with masked entries", fix=fix)
    try:
        return np.asarray(value)
    except (ValueError, TypeError, RuntimeError) as error:
        if hasattr(value, "detach"):  # a tensor with gradients, on a GPU, or of a type that NumPy does not have
            fix = f"Pass {what}.detach().float().cpu().numpy()."
            raise InputError(what, expected="an array of real numbers", got=str(error)[:120], fix=fix) from error
        got, fix = str(error).partition(". The detected")[0][:120], "Give every row as many numbers."
        raise InputError(what, expected="an array of real numbers", got=got, fix=fix) from error


def _floats(value: ArrayLike, what: str) -> Array:
    """`value` as float32 or float64; refused if it does not hold real numbers."""
    array = numpy_array(value, what)
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


_DIVERGED = "A diverged member or an overflow in a softmax is the usual cause."
_GAPS = "Leave such items out, or fill the gaps first, for example with np.nan_to_num."


def _refuse_non_finite(array: Array, what: str, fix: str = _DIVERGED) -> None:
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        first = tuple(int(i) for i in bad[0])
        raise InputError(
            what,
            expected="finite numbers",
            got=f"{len(bad)} NaN or infinite, the first at {first}",
            fix=fix,
        )


def probabilities(value: ArrayLike, what: str = "probs") -> Float[Array, "E N K"]:
    """Check class probabilities (E, N, K): finite, not negative, rows that sum to one, no empty axis."""
    array = _floats(value, what)
    if array.ndim != 3:
        raise InputError(
            what,
            expected="an array (E, N, K): members, items, classes",
            got=_shape(array),
            fix=f"For a single model add the member axis, probs[None], and use {_single_strategies()}."
            if array.ndim == 2
            else "Bring the axes into this order.",
        )
    if array.size == 0:
        empty = ("There are no members.", "The pool is empty.", "There are no classes.")[array.shape.index(0)]
        raise InputError(what, expected="at least one member, item and class", got=_shape(array), fix=empty)
    sums = array @ np.ones(array.shape[2], array.dtype)  # a NaN or an infinity anywhere shows in its row's sum
    if not np.isfinite(sums).all():
        _refuse_non_finite(array, what)
    lowest = array.min()
    if lowest < 0:
        raise InputError(what, expected="no negative entry", got=f"a smallest entry of {lowest:.4g}", fix=_SOFTMAX)
    worst = np.unravel_index(np.abs(sums - 1).argmax(), sums.shape)
    if abs(sums[worst] - 1) > SUM_TOLERANCE:
        position = tuple(int(i) for i in worst)
        raise InputError(
            what,
            expected=f"rows that sum to one within {SUM_TOLERANCE}",
            got=f"a sum of {sums[worst]:.6g} at (member, item) {position}",
            fix=_SOFTMAX,
        )
    return array


def refuse_one_class(probs: Float[Array, "E N K"]) -> None:
    """Refuse probabilities of a single class, between which there is nothing to choose: every score would be 0."""
    if probs.shape[2] == 1:
        fix = "Give a column for each class; with one column p of two classes, both 1 - p and p."
        raise InputError("probs", expected="two classes or more", got=f"one, in {_shape(probs)}", fix=fix)


MOST_MEMBERS = 100  # that are likely; more than that and more than items look like exchanged axes


def refuse_exchanged_axes(probs: Float[Array, "E N K"], *, rows: int | None, known: bool) -> None:
    """Refuse probabilities whose first axis looks like the items and whose second looks like the members.

    Parameters
    ----------
    probs : array of float (E, N, K)
        Probabilities of the members.
    rows : int or None
        The number of rows that the vectors of the candidates have, if there are any.
    known : bool
        Whether the user gave weights, and so the number of members.

    Raises
    ------
    InputError
        The axes look exchanged.
    """
    E, N = probs.shape[:2]
    if rows == E != N or (max(N, MOST_MEMBERS) < E and rows is None and not known):
        raise InputError(
            "probs",
            expected="an array (members, items, classes)",
            got=f"shape {probs.shape}: {E} members for {N} items" + (f", and vectors of {rows} items" if rows else ""),
            fix="If it is (items, members, classes), pass probs.transpose(1, 0, 2)"
            + ("." if rows else f"; if there are {E} members, pass weights=np.ones({E}) too."),
        )


def same_members_and_classes(probs: Float[Array, "E N K"], other: Float[Array, "F M J"], what: str) -> None:
    """Refuse an estimation pool that has other members or classes than the candidates.

    Parameters
    ----------
    probs : array of float (E, N, K)
        Probabilities for the candidates.
    other : array of float (F, M, J)
        Probabilities for the estimation pool.
    what : str
        The name of the argument in messages.

    Raises
    ------
    InputError
        The members or the classes differ in number.
    """
    if probs.shape[0] != other.shape[0] or probs.shape[2] != other.shape[2]:
        raise InputError(
            what,
            expected=f"E={probs.shape[0]} members and K={probs.shape[2]} classes, as in probs",
            got=_shape(other),
            fix="Predict both pools with the same members.",
        )


def single_member_error(what: str, got: str) -> InputError:
    """The error for a strategy that compares members, if no two of them differ."""
    return InputError(
        what,
        expected="two members or more that differ: it compares their predictions",
        got=got,
        fix=f"With a single model use {_single_strategies()}, or margin-km with embeddings; for members of a "
        "scikit-learn model use bemps.models.SklearnEnsemble.",
    )


def _single_strategies() -> str:
    """Strategies that need one member, in the words of the interface in use."""
    return f"{parameter('strategy', 'margin') or 'margin'}, entropy or least-confidence"


def require_disagreement(probs: Float[Array, "E N K"], what: str) -> None:
    """Refuse a single member, and members that all predict the same: every gain would be 0."""
    if not members_differ(probs):
        raise equal_members_error(what, len(probs))


def equal_members_error(what: str, members: int) -> InputError:
    """The error for members that all predict the same."""
    return single_member_error(
        what, "one member" if members == 1 else f"{members} members that predict the same everywhere"
    )


def members_differ(probs: Float[Array, "E N K"]) -> bool:
    """Whether any two members predict different probabilities, beyond the last digits."""
    return is_difference(float(np.abs(probs[1:] - probs[0]).max(initial=0)), probs.dtype)


def is_difference(spread: float, dtype: np.dtype) -> bool:
    """Whether a difference between probabilities is more than rounding."""
    return spread > 4 * float(np.finfo(dtype).eps)


def distribution(value: ArrayLike | None, size: int, what: str) -> Float[Array, " size"]:
    """Check weights and normalise them to a sum of one.

    Parameters
    ----------
    value : array_like (size,) or None
        The weights. None: they are uniform.
    size : int
        The number of weights.
    what : str
        The name of the argument in messages.

    Returns
    -------
    array of float (size,)
        The weights.

    Raises
    ------
    InputError
        The weights have another shape, are negative, not finite, or all zero.
    """
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
    """Drop the members without weight, and normalise the weights of the others."""
    w = distribution(weights, len(probs[0]), "weights")
    mask = w > NO_WEIGHT
    if mask.all():
        return w, list(probs)
    return w[mask] / w[mask].sum(), [p[mask] for p in probs]


def matrix(value: ArrayLike, what: str, rows: int | None = None, columns: int | None = None) -> Float[Array, "N H"]:
    """Check a finite two-dimensional array of items and features.

    Parameters
    ----------
    value : array_like (N, H)
        The array.
    what : str
        The name of the argument in messages.
    rows : int, optional
        The number of rows that it must have.
    columns : int, optional
        The number of columns that it must have.

    Returns
    -------
    array of float (N, H)
        The array, in float32 or float64.

    Raises
    ------
    InputError
        The shape is another, or a number is not finite or too large.
    """
    array = _floats(value, what)
    expected = f"an array ({'items' if rows is None else rows}, {'features' if columns is None else columns})"
    fits = array.ndim == 2 and rows in (None, array.shape[0]) and columns in (None, array.shape[1])
    if not fits or array.shape[1] == 0:
        raise InputError(
            what, expected=expected, got=_shape(array), fix="One row for each item, in the order of probs."
        )
    _refuse_non_finite(array, what, _GAPS)
    _refuse_overflow(array, what)
    return array


def _refuse_overflow(array: Array, what: str) -> None:
    """Refuse numbers whose squared distances would overflow."""
    largest, limit = float(np.abs(array).max(initial=0)), 1e-6 * float(np.sqrt(np.finfo(array.dtype).max))
    if largest > limit:
        fix = "Scale the columns, for example to a standard deviation of 1."
        raise InputError(what, expected=f"numbers below {limit:.0e} in {array.dtype}", got=f"{largest:.3g}", fix=fix)


def batch_size(n: object, available: int) -> int:
    """Check the size of a batch: from one to the number of candidates."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 1 <= n <= available:
        too_many = isinstance(n, int | np.integer) and n > available
        raise InputError(
            "n",
            expected=f"a whole number from 1 to {available}, the number of candidates",
            got=repr(n),
            fix="Ask for fewer items or give a larger pool." if too_many else "Give a whole number, 1 or more.",
        )
    return int(n)


def within(value: object, what: str, low: float, high: float = np.inf, *, open_low: bool = False) -> float:
    """Check that a value is a number of an interval.

    Parameters
    ----------
    value : object
        The value.
    what : str
        The name of the argument in messages.
    low : float
        The lower end.
    high : float
        The upper end, included.
    open_low : bool
        Whether the lower end is excluded.

    Returns
    -------
    float
        The number.

    Raises
    ------
    InputError
        The value is no number, or outside of the interval.
    """
    is_number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    number = float(value) if is_number else np.nan  # type: ignore[arg-type]
    if not (np.isfinite(number) and (low < number if open_low else low <= number) and number <= high):
        bracket = "(" if open_low else "["
        raise InputError(
            what,
            expected=f"a number in {bracket}{low:g}, {high:g}]",
            got=repr(value),
            fix="Choose another value.",
        )
    return number


def integer(value: object, what: str, low: int) -> int:
    """Check that a value is an integer.

    Parameters
    ----------
    value : object
        The value.
    what : str
        The name of the argument in messages.
    low : int
        The smallest integer allowed.

    Returns
    -------
    int
        The integer.

    Raises
    ------
    InputError
        The value is no integer, or too small.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < low:
        raise InputError(what, expected=f"a whole number, at least {low}", got=repr(value), fix="Choose another value.")
    return int(value)


def generator(seed: Seed, *purpose: int) -> np.random.Generator:
    """The random numbers of a seed.

    Parameters
    ----------
    seed : int or numpy.random.Generator
        An integer, 0 or more. A generator is returned as it is.
    *purpose : int
        Numbers that separate the streams of a seed: drawing more from one stream changes no other.

    Returns
    -------
    numpy.random.Generator
        The generator.
    """
    if isinstance(seed, np.random.Generator):
        return seed
    checked = integer(seed, "seed", 0)
    return np.random.default_rng([checked, *purpose] if purpose else checked)
