"""Complete old rows that contain only the columns that an update changed, with the other columns of the new row.

A column may be null because it is missing from the old row, because it is null there, or because it could not be parsed
and errors are ignored. Only a missing column is completed, so the document's text is searched for the columns' names,
at any depth as in Flink (JsonNode.findValue).
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

_FLAT_OBJECT: Final = r"\{[^{}\[\]\\]*\}"  # without nested objects, arrays and escapes
_SIMPLE_NAME: Final = re.compile(r"\w+", re.ASCII)


def complete_old_rows(
    old: pa.StructArray,
    new: pa.StructArray,
    is_update: Mask,
    payloads: pa.BinaryArray,
    payload_indices: npt.NDArray[np.int64],
    old_field: str,
) -> pa.StructArray:
    """Return the old rows with the unchanged columns of the new rows. Each has the index of its payload."""
    if not is_update.any():
        return old
    indices, positions = np.unique(payload_indices[is_update], return_inverse=True)
    documents = payloads.take(pa.array(indices))
    texts = _old_row_texts(documents, old_field)
    has_simple_names = all(_SIMPLE_NAME.fullmatch(field.name) for field in old.type)
    to_parse = np.flatnonzero(np.asarray(texts.is_null())) if has_simple_names else np.arange(len(documents))
    parsed = {int(i): _field_names(documents[int(i)].as_py(), old_field) for i in to_parse}
    columns = []
    for field, old_column, new_column in zip(old.type, old.flatten(), new.flatten(), strict=True):
        is_present = np.array(pc.match_substring_regex(texts, rf'"{re.escape(field.name)}"\s*:').fill_null(False))
        for i, names in parsed.items():
            is_present[i] = field.name in names
        is_missing = np.zeros(len(is_update), np.bool_)
        is_missing[is_update] = ~is_present[positions]
        columns.append(pc.if_else(pc.and_(pa.array(is_missing), old_column.is_null()), new_column, old_column))
    return pa.StructArray.from_arrays(columns, fields=list(old.type), mask=old.is_null())


def _old_row_texts(documents: pa.BinaryArray, old_field: str) -> pa.BinaryArray:
    """Return the text of the old rows; null if it is nested or its name repeats, so that it must be parsed."""
    array = rf"\[\s*{_FLAT_OBJECT}\s*(?:,\s*{_FLAT_OBJECT}\s*)*\]"
    matches = pc.extract_regex(documents, rf'"{old_field}"\s*:\s*(?P<old>{_FLAT_OBJECT}|{array})')
    is_unique = pc.equal(pc.count_substring(documents, f'"{old_field}"'), 1)
    return pc.if_else(is_unique, pc.struct_field(matches, "old"), None)


def _field_names(document: bytes, old_field: str) -> set[str]:
    """Return the names of all fields in the old row, at any depth."""
    names: set[str] = set()
    pending: list[Any] = [parse_document(document).get(old_field)]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            names |= value.keys()
            pending += value.values()
        elif isinstance(value, list):
            pending += value
    return names
