"""Predictions for tests: members that differ much or hardly, with zeros, with weights."""

import numpy as np


def predictions(
    rng: np.random.Generator, E: int, N: int, K: int, *, apart: float = 1.0, zeros: float = 0.0, dtype=np.float64
) -> np.ndarray:
    """Softmax of logits shared by the members plus `apart` times noise; some probabilities exactly zero on request.

    Rows sum to one exactly, also in float32: a literal difference of G is wrong by G times what a row misses.
    """
    logits = 1.5 * rng.normal(size=(1, N, K)) + apart * rng.normal(size=(E, N, K))
    p = np.exp(logits)
    if zeros:
        p *= rng.random((E, N, K)) >= zeros
        p[..., -1] *= rng.random((1, N)) >= zeros  # a class that no member believes in
        p[..., 0] += p.sum(-1) == 0  # a row must keep something
    return on_grid(p / p.sum(-1, keepdims=True), 22 if dtype == np.float32 else 46).astype(dtype)


def on_grid(p: np.ndarray, bits: int) -> np.ndarray:
    """Probabilities as multiples of 2^-bits, what is missing given to the largest."""
    units = np.floor(p * 2.0**bits)
    largest = p.argmax(-1)[..., None]
    missing = 2.0**bits - units.sum(-1, keepdims=True)
    np.put_along_axis(units, largest, np.take_along_axis(units, largest, -1) + missing, -1)
    return units / 2.0**bits


def weights_for(rng: np.random.Generator, E: int) -> np.ndarray:
    return on_grid(rng.dirichlet(np.ones(E)), 46)
