"""What the options of `bemps label` ask of a project: lists with commas, pairs and files are read here."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bemps.errors import InputError

if TYPE_CHECKING:
    from bemps.server.project_start import Wishes
    from bemps.store import NewClass

LARGEST_GUIDELINES = 200_000


def wishes_of(options: Mapping[str, Any]) -> "Wishes":
    """Return the wishes of a project from the options that set it, as they were typed; None leaves a setting."""
    from bemps.server.project_start import Wishes

    read = {
        "classes": _classes(options["classes"]),
        "guidelines": _guidelines(options["guidelines"]),
        "assigned_to": _assigned(options["assign"]),
        "keywords": _keywords(options["keywords"]),
    }
    return Wishes(**{name: value for name, value in options.items() if name != "assign"} | read)


def _classes(names: str | None) -> "Sequence[str | NewClass] | None":
    from bemps.formats.class_file import SUFFIXES, read_class_file

    if names is None:
        return None
    is_file = "," not in names and Path(names).suffix.lower() in SUFFIXES
    return read_class_file(Path(names), "--classes") if is_file else names.split(",")


def _assigned(pairs: list[str] | None) -> dict[str, list[str]] | None:
    """The people of each value, from VALUE=NAMES."""
    if pairs is None:
        return None
    assigned = {}
    for pair in pairs:
        value, equals, names = pair.rpartition("=")
        if not equals or not value.strip():
            raise InputError("--assign", expected="VALUE=NAMES", got=repr(pair), fix="For example: north=ann,ben")
        assigned[" ".join(value.split())] = [" ".join(name.split()) for name in names.split(",") if name.strip()]
    return assigned


def _keywords(names: str | None) -> list[str] | None:
    """Words with commas, or in the lines of a file."""
    if names is None:
        return None
    if names.endswith(".txt"):
        return [line.strip() for line in _text(Path(names), "--keywords").splitlines() if line.strip()]
    return names.split(",")


def _guidelines(path: Path | None) -> str | None:
    if path is None:
        return None
    text = _text(path, "--guidelines")
    if len(text) > LARGEST_GUIDELINES:
        got = f"{len(text):,} characters"
        raise InputError("--guidelines", expected=f"at most {LARGEST_GUIDELINES:,}", got=got, fix="Shorten them.")
    return text


def _text(path: Path, what: str) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(what, expected="a text file in UTF-8", got=f"{path}: {error}", fix="Correct it.") from error
