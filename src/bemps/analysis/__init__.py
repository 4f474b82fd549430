"""Looking at models, maths and runs together: is a posterior any good, is a classifier calibrated, what is acquired?"""

from bemps.analysis.calibration import Reliability as Reliability
from bemps.analysis.calibration import calibration_errors as calibration_errors
from bemps.analysis.calibration import expected_calibration_error as expected_calibration_error
from bemps.analysis.calibration import reliability as reliability
from bemps.analysis.calibration import running_average as running_average
from bemps.analysis.calibration import running_ece as running_ece
from bemps.analysis.data_maps import DataMap as DataMap
from bemps.analysis.data_maps import acquired_shares as acquired_shares
from bemps.analysis.data_maps import data_map as data_map
from bemps.analysis.data_maps import training_dynamics as training_dynamics
from bemps.analysis.diagnostic import Diagnostic as Diagnostic
from bemps.analysis.diagnostic import gain_diagnostic as gain_diagnostic
from bemps.analysis.epochs import ece_of_epochs as ece_of_epochs
from bemps.analysis.projection import projection as projection
