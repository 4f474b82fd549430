"""The type checker under which every test runs: shapes by jaxtyping, the rest by beartype."""

from typing import Any, get_args

import numpy as np
from beartype import BeartypeConf, FrozenDict, beartype
from numpy.typing import ArrayLike

BUFFER = get_args(ArrayLike)[0]  # a protocol: Python looks at one for longer than a small test lasts
ARRAYS_FIRST = FrozenDict({BUFFER: np.ndarray | BUFFER})
typed = beartype(conf=BeartypeConf(is_pep484_tower=True, hint_overrides=ARRAYS_FIRST))  # an int is a float
checkers = {}


def checked(function):
    """A checker of arguments, or of a result, as jaxtyping asks for the one and then for the other.

    The second checker leaves out the arguments, which the first has seen. Functions within functions are made
    at every call, their checkers once.
    """
    hints = function.__annotations__
    if hints.get("return", Any) is not Any:
        hints = function.__annotations__ = {"return": hints["return"]}
    if "<locals>" not in function.__qualname__:
        return typed(function)
    defaults = len(function.__defaults__ or ()), *(function.__kwdefaults__ or ())
    key = function.__module__, function.__qualname__, function.__code__, defaults, repr(hints)
    if key not in checkers:
        checkers[key] = typed(function)
    return checkers[key]
