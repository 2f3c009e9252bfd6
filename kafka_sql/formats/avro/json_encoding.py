"""Avro's JSON encoding, record by record (Avro specification, "JSON Encoding")."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from kafka_sql.errors import DecodeError
from kafka_sql.formats.avro.encoder import null_error, write_factor
from kafka_sql.formats.avro.options import LEGACY_TIMESTAMPS
from kafka_sql.formats.avro.resolution import read_factor
from kafka_sql.formats.avro.schema import AvroType, parse_schema
from kafka_sql.formats.avro.schema_from_table import derive_schema
from kafka_sql.formats.format import Decoded, ErrorSink, report_or_raise
from kafka_sql.formats.java import jackson
from kafka_sql.formats.java.jackson import Integral, Number
from kafka_sql.formats.java.text import double_text, quote
from kafka_sql.options import Options

Convert: TypeAlias = Callable[[Any], Any]

_NAMED: Final = ("record", "enum", "fixed")
_SPECIAL: Final = {"NaN": math.nan, "Infinity": math.inf, "INF": math.inf, "-Infinity": -math.inf, "-INF": -math.inf}


class AvroJsonDecoder:
    """Decodes payloads in the JSON encoding of the table's own schema; a null payload is no row."""

    def __init__(self, schema: pa.Schema, options: Options) -> None:
        """
        Raises:
            SchemaError: a column has no form in Avro.
        """
        self._schema = schema
        avro = parse_schema(derive_schema(schema, options[LEGACY_TIMESTAMPS]))
        self._read = _reader(avro, pa.struct(list(schema)), "")

    def decode(self, payloads: pa.BinaryArray, errors: ErrorSink = None) -> Decoded:
        """Decode a buffer of payloads.

        Raises:
            DecodeError: the first payload in error, unless ``bad`` takes them.
        """
        kept = np.flatnonzero(payloads.is_valid().to_numpy(zero_copy_only=False))
        rows, origins = [], []
        for i in kept.tolist():
            try:
                rows.append(self._read(jackson.parse_document(payloads[i].as_py())))
            except ValueError as e:
                path, _, reason = str(e).rpartition("\0")
                report_or_raise(errors, DecodeError(i, path or None, reason))
            else:
                origins.append(i)
        columns = [pa.array([row[f.name] for row in rows], f.type) for f in self._schema]
        return Decoded(columns, None if len(rows) == len(payloads) else pa.array(origins, pa.int64()))


class AvroJsonEncoder:
    """Encodes rows in the JSON encoding of the table's own schema."""

    def __init__(self, schema: pa.Schema, options: Options) -> None:
        """
        Raises:
            SchemaError: a column has no form in Avro.
        """
        self._avro = parse_schema(derive_schema(schema, options[LEGACY_TIMESTAMPS]))

    def encode(self, batch: pa.RecordBatch) -> pa.BinaryArray:
        """One payload a row.

        Raises:
            EncodeError: a value has no form in the schema.
        """
        columns = [_texts(c, f.type, f.name) for c, f in zip(batch.columns, self._avro.fields, strict=True)]
        names = [quote(f.name) for f in self._avro.fields]
        rows = zip(*columns, strict=True) if columns else [()] * batch.num_rows
        texts = ("{" + ",".join(f"{n}:{t}" for n, t in zip(names, row, strict=True)) + "}" for row in rows)
        return pa.array([text.encode() for text in texts], pa.binary())


def _texts(array: pa.Array, avro: AvroType, path: str) -> list[str]:
    """The JSON text of each value."""
    if avro.type_name == "union":
        branch = avro.items[1]
        name = quote(branch.name if branch.type_name in _NAMED else branch.type_name)
        inside = _texts(array.drop_null(), branch, path)
        found = iter(inside)
        return ["{" + f"{name}:{next(found)}" + "}" if there else "null" for there in array.is_valid().to_pylist()]
    if array.null_count:
        raise null_error(path)
    t = array.type
    if pt.is_struct(t):
        columns = [_texts(array.field(k), f.type, f"{path}.{f.name}") for k, f in enumerate(avro.fields)]
        names = [quote(f.name) for f in avro.fields]
        return ["{" + ",".join(map(":".join, zip(names, row, strict=True))) + "}" for row in zip(*columns, strict=True)]
    if pt.is_list(t):
        items = _texts(array.flatten(), avro.element, f"{path}[]")
        return ["[" + ",".join(part) + "]" for part in _cut(items, array)]
    if pt.is_map(t):
        keys = [quote(key) for scalar in array for key in scalar.values.field(0).to_pylist()]
        values = [scalar.values.field(1) for scalar in array]
        items = _texts(pa.concat_arrays(values), avro.element, f"{path}[]") if values else []
        return ["{" + ",".join(part) + "}" for part in _cut(list(map(":".join, zip(keys, items, strict=True))), array)]
    return [_scalar_text(v, t, avro) for v in _plain(array)]


def _cut(items: list[str], array: pa.Array) -> list[list[str]]:
    ends = np.cumsum([len(scalar.values) for scalar in array]).tolist()
    return [items[a:b] for a, b in zip([0, *ends], ends, strict=False)]


