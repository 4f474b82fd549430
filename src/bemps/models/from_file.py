"""Probabilities from a file, for any model outside bemps, matched with the items by id.

The items of this model are ids. `.npz` holds `probs` (E, N, K), `ids` (N,) and optionally `weights` (E,);
`.npy` holds the probabilities alone, and the ids come beside it: as a sequence, or as a text file of one id a line.
Every fit reads the file again: write it after each round of your own training.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from bemps import checks
from bemps.data.arrays import check_ids, read_arrays, read_ids
from bemps.errors import InputError
from bemps.models.base import Items, NotFitted, check_labelled
from bemps.types import Array


class FromFile:
    """Probabilities that a model outside bemps wrote to a file.

    Parameters
    ----------
    path : path
        A .npz file with `probs` (E, N, K), `ids` (N,) and optionally `weights` (E,), or a .npy file of probabilities.
        The columns are the classes in their order. Every fit reads the file again.
    ids : sequence of str, or path, optional
        The ids of the items, or a text file with one id a line. None takes `ids` of the .npz file.
    """

    def __init__(self, path: str | Path, *, ids: Sequence[str] | str | Path | None = None) -> None:
        self.path, self.ids = Path(path), ids
        self.probs_: Float[Array, "E N K"] | None = None
        self.weights_: Float[Array, " E"] | None = None
        self.rows_: dict[str, int] = {}

    def fit(
        self, items: Items, labels: Int[Array, " L"], classes: Sequence[str], rng: np.random.Generator
    ) -> "FromFile":
        """Read the file; the labels were used outside bemps and are only checked.

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
        FromFile
            The model itself.

        Raises
        ------
        InputError
            The file and the classes do not agree, or the file is not valid.
        """
        check_labelled(items, labels, classes)
        self.probs_ = None
        arrays = _read(self.path)
        probs = checks.probabilities(arrays["probs"], f"{self.path.name}: probs")
        if probs.shape[2] != len(classes):
            raise InputError(
                f"{self.path.name}: probs",
                expected=f"{len(classes)} classes ({', '.join(classes)})",
                got=f"{probs.shape[2]} columns",
                fix="Write one column for each class, in the order of the classes.",
            )
        ids = self._ids(arrays)
        check_ids(ids, probs.shape[1], f"{self.path.name}: ids")
        self.rows_ = {name: row for row, name in enumerate(ids)}
        self.weights_ = checks.distribution(arrays.get("weights"), len(probs), f"{self.path.name}: weights")
        # Rows may be off by the rounding of the program that wrote them.
        self.probs_ = probs / probs.sum(axis=2, keepdims=True, dtype=np.float64)
        return self

    def predict(self, items: Items) -> Float[Array, "E N K"]:
        """Predict probabilities for each member; see `Model.predict`."""
        if self.probs_ is None:
            raise NotFitted(self)
        ids = [str(item) for item in items]
        unknown = [name for name in ids if name not in self.rows_]
        if unknown:
            raise InputError(
                f"{self.path.name}: ids",
                expected="every item asked for",
                got=f"{len(unknown)} unknown, the first {unknown[0]!r}",
                fix="Predict the whole pool outside, or check that both sides use the same ids.",
            )
        return self.probs_[:, [self.rows_[name] for name in ids]]

    @property
    def weights(self) -> Float[Array, " E"]:
        """p(theta|L) of the members: the file's `weights`, else uniform."""
        if self.weights_ is None:
            raise NotFitted(self)
        return self.weights_

    def _ids(self, arrays: dict[str, Array]) -> Sequence[str]:
        if isinstance(self.ids, str | Path):
            return read_ids(Path(self.ids), "ids")
        ids = arrays.get("ids") if self.ids is None else self.ids
        if ids is None:
            raise InputError(
                f"{self.path.name}",
                expected="an id for each item",
                got="probabilities alone",
                fix="Save with np.savez(path, probs=probs, ids=ids), or pass ids=.",
            )
        return [str(name) for name in ids]


def _read(path: Path) -> dict[str, Array]:
    """The arrays of the file; pickled objects are refused, as they can run code."""
    loaded = read_arrays(path, path.name)
    arrays = {"probs": loaded} if isinstance(loaded, np.ndarray) else loaded
    if "probs" not in arrays:
        raise InputError(path.name, expected="an array named probs", got=", ".join(arrays), fix="Rename it.")
    return arrays
