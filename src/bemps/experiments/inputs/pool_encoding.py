"""Vectors of frozen encoders, computed once per dataset before the cells start.

An encoder of your own (a folder, or a name on the hub) has a form by its content: other weights of the same name have
other vectors.

Items are encoded in parts of a fixed size, one thread each. The vectors are then the same to the last bit with any
number of workers, and a run that was killed continues with the next part.
"""

from collections.abc import Callable, Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bemps._utils.extras import requires_extra
from bemps._utils.files import slug
from bemps.data import Images
from bemps.data.checksums import is_intact, remove_with_checksum
from bemps.errors import InputError, unknown_name
from bemps.experiments.inputs.run_data import IMAGES, PARTS, PLAIN, SURPRISAL, cache_of, raw_items, write_array
from bemps.models.encoders.encoder_files import is_own_encoder, network_identity
from bemps.models.encoders.encoder_registry import ENCODERS, EncoderRow, encoder_row, grid_default, grid_encoders
from bemps.models.encoders.encoder_table import TEXT_ENCODERS
from bemps.models.encoders.feature_cache import digest, identity_of
from bemps.models.encoders.text_views import side_by_side, spreads, views_of
from bemps.models.model_registry import ModelRow
from bemps.types import Array

PART = 512
AUTO = "auto"


def form_of(entry: ModelRow, options: dict[str, Any], kind: str) -> str:
    """The form of the data that a model learns from: plain rows or texts, images, or the vectors of an encoder.

    Parameters
    ----------
    entry : ModelRow
        The model.
    options : dict of str to object
        Its options.
    kind : {'text', 'image', 'array'}
        The kind of the items.

    Returns
    -------
    str
        The form.
    """
    if entry.reads in ("text", "image"):
        _refuse_kind(entry, kind)
        return PLAIN if kind == "text" else IMAGES
    name = str(options.get("encoder", AUTO)) if entry.encoded else PLAIN
    name = grid_default(kind) or PLAIN if name == AUTO else name
    fitting = grid_encoders(kind)
    fitting += [PLAIN] if kind != "text" or not entry.encoded else []
    if name in fitting:
        return name
    if kind == "text" and name not in ENCODERS and is_own_encoder(name):
        return _own_form(name)
    where = "Or the folder of a text encoder, or its name on the Hugging Face hub." if kind == "text" else ""
    raise unknown_name(f"encoder of {kind} items", name, fitting, where)


def _own_form(name: str) -> str:
    """The last part of the name, and a digest of the weights and of how they are used."""
    make = encoder_row(name).make
    assert make is not None
    return f"{slug(Path(name).name)}-{digest(identity_of(make()).encode()).hex()}"


def own_encoder(form: str, options: Mapping[str, Any]) -> str | None:
    """The folder or the name on the hub that gives vectors of this form; None for an encoder of the table."""
    name = str(options.get("encoder", AUTO))
    return None if form in ENCODERS or name in (AUTO, form) else name


def option_encoders(options: Collection[tuple[str, Any]]) -> dict[str, str]:
    """What each encoder outside the table is known by, of models that read texts by themselves.

    Parameters
    ----------
    options : collection of pairs
        Names and values of options.

    Returns
    -------
    dict of str to str
        The identity of each, by the option and its value.

    Raises
    ------
    InputError
        There is no such encoder.
    """
    own = {option: {str(value) for name, value in options if name == option} for option in ("frozen", "tuned")}
    return {f"frozen={name}": _own_form(name) for name in sorted(own["frozen"] - ENCODERS.keys())} | {
        f"tuned={name}": network_identity(name) for name in sorted(own["tuned"] - TEXT_ENCODERS.keys())
    }


def view_options(form: str, entry: ModelRow, options: Mapping[str, Any]) -> dict[str, int]:
    """The options of a model whose vectors are two views."""
    own = own_encoder(form, options)
    columns = _row(form, own).first_view if own or form in ENCODERS else None
    return {"first_view": columns} if columns is not None and "first_view" in entry.options else {}


def _refuse_kind(entry: ModelRow, kind: str) -> None:
    if entry.reads != kind:
        raise InputError(
            "model", expected=f"{entry.reads} items for it ({entry.help})", got=kind, fix="Choose another."
        )


@cache
def _row(form: str, own: str | None) -> EncoderRow:
    return encoder_row(own or form)


@cache
def _encoder(form: str, own: str | None) -> Any:
    make = _row(form, own).make
    assert make is not None
    return make()


Part = tuple[Path, str, str | None, str, int]


def missing_parts(form: str, own: str | None, folder: Path, sizes: dict[str, int]) -> list[Part]:
    """The arguments of `encode_part` for all parts that are missing.

    Parameters
    ----------
    form : str
        The form of the vectors.
    own : str or None
        The encoder, where it is not one of the table.
    folder : Path
        The folder of the dataset.
    sizes : dict of str to int
        The number of items of pool and test set.

    Returns
    -------
    list of tuple
        Folder, form, encoder, part and start of each.
    """
    missing = [part for part in PARTS if not is_intact(folder / form / f"{part}.npy")]
    if _row(form, own).make is None:
        return [(folder, form, own, "pool", 0)] if missing else []
    work = [(part, start) for part in missing for start in range(0, sizes[part], PART)]
    return [
        (folder, form, own, part, start) for part, start in work if not is_intact(_part_path(folder, form, part, start))
    ]


