"""Members: models that turn a few labels into `probs (E, N, K)`.

SpectralLaplace, SpectralLogistic   the default on frozen vectors
SklearnEnsemble, ForestMembers      any scikit-learn classifier, the trees of a forest
tfidf_classifier, tfidf_vectors     raw texts without torch
FromFile                            probabilities of a model outside
Models that need torch live in modules of their own and are imported from there.
"""

from bemps.models.base import Diverged as Diverged
from bemps.models.base import HasEmbeddings as HasEmbeddings
from bemps.models.base import HasFeatures as HasFeatures
from bemps.models.base import HasSurprisal as HasSurprisal
from bemps.models.base import HasWeights as HasWeights
from bemps.models.base import Items as Items
from bemps.models.base import Model as Model
from bemps.models.base import UsesPool as UsesPool
from bemps.models.base import check_labelled as check_labelled
from bemps.models.encoders.tfidf import tfidf_classifier as tfidf_classifier
from bemps.models.encoders.tfidf import tfidf_vectors as tfidf_vectors
from bemps.models.from_file import FromFile as FromFile
from bemps.models.linear.spectral_classifiers import SpectralLaplace as SpectralLaplace
from bemps.models.linear.spectral_classifiers import SpectralLogistic as SpectralLogistic
from bemps.models.linear.spectral_features import SpectralRecipe as SpectralRecipe
from bemps.models.scikit_learn.forest import ForestMembers as ForestMembers
from bemps.models.scikit_learn.sklearn_ensemble import SklearnEnsemble as SklearnEnsemble
from bemps.models.validation_splits import Fixed as Fixed

Recipe = SpectralRecipe  # the name in earlier releases
