"""Infer the columns of a table from CSV lines: types with which the csv format reads their values without loss.

docs/tables-without-columns.md has the rules.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from kafka_sql.formats.columnar.fallback import payload_error
from kafka_sql.formats.csv.fallback import ERROR_PREFIX, is_null, split_payload
from kafka_sql.formats.csv.options import Dialect, parse_dialect
from kafka_sql.formats.format import ColumnTypes, ErrorSink, report_or_raise
from kafka_sql.formats.inferred_types import STRING, common_type, number_type
from kafka_sql.options import Options

_NUMBER: Final = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?", re.ASCII)  # a number of JSON


def infer_from_payloads(payloads: Sequence[bytes], options: Options, errors: ErrorSink) -> ColumnTypes:
    """Return names and types of the columns of a csv table; see ``Format.infer_from_payloads``.

    Raises:
        DecodeError: a payload is not CSV or has a different number of values from the first one, and there is no sink.
    """
    dialect = parse_dialect(options)
    types: list[set[str]] = []
    for values in _lines(payloads, dialect, errors):
        types += [set() for _ in values[len(types) :]]
        for observed, text in zip(types, values, strict=False):
            if not is_null(text, dialect):
                observed.add(_value_type(text))
    return tuple((f"_c{i}", common_type(observed)) for i, observed in enumerate(types))


def _lines(payloads: Sequence[bytes], dialect: Dialect, errors: ErrorSink) -> Iterator[list[str]]:
    """Yield the values of each payload that is not an error."""
    lenient = replace(dialect, fail_on_missing=False)  # the number of columns is unknown
    count = 0
    for index, payload in enumerate(payloads):
        try:
            values = split_payload(payload, lenient, sys.maxsize)
            count = count or len(values)
            if len(values) != count and not dialect.ignore_errors:
                raise ValueError(f"has {len(values)} values, expected {count} as in the first record")
        except ValueError as e:
            if not dialect.ignore_errors:
                report_or_raise(errors, payload_error(index, payload, e, ERROR_PREFIX))
            continue
        yield values


def _value_type(text: str) -> str:
    """Return the type of a value, for ``common_type``."""
    if text in ("true", "false"):
        return "BOOLEAN"
    return number_type(text) if _NUMBER.fullmatch(text) else STRING
