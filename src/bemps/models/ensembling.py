"""Tools that make a posterior out of members; each works on arrays and suits every model.

Bayesian bootstrap (Rubin 1981): the labels weigh differently in each member.
Temperature scaling (Guo et al. 2017): one number that makes probabilities agree with frequencies.
Likelihood weights: members that explain held-out labels better count more in p(theta|L).
"""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float, Int

from bemps.errors import InputError, unknown_name
from bemps.models.validation_splits import Validation
from bemps.types import Array

POSTERIORS = ("ensemble", "dropout")
WEIGHTINGS = ("uniform", "likelihood")

LOG_TEMPERATURE_RANGE = (-3.0, 3.0)
TINY = 1e-12  # a held-out label that a member called impossible costs log(TINY), not infinity

Resampler = Callable[[int, np.random.Generator], Float[Array, " L"]]


def dirichlet(L: int, rng: np.random.Generator) -> Float[Array, " L"]:
    """Bayesian-bootstrap weights, L times Dirichlet(1, ..., 1): of mean one, and every label keeps some."""
    return L * rng.dirichlet(np.ones(L))


def bootstrap(L: int, rng: np.random.Generator) -> Float[Array, " L"]:
    """How often each label is drawn in L draws with replacement; about a third of the labels get 0."""
    return rng.multinomial(L, np.full(L, 1 / L)).astype(np.float64)


def equal(L: int, rng: np.random.Generator) -> Float[Array, " L"]:
    """Every label once: members differ only by their random start."""
    return np.ones(L)


RESAMPLERS: dict[str, Resampler] = {"dirichlet": dirichlet, "bootstrap": bootstrap, "none": equal}


def check_choices(
    *, resample: str, weighting: str, calibrate: bool, validation: Validation, posterior: str = "ensemble"
) -> None:
    """Refuse unknown names, and options that need held-out labels where there are none.

    Parameters
    ----------
    resample : str
        How the labels are weighed in each member.
    weighting : str
        How the members are weighed.
    calibrate : bool
        Whether each member gets a temperature.
    validation : str or Fixed
        Which labels are held out.
    posterior : str, optional
        Where the members come from.

    Raises
    ------
    InputError
        A name is unknown, or an option lacks held-out labels.
    """
    tables = {
        "posterior": (posterior, POSTERIORS),
        "weighting": (weighting, WEIGHTINGS),
        "resample": (resample, tuple(RESAMPLERS)),
    }
    for what, (name, valid) in tables.items():
        if name not in valid:
            raise unknown_name(what, name, valid)
    if validation == "none" and (calibrate or weighting == "likelihood"):
        raise InputError(
            "validation",
            expected="held-out labels for calibrate=True or weighting='likelihood'",
            got="'none'",
            fix="Use validation='dynamic', 'constant' or Fixed(items, labels).",
        )


def log_likelihood(probs: Float[Array, "V K"], labels: Int[Array, " V"]) -> float:
    """sum_i log p_i[y_i] over the held-out items; 0 where there are none."""
    label_probs = probs[np.arange(len(labels)), labels]
    return float(np.log(np.maximum(label_probs, TINY)).sum())


def likelihood_weights(log_likelihoods: Float[Array, " E"] | Sequence[float]) -> Float[Array, " E"]:
    """p(theta_e|L) proportional to exp(log-likelihood of the validation part of member e); uniform if all are 0.

    Comparable only when the parts are alike in size: use `constant` or `fixed` validation for exact weights.
    """
    scores = np.asarray(log_likelihoods, dtype=np.float64)
    weights = np.exp(scores - scores.max())
    normalised: Array = weights / weights.sum()
    return normalised


def at_temperature(probs: Float[Array, "*any K"], temperature: float) -> Float[Array, "*any K"]:
    """softmax(log p / T): T > 1 is less sure, T < 1 surer; a probability of 0 stays 0."""
    if not temperature > 0:
        raise InputError("temperature", expected="above 0", got=str(temperature), fix="1 changes nothing.")
    scaled = (probs / probs.max(axis=-1, keepdims=True)) ** (1 / temperature)
    tempered: Array = scaled / scaled.sum(axis=-1, keepdims=True)
    return tempered


def fitted_temperature(probs: Float[Array, "V K"], labels: Int[Array, " V"]) -> float:
    """The T that maximises `log_likelihood(at_temperature(probs, T), labels) - (log T)^2 / 2`.

    The last term is a standard normal prior on log T: without it a handful of held-out items, all right or all
    wrong, would send T to 0 or to infinity. No items give T = 1.
    """
    from scipy.optimize import minimize_scalar

    def loss(log_t: float) -> float:
        return log_t**2 / 2 - log_likelihood(at_temperature(probs, float(np.exp(log_t))), labels)

    if len(labels) == 0:
        return 1.0
    return float(np.exp(minimize_scalar(loss, bounds=LOG_TEMPERATURE_RANGE, method="bounded").x))


def temperature_and_likelihood(
    probs: Float[Array, "V K"], labels: Int[Array, " V"], calibrate: bool
) -> tuple[float, float]:
    """The temperature of a member and its log-likelihood, both on its held-out labels.

    Parameters
    ----------
    probs : array (V, K)
        The member's probabilities of the held-out items.
    labels : array (V,) of int
        Their codes.
    calibrate : bool
        Whether to fit the temperature; otherwise it is 1.

    Returns
    -------
    tuple of float
        The temperature and the log-likelihood.
    """
    temperature = fitted_temperature(probs, labels) if calibrate else 1.0
    return temperature, log_likelihood(at_temperature(probs, temperature), labels)


def smoothed(probs: Float[Array, "*any K"], labels: int, pseudo_labels: float) -> Float[Array, "*any K"]:
    """(L p + s/K) / (L + s): what L labels say, as if s more had been spread evenly over the K classes.

    A class that was never labelled is then improbable rather than impossible, the order of classes stays.

    Parameters
    ----------
    probs : array (..., K)
        The probabilities.
    labels : int
        L, the number of labels behind them.
    pseudo_labels : float
        s, the number of labels to add; 0 adds none.

    Returns
    -------
    array (..., K)
        The smoothed probabilities.

    Raises
    ------
    InputError
        `pseudo_labels` is negative.
    """
    if pseudo_labels < 0:
        raise InputError("smoothing", expected="0 or more", got=str(pseudo_labels), fix="0 switches it off.")
    mixed: Array = (labels * probs + pseudo_labels / probs.shape[-1]) / (labels + pseudo_labels)
    return mixed
