"""Imports of optional packages, with one error that says how to install them.

`tests/core/test_extras.py` checks that each extra that is named provides what is imported there.
"""

import importlib
import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from bemps.errors import MissingExtra


def optional_import(module: str, extra: str, purpose: str) -> ModuleType:
    """Import a module that an extra of bemps provides.

    Parameters
    ----------
    module : str
        The name of the module.
    extra : str
        The extra in `pyproject.toml` that installs it.
    purpose : str
        What it is for. The message begins with it.

    Returns
    -------
    module
        The module.

    Raises
    ------
    MissingExtra
        It is not installed.
    """
    with requires_extra(extra, purpose):
        return importlib.import_module(module)


def is_installed(module: str) -> bool:
    """Whether a module can be imported; it is not imported here."""
    return importlib.util.find_spec(module) is not None


@contextmanager
def requires_extra(extra: str, purpose: str) -> Iterator[None]:
    """Turn an ImportError of the block into a MissingExtra. Import statements in the block keep their types."""
    try:
        yield
    except MissingExtra:  # a module below has named what it needs itself
        raise
    except ImportError as cause:
        raise MissingExtra(purpose, extra, cause) from cause
