"""Validation splits (Algorithm 4 of the paper): the training and the validation part of each member.

dynamic   70/30, a new split for every member and round
constant  70/30, one split that the members of a round share
none      everything trains; the number of epochs is fixed
`Fixed`   a separate labelled validation set of the user; everything labelled trains
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from bemps.errors import InputError, unknown_name
from bemps.models.base import Items, check_labelled, count, join
from bemps.types import Array

VALIDATION_FRACTION = 0.3


@dataclass(frozen=True, eq=False)
class Split:
    """Positions of the items that train a member and of those that validate it."""

    train: Int[Array, " T"]
    valid: Int[Array, " V"]


@dataclass(frozen=True, eq=False)
class Fixed:
    """A separate labelled validation set, the same in every round (the paper uses 1,000 items).

    Attributes
    ----------
    items : items of the model
        The validation items.
    labels : array (V,) of int
        Codes into the classes.
    """

    items: Items
    labels: Int[Array, " V"]


@dataclass(frozen=True, eq=False)
class SplitPlan:
    """The items and labels of a round, and the split of each member.

    Parameters
    ----------
    items : array, table, or sequence
        The items, with those of a fixed validation set at the end.
    labels : array (L,) of int
        Their codes.
    splits : tuple of Split
        The split of each member.
    """

    items: Items
    labels: Int[Array, " L"]
    splits: tuple[Split, ...]


Validation = str | Fixed
SplitRule = Callable[[Int[Array, " L"], int, np.random.Generator], Sequence[Split]]


def plan_splits(
    validation: Validation,
    items: Items,
    labels: Int[Array, " L"],
    *,
    classes: Sequence[str],
    members: int,
    rng: np.random.Generator,
) -> SplitPlan:
    """One split for each member; every position refers to the items and labels of the plan.

    Parameters
    ----------
    validation : str or Fixed
        The rule of splitting, or a separate validation set.
    items : array, table, or sequence
        The labelled items.
    labels : array (L,) of int
        Their codes.
    classes : sequence of str
        The ordered class names.
    members : int
        The number of members.
    rng : numpy Generator
        The source of randomness.

    Returns
    -------
    SplitPlan
        The items, labels and splits.

    Raises
    ------
    InputError
        The rule is unknown, or the labels do not fit the items or classes.
    """
    labels = check_labelled(items, labels, classes)
    if isinstance(validation, Fixed):
        return _plan_fixed(validation, items, labels, classes, members)
    if validation not in SPLITS:
        raise unknown_name("validation", validation, SPLITS, "Or give a validation set: Fixed(items, labels).")
    return SplitPlan(items, labels, tuple(SPLITS[validation](labels, members, rng)))


def _plan_fixed(
    fixed: Fixed, items: Items, labels: Int[Array, " L"], classes: Sequence[str], members: int
) -> SplitPlan:
    more = check_labelled(fixed.items, fixed.labels, classes)
    L, V = count(items), count(fixed.items)
    split = Split(np.arange(L), np.arange(L, L + V))
    return SplitPlan(join(items, fixed.items), np.concatenate([labels, more]), (split,) * members)


def dynamic(labels: Int[Array, " L"], members: int, rng: np.random.Generator) -> list[Split]:
    """A new split for every member.

    Parameters
    ----------
    labels : array (L,) of int
        The codes of the items.
    members : int
        The number of members.
    rng : numpy Generator
        The source of randomness.

    Returns
    -------
    list of Split
        One split for each member.
    """
    return [holdout(labels, rng) for _ in range(members)]


def constant(labels: Int[Array, " L"], members: int, rng: np.random.Generator) -> list[Split]:
    """One split for all members.

    Parameters
    ----------
    labels : array (L,) of int
        The codes of the items.
    members : int
        The number of members.
    rng : numpy Generator
        The source of randomness.

    Returns
    -------
    list of Split
        The same split for each member.
    """
    return [holdout(labels, rng)] * members


def none(labels: Int[Array, " L"], members: int, rng: np.random.Generator) -> list[Split]:
    """No validation part.

    Parameters
    ----------
    labels : array (L,) of int
        The codes of the items.
    members : int
        The number of members.
    rng : numpy Generator
        Not used here.

    Returns
    -------
    list of Split
        The same split for each member, its validation part empty.
    """
    return [Split(np.arange(len(labels)), np.arange(0))] * members


SPLITS: dict[str, SplitRule] = {"dynamic": dynamic, "constant": constant, "none": none}


def holdout(labels: Int[Array, " L"], rng: np.random.Generator, fraction: float = VALIDATION_FRACTION) -> Split:
    """Set about `fraction` of the labels aside, stratified.

    The training part is never empty; the validation part only when there is a single label. A class of one
    label stays in the training part, unless all classes are such: then the split is random.

    Parameters
    ----------
    labels : array (L,) of int
        The codes of the items.
    rng : numpy Generator
        The source of randomness.
    fraction : float, optional
        The fraction to set aside, between 0 and 1.

    Returns
    -------
    Split
        The training and the validation part.

    Raises
    ------
    InputError
        `fraction` is not between 0 and 1.
    """
    if not 0 < fraction < 1:
        raise InputError("fraction", expected="between 0 and 1", got=str(fraction), fix="The paper uses 0.3.")
    aside = np.zeros(len(labels), dtype=bool)
    valid_size = int(np.clip(round(fraction * len(labels)), min(1, len(labels) - 1), len(labels) - 1))
    codes, sizes = np.unique(labels, return_counts=True)
    if sizes.max() < 2:
        aside[rng.choice(len(labels), valid_size, replace=False)] = True
        return _parts(aside)
    for code, n in zip(codes, _shares(sizes, valid_size, fraction, rng), strict=True):
        aside[rng.choice(np.flatnonzero(labels == code), n, replace=False)] = True
    return _parts(aside)


def _parts(aside: Bool[Array, " L"]) -> Split:
    return Split(np.flatnonzero(~aside), np.flatnonzero(aside))


def _shares(sizes: Int[Array, " C"], total: int, fraction: float, rng: np.random.Generator) -> Int[Array, " C"]:
    """How many of each class to set aside: largest remainders, ties drawn, one of each left to train."""
    quota = fraction * sizes
    shares: Array = np.minimum(np.floor(quota).astype(np.int64), sizes - 1)
    order = np.lexsort((rng.random(len(sizes)), shares - quota))
    while shares.sum() < total and (shares < sizes - 1).any():
        for c in order:
            if shares.sum() < total and shares[c] < sizes[c] - 1:
                shares[c] += 1
    return shares
