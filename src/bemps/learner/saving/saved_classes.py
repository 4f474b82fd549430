"""The table of classes and functions that a saved learner may name, with the kinds of their arguments.

A file never decides what is imported. `BEMPS` lists the classes of bemps with the kind of every argument. The classes
of scikit-learn are the public estimators of the modules in `SKLEARN`. Functions and number types are in two tables.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from bemps.errors import InputError

LARGEST = 2**63 - 1


@dataclass(frozen=True)
class ArgumentKind:
    """A kind of argument, in words and as a test."""

    words: str
    fits: Callable[[Any], bool]

    def __or__(self, other: "ArgumentKind") -> "ArgumentKind":
        return ArgumentKind(f"{self.words} or {other.words}", lambda value: self.fits(value) or other.fits(value))


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -LARGEST <= value <= LARGEST


def _is_number(value: Any) -> bool:
    return _is_whole(value) or (isinstance(value, float) and bool(np.isfinite(value)))


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "fiub"


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _is_estimator(value: Any) -> bool:
    return hasattr(value, "get_params") and hasattr(value, "fit")


def _type(*names: str) -> ArgumentKind:
    """The kind of objects of these classes of the table."""
    return ArgumentKind(" or ".join(names), lambda value: name_of(type(value)) in names)


NOTHING = ArgumentKind("nothing", lambda value: value is None)
FLAG = ArgumentKind("true or false", lambda value: isinstance(value, bool))
WHOLE = ArgumentKind("a whole number", _is_whole)
COUNT = ArgumentKind("a whole number from 1 on", lambda value: _is_whole(value) and value >= 1)
NUMBER = ArgumentKind("a number", _is_number)
TEXT = ArgumentKind("a text", lambda value: isinstance(value, str) and "\0" not in value)
NUMBERS = ArgumentKind("numbers", lambda value: isinstance(value, tuple | list) and all(map(_is_number, value)))
ARRAY = ArgumentKind("an array of numbers", _is_array)
ITEMS = ArgumentKind(
    "items", lambda value: value is not None and not isinstance(value, str | bool | int | float | dict)
)
TEXTS = ArgumentKind("texts", _is_texts)
ESTIMATOR = ArgumentKind("a scikit-learn estimator", _is_estimator)
VALIDATION = TEXT | _type("Fixed")
ENCODER = NOTHING | _type(
    "TextEncoder", "EfficientNetLite0", "CachedEncoder", "TfidfEncoder", "TfidfVectors", "MiniLMVectors",
    "MiniLMAndWords", "EfficientNetVectors", "PixelVectors", "OnnxTextEncoder", "BgeVectors", "BgeAndWords",
    "TextVectors", "TextAndWords",
)  # fmt: skip
DROPPED = ArgumentKind(
    "nothing", lambda value: value is None
)  # what changes no answer (callbacks, checkpoints): not written
SEEN = ArgumentKind("nothing", lambda value: value is None)  # the learner's items, which it shows to the model again
CACHE = ArgumentKind("a folder of cached vectors", lambda value: value is None or isinstance(value, str))
FOLDER = ArgumentKind("the folder of the images", TEXT.fits)
LOCAL = {CACHE: None, FOLDER: ""}  # folders of this machine, and what stands for them where the model goes elsewhere


@dataclass(frozen=True)
class SavedClass:
    """A class of bemps that may be rebuilt.

    Attributes
    ----------
    module : str
        The module of the class.
    arguments : mapping of str to ArgumentKind
        The kind of each argument, by its name in saved files.
    name : str
        The name of the class, if the table has another.
    files : tuple of str
        Arguments that name files, which must not change.
    attributes : mapping of str to str
        The attribute that holds an argument, if it has another name.
    parameters : mapping of str to str
        The parameter of the class, if it has another name than in saved files.
    """

    module: str
    arguments: Mapping[str, ArgumentKind]
    name: str = ""
    files: tuple[str, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)


_SPECTRAL = {
    "pool": ITEMS | NOTHING, "encode": ENCODER, "recipe": _type("SpectralRecipe"), "first": COUNT | NOTHING,
}  # fmt: skip
_TRAINING = {
    "members": COUNT, "posterior": TEXT, "validation": VALIDATION, "resample": TEXT, "calibrate": FLAG,
    "weighting": TEXT, "device": TEXT | NOTHING,
}  # fmt: skip
_CONTENT = {"encode": ENCODER, "members": COUNT}
_M = "bemps.models."
_SCORES = "bemps.scores.named_scores"
_VIEW = {"first": "first_view"}  # files of every release have `first`

BEMPS: dict[str, SavedClass] = {
    "SpectralLogistic": SavedClass(_M + "linear.spectral_classifiers", _SPECTRAL, attributes=_VIEW, parameters=_VIEW),
    "SpectralLaplace": SavedClass(
        _M + "linear.spectral_classifiers",
        _SPECTRAL | {"members": COUNT, "temperature": NUMBER | NOTHING, "covariance": TEXT},
        attributes=_VIEW, parameters=_VIEW,
    ),
    "SklearnEnsemble": SavedClass(
        _M + "scikit_learn.sklearn_ensemble",
        {"estimator": ESTIMATOR, "members": COUNT, "resample": TEXT, "validation": VALIDATION, "calibrate": FLAG,
         "weighting": TEXT, "smoothing": NUMBER},
    ),
    "ForestMembers": SavedClass(_M + "scikit_learn.forest", {"forest": ESTIMATOR, "smoothing": NUMBER}),
    "FromFile": SavedClass(_M + "from_file", {"path": TEXT, "ids": TEXTS | TEXT | NOTHING}, files=("path", "ids")),
    "HeadClassifier": SavedClass(
        _M + "heads.head_classifier",
        _TRAINING | {"pool": ITEMS | NOTHING, "encode": ENCODER, "hidden": WHOLE | NOTHING,
                     "inputs": TEXT | _type("SpectralMap"), "norm": NUMBER | NOTHING, "dropout": NUMBER | NOTHING,
                     "recipe": NOTHING | _type("HeadRecipe"), "first": COUNT | NOTHING},
        attributes=_VIEW, parameters=_VIEW,
    ),
    "TextClassifier": SavedClass(
        _M + "text.text_classifier",
        _TRAINING | {"name": TEXT, "recipe": NOTHING | _type("TrainingRecipe"), "head": TEXT | NOTHING,
                     "dropout": NUMBER | NOTHING, "top_layers": WHOLE | NOTHING, "learn_words": FLAG, "cache": CACHE,
                     "max_length": COUNT, "batch_size": COUNT, "checkpoints": DROPPED, "pool": ITEMS | NOTHING,
                     "progress": DROPPED},
    ),
    "FineTunedLaplace": SavedClass(
        _M + "text.finetuned_laplace",
        {"name": TEXT, "members": COUNT, "temperature": NUMBER | NOTHING, "recipe": NOTHING | _type("TrainingRecipe"),
         "top_layers": WHOLE | NOTHING, "max_length": COUNT, "pool": ITEMS | NOTHING, "cache": CACHE,
         "checkpoints": DROPPED, "device": TEXT | NOTHING, "progress": DROPPED},
    ),
    "AdaptedText": SavedClass(
        _M + "text.adapted_text",
        {"frozen": _type("ContentLaplace", "SpectralLaplace"), "tuned": _type("FineTunedLaplace"), "pool": SEEN,
         "progress": DROPPED},
    ),
    "ImageClassifier": SavedClass(
        _M + "images.image_classifier",
        _TRAINING | {"network": TEXT, "weights": TEXT | NOTHING, "dropout": NUMBER,
                     "recipe": NOTHING | _type("TrainingRecipe"), "batch_size": COUNT, "epoch_items": COUNT,
                     "rows": COUNT},
        files=("weights",),
        attributes={"weights": "pretrained"},
    ),
    "TextEncoder": SavedClass(
        _M + "encoders.text_encoder",
        {"name": TEXT, "layer": WHOLE | NUMBERS, "pooling": TEXT, "normalise": FLAG, "max_length": COUNT,
         "device": TEXT | NOTHING, "progress": DROPPED},
    ),
    "OnnxTextEncoder": SavedClass(
        "bemps.models.encoders.onnx_text",
        {"name": TEXT, "layer": WHOLE | NUMBERS, "pooling": TEXT | NOTHING, "normalise": FLAG, "max_length": COUNT,
         "bits": COUNT | NOTHING, "progress": DROPPED},
    ),
    "EfficientNetLite0": SavedClass(
        _M + "images.efficientnet",
        {"size": COUNT, "batch": COUNT | NOTHING, "device": TEXT | NOTHING, "progress": DROPPED},
    ),
    "CachedEncoder": SavedClass(
        _M + "encoders.feature_cache",
        {"encoder": _type("TextEncoder", "OnnxTextEncoder", "EfficientNetLite0"), "folder": CACHE},
    ),
    "TfidfEncoder": SavedClass(_M + "encoders.tfidf", {"pool": TEXTS, "dimensions": COUNT, "seed": WHOLE}),
    "SpectralRecipe": SavedClass(
        _M + "linear.spectral_features",
        {"alpha": NUMBER | NOTHING, "bias": NUMBER, "kept": NUMBER, "norm": NUMBER | NOTHING},
        attributes={"kept": "energy_share"},
        parameters={"kept": "energy_share"},
    ),
    "SpectralMap": SavedClass(_M + "linear.spectral_features", {"mean": ARRAY, "matrix": ARRAY, "bias": NUMBER}),
    "HeadRecipe": SavedClass(
        _M + "heads.head_training",
        {"epochs": COUNT, "learning_rate": NUMBER, "l2": NUMBER, "batch_size": COUNT | NOTHING, "patience": COUNT},
    ),
    "TrainingRecipe": SavedClass(
        _M + "_torch.training_loop",
        {"learning_rate": NUMBER, "head_rate": NUMBER | NOTHING, "epochs": COUNT, "patience": COUNT | NOTHING,
         "optimiser": TEXT, "betas": NUMBERS, "weight_decay": NUMBER, "clip": NUMBER | NOTHING, "decay": TEXT,
         "warm_up": NUMBER},
    ),
    "Fixed": SavedClass(_M + "validation_splits", {"items": ITEMS, "labels": ARRAY}),
    "ContentLaplace": SavedClass(
        _M + "content_models", _CONTENT | {"first": COUNT | NOTHING}, attributes=_VIEW, parameters=_VIEW
    ),
    "ContentEnsemble": SavedClass("bemps.models.content_models", {"encode": ENCODER}),
    "ContentHeads": SavedClass("bemps.models.content_heads", _CONTENT),
    "TextVectors": SavedClass("bemps.models.content_models", {"encoder": TEXT, "cache": CACHE}),
    "TextAndWords": SavedClass("bemps.models.content_models", {"encoder": TEXT, "cache": CACHE}),
    "MiniLMVectors": SavedClass("bemps.models.content_models", {"cache": CACHE}),
    "MiniLMAndWords": SavedClass("bemps.models.content_models", {"cache": CACHE}),
    "BgeVectors": SavedClass("bemps.models.content_models", {"cache": CACHE}),
    "BgeAndWords": SavedClass("bemps.models.content_models", {"cache": CACHE}),
    "EfficientNetVectors": SavedClass("bemps.models.image_contents", {"folder": FOLDER, "cache": CACHE}),
    "PixelVectors": SavedClass("bemps.models.image_contents", {"folder": FOLDER}),
    "TfidfVectors": SavedClass("bemps.models.content_models", {}),
    "Brier": SavedClass(_SCORES, {}),
    "Log": SavedClass(_SCORES, {}),
    "Spherical": SavedClass(_SCORES, {}),
    "Power": SavedClass(_SCORES, {"alpha": NUMBER}),
    "Beta": SavedClass(_SCORES, {"alpha": NUMBER, "beta": NUMBER}),
    "Quadratic": SavedClass(_SCORES, {"C": ARRAY}),
    "ZeroOne": SavedClass(_SCORES, {}),
    "SoftZeroOne": SavedClass(_SCORES, {"k": NUMBER}),
}  # fmt: skip
MODELS = frozenset(
    {"SpectralLogistic", "SpectralLaplace", "SklearnEnsemble", "ForestMembers", "FromFile", "HeadClassifier",
     "TextClassifier", "FineTunedLaplace", "AdaptedText", "ImageClassifier", "ContentLaplace", "ContentEnsemble",
     "ContentHeads"}
)  # fmt: skip
NAMES = {(entry.module, entry.name or name): name for name, entry in BEMPS.items()}

SKLEARN = tuple(
    f"sklearn.{name}"
    for name in (
        "calibration", "cluster", "compose", "cross_decomposition", "decomposition", "discriminant_analysis", "dummy",
        "ensemble", "feature_extraction", "feature_extraction.text", "feature_selection", "gaussian_process", "impute",
        "kernel_approximation", "linear_model", "manifold", "mixture", "model_selection", "multiclass", "multioutput",
        "naive_bayes", "neighbors", "neural_network", "pipeline", "preprocessing", "random_projection",
        "semi_supervised", "svm", "tree",
    )
)  # fmt: skip
# scikit-learn reads pickles from a cache folder and files named by items; neither is for a file to ask
FORBIDDEN = {"memory": (None,), "input": ("content",)}

_UFUNCS = (
    "abs", "arcsinh", "arctan", "cbrt", "ceil", "cos", "exp", "expm1", "fabs", "floor", "isnan", "log", "log10",
    "log1p", "log2", "negative", "reciprocal", "rint", "sign", "sin", "sqrt", "square", "tanh", "trunc",
)  # fmt: skip
_SCORERS = ("chi2", "f_classif", "f_regression", "mutual_info_classif", "mutual_info_regression", "r_regression")
FUNCTIONS = {f"numpy.{name}": ("numpy", name) for name in _UFUNCS} | {
    f"sklearn.feature_selection.{name}": ("sklearn.feature_selection", name) for name in _SCORERS
}
DTYPES = {kind.__name__: kind for kind in (np.float64, np.float32, np.int64, np.int32, np.uint8, np.bool_)}


def name_of(kind: type) -> str | None:
    """The name of a class of bemps in the table; None if it is not there."""
    return NAMES.get((kind.__module__, kind.__qualname__))


def bemps_class(name: str) -> type:
    """The class of a row of the table."""
    entry = BEMPS[name]
    class_: type = getattr(import_module(entry.module), entry.name or name)
    return class_


def sklearn_name(kind: type) -> str | None:
    """The public name of an estimator of scikit-learn; None if it has none."""
    if not kind.__module__.startswith("sklearn."):
        return None
    return next((f"{m}.{kind.__name__}" for m in SKLEARN if public_estimators(m).get(kind.__name__) is kind), None)


def sklearn_class(public: str) -> type:
    """The estimator of a public name."""
    module, _, name = public.rpartition(".")
    estimator = public_estimators(module).get(name) if module in SKLEARN else None
    if estimator is None:
        raise InputError(
            "model", expected="a class of bemps or scikit-learn", got=repr(public), fix="Pass model= with your own."
        )
    return estimator


@cache
def public_estimators(module: str) -> dict[str, type]:
    """The estimators that a public module of scikit-learn lists. Only modules of `SKLEARN` are asked for."""
    from sklearn.base import BaseEstimator

    listed = vars(import_module(module))
    own = [name for name, value in listed.items() if getattr(value, "__module__", "") == module and name[0] != "_"]
    classes = {name: listed.get(name) for name in listed.get("__all__", own)}  # experimental ones are not there
    return {name: c for name, c in classes.items() if isinstance(c, type) and issubclass(c, BaseEstimator)}


def function_name(function: object) -> str | None:
    """The name of a function in the table; None if it is not there."""
    module = "numpy" if isinstance(function, np.ufunc) else str(getattr(function, "__module__", ""))
    name = f"{'sklearn.feature_selection' if 'feature_selection' in module else 'numpy'}.{_own_name(function)}"
    return name if name in FUNCTIONS and function_of(name) is function else None


def _own_name(function: object) -> str:
    name = str(getattr(function, "__name__", ""))
    return "abs" if name == "absolute" else name


def function_of(name: str) -> Callable[..., Any]:
    """A function of the table."""
    module, attribute = FUNCTIONS[name]
    function: Callable[..., Any] = getattr(import_module(module), attribute)
    return function
