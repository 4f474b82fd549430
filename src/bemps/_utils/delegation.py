"""Methods that an object borrows from its parts."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def borrowed(part: str, method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """Make a method of a class from a method of one of its parts, with the same parameters and description.

    Parameters
    ----------
    part : str
        The attribute that holds the part.
    method : callable
        The method of the part.

    Returns
    -------
    callable
        The method, for the body of the class.
    """

    @wraps(method)
    def call(owner: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return method(getattr(owner, part), *args, **kwargs)

    return call
