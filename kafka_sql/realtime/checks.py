"""Reject tables that cannot be read or written in real-time mode, with the option or column as the reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kafka_sql.definition import Definition
from kafka_sql.errors import SchemaError, UnsupportedOptionError, UnsupportedSqlError
from kafka_sql.formats.avro.options import BINARY, ENCODING
from kafka_sql.formats.confluent.schemas import SCHEMA_ID, SUBJECT_NAME
from kafka_sql.formats.declared_types import DeclaredType, parse_declared_type
from kafka_sql.formats.payload import Payload
from kafka_sql.formats.raw.options import CHARSET
from kafka_sql.kafka.config.java_properties import JAVA_PROPERTIES
from kafka_sql.options import Option, Options
from kafka_sql.options import connector as opt
from kafka_sql.options.secrets import mask_value
from kafka_sql.source.reader.metadata import FORMAT_PREFIX
from kafka_sql.table.table import Column

_MICRO_BATCHES: Final = "SET 'execution.latency-mode' = 'micro-batch'"
_FORMATS: Final = ("avro", "avro-confluent", "csv", "json", "json-confluent", "protobuf", "protobuf-confluent", "raw")
_CALLBACK_HANDLER: Final = ".callback.handler.class"
_NOT_IN_SPARK: Final = "Spark's Kafka connector has no such option"
_NO_BUFFER: Final = "each change of a row is written at once"
_ONE_BATCH: Final = "a batch of real-time mode has a duration instead of a size"
# options that change what is read or written, and the reason why they are rejected
_SOURCE_REASONS: Final[dict[Option[Any], str]] = {
    opt.ERROR_TARGET: "Spark writes each query to one topic",
    opt.SCAN_PARALLELISM: "Spark starts one task per partition",
    opt.MAX_OFFSETS: _ONE_BATCH,
    opt.MIN_OFFSETS: _ONE_BATCH,
    opt.MAX_BYTES: _ONE_BATCH,
    opt.RACK_ID: "Spark's tasks cannot compute it. Set 'properties.client.rack'",
    opt.CLIENT_ID_PREFIX: _NOT_IN_SPARK,
}
_SINK_REASONS: Final[dict[Option[Any], str]] = {
    opt.SINK_PARALLELISM: "real-time mode does not repartition the rows",
    opt.TRANSACTIONAL_ID_PREFIX: "Spark's Kafka sink has no transactions",
    opt.FLUSH_ROWS: _NO_BUFFER,
    opt.FLUSH_INTERVAL: _NO_BUFFER,
}
_HEADER_TYPES: Final = {"headers": ("MAP<STRING, BYTES>",), "header-list": ("ARRAY<ROW<STRING, BYTES>>",)}
HEADER_KEYS: Final = frozenset(_HEADER_TYPES)
# metadata that Spark's source has, with the types of their columns; its sink has headers only
_READ_TYPES: Final = {
    "topic": ("STRING",),
    "partition": ("INT",),
    "offset": ("BIGINT",),
    "timestamp": ("TIMESTAMP_LTZ", "TIMESTAMP"),
    "timestamp-type": ("STRING",),
    **_HEADER_TYPES,
}
_REGISTRY_TYPES: Final = {FORMAT_PREFIX + SCHEMA_ID: ("INT",), FORMAT_PREFIX + SUBJECT_NAME: ("STRING",)}


def check_source(definition: Definition) -> None:
    """Check that a table can be read in real-time mode.

    Raises:
        UnsupportedSqlError: the table is a changelog, or bounded.
        UnsupportedOptionError: an option has no equivalent.
        SchemaError: a metadata column has no equivalent.
    """
    _check_connector(definition)
    if definition.has_changes:
        raise _changelog_error(definition, "cannot be read")
    for payload in filter(None, (definition.value, definition.key)):
        _check_format(definition, payload)
    options = definition.options
    if options[opt.BOUNDED_MODE] != opt.UNBOUNDED:
        raise _option_error(definition, opt.BOUNDED_MODE, "a query in real-time mode never ends")
    if options[opt.MISSING_TOPICS] != opt.FAIL:
        raise _option_error(definition, opt.MISSING_TOPICS, _NOT_IN_SPARK)
    if options[opt.SCAN_CLIENT] != "auto":
        raise _option_error(definition, opt.SCAN_CLIENT, "Spark's connector uses the Java client")
    if not options[opt.DISCOVERY_INTERVAL]:
        raise _option_error(definition, opt.DISCOVERY_INTERVAL, "Spark looks for new partitions in every batch")
    _check_options(definition, _SOURCE_REASONS)
    types = _READ_TYPES | (_REGISTRY_TYPES if SCHEMA_ID in definition.value.format.metadata else {})
    for column in definition.table.source_columns:
        if column.metadata is not None:
            _check_metadata(definition, column, types, "read")


def check_sink(definition: Definition) -> None:
    """Check that a table can be written in real-time mode.

    Raises:
        UnsupportedSqlError: the table is a changelog, but not an upsert table.
        UnsupportedOptionError: an option has no equivalent.
        SchemaError: a column has no equivalent.
    """
    _check_connector(definition)
    if definition.is_changelog:
        raise _changelog_error(definition, "cannot be written, unless its connector is 'upsert-kafka'")
    for payload in filter(None, (definition.value, definition.key)):
        _check_format(definition, payload)
    options = definition.options
    if definition.is_exactly_once:
        reason = "Spark's Kafka sink has no transactions, and real-time mode sends rows before their batch ends"
        raise _option_error(definition, opt.DELIVERY_GUARANTEE, reason)
    if len(opt.topics(options) or ()) != 1:
        raise UnsupportedSqlError(
            f"Table '{definition.name}' has several topics, which real-time mode cannot write. Declare a table with "
            f"one 'topic', or {_MICRO_BATCHES}.",
            table=definition.name,
        )
    if options.get(opt.PARTITIONER) not in (None, opt.DEFAULT):  # None: 'upsert-kafka' has no such option
        raise _option_error(definition, opt.PARTITIONER, "Spark's sink uses Kafka's default partitioner")
    if options[opt.SINK_CLIENT] != "auto":
        raise _option_error(definition, opt.SINK_CLIENT, "Spark's connector uses the Java client")
    _check_options(definition, _SINK_REASONS)
    for column in definition.table.persisted_columns:
        if column.metadata is not None:
            _check_metadata(definition, column, _HEADER_TYPES, "written. Declare it VIRTUAL")
        type = parse_declared_type(column.declared)
        if any(child.is_truncated for child in type.children):
            raise _column_error(
                definition, column, f"{column.declared} contains a time with fewer than 6 fractional digits"
            )


def check_property(definition: Definition, key: str) -> None:
    """Check that Java's Kafka clients have a property.

    Raises:
        UnsupportedOptionError: it is a property of another client.
    """
    if key not in JAVA_PROPERTIES:
        raise property_error(definition, key, "it is not a property of Java's Kafka clients, which Spark uses")
    if key == "transactional.id":
        raise property_error(definition, key, "Spark's Kafka sink has no transactions")


def check_handler_class(definition: Definition, key: str, value: str, is_loadable: bool) -> None:
    """Check that the JVM has the class of a callback handler.

    Raises:
        UnsupportedOptionError: it does not.
    """
    if key.endswith(_CALLBACK_HANDLER) and not is_loadable:
        reason = f"Spark has no class {value}. Add its jar to the session with 'spark.jars'"
        raise property_error(definition, key, reason)


def _check_connector(definition: Definition) -> None:
    if definition.is_builtin or definition.is_dynamic:
        connector = definition.table.options[opt.CONNECTOR.key]
        raise UnsupportedSqlError(
            f"Table '{definition.name}': the connector '{connector}' is not supported in real-time mode. "
            f"{_MICRO_BATCHES}.",
            table=definition.name,
        )


def _changelog_error(definition: Definition, reason: str) -> UnsupportedSqlError:
    return UnsupportedSqlError(
        f"Table '{definition.name}' is a changelog, which {reason} in real-time mode. {_MICRO_BATCHES}.",
        table=definition.name,
    )


def _check_format(definition: Definition, payload: Payload) -> None:
    if payload.format.identifier not in _FORMATS:
        supported = ", ".join(f"'{name}'" for name in _FORMATS)
        raise UnsupportedOptionError(
            f"Table '{definition.name}': the format (option '{payload.prefix}format') '{payload.format.identifier}' is "
            f"not supported in real-time mode. Supported: {supported}. For other formats, {_MICRO_BATCHES}.",
            option=f"{payload.prefix}format",
            table=definition.name,
        )
    if payload.format.identifier == "avro" and payload.options[ENCODING] != BINARY:
        raise _option_error(definition, ENCODING, f"its only encoding is '{BINARY}'", payload.options)
    if payload.format.identifier == "raw" and payload.options[CHARSET].java_name is None:
        reason = (
            "Java reads or writes some characters of this character set differently. Supported are UTF-8, UTF-16, "
            "UTF-32, US-ASCII, KOI8-R, ISO-8859-* and windows-125*"
        )
        raise _option_error(definition, CHARSET, reason, payload.options)


def _check_options(definition: Definition, reasons: dict[Option[Any], str]) -> None:
    for option, reason in reasons.items():
        if definition.options.is_set(option):
            raise _option_error(definition, option, reason)


def _check_metadata(definition: Definition, column: Column, types: Mapping[str, Sequence[str]], operation: str) -> None:
    key, type = str(column.metadata), parse_declared_type(column.declared)
    if key not in types:
        raise _column_error(definition, column, f"METADATA FROM '{key}' cannot be {operation}")
    is_exact = key != "timestamp" or type.precision is None or type.precision >= 3
    if _without_names(type) not in types[key] or not is_exact:
        expected = " or ".join(types[key]) + ("(3)" if key == "timestamp" else "")
        raise _column_error(definition, column, f"METADATA FROM '{key}' must be {expected}, not {column.declared}")


def _without_names(type: DeclaredType) -> str:
    """Return a type without the names of fields, precisions and NOT NULL."""
    name = {"TIMESTAMP WITH LOCAL TIME ZONE": "TIMESTAMP_LTZ", "INTEGER": "INT"}.get(type.name, type.name)
    return f"{name}<{', '.join(map(_without_names, type.children))}>" if type.children else name


def _option_error(
    definition: Definition, option: Option[Any], reason: str, options: Options | None = None
) -> UnsupportedOptionError:
    """Return the error for an option of the connector, or for one of a format's ``options``."""
    options = options or definition.options
    key = options.key(option)
    value = mask_value(key, str(definition.table.options.get(key, options.get(option))))
    return _unsupported_option(definition, key, f"option '{key}' = '{value}'", reason)


def property_error(definition: Definition, key: str, reason: str) -> UnsupportedOptionError:
    """Return the error for a property that real-time mode does not support."""
    key = f"{opt.PROPERTIES_PREFIX}{key}"
    return _unsupported_option(definition, key, f"option '{key}'", reason)


def _unsupported_option(definition: Definition, key: str, what: str, reason: str) -> UnsupportedOptionError:
    return UnsupportedOptionError(
        f"Table '{definition.name}': {what} is not supported in real-time mode: {reason}. To use it in micro-batches, "
        f"{_MICRO_BATCHES}.",
        option=key,
        table=definition.name,
    )


def _column_error(definition: Definition, column: Column, reason: str) -> SchemaError:
    return SchemaError(
        f"Column '{column.name}' of table '{definition.name}' is not supported in real-time mode: {reason}. To "
        f"use it in micro-batches, {_MICRO_BATCHES}.",
        column=column.name,
        table=definition.name,
    )
