"""Decode payloads of a text format one by one, exactly as Flink does: those that the compiled loop does not support."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.types as pt

from kafka_sql.errors import DecodeError
from kafka_sql.formats.java.jackson import with_deep_recursion
from kafka_sql.formats.java.text import shorten

Convert: TypeAlias = Callable[[Any], Any]
Row: TypeAlias = list[Any]


class Mismatch(Exception):
    """A value that does not match its column's type.

    Attributes:
        path: the field's path; each enclosing level prepends its part.
        is_missing: whether there is no value, which is an error even if errors are ignored.
    """

    def __init__(self, reason: str, path: str = "", is_missing: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.path, self.is_missing = reason, path, is_missing


class Fallback(ABC):
    """Decodes payloads. Converters get a parsed value, and raise Mismatch, or ValueError with what they expected."""

    error_prefix = ""  # of the error for a payload that is not of the format

    def __init__(self, schema: pa.Schema, ignore_errors: bool) -> None:
        self.ignore_errors = ignore_errors
        self._convert_row = self._row_converter(list(schema))

    @abstractmethod
    def parse(self, payload: bytes) -> Iterable[Any]:
        """Return the values that are rows. Raises ValueError with a predicate, such as "is not valid JSON"."""

    @abstractmethod
    def fields(self, row: Any, names: Sequence[str]) -> Iterator[Any]:
        """Yield the values of a row's fields."""

    @abstractmethod
    def scalar_converter(self, arrow_type: pa.DataType) -> Convert:
        """Return the converter to a type that is not nested."""

    @abstractmethod
    def describe(self, value: Any) -> str:
        """Return the text of a value for errors."""

    def reason(self, mismatch: Mismatch, payload: bytes) -> str:
        """Return the reason of an error."""
        return mismatch.reason

    def read_rows(self, index: int, payload: bytes) -> list[Row]:
        """Return the rows of the payload with an index, with values in the order of the schema.

        Raises:
            DecodeError: with the index and the field's path, unless errors are ignored.
        """
        try:
            values = self.parse(payload)
        except ValueError as e:
            if self.ignore_errors:
                return []
            raise payload_error(index, payload, e, self.error_prefix) from e
        rows = []
        for value in values:
            try:
                rows.append([*with_deep_recursion(partial(self._convert_row, value)).values()])
            except ValueError as e:
                if not self.ignore_errors:
                    raise DecodeError(index, None, self._describe_mismatch(value, e)) from e
            except Mismatch as e:
                if not self.ignore_errors:
                    raise DecodeError(index, e.path or None, self.reason(e, payload)) from e
        return rows

    def converter(self, arrow_type: pa.DataType) -> Convert:
        """Return the converter of values that are not null."""
        if pt.is_struct(arrow_type):
            return self._row_converter(list(arrow_type))
        if pt.is_list(arrow_type):
            element_converter = self.nullable_converter(arrow_type.value_field)
            return lambda values: [_convert_at(f"[{i}]", element_converter, v) for i, v in enumerate(values)]
        return self.scalar_converter(arrow_type)

    def nullable_converter(self, field: pa.Field) -> Convert:
        """Return the converter of values that may be null."""
        converter = self.converter(field.type)

        def convert(value: Any) -> Any:
            result = None
            if value is not None:
                try:
                    result = converter(value)
                except ValueError as e:
                    if not self.ignore_errors:
                        raise Mismatch(self._describe_mismatch(value, e)) from e
                except Mismatch as e:
                    if e.is_missing or not self.ignore_errors:
                        raise
            if result is None and not field.nullable:
                raise Mismatch("is null or missing, but declared NOT NULL", is_missing=True)
            return result

        return convert

    def _describe_mismatch(self, value: Any, expected: ValueError) -> str:
        return f"found {shorten(self.describe(value))}, {expected}"

    def _row_converter(self, fields: list[pa.Field]) -> Convert:
        names = [field.name for field in fields]
        converters = [self.nullable_converter(field) for field in fields]

        def convert(row: Any) -> dict[str, Any]:
            values = zip(names, converters, self.fields(row, names), strict=True)
            return {name: _convert_at(name, converter, value) for name, converter, value in values}

        return convert


def convert_entries(entries: dict[str, Any], converter: Convert) -> dict[str, Any]:
    """Return the entries of a MAP with converted values."""
    return {key: _convert_at(f"[{key}]", converter, value) for key, value in entries.items()}


def _convert_at(position: str, converter: Convert, value: Any) -> Any:
    try:
        return converter(value)
    except Mismatch as e:
        dot = "." if e.path and not e.path.startswith("[") else ""
        raise Mismatch(e.reason, position + dot + e.path, e.is_missing) from e


def payload_error(index: int, payload: bytes, error: ValueError, prefix: str = "") -> DecodeError:
    """Return the error for a payload that is not of the format."""
    return DecodeError(index, None, f"{prefix}the payload {error}: {excerpt(payload)}")


def excerpt(payload: bytes) -> str:
    """Return the start of a payload, for errors."""
    return shorten(payload[:100].decode("utf-8", "replace"))
