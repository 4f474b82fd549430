"""Seeded damage: valid bytes in, bytes that somebody's disk, editor or other tool could have made of them out.

A mutation takes a random generator and the bytes of a file, and returns other bytes. Those of structure (JSON, Parquet,
NumPy) return None for a file that is of another kind.
"""

import io
import json
import re
import warnings
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

Rng = np.random.Generator
Mutation = Callable[[Rng, bytes], bytes | None]
DEEP = 20_000
TOKENS = (
    b"\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",  # half a surrogate pair, as bytes
    b'"\\ud800"',  # and as JSON
    b"9" * 5_000,
    b"-1",
    b"1e999",
    b"NaN",
    b"null",
    b"[" * DEEP,
    b'{"a":' * DEEP,
    b"a." * 2_000,
    b'"',
    b"'''",
    b"\r",
    b"\n\n",
    b",,,,",
    "\u2028\u00fc\U0001f600".encode(),
)
NUMBERS = (b"-1", b"0", b"1", b"99999999999999999999", b"1e308", b"NaN", b"0.5", b"true", b'""', b"[]", b"4294967296")
ODD: tuple[Any, ...] = (
    *(None, True, -1, 0, 3, 10**400, 1e308, float("nan"), float("-inf"), 0.5),
    *("", "x" * 10_000, "\ud800", "\0", "label", "9" * 5_000, "1970-01-01", "../../../etc/passwd"),
    *([], {}, [[]], [None], ["a", "b"], {"a": 1}, {"": None}, [{"id": 1}]),
)


def mutated(rng: Rng, data: bytes, others: list[bytes]) -> bytes:
    """One to three mutations of a file; `others` are files that it may be mixed with."""
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        structured = [found for mutation in STRUCTURED if (found := mutation(rng, data)) is not None]
        if structured and rng.random() < 0.7:
            data = structured[rng.integers(len(structured))]
        elif rng.random() < 0.1:
            data = spliced(rng, data, others[rng.integers(len(others))])
        else:
            data = BYTES[rng.integers(len(BYTES))](rng, data)
    return data


# -- of bytes ---------------------------------------------------------------------------------------------------------


def truncated(rng: Rng, data: bytes) -> bytes:
    return data[: rng.integers(len(data) + 1)]


def flipped(rng: Rng, data: bytes) -> bytes:
    changed = bytearray(data)
    for position in rng.integers(max(len(changed), 1), size=rng.integers(1, 6)):
        if changed:
            changed[position] ^= 1 << rng.integers(8)
    return bytes(changed)


def garbled(rng: Rng, data: bytes) -> bytes:
    start, stop = _span(rng, data)
    return data[:start] + rng.bytes(stop - start) + data[stop:]


def cut(rng: Rng, data: bytes) -> bytes:
    start, stop = _span(rng, data)
    return data[:start] + data[stop:]


def repeated(rng: Rng, data: bytes) -> bytes:
    start, stop = _span(rng, data)
    return data[:stop] + data[start:stop] * int(rng.integers(1, 4)) + data[stop:]


def inserted(rng: Rng, data: bytes) -> bytes:
    start, _ = _span(rng, data)
    return data[:start] + TOKENS[rng.integers(len(TOKENS))] + data[start:]


def renumbered(rng: Rng, data: bytes) -> bytes:
    """Another number, or none, in place of a number."""
    places = list(re.finditer(rb"-?\d+(\.\d+)?", data[:20_000]))
    if not places:
        return inserted(rng, data)
    start, stop = places[rng.integers(len(places))].span()
    return data[:start] + NUMBERS[rng.integers(len(NUMBERS))] + data[stop:]


