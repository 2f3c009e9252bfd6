"""Define the options of the json format, under Flink's keys (flink-json, JsonFormatOptions), and check its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.types as pt

from kafka_sql.errors import ConflictingOptionsError, SchemaError
from kafka_sql.formats.columnar.scalar_types import is_scalar
from kafka_sql.formats.java.times import TimestampStandard
from kafka_sql.options import Option, Options, boolean, enum, string

FAIL_ON_MISSING_FIELD: Final = boolean(
    "json.fail-on-missing-field",
    "Whether a missing field is an error. By default the column is null.",
    default="false",
)
IGNORE_PARSE_ERRORS: Final = boolean(
    "json.ignore-parse-errors",
    "Whether to skip parse errors instead of failing: a field that does not match its column's type is null, and a "
    "record that is not a JSON object is skipped.",
    default="false",
)
TIMESTAMP_FORMAT: Final = enum(
    "json.timestamp-format.standard",
    "How TIMESTAMP and TIMESTAMP_LTZ are read and written: 'SQL' is '2020-12-30 12:13:14.123', 'ISO-8601' is "
    "'2020-12-30T12:13:14.123'; TIMESTAMP_LTZ is in UTC and ends in 'Z'. With 'ISO-8601-WITH-OFFSET', both types end "
    "in 'Z' or an offset such as '+02:00'. They are converted to UTC, and written with 'Z'.",
    allowed=tuple(standard.value for standard in TimestampStandard),
    default=TimestampStandard.SQL.value,
)
MAP_NULL_KEY_MODE: Final = enum(
    "json.map-null-key.mode",
    "How to write a map entry with a null key: fail, drop the entry, or write the key as the option "
    "'map-null-key.literal' says. No effect, because Spark's maps have no null keys.",
    allowed=("FAIL", "DROP", "LITERAL"),
    default="FAIL",
)
MAP_NULL_KEY_LITERAL: Final = string(
    "json.map-null-key.literal",
    "The key to write for a null key if the option 'map-null-key.mode' is 'LITERAL'. No effect, because Spark's maps "
    "have no null keys.",
    default="null",
)
DECIMAL_AS_PLAIN_NUMBER: Final = boolean(
    "json.encode.decimal-as-plain-number",
    "Whether to write every DECIMAL with all its digits: 0.000000027 rather than 2.7E-8.",
    default="false",
)
IGNORE_NULL_FIELDS: Final = boolean(
    "json.encode.ignore-null-fields",
    "Whether to omit fields that are null. By default they are written as null.",
    default="false",
)

JSON_PARSER: Final = enum(
    "json.decode.json-parser.enabled",
    "Whether Flink decodes with Jackson's JsonParser, its default. The older decoder is not supported: it reads "
    "numbers into STRING and FLOAT, and values into MAP and BYTES, differently.",
    allowed=("true",),
    default="true",
)

_SHARED_OPTIONS: Final[tuple[Option[Any], ...]] = (  # with other formats whose payloads are JSON
    FAIL_ON_MISSING_FIELD,
    IGNORE_PARSE_ERRORS,
    TIMESTAMP_FORMAT,
    MAP_NULL_KEY_MODE,
    MAP_NULL_KEY_LITERAL,
    DECIMAL_AS_PLAIN_NUMBER,
    IGNORE_NULL_FIELDS,
)
JSON_OPTIONS: Final[tuple[Option[Any], ...]] = (*_SHARED_OPTIONS, JSON_PARSER)

OptionMapping: TypeAlias = Mapping[Option[Any], Option[Any]]  # an option of json -> the same option of another format


def rename_options(name: str, options: Sequence[Option[Any]] = _SHARED_OPTIONS) -> OptionMapping:
    """Return a map from the options of json to those of another format, whose payloads are JSON, too."""
    return {option: replace(option, key=name + option.key.removeprefix("json")) for option in options}


def to_json_options(mapping: OptionMapping, options: Options) -> Options:
    """Return the options of the other format as options of json."""
    return Options(
        JSON_OPTIONS,
        {option.key: str(options[renamed]) for option, renamed in mapping.items()},
        keys={option.key: options.key(renamed) for option, renamed in mapping.items()},
    )


def check_decoding(options: Options) -> None:
    """Raise ConflictingOptionsError for contradicting options (JsonFormatOptionsUtil.validateDecodingFormatOptions)."""
    if options[FAIL_ON_MISSING_FIELD] and options[IGNORE_PARSE_ERRORS]:
        raise ConflictingOptionsError(
            f"{FAIL_ON_MISSING_FIELD.key} and {IGNORE_PARSE_ERRORS.key} shouldn't both be true. "
            "Set one of them to 'false' or remove it.",
            option=IGNORE_PARSE_ERRORS.key,
        )


def check_schema(schema: pa.Schema) -> None:
    """Raise SchemaError, with the path, for a type that the json format does not support."""
    for field in schema:
        _check(field.name, field.type)


def _check(path: str, arrow_type: pa.DataType) -> None:
    if pt.is_list(arrow_type):
        _check(f"{path}[]", arrow_type.value_type)
    elif pt.is_struct(arrow_type):
        for field in arrow_type:
            _check(f"{path}.{field.name}", field.type)
    elif pt.is_map(arrow_type):
        if not pt.is_string(arrow_type.key_type):
            raise SchemaError(
                "JSON format doesn't support non-string as key type of map. "
                f"The type of column '{path}' is: {arrow_type}. Declare it as MAP<STRING, ...>.",
                column=path,
            )
        _check(f"{path}[]", arrow_type.item_type)
    elif not is_scalar(arrow_type):
        raise SchemaError(
            f"Unsupported type of column '{path}': the json format does not support {arrow_type}.", column=path
        )
