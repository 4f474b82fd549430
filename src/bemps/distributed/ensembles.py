"""Deep ensembles whose members are trained in parallel on Ray. The members equal those trained in sequence.

Every worker runs the model's own `fit` with the same items, labels and random numbers, trains one member and stops.
The `fit` of the driver then uses the members that the workers returned instead of training them.
"""

import copy
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Int

from bemps.distributed.cluster import Cluster, connected
from bemps.distributed.job_executor import RayExecutor
from bemps.errors import BempsError, InputError
from bemps.models.base import Items, Model, fitting
from bemps.types import Array

M = TypeVar("M", bound=Model)
Arguments = tuple[Items, Int[Array, " L"], Sequence[str], np.random.Generator]


class _Trained(BaseException):
    """Carries the trained member out of `fit`. A BaseException, so that no handler of errors in between catches it."""

    def __init__(self, member: object) -> None:
        super().__init__()
        self.member = member


def on_ray(model: M, on: str = "ray") -> M:
    """Copy a model so that its `fit` trains each member as a Ray task.

    Parameters
    ----------
    model : Model
        A model that trains its members one by one: a text or image network, or an ensemble of scikit-learn estimators.
    on : str
        Where to train, as in `bemps run --on`. With `ray?gpus=0.5` two members share a GPU.

    Returns
    -------
    Model
        The copy, of the same class.

    Raises
    ------
    InputError
        When `fit` is called on a model that trains its members together.
    """
    distributed_model, cluster = copy.copy(model), Cluster.parse(on)

    def fit(items: Items, labels: Int[Array, " L"], classes: Sequence[str], rng: np.random.Generator) -> M:
        arguments = (items, labels, classes, copy.deepcopy(rng))
        ray_fitting = _RayFitting(without_driver_state(distributed_model), arguments, cluster)
        with fitting(ray_fitting):
            type(model).fit(distributed_model, items, labels, classes, rng)
        if not ray_fitting.used:
            raise InputError(
                type(model).__name__,
                expected="a model that trains its members one by one",
                got="one that trains them together",
                fix="Use it without on_ray: it is quick as it is.",
            )
        return distributed_model

    vars(distributed_model)["fit"] = fit  # on the instance: the class, and so the model's other methods, stay
    return distributed_model


def without_driver_state(model: M) -> M:
    """Copy a model for workers, without the `fit` of this module and without the driver's callback."""
    stripped = copy.copy(model)
    vars(stripped).pop("fit", None)
    if getattr(stripped, "progress", None) is not None:
        vars(stripped)["progress"] = None
    return stripped


class _RayFitting:
    """A way of fitting: every member is a Ray task, and the members come back in their order."""

    def __init__(self, model: Model, arguments: Arguments, cluster: Cluster) -> None:
        self._shared, self._cluster = (model, *arguments), cluster
        self.used = False

    def __call__(self, E: int, fit: Callable[[int], object]) -> list[object]:
        self.used = True
        with connected(self._cluster) as ray:
            pairs = RayExecutor(ray, self._cluster.resources).map(train_member, self._shared, [(e,) for e in range(E)])
            members = dict(pairs)
        return [members[e] for e in range(E)]


def train_member(shared: tuple[Any, ...], e: int) -> object:
    """Train member e of a fit, on a worker."""
    model, items, labels, classes, rng = shared

    def only(E: int, fit: Callable[[int], object]) -> list[object]:
        raise _Trained(fit(e))

    with fitting(only):
        try:
            model.fit(items, labels, classes, copy.deepcopy(rng))
        except _Trained as trained:
            return trained.member
    raise BempsError(f"member {e}: expected a fit that trains its members one by one; got one that does not.")
