"""Checks of the arguments of a learner: model, ids, classes, strategy and its options."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from bemps import checks
from bemps._utils.class_names import class_name
from bemps.acquisition.selection import AUTO, automatic
from bemps.acquisition.strategy_registry import Strategy, check_options, find_strategy, strategy_name
from bemps.errors import InputError
from bemps.learner.stopping import StoppingRule
from bemps.learner.unlabelled_vectors import can_be_vectors
from bemps.models.base import HasEmbeddings, HasFeatures, HasSurprisal, Items, Model, count
from bemps.types import Array

NAME_KINDS = (str, int, np.integer, np.str_, np.bool_)


def checked_model(model: Any) -> Model:
    """Return the model. A scikit-learn classifier becomes an ensemble of its clones."""
    if not isinstance(model, type) and hasattr(model, "get_params") and hasattr(model, "fit"):
        return _ensemble(model)
    if isinstance(model, type) or not (callable(getattr(model, "fit", None)) and hasattr(model, "predict")):
        raise InputError(
            "model",
            expected="a model with fit(items, labels, classes, rng) and predict(items)",
            got=f"the class {model.__name__}" if isinstance(model, type) else repr(model)[:80],
            fix=f"Make an instance: {model.__name__}()."
            if isinstance(model, type)
            else "Use one of bemps.models, or a scikit-learn classifier.",
        )
    return cast(Model, model)


def _ensemble(estimator: Any) -> Model:
    from bemps.models.scikit_learn.estimators import require_probabilities, weight_argument
    from bemps.models.scikit_learn.sklearn_ensemble import SklearnEnsemble

    require_probabilities(estimator)
    return SklearnEnsemble(estimator, resample="bootstrap" if weight_argument(estimator) is None else "dirichlet")


def checked_name(value: Any, what: str, fix_empty: str = "Give it a name.") -> str:
    """Return an id or a label as text. Texts and integers are accepted."""
    if isinstance(value, NAME_KINDS) and str(value).strip():
        return str(value)
    if isinstance(value, str):
        raise InputError(what, expected="a name", got="an empty text", fix=fix_empty)
    raise InputError(
        what,
        expected="a text or a whole number",
        got=f"{type(value).__name__} {value!r}"[:80],
        fix="Turn it into a text with str().",
    )


def checked_names(ids: Any) -> list[str]:
    """Return several ids as texts. A single text is one id."""
    if not isinstance(ids, Iterable):
        raise InputError("ids", expected="a list of ids, or a batch", got=repr(ids)[:80], fix="Give [id, ...].")
    return [checked_name(name, "id") for name in ([ids] if isinstance(ids, str) else ids)]


def checked_labels(labels: Mapping[Any, Any]) -> dict[str, str]:
    """Return ids and their labels as texts."""
    fix = "Leave the item out, or give None in the labels of a batch."
    return {checked_name(i, "id"): checked_name(label, f"label of {i}", fix) for i, label in labels.items()}


def labels_by_id(ids: Sequence[str], labels: Any) -> dict[str, Any]:
    """Return the labels of a batch by id. A label of None is left out."""
    expected, fix = "a list in the order of the batch", "Give a list, or tell({id: label})."
    labels = list(labels) if isinstance(labels, Iterator) else in_order(labels, "labels", expected, fix)
    if labels is None or isinstance(labels, str) or len(labels) != len(ids):
        got = "none" if labels is None else repr(labels) if isinstance(labels, str) else str(len(labels))
        fix = "Give None for an item that has no label yet, or tell({id: label})."
        raise InputError("labels", expected=f"{len(ids)}, one for each item of the batch", got=got, fix=fix)
    return {name: label for name, label in zip(ids, labels, strict=True) if label is not None}


def in_order(values: Any, what: str, expected: str = "a list, in order", fix: str = "Give a list.") -> Any:
    """Return values that go by position. A set has no order, and a mapping or a table gives its keys."""
    is_frame = hasattr(values, "columns")
    sized = values is None or hasattr(values, "__len__") or isinstance(values, Iterator)
    if isinstance(values, Mapping | set | frozenset) or is_frame or not sized:
        raise InputError(what, expected=expected, got=f"a {type(values).__name__}", fix=fix)
    return values


def checked_ids(ids: Iterable[Any] | None, N: int) -> tuple[str, ...]:
    """Return one id for each item. The default is their positions."""
    if N == 0:
        raise InputError("items", expected="at least one item", got="none", fix="Is it the right pool?")
    if ids is None:
        return tuple(map(str, range(N)))
    names = tuple(checked_name(name, f"id at position {i}") for i, name in enumerate(in_order(ids, "ids")))
    if len(names) != N:
        got = f"{len(names)} ids of {N} items"
        raise InputError("ids", expected="one for each item", got=got, fix="Give both in the same order.")
    return names


def checked_classes(classes: Iterable[Any] | None) -> list[str]:
    """Return the names of the classes in their order. Names that occur twice are refused."""
    if isinstance(classes, str):
        fix = f"Write classes=[{classes!r}, ...]."
        raise InputError("classes", expected="a list of names", got=repr(classes), fix=fix)
    raw = [checked_name(name, "class") for name in ([] if classes is None else in_order(classes, "classes"))]
    composed = [class_name(name) for name in raw]
    names = composed if len(set(composed)) == len(set(raw)) else raw  # a project of an earlier release has both forms
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise InputError("classes", expected="different names", got=f"{twice!r} twice", fix="Name every class once.")
    return names


def resolved_strategy(strategy: str | Strategy, model: Model, items: Items, classes: int) -> str | Strategy:
    """Return the strategy, or the one that "auto" stands for.

    Parameters
    ----------
    strategy : str or callable
        The strategy of the learner.
    model : Model
        Its model.
    items : Items
        Its items.
    classes : int
        The number of classes.

    Returns
    -------
    str or callable
        A strategy that is not "auto".
    """
    if strategy != AUTO:
        return strategy
    vectors = isinstance(model, HasEmbeddings) or can_be_vectors(items)
    return automatic(probs=True, vectors=vectors, labelled=vectors, classes=classes)


def check_strategy(
    strategy: str | Strategy, options: Mapping[str, object], model: Model, items: Items, surprisal: ArrayLike | None
) -> None:
    """Refuse a strategy whose needs this learner cannot meet, unknown options, and items that cannot be read.

    Parameters
    ----------
    strategy : str or callable
        The strategy.
    options : mapping
        Its options.
    model : Model
        The model of the learner.
    items : Items
        The items of the learner.
    surprisal : array_like or None
        Surprisal vectors that the user gave.

    Raises
    ------
    InputError
        The strategy or an option cannot be used.
    """
    entry = find_strategy(strategy)
    check_options(strategy, options)
    if isinstance(model, HasEmbeddings) and getattr(model, "encode", False) is None:
        model.embeddings(items)  # a model of vectors says what is wrong with them, before anybody labels
    can = {
        "features": isinstance(model, HasFeatures) or hasattr(type(model), "features"),
        "embeddings": isinstance(model, HasEmbeddings) or can_be_vectors(items),
        "surprisal": surprisal is not None or isinstance(model, HasSurprisal),
    }
    missing = next((need for need in entry.needs if not can.get(need, True)), None)
    if missing is not None:
        raise missing_vectors_error(model, missing, strategy_name(strategy))
    if entry.disagreement and getattr(model, "members", None) == 1:
        raise checks.single_member_error(strategy_name(strategy), f"{type(model).__name__} with one member")


def missing_vectors_error(model: object, what: str, strategy: str = "this strategy") -> InputError:
    """The error for a strategy that needs vectors that the model does not have.

    Parameters
    ----------
    model : object
        The model.
    what : str
        The vectors: "features", "embeddings" or "surprisal".
    strategy : str
        The name of the strategy.

    Returns
    -------
    InputError
        The error.
    """
    return InputError(
        "strategy",
        expected=f"a model with `{what}`, which {strategy} needs",
        got=f"{type(model).__name__}, which has none",
        fix="Choose another strategy, or a model of bemps.models that has it.",
    )


def checked_surprisal(surprisal: ArrayLike | None, items: Items) -> Float[Array, "N T"] | None:
    """Return the surprisal vectors that a user gave, one for each item."""
    return None if surprisal is None else checks.matrix(surprisal, "surprisal", rows=count(items))


def check_rules(rules: Any) -> None:
    """Refuse anything but a list of stopping rules."""
    if not isinstance(rules, Sequence) or isinstance(rules, str):
        fix = "For example: learner.advice([Budget(500), Stable()]), from bemps.learner."
        raise InputError("rules", expected="a list of stopping rules", got=repr(rules)[:80], fix=fix)
    for rule in rules:
        if isinstance(rule, type):
            got, fix = f"the class {rule.__name__}", f"Make an instance: {rule.__name__}(...)."
            raise InputError("rules", expected="stopping rules", got=got, fix=fix)
        if not isinstance(rule, StoppingRule):
            got = f"{repr(rule)[:80]} without it"
            fix = "Give it a method reason(self, progress) that returns the reason to stop as text, or None."
            raise InputError("rules", expected="stopping rules, which have a method reason", got=got, fix=fix)