def encoded_otherwise(rng: Rng, data: bytes) -> bytes:
    name = ("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "cp1252", "utf-7")[rng.integers(6)]
    return data.decode("latin-1").encode(name, errors="replace")


def moved_lines(rng: Rng, data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join(lines[place] for place in rng.integers(max(len(lines), 1), size=len(lines)))


def other_value(rng: Rng, data: bytes) -> bytes:
    """A TOML or CSV line with something else after its first `=` or comma."""
    lines = data.splitlines(keepends=True)
    if not lines:
        return data
    place = int(rng.integers(len(lines)))
    name, sign, _ = re.split(rb"([=,])", lines[place], maxsplit=1)[:3] if b"=" in lines[place] else (b"", b"", b"")
    text = json.dumps(ODD[rng.integers(len(ODD))]).replace("null", "[]").encode()
    lines[place] = name + sign + b" " + text + b"\n"
    return b"".join(lines)


def spliced(rng: Rng, data: bytes, other: bytes) -> bytes:
    start, stop = _span(rng, data)
    return data[:start] + other[slice(*_span(rng, other))] + data[stop:]


def _span(rng: Rng, data: bytes) -> tuple[int, int]:
    start = int(rng.integers(len(data) + 1))
    return start, min(len(data), start + int(rng.integers(1, 40)))


BYTES: tuple[Callable[[Rng, bytes], bytes], ...] = (
    *(truncated, flipped, garbled, cut, repeated, inserted, renumbered, encoded_otherwise, moved_lines, other_value),
)


# -- of structure -----------------------------------------------------------------------------------------------------


def other_json(rng: Rng, data: bytes) -> bytes | None:
    """A JSON document, or JSON lines, with one of its values replaced, removed, renamed or wrapped."""
    lines = data.splitlines() if data[:1] == b"{" and data.count(b"\n{") else [data]
    place = int(rng.integers(len(lines)))
    try:
        tree = json.loads(lines[place])
    except (ValueError, RecursionError):
        return None
    if not isinstance(tree, dict | list):
        return None
    lines[place] = json.dumps(_changed(rng, tree)).encode()
    return b"\n".join(lines)


def _changed(rng: Rng, tree: Any) -> Any:
    root = {"": tree}
    slots = _slots(root)
    parent, key = slots[rng.integers(len(slots))]
    action = rng.integers(5)
    if action == 0 and parent is not root:
        del parent[key]
    elif action == 1 and isinstance(parent, dict) and parent is not root:
        parent["other"] = parent.pop(key)
    elif action == 2:
        parent[key] = [parent[key]]
    else:
        parent[key] = ODD[rng.integers(len(ODD))]
    return root[""]


def _slots(tree: Any) -> list[tuple[Any, Any]]:
    keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
    deeper = [slot for key in keys if isinstance(tree[key], dict | list) for slot in _slots(tree[key])]
    return [(tree, key) for key in keys] + deeper


def other_parquet(rng: Rng, data: bytes) -> bytes | None:
    """A Parquet file with a column of another type, another name, a name twice, without a column, or without rows."""
    try:
        table = pq.read_table(io.BytesIO(data))
    except (pa.ArrowException, OSError, ValueError):
        return None
    if not table.num_columns:
        return None
    place = int(rng.integers(table.num_columns))
    name = table.column_names[place]
    action = rng.integers(6)
    if action == 0:
        table = table.remove_column(place)
    elif action == 1:
        table = table.append_column(name, table.column(place))
    elif action == 2:
        table = table.slice(0, int(rng.integers(2)))
    else:
        table = table.set_column(place, name, _column(rng, table.num_rows))
    file = io.BytesIO()
    pq.write_table(table, file)
    return file.getvalue()


def _column(rng: Rng, rows: int) -> pa.Array:
    kinds = (
        lambda: pa.array(rng.integers(-3, 3, rows)),
        lambda: pa.array(rng.normal(size=rows) * 1e300),
        lambda: pa.array([None] * rows),
        lambda: pa.array([b"\xff\xfe"] * rows, pa.binary()),
        lambda: pa.array([["a"]] * rows),
        lambda: pa.array([{"a": 1}] * rows),
        lambda: pa.array([True, None][: rows or 2] * (rows // 2 + 1))[:rows],
        lambda: pa.array([2**62] * rows, pa.timestamp("us")),
        lambda: pa.array(["\u00e9", "", None, "7"] * rows)[:rows],
        lambda: pa.array([2**63 - 1] * rows),
        lambda: pa.array([np.nan] * rows),
        lambda: pa.StringArray.from_buffers(
            rows, pa.py_buffer(np.arange(rows + 1, dtype=np.int32)), pa.py_buffer(b"\xff" * (rows + 1))
        ),
    )
    return kinds[rng.integers(len(kinds))]()


def other_array(rng: Rng, data: bytes) -> bytes | None:
    """A .npy file with a forged header, or of another type or shape."""
    if data[:6] != b"\x93NUMPY":
        return None
    if rng.random() < 0.5:
        return _forged_header(rng, data)
    arrays = (
        np.zeros((2, 3), dtype=complex),
        np.array(["a", "b"]),
        np.empty((0, 3, 2)),
        np.float64(3),
        np.array(["2020-01-01"], dtype="datetime64[D]"),
        np.zeros(3, dtype=[("a", "i4"), ("b", "f8")]),
        np.full((3, 4, 2), np.nan),
        np.full((3, 4, 2), 1e308),
        np.ones((3, 4, 2), dtype=bool),
        np.ones((1,) * 30),
    )
    file = io.BytesIO()
    np.save(file, arrays[rng.integers(len(arrays))])
    return file.getvalue()


def _forged_header(rng: Rng, data: bytes) -> bytes:
    texts = (
        "(99999999999, 9)",
        "()",
        "(3,",
        "((((",
        "(-1, 2, 3)",
        "('a',)",
        "(1" + "0" * 4000 + ",)",
        "None",
        "(2**70,)",
    )
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': " + texts[rng.integers(len(texts))].encode() + b"}"
    if rng.random() < 0.3:
        header = header.replace(
            b"'<f8'", (b"'|O'", b"'<M8[x]'", b"[('a', 5)]", b"'<U999999999'", b"0")[rng.integers(5)]
        )
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data[128:]


NAMES = (
    "../out.txt",
    "/etc/passwd",
    "C:\\x.txt",
    "a/../../b.txt",
    "nul.txt",
    "a\0b.txt",
    "x" * 300,
    "",
    ".hidden",
    "a//b.txt",
)


def other_zip(rng: Rng, data: bytes) -> bytes | None:
    """A zip file (also a workbook) with a member that is damaged, missing, twice, a link, or of another name."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [(info.filename, archive.read(info)) for info in archive.infolist()]
    except (
        zipfile.BadZipFile,
        zipfile.zlib.error,
        ValueError,
        LookupError,
        RuntimeError,
        NotImplementedError,
        OSError,
        EOFError,
    ):
        return None
    if not members:
        return None
    place, action = int(rng.integers(len(members))), rng.integers(8)
    name, content = members[place]
    info = zipfile.ZipInfo(name)
    if action == 0:
        info.external_attr = 0o120777 << 16
    elif action == 1:
        info = zipfile.ZipInfo(NAMES[rng.integers(len(NAMES))])
    elif action == 2:
        content = b"0" * 3 * 2**20
    elif action >= 4:
        content = BYTES[rng.integers(len(BYTES))](rng, content)
    kept = [member for i, member in enumerate(members) if i != place]
    file = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        warnings.filterwarnings("ignore", "Duplicate name")  # of members that an earlier mutation made twice
        for other, bytes_ in kept:
            archive.writestr(zipfile.ZipInfo(other), bytes_, zipfile.ZIP_DEFLATED)
        if action != 3:
            archive.writestr(info, content, zipfile.ZIP_DEFLATED)
    return file.getvalue()


STRUCTURED: tuple[Mutation, ...] = (other_json, other_parquet, other_array, other_zip)


def changes(data: bytes, damaged: bytes) -> str:
    """Where two files begin to differ, for the message of a failing test."""
    first = next(
        (i for i, (a, b) in enumerate(zip(data, damaged, strict=False)) if a != b), min(len(data), len(damaged))
    )
    return f"{len(data)} -> {len(damaged)} bytes, from byte {first}: {damaged[max(0, first - 20) : first + 60]!r}"
