"""What a saved learner may name: a fixed table of classes, of their arguments, and of a few functions.

A file never decides what is imported. The classes of bemps stand in `BEMPS` with the kind of every argument; those of
scikit-learn are the public estimators of the modules in `SKLEARN`; functions and number types stand in two tables.
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
class Kind:
    """What an argument may be, in words and as a test."""

    words: str
    fits: Callable[[Any], bool]

    def __or__(self, other: "Kind") -> "Kind":
        return Kind(f"{self.words} or {other.words}", lambda value: self.fits(value) or other.fits(value))


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


def _made(*names: str) -> Kind:
    """An object that this table made."""
    return Kind(" or ".join(names), lambda value: name_of(type(value)) in names)


NOTHING = Kind("nothing", lambda value: value is None)
FLAG = Kind("true or false", lambda value: isinstance(value, bool))
WHOLE = Kind("a whole number", _is_whole)
COUNT = Kind("a whole number from 1 on", lambda value: _is_whole(value) and value >= 1)
NUMBER = Kind("a number", _is_number)
TEXT = Kind("a text", lambda value: isinstance(value, str) and "\0" not in value)
NUMBERS = Kind("numbers", lambda value: isinstance(value, tuple | list) and all(map(_is_number, value)))
ARRAY = Kind("an array of numbers", _is_array)
ITEMS = Kind("items", lambda value: value is not None and not isinstance(value, str | bool | int | float | dict))
TEXTS = Kind("texts", _is_texts)
ESTIMATOR = Kind("a scikit-learn estimator", _is_estimator)
VALIDATION = TEXT | _made("Fixed")
ENCODER = NOTHING | _made(
    "TextEncoder", "EfficientNetLite0", "CachedEncoder", "TfidfEncoder", "TfidfVectors", "MiniLMVectors",
    "MiniLMAndWords", "EfficientNetVectors", "PixelVectors", "OnnxTextEncoder", "BgeVectors", "BgeAndWords",
)  # fmt: skip
DROPPED = Kind("nothing", lambda value: value is None)  # what changes no answer (callbacks, checkpoints): not written
SEEN = Kind("nothing", lambda value: value is None)  # the learner's items, which it shows to the model again
CACHE = Kind("a folder of cached vectors", lambda value: value is None or isinstance(value, str))


@dataclass(frozen=True)
class Entry:
    """A class of bemps that may be made again: where it is, its arguments, and attributes of another name."""

    module: str
    arguments: Mapping[str, Kind]
    name: str = ""  # of the class, where the table has another
    files: tuple[str, ...] = ()  # arguments that name files, which have to stay as they are
    attributes: Mapping[str, str] = field(default_factory=dict)


_SPECTRAL = {
    "pool": ITEMS | NOTHING, "encode": ENCODER, "recipe": _made("SpectralRecipe"), "first": COUNT | NOTHING,
}  # fmt: skip
_TRAINING = {
    "members": COUNT, "posterior": TEXT, "validation": VALIDATION, "resample": TEXT, "calibrate": FLAG,
    "weighting": TEXT, "device": TEXT | NOTHING,
}  # fmt: skip
_CONTENT = {"encode": ENCODER, "members": COUNT}
_M = "bemps.members."

BEMPS: dict[str, Entry] = {
    "SpectralLogistic": Entry(_M + "linear", _SPECTRAL),
    "SpectralLaplace": Entry(
        _M + "linear", _SPECTRAL | {"members": COUNT, "temperature": NUMBER | NOTHING, "covariance": TEXT}
    ),
    "SklearnEnsemble": Entry(
        _M + "sklearn_members",
        {"estimator": ESTIMATOR, "members": COUNT, "resample": TEXT, "validation": VALIDATION, "calibrate": FLAG,
         "weighting": TEXT, "smoothing": NUMBER},
    ),
    "ForestMembers": Entry(_M + "forest", {"forest": ESTIMATOR, "smoothing": NUMBER}),
    "FromFile": Entry(_M + "from_file", {"path": TEXT, "ids": TEXTS | TEXT | NOTHING}, files=("path", "ids")),
    "HeadClassifier": Entry(
        _M + "heads",
        _TRAINING | {"pool": ITEMS | NOTHING, "encode": ENCODER, "hidden": WHOLE | NOTHING,
                     "inputs": TEXT | _made("SpectralMap"), "norm": NUMBER | NOTHING, "dropout": NUMBER | NOTHING,
                     "recipe": NOTHING | _made("HeadRecipe"), "first": COUNT | NOTHING},
    ),
    "TextClassifier": Entry(
        _M + "text",
        _TRAINING | {"name": TEXT, "recipe": NOTHING | _made("TrainingRecipe"), "head": TEXT | NOTHING,
                     "dropout": NUMBER | NOTHING, "top_layers": WHOLE | NOTHING, "learn_words": FLAG, "cache": CACHE,
                     "max_length": COUNT, "batch_size": COUNT, "checkpoints": DROPPED, "pool": ITEMS | NOTHING,
                     "progress": DROPPED},
    ),
    "FineTunedLaplace": Entry(
        _M + "finetuned",
        {"name": TEXT, "members": COUNT, "temperature": NUMBER | NOTHING, "recipe": NOTHING | _made("TrainingRecipe"),
         "top_layers": WHOLE | NOTHING, "max_length": COUNT, "pool": ITEMS | NOTHING, "cache": CACHE,
         "checkpoints": DROPPED, "device": TEXT | NOTHING, "progress": DROPPED},
    ),
    "AdaptedText": Entry(
        _M + "adapted",
        {"frozen": _made("ContentLaplace", "SpectralLaplace"), "tuned": _made("FineTunedLaplace"), "pool": SEEN,
         "progress": DROPPED},
    ),
    "ImageClassifier": Entry(
        _M + "vision",
        _TRAINING | {"network": TEXT, "weights": TEXT | NOTHING, "dropout": NUMBER,
                     "recipe": NOTHING | _made("TrainingRecipe"), "batch_size": COUNT, "epoch_items": COUNT,
                     "rows": COUNT},
        files=("weights",),
        attributes={"weights": "pretrained"},
    ),
    "TextEncoder": Entry(
        _M + "encoders",
        {"name": TEXT, "layer": WHOLE | NUMBERS, "pooling": TEXT, "normalise": FLAG, "max_length": COUNT,
         "device": TEXT | NOTHING, "progress": DROPPED},
    ),
    "OnnxTextEncoder": Entry(
        "bemps.encoders.onnx_text",
        {"name": TEXT, "layer": WHOLE | NUMBERS, "pooling": TEXT | NOTHING, "normalise": FLAG, "max_length": COUNT,
         "progress": DROPPED},
    ),
    "EfficientNetLite0": Entry(
        _M + "backbones",
        {"size": COUNT, "batch": COUNT | NOTHING, "device": TEXT | NOTHING, "progress": DROPPED},
    ),
    "CachedEncoder": Entry(
        _M + "feature_cache", {"encoder": _made("TextEncoder", "OnnxTextEncoder", "EfficientNetLite0"), "folder": CACHE}
    ),
    "TfidfEncoder": Entry(_M + "tfidf", {"pool": TEXTS, "dimensions": COUNT, "seed": WHOLE}),
    "SpectralRecipe": Entry(
        _M + "spectral",
        {"alpha": NUMBER | NOTHING, "bias": NUMBER, "kept": NUMBER, "norm": NUMBER | NOTHING},
        name="Recipe",
    ),
    "SpectralMap": Entry(_M + "spectral", {"mean": ARRAY, "matrix": ARRAY, "bias": NUMBER}),
    "HeadRecipe": Entry(
        _M + "head_training",
        {"epochs": COUNT, "learning_rate": NUMBER, "l2": NUMBER, "batch_size": COUNT | NOTHING, "patience": COUNT},
    ),
    "TrainingRecipe": Entry(
        _M + "training",
        {"learning_rate": NUMBER, "head_rate": NUMBER | NOTHING, "epochs": COUNT, "patience": COUNT | NOTHING,
         "optimiser": TEXT, "betas": NUMBERS, "weight_decay": NUMBER, "clip": NUMBER | NOTHING, "decay": TEXT,
         "warm_up": NUMBER},
        name="Recipe",
    ),
    "Fixed": Entry(_M + "splits", {"items": ITEMS, "labels": ARRAY}),
    "ContentLaplace": Entry("bemps.content_models", _CONTENT | {"first": COUNT | NOTHING}),
    "ContentEnsemble": Entry("bemps.content_models", {"encode": ENCODER}),
    "ContentHeads": Entry("bemps.content_heads", _CONTENT),
    "MiniLMVectors": Entry("bemps.content_models", {"cache": CACHE}),
    "MiniLMAndWords": Entry("bemps.content_models", {"cache": CACHE}),
    "BgeVectors": Entry("bemps.content_models", {"cache": CACHE}),
    "BgeAndWords": Entry("bemps.content_models", {"cache": CACHE}),
    "EfficientNetVectors": Entry("bemps.content_models", {"folder": TEXT, "cache": CACHE}),
    "PixelVectors": Entry("bemps.content_models", {"folder": TEXT}),
    "TfidfVectors": Entry("bemps.content_models", {}),
    "Brier": Entry("bemps.scores", {}),
    "Log": Entry("bemps.scores", {}),
    "Spherical": Entry("bemps.scores", {}),
    "Power": Entry("bemps.scores", {"alpha": NUMBER}),
    "Beta": Entry("bemps.scores", {"alpha": NUMBER, "beta": NUMBER}),
    "Quadratic": Entry("bemps.scores", {"C": ARRAY}),
    "ZeroOne": Entry("bemps.scores", {}),
    "SoftZeroOne": Entry("bemps.scores", {"k": NUMBER}),
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
    """The name under which the table has a class of bemps; None where it has not."""
    return NAMES.get((kind.__module__, kind.__qualname__))


def bemps_class(name: str) -> type:
    """The class of a row of the table."""
    entry = BEMPS[name]
    found: type = getattr(import_module(entry.module), entry.name or name)
    return found


def sklearn_name(kind: type) -> str | None:
    """The public name of an estimator of scikit-learn; None where it has none."""
    if not kind.__module__.startswith("sklearn."):
        return None
    return next((f"{m}.{kind.__name__}" for m in SKLEARN if public_estimators(m).get(kind.__name__) is kind), None)


def sklearn_class(public: str) -> type:
    """The estimator of a public name."""
    module, _, name = public.rpartition(".")
    found = public_estimators(module).get(name) if module in SKLEARN else None
    if found is None:
        raise InputError(
            "model", expected="a class of bemps or scikit-learn", got=repr(public), fix="Pass model= with your own."
        )
    return found


@cache
def public_estimators(module: str) -> dict[str, type]:
    """The estimators that a public module of scikit-learn lists; only modules of `SKLEARN` are asked for."""
    from sklearn.base import BaseEstimator

    listed = vars(import_module(module))
    own = [name for name, value in listed.items() if getattr(value, "__module__", "") == module and name[0] != "_"]
    classes = {name: listed.get(name) for name in listed.get("__all__", own)}  # experimental ones are not there
    return {name: c for name, c in classes.items() if isinstance(c, type) and issubclass(c, BaseEstimator)}


def function_name(function: object) -> str | None:
    """The name under which the table has a function."""
    module = "numpy" if isinstance(function, np.ufunc) else str(getattr(function, "__module__", ""))
    name = f"{'sklearn.feature_selection' if 'feature_selection' in module else 'numpy'}.{_own_name(function)}"
    return name if name in FUNCTIONS and function_of(name) is function else None


def _own_name(function: object) -> str:
    name = str(getattr(function, "__name__", ""))
    return "abs" if name == "absolute" else name


def function_of(name: str) -> Callable[..., Any]:
    """A function of the table."""
    module, attribute = FUNCTIONS[name]
    found: Callable[..., Any] = getattr(import_module(module), attribute)
    return found
