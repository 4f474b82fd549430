"""What a model is, and how its members are fitted.

A model turns a few labels into `probs (E, N, K)`. Labels are integer codes into the ordered `classes`, which
the caller owns: K and the order of the columns never depend on what was labelled so far.
Features, embeddings, surprisal and weights, which only some models have, are protocols of their own: test for them with
`isinstance(model, HasFeatures)`.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from bemps.data.images import Images
from bemps.errors import BempsError, InputError
from bemps.types import Array


@runtime_checkable
class Frame(Protocol):
    """A table whose rows are items: a DataFrame or a sparse matrix."""

    shape: tuple[int, ...]

    def __len__(self) -> int: ...
    def __getitem__(self, key: Any, /) -> Any: ...
    def __iter__(self) -> Iterator[Any]: ...


# Rows of an array (vectors, images, ids), of a table, texts, or images that are decoded on use.
Items = Array | Sequence[Any] | Frame | Images
T = TypeVar("T")

LARGEST = 1e100  # of a vector: squares of larger numbers overflow
# What a member raises when its training goes wrong; anything else (interrupts, type errors) is not retried.
MEMBER_FAILURES = (ArithmeticError, RuntimeError, ValueError)


@runtime_checkable
class Model(Protocol):
    """A classifier with members: it learns from labelled items and predicts probabilities for each member."""

    def fit(self, items: Items, labels: Int[Array, " L"], classes: Sequence[str], rng: np.random.Generator) -> "Model":
        """Learn from scratch; an earlier fit leaves no trace.

        Parameters
        ----------
        items : array, table, or sequence
            The labelled items.
        labels : array (L,) of int
            Codes into `classes`.
        classes : sequence of str
            The ordered class names.
        rng : numpy Generator
            The source of randomness.

        Returns
        -------
        Model
            The model itself.
        """
        ...

    def predict(self, items: Items) -> Float[Array, "E N K"]:
        """Predict probabilities.

        Parameters
        ----------
        items : array, table, or sequence
            Items of the same kind as in `fit`.

        Returns
        -------
        array (E, N, K)
            A distribution over the classes for each member and item. It depends on the item and the last fit alone.
        """
        ...


@runtime_checkable
class HasFeatures(Protocol):
    """A model with features of its last layer."""

    def features(self, items: Items) -> Float[Array, "N H"]:
        """The inputs of the last layer of the fitted model (BADGE, the Laplace forms)."""
        ...


@runtime_checkable
class HasEmbeddings(Protocol):
    """A model or encoder with vectors of items."""

    def embeddings(self, items: Items) -> Float[Array, "N H"]:
        """Vectors of the pretrained backbone, the same before and after any fit (BERT-KM, core-set)."""
        ...


@runtime_checkable
class HasSurprisal(Protocol):
    """A model with surprisal vectors of texts."""

    def surprisal(self, items: Items) -> Float[Array, "N H"]:
        """Surprisal of the tokens under the pretrained masked language model (ALPS)."""
        ...


@runtime_checkable
class HasWeights(Protocol):
    """A model whose members have weights."""

    @property
    def weights(self) -> Float[Array, " E"]:
        """p(theta|L) of the members, of sum one; uniform where the model does not weigh them."""
        ...


@runtime_checkable
class UsesPool(Protocol):
    """A model that uses the unlabelled pool."""

    pool: Items | None  # None: unknown so far; whoever has the pool calls see_pool

    def see_pool(self, items: Items) -> None:
        """Give the model the unlabelled pool, once, before the first fit."""
        ...


class NotFitted(InputError, AttributeError):
    """A model was used before it was fitted. It is an AttributeError too: weights and features do not exist yet."""

    def __init__(self, model: object) -> None:
        name = type(model).__name__
        super().__init__(name, expected="a fitted model", got="one that has seen no labels", fix="Call fit first.")


class Diverged(BempsError, RuntimeError):
    """A member whose training failed or whose numbers are not finite."""


def count(items: Items) -> int:
    """N, the number of items."""
    shape: tuple[int, ...] | None = getattr(items, "shape", None)  # a sparse matrix has no length
    return int(shape[0]) if shape else len(items)


def take(items: Items, indices: Int[Array, " n"]) -> Items:
    """The items at these positions, in this order, of the same kind."""
    if isinstance(items, np.ndarray):
        rows: Array = items[indices]
        return rows
    if hasattr(items, "iloc"):
        return cast(Items, items.iloc[indices])  # by position: a DataFrame's own labels do not count
    if hasattr(items, "shape"):
        return cast(Items, cast(Frame, items)[indices])
    return [items[i] for i in indices]


def join(items: Items, more: Items) -> Items:
    """The items of both, first `items`, then `more`."""
    if isinstance(items, np.ndarray) and isinstance(more, np.ndarray):
        return np.concatenate([items, more])
    if hasattr(items, "iloc") and hasattr(more, "iloc"):
        return cast(Items, import_module("pandas").concat([items, more]))
    if hasattr(items, "tocsr") and hasattr(more, "tocsr"):
        from scipy.sparse import vstack

        return cast(Items, vstack(cast(Any, [items, more]), format="csr"))
    return [*cast(Sequence[str], items), *cast(Sequence[str], more)]


def check_labelled(items: Items, labels: Int[Array, " L"], classes: Sequence[str]) -> Int[Array, " L"]:
    """Check that each label belongs to an item and is a code into `classes`.

    Parameters
    ----------
    items : Items
        The labelled items.
    labels : array of int (L,)
        Their codes.
    classes : sequence of str
        The names of the classes.

    Returns
    -------
    array of int (L,)
        The codes.

    Raises
    ------
    InputError
        There are fewer than two classes, too few or too many labels, or other codes.
    """
    if len(classes) < 2:
        raise InputError("classes", expected="at least 2", got=str(len(classes)), fix="Name every class.")
    if len(labels) == 0 or len(labels) != count(items):
        got = f"{len(labels)} labels of {count(items)} items"
        raise InputError(
            "labels", expected="one for each item, at least one", got=got, fix="Give as many labels as items."
        )
    low, high = int(labels.min()), int(labels.max())
    if low < 0 or high >= len(classes):
        raise InputError(
            "labels",
            expected=f"codes from 0 to {len(classes) - 1}",
            got=f"codes from {low} to {high}",
            fix="A label is the position of its class in `classes`.",
        )
    return labels.astype(np.int64)


def check_vectors(items: Items) -> Float[Array, "N H"]:
    """The items as finite rows of floats, or the error that says why they are not."""
    fix = "Give one row of numbers for each item; texts and images need a model that reads them."
    if not isinstance(items, np.ndarray) or items.ndim != 2 or items.dtype.kind not in "fiub":
        got = f"{items.dtype} of shape {items.shape}" if isinstance(items, np.ndarray) else type(items).__name__
        for method, call in (("toarray", "items.toarray()"), ("to_numpy", "items.to_numpy(float)")):
            if hasattr(items, method):
                fix = f"Give {call}, or use a scikit-learn model, which reads it as it is."
        raise InputError("items", expected="a numeric array of shape (N, H)", got=got, fix=fix)
    if not np.isfinite(items).all():
        bad = int(np.flatnonzero(~np.isfinite(items).all(axis=1))[0])
        fix = "Leave such items out, or fill the gaps first, for example with sklearn.impute.SimpleImputer."
        raise InputError("items", expected="finite numbers", got=f"NaN or infinity in row {bad}", fix=fix)
    if items.size and max(float(items.max()), -float(items.min())) > LARGEST:
        fix = "Scale the columns, for example with sklearn.preprocessing.StandardScaler."
        raise InputError("items", expected=f"numbers up to {LARGEST:g}", got="larger ones", fix=fix)
    return items if items.dtype.kind == "f" else items.astype(np.float64)


def check_probs(probs: Float[Array, "*any K"]) -> Float[Array, "*any K"]:
    """A member's probabilities, if they are finite and of sum one; else `Diverged`, a cause to retry."""
    if not np.isfinite(probs).all():
        raise Diverged("probabilities: expected finite numbers; got NaN or infinity. The member has diverged.")
    off = np.abs(probs.sum(axis=-1) - 1).max(initial=0)
    if off > 1e-3 or probs.min(initial=0) < 0:
        raise Diverged(f"probabilities: expected rows of sum one, none negative; got sums off by up to {off:.3g}.")
    return probs


