"""Parameters that were renamed, and are still accepted under their old names."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

Class = TypeVar("Class", bound=type[Any])


def renamed_parameters(**names: str) -> Callable[[Class], Class]:
    """Let a class take parameters under their old names.

    Parameters
    ----------
    **names : str
        The new name of each old one.
    """

    def decorate(decorated: Class) -> Class:
        init = decorated.__init__

        @wraps(init)
        def accept(self: Any, *args: Any, **options: Any) -> None:
            init(self, *args, **{names.get(name, name): value for name, value in options.items()})

        decorated.__init__ = accept
        return decorated

    return decorate
