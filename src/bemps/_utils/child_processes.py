"""Child processes of Python that never import modules from the current folder.

`python -m` and `python -c` look for every module in the current folder first. People work in folders with data of other
origin: a `queue.py` beside the data would run.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

SAFE_PATH = {"PYTHONSAFEPATH": "1"}  # the variable for -P: it also reaches the children of children


@contextmanager
def safe_path() -> Iterator[None]:
    """Start processes of Python without the current folder in their path while the block runs."""
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