def _plain(array: pa.Array) -> list[Any]:
    """Values as Python has them, dates and times as whole numbers."""
    t = array.type
    if pt.is_date(t):
        return list(array.cast(pa.int32()).to_pylist())
    return list(array.cast(pa.int64()).to_pylist() if pt.is_temporal(t) else array.to_pylist())


def _scalar_text(value: Any, t: pa.DataType, avro: AvroType) -> str:
    if pt.is_timestamp(t) or pt.is_time(t):
        factor = write_factor(avro, t)
        return str(value * factor if factor > 0 else value // -factor)
    if pt.is_decimal(t):
        number = _unscaled(value)
        value = number.to_bytes((number if number >= 0 else ~number).bit_length() // 8 + 1, "big", signed=True)
    if isinstance(value, bytes):
        return quote(value.decode("latin-1"))
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return double_text(value if t.bit_width == 64 else float(str(np.float32(value))))
    return quote(value) if isinstance(value, str) else str(value)


def _unscaled(value: Decimal) -> int:
    sign, digits, _ = value.as_tuple()
    return (-1 if sign else 1) * int("".join(map(str, digits)))


def _reader(avro: AvroType, t: pa.DataType, path: str) -> Convert:
    """What makes a value of a parsed one; raises ValueError with path and reason."""
    if avro.type_name == "union":
        branch = avro.items[1]
        name, read = branch.name if branch.type_name in _NAMED else branch.type_name, _reader(avro.items[1], t, path)

        def union(value: Any) -> Any:
            if value is None:
                return None
            if not isinstance(value, dict) or list(value) != [name]:
                raise ValueError(f'{path}\0expected null or {{"{name}": ...}}')
            return read(value[name])

        return union
    if avro.type_name == "record":
        fields = [
            (f.name, _reader(f.type, t.field(k).type, f"{path}.{f.name}" if path else f.name))
            for k, f in enumerate(avro.fields)
        ]

        def record(value: Any) -> dict[str, Any]:
            if not isinstance(value, dict):
                raise ValueError(f"{path}\0expected a JSON object")
            for name, _ in fields:
                if name not in value:
                    raise ValueError(f"{path}\0Expected field name not found: {name}")
            return {name: read(value[name]) for name, read in fields}

        return record
    if avro.type_name == "array":
        element = _reader(avro.element, t.value_type, f"{path}[]")
        return lambda value: [element(v) for v in _require(value, list, path, "a JSON array")]
    if avro.type_name == "map":
        item = _reader(avro.element, t.item_type, f"{path}[]")
        return lambda value: [(k, item(v)) for k, v in _require(value, dict, path, "a JSON object").items()]
    return _scalar_reader(avro, t, path)


def _require(value: Any, kind: type, path: str, expected: str) -> Any:
    if not isinstance(value, kind) or (kind is str and isinstance(value, Number)):
        raise ValueError(f"{path}\0expected {expected}")
    return value


def _scalar_reader(avro: AvroType, t: pa.DataType, path: str) -> Convert:
    if avro.type_name == "boolean":
        return lambda value: _require(value, bool, path, "true or false")
    if avro.type_name == "string":
        return lambda value: _require(value, str, path, "a text")
    if avro.type_name == "bytes":
        return lambda value: _octets(_require(value, str, path, "a text"), t, path)
    if avro.type_name in ("float", "double"):

        def number(value: Any) -> float:
            if isinstance(value, Number):
                return float(value)
            if isinstance(value, str) and value in _SPECIAL:
                return _SPECIAL[value]
            raise ValueError(f"{path}\0expected a number")

        return number
    bits = 31 if avro.type_name == "int" else 63
    factor = read_factor(avro, avro, t) if pt.is_timestamp(t) or pt.is_time(t) else 1

    def whole(value: Any) -> int:
        if not isinstance(value, Integral) or not -(1 << bits) <= int(value) < 1 << bits:
            raise ValueError(f"{path}\0expected a whole number of {bits + 1} bits")
        scaled = int(value) * factor if factor > 0 else int(value) // -factor
        if pt.is_integer(t) and t.bit_width < 32:  # cut off, as Java does
            half = 1 << (t.bit_width - 1)
            scaled = (scaled + half) % (2 * half) - half
        if not -(2**63) <= scaled < 2**63 or (pt.is_time(t) and not 0 <= scaled < 86_400_000_000_000):
            raise ValueError(f"{path}\0is no time that the table can carry")
        return scaled

    return whole


def _octets(text: str, t: pa.DataType, path: str) -> Any:
    try:
        data = text.encode("latin-1")
    except UnicodeEncodeError as e:
        raise ValueError(f"{path}\0expected a text of bytes, \\u0000 to \\u00ff") from e
    if not pt.is_decimal(t):
        return data
    if not data:
        raise ValueError(f"{path}\0a decimal has no bytes")
    number = int.from_bytes(data, "big", signed=True)
    if abs(number) >= 10**t.precision:
        return None
    return Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -t.scale))
