"""Experiments: a grid of cells in which the true labels answer, stored round by round.

`config_of` and `read_toml` make a `Config` from settings. `run` runs it in a folder, and continues a run that was
stopped.
"""

from bemps._utils.watchers import Watcher as Watcher
from bemps.experiments.config import Config as Config
from bemps.experiments.config import config_of as config_of
from bemps.experiments.config import read_toml as read_toml
from bemps.experiments.run_errors import CannotWrite as CannotWrite
from bemps.experiments.run_errors import Failure as Failure
from bemps.experiments.run_errors import OtherConfiguration as OtherConfiguration
from bemps.experiments.runner import Outcome as Outcome
from bemps.experiments.runner import run as run
