"""Spectral features: principal directions of the pool, scaled by their standard deviations.

    u(x) = [ (x - mean) V diag(sd)^alpha / rms,  bias ],    h(x) = norm * u(x)

V and sd are the principal directions of the pool and the standard deviations along them; rms makes the varying
part of u of root-mean-square norm 1 on the pool. alpha = 0 is plain PCA, -1 would be whitening. alpha near 1 is a
prior for few labels: a weight on a weak direction costs more; with many labels, or where the classes differ in weak
directions, 0 is better, so by default the labels choose (`bemps.models.linear.prior`). A small `bias` keeps the class
frequencies of a handful of labels, which active learning skews anyway, from deciding.

Two views side by side (the meaning of a text and its words, say) have a spectrum for each of SHARES, what the second
counts beside the first; which one suits is again for the labels to say.
"""

from dataclasses import dataclass
from typing import cast

import numpy as np
from jaxtyping import Bool, Float

from bemps._utils.numerics import SPECTRAL_BIAS, SPECTRAL_SHARE
from bemps._utils.renamed_parameters import renamed_parameters
from bemps.errors import InputError
from bemps.types import Array

BLOCK_ROWS = 4096  # rows in float64 at a time: a million items are never copied at once
RANK_TOLERANCE = 1e-10  # of the largest variance; smaller ones are rounding
USUAL_ALPHA = 0.75  # where there are no labels to choose it
SHARES = (0.0, 0.3, 1.0, 3.0)  # variance of the second view for one of the first


@renamed_parameters(kept="energy_share")
@dataclass(frozen=True)
class SpectralRecipe:
    """How vectors become features of a linear head with L2 = 1.

    Attributes
    ----------
    alpha : float or None
        The power of the standard deviations. None lets the labels choose in every fit.
    bias : float
        The constant last feature.
    energy_share : float
        The share of the features' squared norm that remains. The weakest directions beyond it are dropped.
    norm : float or None
        The root-mean-square norm of the features on the pool. None lets the labels choose in every fit.
    """

    alpha: float | None = None
    bias: float = SPECTRAL_BIAS
    energy_share: float = SPECTRAL_SHARE
    norm: float | None = None


