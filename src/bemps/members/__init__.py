"""Members: models that turn a few labels into `probs (E, N, K)`.

SpectralLaplace, SpectralLogistic   the default on frozen vectors
SklearnEnsemble, ForestMembers      any scikit-learn classifier, the trees of a forest
tfidf_classifier, tfidf_vectors     raw texts without torch
FromFile                            probabilities of a model outside
Models that need torch live in modules of their own and are imported from there.
"""

from bemps.members.base import Diverged as Diverged
from bemps.members.base import HasEmbeddings as HasEmbeddings
from bemps.members.base import HasFeatures as HasFeatures
from bemps.members.base import HasSurprisal as HasSurprisal
from bemps.members.base import HasWeights as HasWeights
from bemps.members.base import Items as Items
from bemps.members.base import Model as Model
from bemps.members.base import UsesPool as UsesPool
from bemps.members.forest import ForestMembers as ForestMembers
from bemps.members.from_file import FromFile as FromFile
from bemps.members.linear import SpectralLaplace as SpectralLaplace
from bemps.members.linear import SpectralLogistic as SpectralLogistic
from bemps.members.sklearn_members import SklearnEnsemble as SklearnEnsemble
from bemps.members.spectral import Recipe as Recipe
from bemps.members.splits import Fixed as Fixed
from bemps.members.tfidf import tfidf_classifier as tfidf_classifier
from bemps.members.tfidf import tfidf_vectors as tfidf_vectors
