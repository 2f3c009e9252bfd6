"""Plain values and plain schemas for fastavro, the oracle of the avro formats."""

from __future__ import annotations

import io
import json
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.types as pt


def raw(array: pa.Array) -> list[Any]:
    """The values as Avro's own types have them: whole numbers for times, bytes for decimals."""
    t = array.type
    valid = array.is_valid().to_pylist()
    if pt.is_struct(t):
        columns = [raw(array.field(k)) for k in range(t.num_fields)]
        rows: list[Any] = [dict(zip([f.name for f in t], row, strict=True)) for row in zip(*columns, strict=True)]
        return [row if there else None for row, there in zip(rows, valid, strict=True)]
    if pt.is_list(t):
        return [raw(scalar.values) if scalar.is_valid else None for scalar in array]
    if pt.is_map(t):
        return [
            dict(zip(s.values.field(0).to_pylist(), raw(s.values.field(1)), strict=True)) if s.is_valid else None
            for s in array
        ]
    if pt.is_date(t):
        return list(array.cast(pa.int32()).to_pylist())
    if pt.is_time(t):
        return [None if v is None else v // 1_000_000 for v in array.cast(pa.int64()).to_pylist()]
    if pt.is_timestamp(t):
        return list(array.cast(pa.int64()).to_pylist())
    if pt.is_decimal(t):
        return [None if v is None else unscaled(v) for v in array.to_pylist()]
    return list(array.to_pylist())


def unscaled(value: Decimal) -> bytes:
    """The least bytes of two's complement, big-endian."""
    sign, digits, _ = value.as_tuple()
    number = (-1 if sign else 1) * int("".join(map(str, digits)))
    return number.to_bytes((number if number >= 0 else ~number).bit_length() // 8 + 1, "big", signed=True)


def without_logical(document: Any) -> Any:
    """A schema's JSON without logical types."""
    if isinstance(document, list):
        return [without_logical(d) for d in document]
    if not isinstance(document, dict):
        return document
    if "logicalType" in document:
        return document["type"] if document["type"] != "fixed" else {k: document[k] for k in ("type", "name", "size")}
    return {k: v if k in ("default", "symbols") else without_logical(v) for k, v in document.items()}


def plain_schema(text: str) -> Any:
    """A schema of JSON text for fastavro, without logical types."""
    return fastavro.parse_schema(without_logical(json.loads(text)))


def write(schema: Any, rows: list[Any]) -> list[bytes]:
    """Payloads of the rows."""
    found = []
    for row in rows:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, schema, row)
        found.append(out.getvalue())
    return found


def read(payload: bytes, writer: Any, reader: Any) -> Any:
    """The row of a payload."""
    return fastavro.schemaless_reader(io.BytesIO(payload), writer, reader)
