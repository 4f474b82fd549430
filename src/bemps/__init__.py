"""bemps: which items to label next, and when to stop.

Bayesian active learning with strictly proper scores (Tan, Du and Buntine), an independent implementation.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bemps import scores as scores
from bemps.acquisition.context import Context as Context
from bemps.acquisition.selection import select as select
from bemps.acquisition.strategy_registry import strategies as strategies
from bemps.errors import BempsError as BempsError
from bemps.errors import InputError as InputError
from bemps.errors import MissingExtra as MissingExtra
from bemps.gain import Gain as Gain
from bemps.gain import core_log as core_log
from bemps.gain import core_mse as core_mse
from bemps.gain import expected_gain as expected_gain
from bemps.gain import remaining_gain as remaining_gain
from bemps.gain.joint import joint_gain as joint_gain
from bemps.learner import ActiveLearner as ActiveLearner
from bemps.learner import Batch as Batch
from bemps.limits import Limits as Limits
from bemps.limits import limits as limits
from bemps.scores import check_convexity as check_convexity
from bemps.types import Selection as Selection

__version__ = "0.1.0"

if TYPE_CHECKING:
    from pathlib import Path

    from bemps.project import Project


MODULES = frozenset({"data", "distributed", "experiments", "formats", "models", "project", "report", "results"})


def __getattr__(name: str) -> Any:
    """The larger parts are loaded when they are first named: `import bemps` alone stays light."""
    if name in MODULES:
        return import_module(f"bemps.{name}")
    raise AttributeError(f"module 'bemps' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *MODULES})


def open_project(where: "str | Path", create: bool = False) -> "Project":
    """Open a labelling project.

    Parameters
    ----------
    where : path or str
        The file of the project, or its `postgresql+psycopg://` address.
    create : bool
        Whether to make the project if there is none.

    Returns
    -------
    Project
        The project. Use it in a `with` block, or close it.
    """
    from bemps.project import open_project as opened  # SQLAlchemy is loaded only by those who have projects

    return opened(where, create=create)