def member_seeds(E: int, rng: np.random.Generator) -> Int[Array, "E 2"]:
    """Two seeds for each member, the second for a retry; member e has the same seeds for any E > e."""
    return rng.integers(2**63, size=(E, 2))


def fit_members(E: int, fit_one: Callable[[int, np.random.Generator], T], rng: np.random.Generator) -> list[T]:
    """Call `fit_one(e, rng_e)` for e in 0..E-1, each with a generator of its own.

    A member that fails (see MEMBER_FAILURES; `Diverged` is one) is tried once more with another seed. Bad input is
    never retried.

    Parameters
    ----------
    E : int
        The number of members.
    fit_one : callable
        Takes the number of a member and its generator, and returns the fitted member.
    rng : numpy Generator
        The source of the seeds.

    Returns
    -------
    list
        The fitted members.

    Raises
    ------
    InputError
        There is no member, or the input is bad.
    Diverged
        A member failed twice; the error names the member and carries the cause.
    """
    if E < 1:
        raise InputError("members", expected="at least 1", got=str(E), fix="An ensemble has 5 to 100 of them.")
    seeds = member_seeds(E, rng)
    return cast("list[T]", _fitting.get()(E, lambda e: _fit_or_retry(e, fit_one, seeds[e])))


def _one_by_one(E: int, fit: Callable[[int], object]) -> list[object]:
    return [fit(e) for e in range(E)]


Fitting = Callable[[int, Callable[[int], object]], list[object]]
_fitting: ContextVar[Fitting] = ContextVar("bemps_fitting", default=_one_by_one)


@contextmanager
def fitting(how: Fitting) -> Iterator[None]:
    """Inside the block, `how(E, fit)` fits the members: it returns `fit(e)` for each e below E, computed anywhere."""
    token = _fitting.set(how)
    try:
        yield
    finally:
        _fitting.reset(token)


def _fit_or_retry(e: int, fit_one: Callable[[int, np.random.Generator], T], seeds: Int[Array, " 2"]) -> T:
    first, second = (np.random.default_rng(seed) for seed in seeds)
    try:
        return fit_one(e, first)
    except InputError:
        raise
    except MEMBER_FAILURES as cause:
        return _last_try(e, fit_one, second, cause)


def _last_try(
    e: int, fit_one: Callable[[int, np.random.Generator], T], rng: np.random.Generator, earlier: Exception
) -> T:
    try:
        return fit_one(e, rng)
    except InputError:
        raise
    except MEMBER_FAILURES as cause:
        raise Diverged(
            f"member {e}: expected training to succeed; it failed with two seeds: first {_described(earlier)}, "
            f"then {_described(cause)}. Lower the learning rate, look at the items, or use another model."
        ) from cause


def _described(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
