"""Deep ensembles whose members are trained side by side on Ray: the same members as one after the other.

Every worker runs the very `fit` of the model, with the same items, labels and random numbers, but trains one member and
leaves; the driver's own `fit` then takes the members that came back for those it would have trained.
"""

import copy
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Int

from bemps.distributed.cluster import Place, connected
from bemps.distributed.flow import RayFlow
from bemps.errors import BempsError, InputError
from bemps.members.base import Items, Model, fitting
from bemps.types import Array

M = TypeVar("M", bound=Model)
Arguments = tuple[Items, Int[Array, " L"], Sequence[str], np.random.Generator]


class _Trained(BaseException):
    """Leaves `fit` with the one member that was wanted; not an error, so nothing on the way may catch it."""

    def __init__(self, member: object) -> None:
        super().__init__()
        self.member = member


def on_ray(model: M, on: str = "ray") -> M:
    """A copy of a model whose `fit` trains its members as Ray tasks; `on="ray?gpus=0.5"`: two share a GPU.

    For models that train members one by one: text and image networks, ensembles of scikit-learn estimators.
    """
    twin, place = copy.copy(model), Place.of(on)

    def fit(items: Items, labels: Int[Array, " L"], classes: Sequence[str], rng: np.random.Generator) -> M:
        arguments = (items, labels, classes, copy.deepcopy(rng))
        elsewhere = _Elsewhere(bare(twin), arguments, place)
        with fitting(elsewhere):
            type(model).fit(twin, items, labels, classes, rng)
        if not elsewhere.used:
            raise InputError(
                type(model).__name__,
                expected="a model that trains its members one by one",
                got="one that trains them together",
                fix="Use it without on_ray: it is quick as it is.",
            )
        return twin

    vars(twin)["fit"] = fit  # on the instance: the class, and so what else the model can do, stays as it is
    return twin


def bare(model: M) -> M:
    """What travels: without the `fit` of this module, and without a callback that belongs to the driver."""
    plain = copy.copy(model)
    vars(plain).pop("fit", None)
    if getattr(plain, "progress", None) is not None:
        vars(plain)["progress"] = None
    return plain


class _Elsewhere:
    """Members from Ray tasks, in their order."""

    def __init__(self, model: Model, arguments: Arguments, place: Place) -> None:
        self._shared, self._place = (model, *arguments), place
        self.used = False

    def __call__(self, E: int, fit: Callable[[int], object]) -> list[object]:
        self.used = True
        with connected(self._place) as ray:
            found = RayFlow(ray, self._place.needs).map(train_member, self._shared, [(e,) for e in range(E)])
            members = dict(found)
        return [members[e] for e in range(E)]


def train_member(shared: tuple[Any, ...], e: int) -> object:
    """On a worker: member e of a fit."""
    model, items, labels, classes, rng = shared

    def only(E: int, fit: Callable[[int], object]) -> list[object]:
        raise _Trained(fit(e))

    with fitting(only):
        try:
            model.fit(items, labels, classes, copy.deepcopy(rng))
        except _Trained as trained:
            return trained.member
    raise BempsError(f"member {e}: expected a fit that trains its members one by one; got one that does not.")
