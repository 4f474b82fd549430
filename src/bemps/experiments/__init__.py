"""The experiment: a grid of cells played with the true labels, durable round by round.

config_of, read_toml   settings -> Config
run                    Config, folder -> Outcome; run again, it goes on where it was stopped
"""

from bemps.experiments.config import Config as Config
from bemps.experiments.config import config_of as config_of
from bemps.experiments.config import read_toml as read_toml
from bemps.experiments.failures import CannotWrite as CannotWrite
from bemps.experiments.failures import Failure as Failure
from bemps.experiments.failures import OtherConfiguration as OtherConfiguration
from bemps.experiments.progress import Watcher as Watcher
from bemps.experiments.runner import Outcome as Outcome
from bemps.experiments.runner import run as run
