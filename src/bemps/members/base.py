"""What a model is, and how its members are fitted.

A model turns a few labels into `probs (E, N, K)`. Labels are integer codes into the ordered `classes`, which
the caller owns: K and the order of the columns never depend on what was labelled so far.
What only some models can do (features, embeddings, surprisal, weights) is a protocol of its own:
ask with `isinstance(model, HasFeatures)`.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from bemps.errors import BempsError, InputError
from bemps.types import Array


@runtime_checkable
class Frame(Protocol):
    """A table whose rows are items: a DataFrame or a sparse matrix."""

    shape: tuple[int, ...]

    def __len__(self) -> int: ...
    def __getitem__(self, key: Any, /) -> Any: ...
    def __iter__(self) -> Iterator[Any]: ...


# Rows of an array (vectors, images, ids), of a table, or texts.
Items = Array | Sequence[Any] | Frame
T = TypeVar("T")

LARGEST = 1e100  # of a vector: squares of larger numbers overflow
# What a member raises when its training goes wrong; anything else (interrupts, type errors) is not retried.
MEMBER_FAILURES = (ArithmeticError, RuntimeError, ValueError)


@runtime_checkable
class Model(Protocol):
    """Learns from labelled items, answers with one distribution per member, item and class."""

    def fit(self, items: Items, labels: Int[Array, " L"], classes: Sequence[str], rng: np.random.Generator) -> "Model":
        """Learn from scratch and return the model itself; an earlier fit leaves no trace."""
        ...

    def predict(self, items: Items) -> Float[Array, "E N K"]:
        """Probabilities; the same item gets the same answer in any company, until the next fit."""
        ...


@runtime_checkable
class HasFeatures(Protocol):
    def features(self, items: Items) -> Float[Array, "N H"]:
        """Vectors on which the current model decides (BADGE, the Laplace forms)."""
        ...


@runtime_checkable
class HasEmbeddings(Protocol):
    def embeddings(self, items: Items) -> Float[Array, "N H"]:
        """Vectors of the pretrained backbone, the same before and after any fit (BERT-KM, core-set)."""
        ...


@runtime_checkable
class HasSurprisal(Protocol):
    def surprisal(self, items: Items) -> Float[Array, "N H"]:
        """Surprisal of the tokens under the pretrained masked language model (ALPS)."""
        ...


@runtime_checkable
class HasWeights(Protocol):
    @property
    def weights(self) -> Float[Array, " E"]:
        """p(theta|L) of the members, of sum one; uniform where the model has no opinion."""
        ...


@runtime_checkable
class UsesPool(Protocol):
    pool: Items | None  # None: not given yet, whoever has the pool calls see_pool

    def see_pool(self, items: Items) -> None:
        """Look at the whole unlabelled pool, once, before the first fit."""
        ...


class NotFitted(InputError, AttributeError):
    """A model was asked before it learnt; an AttributeError too, as it has no weights or features yet."""

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
    """The labels, once it is sure that each belongs to an item and is a code into `classes`."""
    if len(classes) < 2:
        raise InputError("classes", expected="at least 2", got=str(len(classes)), fix="Name every class.")
    if len(labels) == 0 or len(labels) != count(items):
        got = f"{len(labels)} labels of {count(items)} items"
        raise InputError("labels", expected="one for each item, at least one", got=got, fix="Give both alike.")
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
        raise InputError("items", expected="a numeric array of shape (N, H)", got=got, fix=fix)
    if not np.isfinite(items).all():
        bad = int(np.flatnonzero(~np.isfinite(items).all(axis=1))[0])
        raise InputError("items", expected="finite numbers", got=f"NaN or infinity in row {bad}", fix=fix)
    if items.size and max(float(items.max()), -float(items.min())) > LARGEST:
        fix = "Scale the columns, for example with sklearn.preprocessing.StandardScaler."
        raise InputError("items", expected=f"numbers up to {LARGEST:g}", got="larger ones", fix=fix)
    return items if items.dtype.kind == "f" else items.astype(np.float64)


def check_probs(probs: Float[Array, "*any K"]) -> Float[Array, "*any K"]:
    """A member's probabilities, once they are finite and of sum one; else `Diverged`, a cause to retry."""
    if not np.isfinite(probs).all():
        raise Diverged("probabilities: expected finite numbers; got NaN or infinity. The member has diverged.")
    off = np.abs(probs.sum(axis=-1) - 1).max(initial=0)
    if off > 1e-3 or probs.min(initial=0) < 0:
        raise Diverged(f"probabilities: expected rows of sum one, none negative; got sums off by up to {off:.3g}.")
    return probs


def member_seeds(E: int, rng: np.random.Generator) -> Int[Array, "E 2"]:
    """For each member a seed and the one for its second try; member e has the same seeds for any E > e."""
    return rng.integers(2**63, size=(E, 2))


def fit_members(E: int, fit_one: Callable[[int, np.random.Generator], T], rng: np.random.Generator) -> list[T]:
    """`fit_one(e, rng_e)` for e in 0..E-1, each with a generator of its own.

    A member that fails (see MEMBER_FAILURES; `Diverged` is one) is tried once more with another seed; if that
    fails too, `Diverged` names the member and carries the cause. Bad input is the caller's: never retried.
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
    """Inside the block, members are fitted by `how(E, fit)`, which returns `fit(e)` of every member, had anyhow."""
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
            f"member {e}: expected training to succeed; it failed with two seeds: first {_said(earlier)}, "
            f"then {_said(cause)}. Lower the learning rate, look at the items, or use another model."
        ) from cause


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
