"""Decode JSON payloads one by one, exactly as Flink does.

Values are converted as by Flink's default decoder (JsonParserToRowDataConverters). That decoder loses its position in
the document after an object or array in a column of another type, and after a repeated name. In these cases this
module follows Flink's other decoder (JsonToRowDataConverters), which reads the document as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from kafka_sql.formats.columnar.fallback import Convert, Fallback, Mismatch, convert_entries, excerpt
from kafka_sql.formats.java import text as java_text
from kafka_sql.formats.java.jackson import Number, parse_document
from kafka_sql.formats.java.scalars import scalar_converter, to_string
from kafka_sql.formats.java.times import TimestampStandard
from kafka_sql.formats.json.options import FAIL_ON_MISSING_FIELD, IGNORE_PARSE_ERRORS, TIMESTAMP_FORMAT
from kafka_sql.options import Options


class JsonFallback(Fallback):
    """Decodes JSON payloads: an object is one row. With ``splits_arrays``, an array of objects is a row per object."""

    def __init__(self, schema: pa.Schema, options: Options, splits_arrays: bool) -> None:
        self._splits_arrays, self._fail_on_missing = splits_arrays, options[FAIL_ON_MISSING_FIELD]
        self._fail_on_missing_key = options.key(FAIL_ON_MISSING_FIELD)
        self._standard = TimestampStandard(options[TIMESTAMP_FORMAT])
        self._timestamp_format_key = options.key(TIMESTAMP_FORMAT)
        self._as_decimals = any(has_decimal(field.type) for field in schema)
        super().__init__(schema, options[IGNORE_PARSE_ERRORS])

    def parse(self, payload: bytes) -> list[Any]:
        document = parse_document(payload)
        if isinstance(document, list) and self._splits_arrays:
            return [element for element in document if element is not None]  # null is not a row in Flink
        return [document]

    def fields(self, row: Any, names: Sequence[str]) -> Iterator[Any]:
        if not isinstance(row, dict):
            raise ValueError("expected a JSON object")
        for name in names:
            if self._fail_on_missing and name not in row:
                reason = f"the field is missing, and '{self._fail_on_missing_key}' is 'true'"
                raise Mismatch(reason, name, is_missing=True)
            yield row.get(name)

    def converter(self, arrow_type: pa.DataType) -> Convert:
        if pt.is_map(arrow_type):
            return self._map_converter(self.nullable_converter(arrow_type.item_field))
        converter = super().converter(arrow_type)
        if not pt.is_list(arrow_type):
            return converter

        def convert(value: Any) -> Any:
            if not isinstance(value, list):
                raise ValueError("expected a JSON array")
            return converter(value)

        return convert

    def _map_converter(self, converter: Convert) -> Convert:
        def convert(value: Any) -> list[tuple[str, Any]]:
            if not isinstance(value, dict):
                raise ValueError("expected a JSON object")
            return list({to_string(k): v for k, v in convert_entries(value, converter).items()}.items())

        return convert

    def scalar_converter(self, arrow_type: pa.DataType) -> Convert:
        converter = scalar_converter(arrow_type, self._standard, self._as_decimals)
        if not pt.is_timestamp(arrow_type):
            return converter

        def convert(value: Any) -> Any:
            try:
                return converter(value)
            except ValueError as e:
                raise ValueError(str(e) + self._timestamp_advice(value, arrow_type)) from e

        return convert

    def describe(self, value: Any) -> str:
        return describe_value(value)

    def reason(self, mismatch: Mismatch, payload: bytes) -> str:
        return f"{mismatch.reason}; the payload is: {excerpt(payload)}" if mismatch.is_missing else mismatch.reason

    def _timestamp_advice(self, value: Any, arrow_type: pa.DataType) -> str:
        """Return what to change if the value is a timestamp in another format or with a time zone; else nothing."""
        if not isinstance(value, str):
            return ""

        def matches(type: pa.DataType, standard: TimestampStandard) -> bool:
            try:
                scalar_converter(type, standard, as_decimals=False)(value)
            except ValueError:
                return False
            return True

        def set_to(standard: TimestampStandard) -> str:
            return f". Set '{self._timestamp_format_key}' = '{standard.value}'"

        with_offset, with_time_zone = TimestampStandard.ISO_WITH_OFFSET, pa.timestamp(arrow_type.unit, "UTC")
        others = [s for s in TimestampStandard if s not in (self._standard, with_offset)]
        for standard in others:
            if matches(arrow_type, standard):
                return set_to(standard)
        for standard in (self._standard, *others):
            if matches(with_time_zone, standard):
                advice = ". It has a time zone: declare the column as TIMESTAMP_LTZ"
                return advice if standard is self._standard else advice + set_to(standard)
        return set_to(with_offset) if matches(arrow_type, with_offset) else ""


def has_decimal(arrow_type: pa.DataType) -> bool:
    """Return whether a type is DECIMAL, or contains it."""
    return pt.is_decimal(arrow_type) or any(has_decimal(arrow_type.field(i).type) for i in range(arrow_type.num_fields))


def describe_value(value: Any) -> str:
    """Return the text of a parsed value for errors."""
    return str(value) if isinstance(value, Number) else java_text.compact_json(value)
