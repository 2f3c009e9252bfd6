"""Infer the columns of a table from JSON documents: types with which the json format reads their values without loss.

docs/tables-without-columns.md has the rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from kafka_sql.errors import DecodeError
from kafka_sql.formats.columnar.fallback import payload_error
from kafka_sql.formats.declared_types import quote_identifier
from kafka_sql.formats.format import ColumnTypes, ErrorSink, report_or_raise
from kafka_sql.formats.inferred_types import STRING, common_type, number_type
from kafka_sql.formats.java.jackson import Number, parse_document
from kafka_sql.formats.java.text import shorten
from kafka_sql.formats.json.fallback import describe_value
from kafka_sql.formats.json.options import IGNORE_PARSE_ERRORS
from kafka_sql.options import Options

MAX_DEPTH: Final = 20  # nested objects and arrays
MAX_FIELDS: Final = 100  # of a nested object

_ROW: Final = "ROW"
_ARRAY: Final = "ARRAY"
_VARIABLE: Final = "${"  # no name in a Spark statement may contain the start of a variable


def infer_from_payloads(payloads: Sequence[bytes], options: Options, errors: ErrorSink) -> ColumnTypes:
    """Return names and types of the columns of a json table; see ``Format.infer_from_payloads``.

    Raises:
        DecodeError: a payload is not a JSON object, and there is no sink.
    """
    return infer_columns(parse_objects(payloads, options[IGNORE_PARSE_ERRORS], errors))


def parse_objects(payloads: Sequence[bytes], ignore_errors: bool, errors: ErrorSink) -> Iterator[dict[str, Any]]:
    """Yield the objects of payloads. A payload is an object or an array of objects.

    Raises:
        DecodeError: a payload is neither, errors are not ignored, and there is no sink.
    """
    for index, payload in enumerate(payloads):
        if not payload:
            continue
        try:
            document = parse_document(payload)
        except ValueError as e:
            if not ignore_errors:
                report_or_raise(errors, payload_error(index, payload, e))
            continue
        for element in document if isinstance(document, list) else [document]:
            if isinstance(element, dict):
                yield element
            elif not ignore_errors and (element is not None or document is element):
                reason = f"found {shorten(describe_value(element))}, expected a JSON object"
                report_or_raise(errors, DecodeError(index, None, reason))


def infer_columns(objects: Iterable[dict[str, Any]]) -> ColumnTypes:
    """Return the names of all fields of objects, in the order of their first appearance, and their types."""
    document = _Observed()
    for value in objects:
        document.add(value)
    return tuple((name, field.sql_type()) for name, field in document.fields.items())


class _Observed:
    """The values of a field: the types of its scalars, and what its objects and arrays contain."""

    def __init__(self, depth: int = 0) -> None:
        self._depth = depth
        self._types: set[str] = set()
        self._elements: _Observed | None = None
        self.fields: dict[str, _Observed] = {}

    def add(self, value: Any) -> None:
        """Add a value of the field."""
        if value is None:
            return
        if not isinstance(value, (dict, list)):
            self._types.add(_scalar_type(value))
        elif self._depth > MAX_DEPTH:
            self._types.add(STRING)
        elif isinstance(value, dict):
            self._types.add(_ROW)
            for name, field_value in value.items():
                self._field(name).add(field_value)
        else:
            self._types.add(_ARRAY)
            self._elements = self._elements or _Observed(self._depth + 1)
            for element in value:
                self._elements.add(element)

    def _field(self, name: str) -> _Observed:
        field = self.fields.get(name)
        if field is None:
            field = self.fields[name] = _Observed(self._depth + 1)
        return field

    def sql_type(self) -> str:
        """Return the type that holds all values of the field; STRING, which reads any value, if no other type does."""
        if self._types == {_ROW} and _can_be_row(self.fields):
            fields = (f"{quote_identifier(name)} {field.sql_type()}" for name, field in self.fields.items())
            return f"ROW<{', '.join(fields)}>"
        if self._types == {_ARRAY} and self._elements is not None:
            return f"ARRAY<{self._elements.sql_type()}>"
        return STRING if self._types & {_ROW, _ARRAY} else common_type(self._types)


def _scalar_type(value: Any) -> str:
    if isinstance(value, bool):
        return "BOOLEAN"
    return number_type(value) if isinstance(value, Number) else STRING


def _can_be_row(names: Iterable[str]) -> bool:
    """Return whether the fields of an object can be those of a ROW. Spark's names are case-insensitive."""
    names = list(names)
    return (
        0 < len(names) <= MAX_FIELDS
        and len({name.lower() for name in names}) == len(names)
        and all(name and _VARIABLE not in name and name.isprintable() for name in names)
    )
