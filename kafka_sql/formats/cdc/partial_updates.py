"""States before an update that hold the changed columns only: what is absent is as in the new state.

A null that is written down is a value, and a field that could not be read (where errors are ignored) is null, too: so
the text is asked which names stand in it, at any depth, as Flink does (JsonNode.findValue).
"""

from __future__ import annotations

import re
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka_sql.formats.java.jackson import parse_document

Mask: TypeAlias = npt.NDArray[np.bool_]

_FLAT: Final = r"\{[^{}\[\]\\]*\}"  # an object without others in it, and without escapes
_PLAIN: Final = re.compile(r"\w+", re.ASCII)


def complete_old_rows(
    old: pa.StructArray,
    new: pa.StructArray,
    updated: Mask,
    payloads: pa.BinaryArray,
    origins: npt.NDArray[np.int64],
    name: str,
) -> pa.StructArray:
    """The old states with the unchanged columns.

    Args:
        updated: which rows are updates.
        origins: each row's payload.
        name: the field of the payload that holds the old state.
    """
    if not updated.any():
        return old
    asked, place = np.unique(origins[updated], return_inverse=True)
    chosen = payloads.take(pa.array(asked))
    texts = _texts(chosen, name)
    plain = all(_PLAIN.fullmatch(field.name) for field in old.type)
    unsure = np.flatnonzero(np.asarray(texts.is_null())) if plain else np.arange(len(chosen))
    parsed = {int(i): _names(chosen[int(i)].as_py(), name) for i in unsure}
    columns = []
    for field, before, after in zip(old.type, old.flatten(), new.flatten(), strict=True):
        written = np.array(pc.match_substring_regex(texts, rf'"{re.escape(field.name)}"\s*:').fill_null(False))
        for i, names in parsed.items():
            written[i] = field.name in names
        absent = np.zeros(len(updated), np.bool_)
        absent[updated] = ~written[place]
        columns.append(pc.if_else(pc.and_(pa.array(absent), before.is_null()), after, before))
    return pa.StructArray.from_arrays(columns, fields=list(old.type), mask=old.is_null())


def _texts(payloads: pa.BinaryArray, name: str) -> pa.BinaryArray:
    """The old states as they are written; null where one must be parsed: it is nested, or its name stands elsewhere."""
    pattern = rf'"{name}"\s*:\s*(?P<old>{_FLAT}|\[\s*{_FLAT}\s*(?:,\s*{_FLAT}\s*)*\])'
    found = pc.struct_field(pc.extract_regex(payloads, pattern), "old")
    return pc.if_else(pc.equal(pc.count_substring(payloads, f'"{name}"'), 1), found, None)


def _names(payload: bytes, name: str) -> set[str]:
    """The names of all fields within a field of a document, at any depth."""
    found: set[str] = set()
    left: list[Any] = [parse_document(payload).get(name)]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            found |= value.keys()
            left += value.values()
        elif isinstance(value, list):
            left += value
    return found
