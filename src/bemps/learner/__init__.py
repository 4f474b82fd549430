"""Active learners: ask for items, tell their labels, forecast, stop, save."""

from bemps.learner.active_learner import ActiveLearner as ActiveLearner
from bemps.learner.batch import Batch as Batch
from bemps.learner.batch import Why as Why
from bemps.learner.forecast_calibration import Improvement as Improvement
from bemps.learner.stopping import Advice as Advice
from bemps.learner.stopping import Budget as Budget
from bemps.learner.stopping import Forecast as Forecast
from bemps.learner.stopping import GainBelow as GainBelow
from bemps.learner.stopping import LabellingProgress as LabellingProgress
from bemps.learner.stopping import RiseBelow as RiseBelow
from bemps.learner.stopping import Stable as Stable
from bemps.learner.stopping import StoppingRule as StoppingRule
