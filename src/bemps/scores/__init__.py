r"""Strictly proper scores, each given by its convex function G (Savage; Gneiting and Raftery 2007).

    G(p)            expected score of a forecast p that is true              (..., K) -> (...)
    S(p, y)         = G(p) + <grad G(p), delta_y - p>                         Eq (1) of the paper
    B(p, q)         = G(p) - G(q) - <grad G(q), p - q>                        Bregman divergence, >= 0

A score here is any object with a method `G`. A function is taken as a G, and has to work on arrays of any strides
(`p.sum(-1)` does). Larger scores are better.
Scores whose G is quadratic, G(p) = p^T C p + const, have a method `root` (C = root^T root on vectors that sum to
zero): their expected gain factorises.
"""

from bemps.scores.convexity import check_convexity as check_convexity
from bemps.scores.named_scores import SCORES as SCORES
from bemps.scores.named_scores import Beta as Beta
from bemps.scores.named_scores import Brier as Brier
from bemps.scores.named_scores import Log as Log
from bemps.scores.named_scores import Power as Power
from bemps.scores.named_scores import Quadratic as Quadratic
from bemps.scores.named_scores import SoftZeroOne as SoftZeroOne
from bemps.scores.named_scores import Spherical as Spherical
from bemps.scores.named_scores import ZeroOne as ZeroOne
from bemps.scores.proper_score import HasG as HasG
from bemps.scores.proper_score import HasRoot as HasRoot
from bemps.scores.proper_score import Score as Score
from bemps.scores.proper_score import quadratic_root as quadratic_root
from bemps.scores.score_lookup import Custom as Custom
from bemps.scores.score_lookup import CustomQuadratic as CustomQuadratic
from bemps.scores.score_lookup import ScoreLike as ScoreLike
from bemps.scores.score_lookup import score as score
