"""Ask and tell: the only place that joins gain, batch, members and pool."""

from bemps.learner.active import ActiveLearner as ActiveLearner
from bemps.learner.asked import Batch as Batch
from bemps.learner.asked import Why as Why
from bemps.learner.stopping import Advice as Advice
from bemps.learner.stopping import Budget as Budget
from bemps.learner.stopping import Forecast as Forecast
from bemps.learner.stopping import GainBelow as GainBelow
from bemps.learner.stopping import Stable as Stable