@dataclass(frozen=True, eq=False)
class SpectralMap:
    """The affine map x -> u(x) = [(x - mean) @ matrix, bias].

    Parameters
    ----------
    mean : array (D,)
        The mean of the pool.
    matrix : array (D, J)
        The scaled directions, J = H - 1.
    bias : float
        The last, constant feature.
    """

    mean: Float[Array, " D"]
    matrix: Float[Array, "D J"]  # J = H - 1
    bias: float

    def __call__(self, vectors: Float[Array, "N D"]) -> Float[Array, "N H"]:
        self.check(vectors)
        rows = np.full((len(vectors), self.matrix.shape[1] + 1), self.bias)
        for start in range(0, len(vectors), BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            np.matmul(vectors[block] - self.mean, self.matrix, out=rows[block, :-1])
        return rows

    def fold(self, weights: Float[Array, "H C"]) -> tuple[Float[Array, "D C"], Float[Array, " C"]]:
        """(F, b) with `u(x) @ weights = x @ F + b`: predicting needs no features."""
        folded = self.matrix @ weights[:-1]
        return folded, self.bias * weights[-1] - self.mean @ folded

    def mixed(self) -> "SpectralMap":
        """The same features turned (by a cosine transform) so that each coordinate has a little of every direction.

        Distances stay; a dropout mask then takes away a share of all directions, not the strongest one by chance.
        """
        from scipy.fft import dct

        turned = dct(self.matrix, axis=1, norm="ortho") if self.matrix.shape[1] else self.matrix
        return SpectralMap(self.mean, turned, self.bias)

    def check(self, vectors: Float[Array, "N D"]) -> None:
        """Refuse vectors of another length than the pool's."""
        if vectors.shape[1] != len(self.mean):
            raise InputError(
                "items",
                expected=f"vectors of length {len(self.mean)}, as in the pool",
                got=f"length {vectors.shape[1]}",
                fix="Embed all items with the same encoder.",
            )


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Principal directions of a pool, the strongest first.

    Parameters
    ----------
    mean : array (D,)
        The mean of the pool.
    directions : array (D, R)
        The principal directions.
    variance : array (R,)
        The variance of the pool along each direction.
    """

    mean: Float[Array, " D"]
    directions: Float[Array, "D R"]
    variance: Float[Array, " R"]

    def map(self, alpha: float, recipe: SpectralRecipe) -> SpectralMap:
        """The map with this alpha. Without variation only the bias is left."""
        stretch = self._stretch(alpha, recipe)
        return SpectralMap(self.mean, self.directions[:, : len(stretch)] * stretch, recipe.bias)

    def along(self, vectors: Float[Array, "N D"]) -> Float[Array, "N R"]:
        """How far each vector lies along each direction: what the features of every alpha are made of."""
        SpectralMap(self.mean, self.directions, 0.0).check(vectors)
        return (vectors - self.mean) @ self.directions

    def features(self, along: Float[Array, "N R"], alpha: float, recipe: SpectralRecipe) -> Float[Array, "N H"]:
        """`map(alpha, recipe)(vectors)` from `along(vectors)`.

        Parameters
        ----------
        along : array (N, R)
            The coordinates of the items, `along(vectors)`.
        alpha : float
            The power of the standard deviations.
        recipe : SpectralRecipe
            How the features are made.

        Returns
        -------
        array (N, H)
            The features u.
        """
        stretch = self._stretch(alpha, recipe)
        rows = np.full((len(along), len(stretch) + 1), recipe.bias)
        np.multiply(along[:, : len(stretch)], stretch, out=rows[:, :-1])
        return rows

    def _stretch(self, alpha: float, recipe: SpectralRecipe) -> Float[Array, " J"]:
        """The factors of the directions that remain."""
        # E|z|^2 along a direction is sd^2 sd^(2 alpha)
        energy = np.cumsum(self.variance ** (1 + alpha))
        if len(energy) == 0:
            return energy
        count = int(np.searchsorted(energy, recipe.energy_share * energy[-1])) + 1
        stretch: Array = self.variance[:count] ** (alpha / 2) / np.sqrt(energy[-1])
        return stretch


def spectrum_of(pool: Float[Array, "N D"]) -> Spectrum:
    """The spectrum of the vectors of the pool, which need no labels."""
    return spectra_of(pool)[0]


def spectra_of(pool: Float[Array, "N D"], first_view: int | None = None) -> tuple[Spectrum, ...]:
    """The spectrum of one view; of two (`first_view` columns, then the others) that of each share of the second."""
    moments = _Moments(pool)
    mean = moments.mean
    if first_view is None:
        return (_spectrum(moments, np.ones(len(mean))),)
    if not 0 < first_view < len(mean):
        raise InputError(
            "first_view",
            expected=f"the width of the first of two views, 1 to {len(mean) - 1}",
            got=str(first_view),
            fix="Leave it out where the vectors are one view.",
        )
    tiny = np.finfo(np.float64).tiny
    own, other = (max(float(part.sum()), tiny) for part in np.split(moments.variances, [first_view]))
    columns = np.arange(len(mean)) < first_view
    return tuple(_spectrum(moments, np.sqrt(np.where(columns, 1 / own, share / other))) for share in SHARES)


class _Moments:
    """Mean and covariance of a pool in float64, in the form that has fewer rows: D x D, or N centred vectors."""

    def __init__(self, pool: Float[Array, "N D"]) -> None:
        if len(pool) == 0:
            raise InputError("pool", expected="at least one vector", got="none", fix="Give the unlabelled vectors.")
        self.mean: Array = pool.mean(axis=0, dtype=np.float64)
        self.count = len(pool)
        self.centred: Array | None = pool - self.mean if len(pool) < pool.shape[1] else None
        self.covariance = self._covariance(pool) if self.centred is None else None

    def _covariance(self, pool: Float[Array, "N D"]) -> Float[Array, "D D"]:
        covariance = np.zeros((pool.shape[1], pool.shape[1]))
        for start in range(0, len(pool), BLOCK_ROWS):
            centred = pool[start : start + BLOCK_ROWS] - self.mean
            covariance += centred.T @ centred
        return covariance / len(pool)

    @property
    def variances(self) -> Float[Array, " D"]:
        """The variance of each column."""
        return (
            np.diag(self.covariance) if self.covariance is not None else (cast(Array, self.centred) ** 2).mean(axis=0)
        )

    def eigen(self, stretch: Float[Array, " J"], used: Bool[Array, " D"]) -> tuple[Array, Array]:
        """Variances and directions of the used columns, stretched, in rising order; those of no variance may miss."""
        if self.covariance is not None:
            return np.linalg.eigh(self.covariance[np.ix_(used, used)] * stretch * stretch[:, None])
        rows = cast(Array, self.centred)[:, used] * stretch
        variance, weights = np.linalg.eigh(rows @ rows.T / self.count)
        lengths = np.sqrt(np.maximum(variance, np.finfo(np.float64).tiny) * self.count)
        return variance, rows.T @ weights / lengths


def _spectrum(moments: _Moments, stretch: Float[Array, " D"]) -> Spectrum:
    """Of the vectors with their columns stretched; the directions apply to the vectors as they are."""
    used = stretch > 0
    variance, directions = moments.eigen(stretch[used], used)
    real = variance > max(RANK_TOLERANCE * float(variance[-1]), np.finfo(np.float64).tiny)
    padded = np.zeros((len(moments.mean), int(real.sum())))
    padded[used] = stretch[used, None] * directions[:, real][:, ::-1]
    return Spectrum(moments.mean, padded, variance[real][::-1])


def spectral_map(pool: Float[Array, "N D"], recipe: SpectralRecipe = SpectralRecipe()) -> SpectralMap:  # noqa: B008
    """The map of a recipe fitted on the vectors of the pool, with the usual alpha unless the recipe has one."""
    return spectrum_of(pool).map(USUAL_ALPHA if recipe.alpha is None else recipe.alpha, recipe)
