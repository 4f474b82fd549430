"""How child processes of Python are started: never with the modules of the folder that somebody happens to be in.

`python -m` and `python -c` look for every module in the current folder first. Data come from elsewhere, and people
change into their folder: a `queue.py` beside the data would be run.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

SAFE_PATH = {"PYTHONSAFEPATH": "1"}  # the variable for -P: it also reaches the children of children


@contextmanager
def safe_path() -> Iterator[None]:
    """Every process of Python that is started meanwhile, by whichever library, leaves the current folder out."""
    name = "PYTHONSAFEPATH"
    before = os.environ.get(name)
    os.environ |= SAFE_PATH
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = before
