"""Gains of labels: expected, remaining and joint gains for every proper score, and their closed form."""

from bemps.gain.expected import Gain as Gain
from bemps.gain.expected import core_log as core_log
from bemps.gain.expected import core_mse as core_mse
from bemps.gain.expected import expected_gain as expected_gain
from bemps.gain.expected import remaining_gain as remaining_gain
from bemps.gain.joint import joint_gain as joint_gain
