"""The values that the options of the models of a grid can have. An option means the same in every model."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from bemps import checks
from bemps.errors import InputError, unknown_name
from bemps.models.encoders.encoder_files import is_own_encoder
from bemps.models.encoders.encoder_registry import ENCODERS
from bemps.models.encoders.encoder_table import TEXT_ENCODERS
from bemps.models.ensembling import POSTERIORS, RESAMPLERS, WEIGHTINGS, check_choices
from bemps.models.linear.laplace_posterior import COVARIANCES
from bemps.models.validation_splits import SPLITS

OWN_ENCODER = "Or the folder of a text encoder, or its name on the Hugging Face hub."
Check = Callable[[object, str], object]


def _one_of(value: object, what: str, *, names: Iterable[str]) -> None:
    valid = list(names)
    if value not in valid:
        raise unknown_name(what, value, valid)


def _flag(value: object, what: str) -> None:
    if not isinstance(value, bool):
        raise InputError(what, expected="true or false", got=repr(value), fix="Choose one of the two.")


def _top_layers(value: object, what: str) -> None:
    """The model that has this option fine-tunes MiniLM."""
    layers = TEXT_ENCODERS["minilm"].layers
    if checks.integer(value, what, low=0) > layers:
        expected = f"at most {layers}, the layers of MiniLM"
        raise InputError(what, expected=expected, got=repr(value), fix="0 fine-tunes the whole network.")


def check_encoder(value: object, what: str, *, names: Iterable[str], other: Iterable[str] = ()) -> None:
    """Refuse a name that is no encoder of the table, folder or name on the hub."""
    valid = list(names)
    if value not in valid and (not isinstance(value, str) or value in other or not is_own_encoder(value)):
        raise unknown_name(what, value, valid, OWN_ENCODER)


def frozen_encoders() -> list[str]:
    """The text encoders of the table with words beside them."""
    return [name for name, row in ENCODERS.items() if row.first_view]


_positive = partial(checks.within, low=0, open_low=True)
_from_one = partial(checks.integer, low=1)

OPTION_VALUES: dict[str, Check] = {
    "members": _from_one,
    "posterior": partial(_one_of, names=POSTERIORS),
    "resample": partial(_one_of, names=RESAMPLERS),
    "validation": partial(_one_of, names=(*SPLITS, "fixed")),
    "calibrate": _flag,
    "weighting": partial(_one_of, names=WEIGHTINGS),
    "C": _positive,
    "posterior_temperature": _positive,
    "covariance": partial(_one_of, names=COVARIANCES),
    "first_view": _from_one,
    "hidden": partial(checks.integer, low=0),
    "dropout": partial(checks.within, low=0, high=0.99),
    "epochs": _from_one,
    "learning_rate": _positive,
    "top_layers": _top_layers,
    "frozen": partial(check_encoder, names=frozen_encoders(), other=ENCODERS),
    "tuned": partial(check_encoder, names=TEXT_ENCODERS),
    "width": _from_one,
}


def check_options(model: str, options: Mapping[str, object], defaults: Mapping[str, object]) -> None:
    """Refuse values that an option of a model cannot have, and options that do not go together.

    Parameters
    ----------
    model : str
        The name of the model.
    options : mapping
        The options that are set.
    defaults : mapping
        All options of the model, with their defaults.

    Raises
    ------
    InputError
        A value is refused. Nothing was loaded for it.
    """
    for name, value in options.items():
        OPTION_VALUES[name](value, f"option {name} of {model}")
    values = {**defaults, **options}
    if "validation" in values and "calibrate" in values:
        names = ("resample", "weighting", "calibrate", "validation")
        check_choices(**{name: values[name] for name in names})  # type: ignore[arg-type]
