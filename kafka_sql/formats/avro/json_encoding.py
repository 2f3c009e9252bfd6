"""Encode and decode Avro's JSON encoding, row by row (Avro specification, "JSON Encoding")."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from kafka_sql.errors import DecodeError
from kafka_sql.formats.avro.encoder import null_error
from kafka_sql.formats.avro.logical_types import read_factor, write_factor
from kafka_sql.formats.avro.schema import AvroType
from kafka_sql.formats.format import Decoded, ErrorSink, report_or_raise
from kafka_sql.formats.java import jackson
from kafka_sql.formats.java.jackson import Integral, Number
from kafka_sql.formats.java.text import double_text, quote

Convert: TypeAlias = Callable[[Any], Any]

_NAMED_TYPES: Final = ("record", "enum", "fixed")
_SPECIAL: Final = {"NaN": math.nan, "Infinity": math.inf, "INF": math.inf, "-Infinity": -math.inf, "-INF": -math.inf}
_NANOS_PER_DAY: Final = 86_400_000_000_000


class AvroJsonDecoder:
    """Decodes payloads in the JSON encoding of a record whose fields are the columns; skips null payloads."""

    def __init__(self, schema: pa.Schema, avro: AvroType) -> None:
        self._schema = schema
        self._convert = _converter(avro, pa.struct(list(schema)), "")

    def decode(self, payloads: pa.BinaryArray, errors: ErrorSink = None) -> Decoded:
        """Decode a buffer of payloads.

        Raises:
            DecodeError: a payload is malformed, and there is no ``errors``.
        """
        present = np.flatnonzero(payloads.is_valid().to_numpy(zero_copy_only=False))
        rows, decoded = [], []
        for index in present.tolist():
            try:
                rows.append(self._convert(jackson.parse_document(payloads[index].as_py())))
            except ValueError as e:
                path, _, reason = str(e).rpartition("\0")
                report_or_raise(errors, DecodeError(index, path or None, reason))
            else:
                decoded.append(index)
        columns = [pa.array([row[f.name] for row in rows], f.type) for f in self._schema]
        return Decoded(columns, None if len(rows) == len(payloads) else pa.array(decoded, pa.int64()))


class AvroJsonEncoder:
    """Encodes rows in the JSON encoding of a record whose fields are the columns."""

    def __init__(self, avro: AvroType) -> None:
        self._avro = avro

    def encode(self, batch: pa.RecordBatch) -> pa.BinaryArray:
        """Return one payload per row.

        Raises:
            EncodeError: a value does not fit the schema.
        """
        columns = [_json_values(c, f.type, f.name) for c, f in zip(batch.columns, self._avro.fields, strict=True)]
        if not columns:
            return pa.array([b"{}"] * batch.num_rows, pa.binary())
        return pa.array([text.encode() for text in _json_objects(self._avro, columns)], pa.binary())


def _json_objects(record: AvroType, columns: list[list[str]]) -> list[str]:
    """Return an object per row."""
    names = [quote(f.name) for f in record.fields]
    return ["{" + ",".join(map(":".join, zip(names, row, strict=True))) + "}" for row in zip(*columns, strict=True)]


def _json_values(array: pa.Array, avro: AvroType, path: str) -> list[str]:
    """Return the JSON of each value."""
    if avro.type_name == "union":
        branch = avro.items[1]
        name = quote(_branch_name(branch))
        values = iter(_json_values(array.drop_null(), branch, path))
        return ["{" + f"{name}:{next(values)}" + "}" if valid else "null" for valid in array.is_valid().to_pylist()]
    if array.null_count:
        raise null_error(path)
    arrow_type = array.type
    if pt.is_struct(arrow_type):
        fields = enumerate(avro.fields)
        return _json_objects(avro, [_json_values(array.field(k), f.type, f"{path}.{f.name}") for k, f in fields])
    if pt.is_list(arrow_type):
        items = _json_values(array.flatten(), avro.element, f"{path}[]")
        return ["[" + ",".join(elements) + "]" for elements in _split_by_row(items, array)]
    if pt.is_map(arrow_type):
        keys = [quote(key) for scalar in array for key in scalar.values.field(0).to_pylist()]
        values_by_row = [scalar.values.field(1) for scalar in array]
        items = _json_values(pa.concat_arrays(values_by_row), avro.element, f"{path}[]") if values_by_row else []
        entries = list(map(":".join, zip(keys, items, strict=True)))
        return ["{" + ",".join(row) + "}" for row in _split_by_row(entries, array)]
    return [_json_scalar(value, arrow_type, avro) for value in _python_values(array)]


def _branch_name(branch: AvroType) -> str:
    """Return the key of a union's branch."""
    return branch.name if branch.type_name in _NAMED_TYPES else branch.type_name


