"""What a run of experiments says: curves, who beats whom, labels saved, times. NumPy and SciPy only."""

from bemps.statistics.area import area_under_curve as area_under_curve
from bemps.statistics.curves import Curve as Curve
from bemps.statistics.curves import Mean as Mean
from bemps.statistics.curves import Results as Results
from bemps.statistics.curves import Setting as Setting
from bemps.statistics.folder import RunFolder as RunFolder
from bemps.statistics.folder import read_run as read_run
from bemps.statistics.metrics import METRICS as METRICS
from bemps.statistics.metrics import Metric as Metric
from bemps.statistics.paired import PairTest as PairTest
from bemps.statistics.paired import holm as holm
from bemps.statistics.paired import paired_tests as paired_tests
from bemps.statistics.pairwise import Pairwise as Pairwise
from bemps.statistics.pairwise import pairwise_matrix as pairwise_matrix
from bemps.statistics.saving import Saving as Saving
from bemps.statistics.saving import labels_to_reach as labels_to_reach
from bemps.statistics.saving import saving as saving
from bemps.statistics.times import Cost as Cost
from bemps.statistics.times import costs as costs
