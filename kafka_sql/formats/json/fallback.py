"""Decode JSON payloads one by one, exactly as Flink does: for payloads that the compiled loop does not support.

Values are converted as by Flink's default decoder (JsonParserToRowDataConverters). That decoder loses its position in
the document after an object or array in a column of another type, and after a repeated name. In these cases this
module follows Flink's other decoder (JsonToRowDataConverters), which reads the document as a whole.
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
from kafka_sql.formats.java.times import TimestampStandard
from kafka_sql.formats.json.options import FAIL_ON_MISSING_FIELD, TIMESTAMP_FORMAT

Convert: TypeAlias = Callable[[Any], Any]


@dataclass(frozen=True)
class Rules:
    """The options for decoding.

    Attributes:
        fail_on_missing: a missing field is an error, not null.
        ignore_errors: an undecodable field is null, and an undecodable payload has no row.
        standard: how timestamps are written.
        splits_arrays: an array of objects is a row per object, not an undecodable payload.
        fail_on_missing_key, timestamp_format_key: the keys of the options in WITH, for errors.
    """

    fail_on_missing: bool
    ignore_errors: bool
    standard: TimestampStandard
    splits_arrays: bool = True
    fail_on_missing_key: str = FAIL_ON_MISSING_FIELD.key
    timestamp_format_key: str = TIMESTAMP_FORMAT.key


class _Mismatch(Exception):
    """A value that does not match its column's type.

    Attributes:
        path: the field's path; each enclosing level prepends its part.
        is_missing: whether there is no value: it is an error with 'json.ignore-parse-errors', too, and the error shows
            the payload.
    """

    def __init__(self, reason: str, path: str = "", is_missing: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.path, self.is_missing = reason, path, is_missing

    def with_prefix(self, prefix: str) -> _Mismatch:
        dot = "." if self.path and not self.path.startswith("[") else ""
        return _Mismatch(self.reason, prefix + dot + self.path, self.is_missing)


def row_reader(schema: pa.Schema, rules: Rules) -> Callable[[int, bytes], list[list[Any]]]:
    """Return a function that decodes a payload, given its index and bytes, to rows of values in the schema's order.

    An object is one row. The function raises DecodeError with the index and the
    field's path.
    """
    as_decimals = any(has_decimal(field.type) for field in schema)
    convert = _row_converter(list(schema), rules, as_decimals)

    def read_rows(index: int, payload: bytes) -> list[list[Any]]:
        try:
            document = parse_document(payload)
            elements = document if isinstance(document, list) and rules.splits_arrays else [document]
        except ValueError as e:
            if rules.ignore_errors:
                return []
            raise payload_error(index, payload, e) from e
        rows = []
        for element in elements:
            if element is None and document is not element:
                continue  # a null in an array is not a row in Flink
            try:
                row = with_deep_recursion(functools.partial(convert, element))
                rows.append([row[field.name] for field in schema])
            except _Mismatch as e:
                if not rules.ignore_errors:
                    reason = f"{e.reason}; the payload is: {_excerpt(payload)}" if e.is_missing else e.reason
                    raise DecodeError(index, e.path or None, reason) from e
        return rows

    return read_rows


def has_decimal(arrow_type: pa.DataType) -> bool:
    """Return whether a type is DECIMAL, or contains it."""
    return pt.is_decimal(arrow_type) or any(has_decimal(arrow_type.field(i).type) for i in range(arrow_type.num_fields))


def _row_converter(fields: list[pa.Field], rules: Rules, as_decimals: bool) -> Convert:
    converters = [(field.name, _nullable_converter(field, rules, as_decimals)) for field in fields]

    def convert(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _Mismatch(mismatch_reason(value, "expected a JSON object"))
        row = {}
        for name, converter in converters:
            try:
                if rules.fail_on_missing and name not in value:
                    reason = f"the field is missing, and '{rules.fail_on_missing_key}' is 'true'"
                    raise _Mismatch(reason, is_missing=True)
                row[name] = converter(value.get(name))
            except _Mismatch as e:
                raise e.with_prefix(name) from e
        return row

    return convert


def _array_converter(arrow_type: pa.DataType, rules: Rules, as_decimals: bool) -> Convert:
    converter = _nullable_converter(arrow_type.value_field, rules, as_decimals)

    def convert(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise _Mismatch(mismatch_reason(value, "expected a JSON array"))
        return [_convert_element(f"[{i}]", converter, v) for i, v in enumerate(value)]

    return convert


def _map_converter(arrow_type: pa.DataType, rules: Rules, as_decimals: bool) -> Convert:
    converter = _nullable_converter(arrow_type.item_field, rules, as_decimals)

    def convert(value: Any) -> list[tuple[str, Any]]:
        if not isinstance(value, dict):
            raise _Mismatch(mismatch_reason(value, "expected a JSON object"))
        return list({to_string(k): _convert_element(f"[{k}]", converter, v) for k, v in value.items()}.items())

    return convert


def _convert_element(position: str, converter: Convert, value: Any) -> Any:
    try:
        return converter(value)
    except _Mismatch as e:
        raise e.with_prefix(position) from e


def _nullable_converter(field: pa.Field, rules: Rules, as_decimals: bool) -> Convert:
    converter = _value_converter(field.type, rules, as_decimals)

    def convert(value: Any) -> Any:
        result = None
        if value is not None:
            try:
                result = converter(value)
            except _Mismatch as e:
                if e.is_missing or not rules.ignore_errors:
                    raise
        if result is None and not field.nullable:
            raise _Mismatch("is null or missing, but declared NOT NULL", is_missing=True)
        return result

    return convert


def _value_converter(arrow_type: pa.DataType, rules: Rules, as_decimals: bool) -> Convert:
    if pt.is_struct(arrow_type):
        return _row_converter(list(arrow_type), rules, as_decimals)
    if pt.is_list(arrow_type):
        return _array_converter(arrow_type, rules, as_decimals)
    if pt.is_map(arrow_type):
        return _map_converter(arrow_type, rules, as_decimals)
    converter = scalar_converter(arrow_type, rules.standard, as_decimals)

    def convert(value: Any) -> Any:
        try:
            return converter(value)
        except ValueError as e:
            raise _Mismatch(mismatch_reason(value, str(e) + _timestamp_advice(value, arrow_type, rules))) from e

    return convert


def _timestamp_advice(value: Any, arrow_type: pa.DataType, rules: Rules) -> str:
    """Return what to change if the value is a timestamp in another format or with a time zone; else an empty string."""
    if not pt.is_timestamp(arrow_type) or not isinstance(value, str):
        return ""

    def matches(type: pa.DataType, standard: TimestampStandard) -> bool:
        try:
            scalar_converter(type, standard, as_decimals=False)(value)
        except ValueError:
            return False
        return True

    def set_to(standard: TimestampStandard) -> str:
        return f". Set '{rules.timestamp_format_key}' = '{standard.value}'"

    own, with_time_zone = rules.standard, pa.timestamp(arrow_type.unit, "UTC")
    others = [s for s in TimestampStandard if s not in (own, TimestampStandard.ISO_WITH_OFFSET)]
    for standard in others:
        if matches(arrow_type, standard):
            return set_to(standard)
    if matches(with_time_zone, own):
        return ". It has a time zone: declare the column as TIMESTAMP_LTZ"
    for standard in others:
        if matches(with_time_zone, standard):
            return f". It has a time zone: declare the column as TIMESTAMP_LTZ{set_to(standard)}"
    return set_to(TimestampStandard.ISO_WITH_OFFSET) if matches(arrow_type, TimestampStandard.ISO_WITH_OFFSET) else ""


def payload_error(index: int, payload: bytes, error: ValueError) -> DecodeError:
    """Return the error for a payload that is not JSON."""
    return DecodeError(index, None, f"the payload {error}: {_excerpt(payload)}")


def mismatch_reason(value: Any, expected: str) -> str:
    """Return the reason of an error for a value that is not as expected."""
    text = str(value) if isinstance(value, Number) else java_text.compact_json(value)
    return f"found {java_text.shorten(text)}, {expected}"


def _excerpt(payload: bytes) -> str:
    return java_text.shorten(payload[:100].decode("utf-8", "replace"))