def _split_by_row(items: list[str], array: pa.Array) -> list[list[str]]:
    """Return the items of each of an array's lists or maps."""
    ends = np.cumsum([len(scalar.values) for scalar in array]).tolist()
    return [items[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def _python_values(array: pa.Array) -> list[Any]:
    """Return values as Python objects; dates and times as integers."""
    arrow_type = array.type
    if pt.is_date(arrow_type):
        return list(array.cast(pa.int32()).to_pylist())
    return list(array.cast(pa.int64()).to_pylist() if pt.is_temporal(arrow_type) else array.to_pylist())


def _json_scalar(value: Any, arrow_type: pa.DataType, avro: AvroType) -> str:
    if pt.is_timestamp(arrow_type) or pt.is_time(arrow_type):
        factor = write_factor(avro, arrow_type)
        return str(value * factor if factor > 0 else value // -factor)
    if pt.is_decimal(arrow_type):
        number = _unscaled(value)
        value = number.to_bytes((number if number >= 0 else ~number).bit_length() // 8 + 1, "big", signed=True)
    if isinstance(value, bytes):
        return quote(value.decode("latin-1"))
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return double_text(value if arrow_type.bit_width == 64 else float(str(np.float32(value))))
    return quote(value) if isinstance(value, str) else str(value)


def _unscaled(value: Decimal) -> int:
    sign, digits, _ = value.as_tuple()
    return (-1 if sign else 1) * int("".join(map(str, digits)))


def _converter(avro: AvroType, arrow_type: pa.DataType, path: str) -> Convert:
    """Return a function that converts parsed JSON to a value. It raises ValueError: the path, NUL, and the reason."""
    if avro.type_name == "union":
        name, convert_branch = _branch_name(avro.items[1]), _converter(avro.items[1], arrow_type, path)

        def convert_union(value: Any) -> Any:
            if value is None:
                return None
            if not isinstance(value, dict) or list(value) != [name]:
                raise ValueError(f'{path}\0expected null or {{"{name}": ...}}')
            return convert_branch(value[name])

        return convert_union
    if avro.type_name == "record":
        fields = [
            (f.name, _converter(f.type, arrow_type.field(k).type, f"{path}.{f.name}" if path else f.name))
            for k, f in enumerate(avro.fields)
        ]

        def convert_record(value: Any) -> dict[str, Any]:
            if not isinstance(value, dict):
                raise ValueError(f"{path}\0expected a JSON object")
            for name, _ in fields:
                if name not in value:
                    raise ValueError(f"{path}\0Expected field name not found: {name}")
            return {name: convert(value[name]) for name, convert in fields}

        return convert_record
    if avro.type_name == "array":
        convert_element = _converter(avro.element, arrow_type.value_type, f"{path}[]")
        return lambda value: [convert_element(v) for v in _require(value, list, path, "a JSON array")]
    if avro.type_name == "map":
        convert_item = _converter(avro.element, arrow_type.item_type, f"{path}[]")
        return lambda value: [(k, convert_item(v)) for k, v in _require(value, dict, path, "a JSON object").items()]
    return _scalar_converter(avro, arrow_type, path)


def _require(value: Any, type: type, path: str, expected: str) -> Any:
    """Return a value of the required type."""
    if not isinstance(value, type) or (type is str and isinstance(value, Number)):
        raise ValueError(f"{path}\0expected {expected}")
    return value


def _scalar_converter(avro: AvroType, arrow_type: pa.DataType, path: str) -> Convert:
    match avro.type_name:
        case "boolean":
            return lambda value: _require(value, bool, path, "true or false")
        case "string":
            return lambda value: _require(value, str, path, "a string")
        case "bytes":
            return lambda value: _convert_bytes(_require(value, str, path, "a string"), arrow_type, path)
        case "float" | "double":
            return lambda value: _convert_float(value, path)
    bits = 31 if avro.type_name == "int" else 63
    factor = read_factor(avro, avro, arrow_type) if pt.is_timestamp(arrow_type) or pt.is_time(arrow_type) else 1

    def convert_integer(value: Any) -> int:
        if not isinstance(value, Integral) or not -(1 << bits) <= int(value) < 1 << bits:
            raise ValueError(f"{path}\0expected an integer of {bits + 1} bits")
        scaled = int(value) * factor if factor > 0 else int(value) // -factor
        if pt.is_integer(arrow_type) and arrow_type.bit_width < 32:  # truncated as in Java
            half = 1 << (arrow_type.bit_width - 1)
            scaled = (scaled + half) % (2 * half) - half
        if not -(2**63) <= scaled < 2**63 or (pt.is_time(arrow_type) and not 0 <= scaled < _NANOS_PER_DAY):
            raise ValueError(f"{path}\0is out of the column type's range")
        return scaled

    return convert_integer


def _convert_float(value: Any, path: str) -> float:
    if isinstance(value, Number):
        return float(value)
    if isinstance(value, str) and value in _SPECIAL:
        return _SPECIAL[value]
    raise ValueError(f"{path}\0expected a number")


def _convert_bytes(text: str, arrow_type: pa.DataType, path: str) -> Any:
    """Return bytes, or a decimal, of a string with a character per byte."""
    try:
        data = text.encode("latin-1")
    except UnicodeEncodeError as e:
        raise ValueError(f"{path}\0expected a string of the characters \\u0000 to \\u00ff, one per byte") from e
    if not pt.is_decimal(arrow_type):
        return data
    if not data:
        raise ValueError(f"{path}\0a decimal has no bytes")
    number = int.from_bytes(data, "big", signed=True)
    if abs(number) >= 10**arrow_type.precision:
        return None
    return Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -arrow_type.scale))
