"""Use fastavro as the oracle of the avro formats, with values and schemas that have no logical types."""

from __future__ import annotations

import io
import json
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.types as pt


def to_avro_values(array: pa.Array) -> list[Any]:
    """Return values as Avro's primitive types: times as integers, decimals as bytes."""
    arrow_type = array.type
    valid = array.is_valid().to_pylist()
    if pt.is_struct(arrow_type):
        columns = [to_avro_values(array.field(k)) for k in range(arrow_type.num_fields)]
        rows: list[Any] = [
            dict(zip([f.name for f in arrow_type], row, strict=True)) for row in zip(*columns, strict=True)
        ]
        return [row if is_valid else None for row, is_valid in zip(rows, valid, strict=True)]
    if pt.is_list(arrow_type):
        return [to_avro_values(scalar.values) if scalar.is_valid else None for scalar in array]
    if pt.is_map(arrow_type):
        return [
            dict(zip(s.values.field(0).to_pylist(), to_avro_values(s.values.field(1)), strict=True))
            if s.is_valid
            else None
            for s in array
        ]
    if pt.is_date(arrow_type):
        return list(array.cast(pa.int32()).to_pylist())
    if pt.is_time(arrow_type):
        return [None if v is None else v // 1_000_000 for v in array.cast(pa.int64()).to_pylist()]
    if pt.is_timestamp(arrow_type):
        return list(array.cast(pa.int64()).to_pylist())
    if pt.is_decimal(arrow_type):
        return [None if v is None else unscaled(v) for v in array.to_pylist()]
    return list(array.to_pylist())


def unscaled(value: Decimal) -> bytes:
    """Return the shortest big-endian two's complement."""
    sign, digits, _ = value.as_tuple()
    number = (-1 if sign else 1) * int("".join(map(str, digits)))
    return number.to_bytes((number if number >= 0 else ~number).bit_length() // 8 + 1, "big", signed=True)


def strip_logical_types(document: Any) -> Any:
    """Return a schema's JSON without logical types."""
    if isinstance(document, list):
        return [strip_logical_types(d) for d in document]
    if not isinstance(document, dict):
        return document
    if "logicalType" in document:
        return document["type"] if document["type"] != "fixed" else {k: document[k] for k in ("type", "name", "size")}
    return {k: v if k in ("default", "symbols") else strip_logical_types(v) for k, v in document.items()}


def parse_without_logical_types(text: str) -> Any:
    """Return fastavro's schema of a JSON text, without logical types."""
    return fastavro.parse_schema(strip_logical_types(json.loads(text)))


def encode_rows(schema: Any, rows: list[Any]) -> list[bytes]:
    """Return the payloads of rows."""
    payloads = []
    for row in rows:
        buffer = io.BytesIO()
        fastavro.schemaless_writer(buffer, schema, row)
        payloads.append(buffer.getvalue())
    return payloads


def decode_row(payload: bytes, writer: Any, reader: Any) -> Any:
    """Return the row of a payload."""
    return fastavro.schemaless_reader(io.BytesIO(payload), writer, reader)