def encode_part(folder: Path, form: str, own: str | None, part: str, start: int) -> list[str]:
    """Encode one part of the items, or all of them by an encoder that is fitted on the pool.

    Parameters
    ----------
    folder : Path
        The folder of the dataset.
    form : str
        The form of the vectors.
    own : str or None
        The encoder, where it is not one of the table.
    part : {'pool', 'test'}
        The pool or the test set.
    start : int
        The first item.

    Returns
    -------
    list of str
        No notes.
    """
    encoding = _row(form, own)
    if encoding.make is None:
        _encode_by_words(folder, form)
        return []
    items: Any = raw_items(folder, part)
    stop = min(start + PART, len(items))
    some = items.take(np.arange(start, stop)) if isinstance(items, Images) else items[start:stop]
    rows = _encoder(form, own).embeddings(some)
    if own is None and encoding.holds is not None and not is_intact(folder / encoding.holds / f"{part}.npy"):
        write_array(_part_path(folder, encoding.holds, part, start), rows[:, : encoding.first_view])
    write_array(_part_path(folder, form, part, start), rows)
    return []


def join_parts(form: str, own: str | None, folder: Path, sizes: dict[str, int]) -> None:
    """Join the parts of pool and test set to one array each, and remove the parts.

    Parameters
    ----------
    form : str
        The form of the vectors.
    own : str or None
        The encoder, where it is not one of the table.
    folder : Path
        The folder of the dataset.
    sizes : dict of str to int
        The number of items of pool and test set.
    """
    targets = {part: folder / form / f"{part}.npy" for part in PARTS}
    paths = {part: [_part_path(folder, form, part, start) for start in range(0, sizes[part], PART)] for part in PARTS}
    if not all(map(is_intact, targets.values())):
        _refuse_missing([path for some in paths.values() for path in some])
        joined = [np.concatenate([np.load(path) for path in paths[part]]) for part in PARTS]
        width = _row(form, own).first_view
        if width is not None:
            joined = _with_words(folder, width, *joined)
        for target, rows in zip(targets.values(), joined, strict=True):
            write_array(target, rows)
    for path in (path for some in paths.values() for path in some):
        remove_with_checksum(path)


def _part_path(folder: Path, form: str, part: str, start: int) -> Path:
    return folder / form / f"{part}-{start:08d}.npy"


def _refuse_missing(paths: list[Path]) -> None:
    gone = [str(path) for path in paths if not is_intact(path)]
    if gone:
        raise InputError("vectors", expected="every part", got=f"no {gone[0]}", fix="Run the same command again.")


def _encode_by_words(folder: Path, form: str) -> None:
    for part, rows in zip(PARTS, _words(folder), strict=True):
        write_array(folder / form / f"{part}.npy", rows.astype(np.float32))


def _with_words(folder: Path, width: int, pool: Array, test: Array) -> list[Array]:
    words = _words(folder)
    scales = spreads(views_of(pool, words[0], width))
    return [side_by_side(layers, some, scales, width) for layers, some in zip((pool, test), words, strict=True)]


def _words(folder: Path) -> list[Array]:
    """TF-IDF vectors of pool and test, fitted on the pool."""
    from bemps.models.encoders.tfidf import tfidf_vectors

    pool, test = (raw_items(folder, part) for part in PARTS)
    assert isinstance(pool, list)
    assert isinstance(test, list)
    encode = tfidf_vectors(pool, rng=np.random.default_rng(0))
    return [encode(pool), encode(test)]


def prepare_text_model(folder: Path, make: Callable[..., Any], top_layers: int) -> list[str]:
    """Compute what a fine-tuned model needs once for every text: tokens, and states below the layers that learn.

    Parameters
    ----------
    folder : Path
        The folder of the dataset.
    make : callable
        Makes the model from texts and a cache folder.
    top_layers : int
        The number of layers that learn.

    Returns
    -------
    list of str
        No notes.
    """
    texts: list[Any] = [raw_items(folder, part) for part in PARTS]
    model = make(texts[0], cache_of(folder), top_layers=top_layers)
    for items in texts:
        model.prepare(items)
    return []


def write_surprisal(folder: Path) -> list[str]:
    """Write surprisal vectors of the pool's texts, from a language-model head adapted on them, for ALPS."""
    with requires_extra("finetune", "surprisal vectors"):
        from bemps.models.text.adapted_surprisal import AdaptedSurprisal
    texts: Any = raw_items(folder, "pool")
    model = AdaptedSurprisal(texts, cache=cache_of(folder), device="cpu")
    write_array(folder / SURPRISAL / "pool.npy", model.surprisal(texts))
    return []
