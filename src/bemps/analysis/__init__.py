"""Looking at models and maths together: is a posterior any good?"""

from bemps.analysis.diagnostic import Diagnostic as Diagnostic
from bemps.analysis.diagnostic import gain_diagnostic as gain_diagnostic
