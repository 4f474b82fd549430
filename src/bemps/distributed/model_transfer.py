"""A fitted model as bytes for the workers: sent once, loaded once in each process."""

import inspect
import pickle
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Float, UInt8

from bemps import checks
from bemps.distributed.cluster import import_ray
from bemps.distributed.pools.work_folder import signature
from bemps.errors import BempsError, InputError
from bemps.models.base import Items
from bemps.types import Array


class ModelFailed(BempsError):
    """A model raised while it predicted a shard."""


@dataclass(frozen=True, eq=False)
class SerializedModel:
    """A model as bytes (an array, which Ray shares between processes without a copy), and a version of its content."""

    version: str
    packed: UInt8[Array, " bytes"]

    @classmethod
    def from_model(cls, model: object, version: str | None) -> "SerializedModel":
        """Serialise a fitted model, or a function without arguments that returns one on the worker."""
        if not callable(getattr(model, "predict", None)) and not _is_factory(model):
            raise InputError(
                "model",
                expected="a fitted model with predict(items), or a function without arguments that returns one",
                got=type(model).__name__,
                fix="For shards that hold probabilities, pass model=None.",
            )
        packed = np.frombuffer(import_ray().cloudpickle.dumps(model), np.uint8)
        return cls(version or signature(packed), packed)

    def predict(self, items: Items, where: str) -> Float[Array, "E n K"]:
        """Predict items, and check the probabilities. An error names the shard."""
        try:
            model = _loaded(_CacheKey(self))
        except (ImportError, AttributeError) as error:
            raise ModelFailed(
                f"model: expected one that can be loaded on the worker; got {type(error).__name__}: {error}. "
                "Install the modules that it comes from on every node."
            ) from error
        try:
            probs = model.predict(items)
        except Exception as error:
            raise ModelFailed(f"{where}: the model failed to predict: {type(error).__name__}: {error}") from error
        return checks.probabilities(probs, f"{where}: predictions")


def _is_factory(model: object) -> bool:
    if not callable(model):
        return False
    parameters = inspect.signature(model).parameters.values()
    return not any(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)


@dataclass(frozen=True, eq=False)
class _CacheKey:
    """A key of the cache: models of the same version are equal."""

    serialized: SerializedModel

    def __hash__(self) -> int:
        return hash(self.serialized.version)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _CacheKey) and other.serialized.version == self.serialized.version


@lru_cache(maxsize=1)
def _loaded(key: _CacheKey) -> Any:
    """The model in this worker process, loaded at the first use and replaced when another model is sent."""
    model = pickle.loads(key.serialized.packed.data)  # from the driver, as every Ray task is
    return model if callable(getattr(model, "predict", None)) else model()
