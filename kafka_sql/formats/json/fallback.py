"""The exact way: one payload to rows, record by record.

This follows Flink's default decoder (JsonParserToRowDataConverters) in what a value becomes. Where that one loses its
place in the document (after an object or array in a column that is neither, and after a repeated name), it follows
Flink's other decoder (JsonToRowDataConverters), which reads the document as a whole.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.types as pt

from kafka_sql.errors import DecodeError
from kafka_sql.formats.java import text as java_text
from kafka_sql.formats.java.jackson import Number, parse_document, with_deep_recursion
from kafka_sql.formats.java.scalars import scalar_converter, to_string

Convert: TypeAlias = Callable[[Any], Any]
Row: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Rules:
    """What the options say about reading.

    Attributes:
        fail_on_missing: a missing field is an error, not null.
        ignore_errors: what cannot be read is null, or no row.
        iso: timestamps are ISO-8601, not SQL.
    """

    fail_on_missing: bool
    ignore_errors: bool
    iso: bool


class _Mismatch(Exception):
    """A field that is not what the table declares; ``path`` grows on the way out."""

    def __init__(self, reason: str, path: str = "", forgivable: bool = True) -> None:
        super().__init__(reason)
        self.reason, self.path, self.forgivable = reason, path, forgivable

    def inside(self, outer: str) -> _Mismatch:
        dot = "." if self.path and not self.path.startswith("[") else ""
        return _Mismatch(self.reason, outer + dot + self.path, self.forgivable)


def row_reader(schema: pa.Schema, rules: Rules) -> Callable[[int, bytes], list[Row]]:
    """The function that makes rows of one payload: given its index and bytes, a list of rows (name to value).

    An object is one row; an array is a row for each of its objects. The function raises DecodeError with the index
    and the field's path.
    """
    decimals = any(_has_decimal(field.type) for field in schema)
    convert = _object(list(schema), rules, decimals)

    def read(index: int, payload: bytes) -> list[Row]:
        try:
            document = parse_document(payload)
            elements = document if isinstance(document, list) else [document]
        except ValueError as e:
            if rules.ignore_errors:
                return []
            raise DecodeError(
                index, None, f"the payload {e}: {_shown(payload[:100].decode('utf-8', 'replace'))}"
            ) from e
        rows = []
        for element in elements:
            if element is None and document is not element:
                continue  # Flink makes no row of a null in an array
            try:
                rows.append(with_deep_recursion(functools.partial(convert, element)))
            except _Mismatch as e:
                if not rules.ignore_errors:
                    raise DecodeError(index, e.path or None, e.reason) from e
        return rows

    return read


def _has_decimal(t: pa.DataType) -> bool:
    return pt.is_decimal(t) or any(_has_decimal(t.field(i).type) for i in range(t.num_fields))


def _object(fields: list[pa.Field], rules: Rules, decimals: bool) -> Convert:
    converters = [(field.name, _nullable(field, rules, decimals)) for field in fields]

    def convert(value: Any) -> Row:
        if not isinstance(value, dict):
            raise _Mismatch(_found(value, "expected a JSON object"))
        row = {}
        for name, converter in converters:
            try:
                if rules.fail_on_missing and name not in value:
                    raise _Mismatch("the field is missing, and 'json.fail-on-missing-field' is 'true'")
                row[name] = converter(value.get(name))
            except _Mismatch as e:
                raise e.inside(name) from e
        return row

    return convert


def _array(t: pa.DataType, rules: Rules, decimals: bool) -> Convert:
    converter = _nullable(t.value_field, rules, decimals)

    def convert(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise _Mismatch(_found(value, "expected a JSON array"))
        return [_inside(f"[{i}]", converter, v) for i, v in enumerate(value)]

    return convert


def _map(t: pa.DataType, rules: Rules, decimals: bool) -> Convert:
    converter = _nullable(t.item_field, rules, decimals)

    def convert(value: Any) -> list[tuple[str, Any]]:
        if not isinstance(value, dict):
            raise _Mismatch(_found(value, "expected a JSON object"))
        return list({to_string(k): _inside(f"[{k}]", converter, v) for k, v in value.items()}.items())

    return convert


def _inside(place: str, converter: Convert, value: Any) -> Any:
    try:
        return converter(value)
    except _Mismatch as e:
        raise e.inside(place) from e


def _nullable(field: pa.Field, rules: Rules, decimals: bool) -> Convert:
    converter = _value(field.type, rules, decimals)

    def convert(value: Any) -> Any:
        result = None
        if value is not None:
            try:
                result = converter(value)
            except _Mismatch as e:
                if not (rules.ignore_errors and e.forgivable):
                    raise
        if result is None and not field.nullable:
            raise _Mismatch("is null or missing, but declared NOT NULL", forgivable=False)
        return result

    return convert


def _value(t: pa.DataType, rules: Rules, decimals: bool) -> Convert:
    if pt.is_struct(t):
        return _object(list(t), rules, decimals)
    if pt.is_list(t):
        return _array(t, rules, decimals)
    if pt.is_map(t):
        return _map(t, rules, decimals)
    converter = scalar_converter(t, rules.iso, decimals)

    def convert(value: Any) -> Any:
        try:
            return converter(value)
        except ValueError as e:
            raise _Mismatch(_found(value, str(e))) from e

    return convert


def _found(value: Any, expected: str) -> str:
    written = str(value) if isinstance(value, Number) else java_text.compact_json(value)
    return f"found {_shown(written)}, {expected}"


def _shown(found: str) -> str:
    return found if len(found) <= 60 else found[:57] + "..."
