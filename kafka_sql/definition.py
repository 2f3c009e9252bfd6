"""Validate a table's options. Sources and sinks are created from the result, a ``Definition``."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from kafka_sql.errors import ConflictingOptionsError, InvalidOptionError, MissingOptionError, SchemaError
from kafka_sql.formats.payload import Payload, parse_payload
from kafka_sql.formats.registry import FORMATS
from kafka_sql.kafka.client_choice import choose_reader, choose_writer
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.record_metadata import ERROR
from kafka_sql.options import Options, builtin_connectors, validation
from kafka_sql.options import connector as opt
from kafka_sql.options.connector_choice import CONNECTOR_OPTIONS, find_connector
from kafka_sql.options.key_value_projection import check_key_fields, project_key, project_value
from kafka_sql.table.changelog import ROW_KIND, ROW_KIND_NAME
from kafka_sql.table.table import Table

_LOG = logging.getLogger("kafka_sql.options")
_CHECKS: Final[Mapping[str, Callable[[Options], None]]] = {
    opt.KAFKA: validation.check_kafka_options,
    opt.UPSERT_KAFKA: validation.check_upsert_options,
    opt.DYNAMIC_KAFKA: validation.check_dynamic_options,
}


@dataclass(frozen=True)
class Definition:
    """One validated table, ready to be read and written.

    For ``CREATE TABLE orders (id BIGINT, total DOUBLE) WITH ('connector' = 'kafka', 'key.format' = 'raw',
    'key.fields' = 'id', 'value.format' = 'json', ...)``, ``key.columns`` is ``("id",)`` and ``value.columns`` is
    ``("id", "total")``.
    """

    table: Table  # the table, with its options as written
    options: Options  # the connector's options, typed
    value: Payload  # the format and columns of the record's value
    key: Payload | None  # the format and columns of the record's key; None for a table without a key
    # librdkafka's configuration. May contain secrets, or references to them.
    client_config: Mapping[str, str] = field(repr=False)
    # the Spark accumulator to which tasks report undecodable records; None if they are not counted
    accumulator_id: int | None = None
    # keys of the options that do not come from the declaration, but from an OPTIONS hint of the statement or from a
    # DataFrameReader
    statement_options: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """The table's name as users write it."""
        return ".".join(self.table.name)

    @property
    def is_builtin(self) -> bool:
        """Whether the connector is datagen, print or blackhole, which have no topic."""
        return self.table.options.get(opt.CONNECTOR.key) in builtin_connectors.CONNECTORS

    @property
    def physical_names(self) -> list[str]:
        return [column.name for column in self.table.physical_columns]

    @property
    def is_upsert(self) -> bool:
        """Whether a record replaces the previous one of the same key, and a tombstone deletes it."""
        return self.options[opt.CONNECTOR] == opt.UPSERT_KAFKA

    @property
    def is_dynamic(self) -> bool:
        """Whether a metadata service selects the clusters and topics, and the table can only be read."""
        return self.options[opt.CONNECTOR] == opt.DYNAMIC_KAFKA

    @property
    def is_changelog(self) -> bool:
        """Whether record values are changes of rows (inserts, updates, deletes) instead of rows."""
        return not self.value.format.insert_only

    @property
    def has_changes(self) -> bool:
        """Whether records change or delete rows of earlier records."""
        return self.is_upsert or self.is_changelog

    @property
    def has_error_column(self) -> bool:
        """Whether an undecodable record becomes a row with its error in a column ``METADATA FROM 'error'``."""
        return any(column.metadata == ERROR for column in self.table.source_columns)

    @property
    def is_exactly_once(self) -> bool:
        """Whether the table is written with 'sink.delivery-guarantee' = 'exactly-once'."""
        return self.options.get(opt.DELIVERY_GUARANTEE) == opt.EXACTLY_ONCE

    @property
    def has_row_kind_column(self) -> bool:
        """Whether each change becomes a row, with its kind in a column ``METADATA FROM 'row-kind'``."""
        return any(column.metadata == ROW_KIND for column in self.table.source_columns)

    @property
    def reads_content(self) -> bool:
        """Whether a query reads the rows that remain after all changes, and not each change as a row with its kind."""
        return self.has_changes and not self.has_row_kind_column

    @property
    def row_key(self) -> tuple[str, ...]:
        """The columns that identify a row of a table with changes; empty if all columns together do."""
        return self.table.primary_key if self.is_changelog or self.key is None else self.key.columns

    @property
    def applies_changes(self) -> bool:
        """Whether the changes of a row are applied in their order, so that one task must read a partition."""
        return self.reads_content or any(column.name == ROW_KIND_NAME for column in self.table.source_columns)


def validate_table(table: Table) -> Definition:
    """Check a table's options in the order of Flink's factories, and return the result.

    The order is: formats, missing options, types, unknown options, constraints between options, key and value columns,
    Kafka properties.

    Raises:
        OptionError: the first invalid option.
        SchemaError: the table must have a PRIMARY KEY or must not have one, or cannot have an 'error' column.
    """
    if table.options.get(opt.CONNECTOR.key) in builtin_connectors.CONNECTORS:
        return _validate_builtin(table)
    options, key, value = _parse_options(table.options)
    connector = options[opt.CONNECTOR]
    physical_names = [c.name for c in table.physical_columns]
    _CHECKS[connector](options)
    if connector == opt.UPSERT_KAFKA:
        _check_upsert_formats(table, key, value)
        key_columns = check_key_fields(options, table.primary_key, physical_names)
    else:
        _check_kafka_formats(table, key, value, "Kafka" if connector == opt.KAFKA else "Dynamic Kafka")
        key_columns = project_key(options, physical_names)
    validation.check_topic_config(options, table.options)
    value_columns = project_value(options, physical_names, key_columns)
    validation.check_watermarks(options)
    _warn_overridden(options, table.options)
    _warn_ineffective_drift(table, options)
    definition = _define(table, options, key, value, key_columns, value_columns)
    # raise an error if the chosen client does not support a property
    choose_reader(options[opt.SCAN_CLIENT], definition.client_config)
    if not definition.is_dynamic:
        choose_writer(options[opt.SINK_CLIENT], definition.client_config)
    _check_error_columns(definition)
    return definition


def _define(
    table: Table,
    options: Options,
    key: Payload | None,
    value: Payload,
    key_columns: tuple[str, ...] = (),
    value_columns: tuple[str, ...] = (),
) -> Definition:
    topics = options.get(opt.TOPIC) or ()
    declared_types = {c.name: c.declared + ("" if c.nullable else " NOT NULL") for c in table.physical_columns}
    return Definition(
        table,
        options,
        value.with_columns(value_columns, topics, declared_types=declared_types),
        key and key.with_columns(key_columns, topics, options.get(opt.KEY_FIELDS_PREFIX) or "", declared_types),
        to_librdkafka(client_properties(table.options)),
    )


def _validate_builtin(table: Table) -> Definition:
    """Return the definition of a table of datagen, print or blackhole. Its Kafka options have no meaning."""
    connector = table.options[opt.CONNECTOR.key]
    names = [c.name for c in table.physical_columns]
    builtin_connectors.parse_options(connector, table.options, names)
    metadata = [c.name for c in table.source_columns if c.metadata is not None]
    if metadata:
        raise SchemaError(
            f"Column '{metadata[0]}': the connector '{connector}' has no metadata columns.", column=metadata[0]
        )
    is_bounded = (
        connector == builtin_connectors.DATAGEN and builtin_connectors.row_limit(table.options, names) is not None
    )
    raw = {
        opt.CONNECTOR.key: opt.KAFKA,
        opt.TOPIC.key: connector,
        opt.BOOTSTRAP_SERVERS.key: connector,
        opt.FORMAT.key: "raw",
        opt.BOUNDED_MODE.key: opt.LATEST if is_bounded else opt.UNBOUNDED,
    }
    options, key, value = _parse_options(raw)
    return Definition(table, options, value.with_columns((), ()), key, {})


def validate_without_columns(table: Table) -> Definition:
    """Check the options of a table without columns, so that these can be inferred (see ``validate_table``).

    Raises:
        OptionError: the first invalid option.
    """
    connector = table.options.get(opt.CONNECTOR.key)
    if connector in builtin_connectors.CONNECTORS or connector == opt.DYNAMIC_KAFKA:
        raise SchemaError(f"A table of the connector '{connector}' has no columns. Declare them.")
    options, key, value = _parse_options(table.options)
    _CHECKS[options[opt.CONNECTOR]](options)
    return _define(table, options, key, value)


def _parse_options(raw_options: Mapping[str, str]) -> tuple[Options, Payload | None, Payload]:
    """Return the connector's options, and the key and the value without their columns."""
    connector = find_connector(raw_options)
    connector_options = CONNECTOR_OPTIONS[connector]
    key = parse_payload(opt.KEY_FORMAT.key, "key.", raw_options) if opt.KEY_FORMAT.key in raw_options else None
    value = parse_payload(*_value_format(raw_options, connector), raw_options)
    options = Options(connector_options, raw_options)
    payloads = [payload for payload in (key, value) if payload is not None]
    known_keys = {k for option in connector_options for k in option.keys}
    known_keys |= {key for payload in payloads for key in payload.option_keys}
    other_formats = set(FORMATS) - {payload.format.identifier for payload in payloads}
    validation.reject_unknown_options(connector, raw_options, known_keys, other_formats)
    return options, key, value


def client_properties(raw_options: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of the Kafka client that a table's options set, without their prefix."""
    # some aliases of the connector's options have the prefix 'properties.', too
    aliases = {k for option in CONNECTOR_OPTIONS[find_connector(raw_options)] for k in option.aliases}
    return {
        k.removeprefix(opt.PROPERTIES_PREFIX): v
        for k, v in raw_options.items()
        if k.startswith(opt.PROPERTIES_PREFIX) and k not in aliases
    }


def _check_error_columns(definition: Definition) -> None:
    names = [column.name for column in definition.table.source_columns if column.metadata == ERROR]
    if names and definition.reads_content:
        raise SchemaError(
            f"Column '{names[0]}' (METADATA FROM '{ERROR}') of table '{definition.name}' is not supported: a query "
            "returns the rows that remain after all changes, and an undecodable record is not a change. Remove the "
            f"column and set '{opt.ERROR_HANDLING.key}', or declare another column METADATA FROM '{ROW_KIND}' to read "
            "every change.",
            column=names[0],
            table=definition.name,
        )


def _warn_overridden(options: Options, raw_options: Mapping[str, str]) -> None:
    """Warn about properties that are overridden, as they are in Flink's connector."""
    mode = options.get(opt.STARTUP_MODE)
    if "properties.auto.offset.reset" in raw_options and mode not in (opt.GROUP, opt.SPECIFIC):
        _LOG.warning(
            "option 'properties.auto.offset.reset' is overridden: queries start at '%s' (option '%s'), and an offset "
            "that is no longer available is never replaced silently",
            mode or opt.EARLIEST,
            opt.STARTUP_MODE.key,
        )


def _warn_ineffective_drift(table: Table, options: Options) -> None:
    """Warn about 'scan.watermark.alignment.max-drift' without a watermark or a limit per micro-batch."""
    has_limit = options.get(opt.MAX_OFFSETS) is not None or options.get(opt.MAX_BYTES) is not None
    if options.is_set(opt.WATERMARK_DRIFT) and not (table.watermark is not None and has_limit):
        _LOG.warning(
            "option '%s' has no effect without a WATERMARK and '%s' or '%s'",
            opt.WATERMARK_DRIFT.key,
            opt.MAX_OFFSETS.key,
            opt.MAX_BYTES.key,
        )


def _value_format(raw_options: Mapping[str, str], connector: str) -> tuple[str, str]:
    """Return the option that names the value's format, and the prefix of the format's options."""
    short, long = opt.FORMAT.key, opt.VALUE_FORMAT.key
    if connector != opt.UPSERT_KAFKA and short in raw_options:
        if long in raw_options:
            raise ConflictingOptionsError(
                f"Options '{short}' and '{long}' shouldn't be set together. Remove one.", option=long
            )
        return short, ""
    if long in raw_options:
        return long, "value."
    alternative = f" (or '{short}')" if connector != opt.UPSERT_KAFKA else ""
    raise MissingOptionError(
        f"Could not find required scan format '{long}'{alternative}. Set it to a format such as 'json', 'csv' or "
        "'raw'.",
        option=long,
    )


def _check_kafka_formats(table: Table, key: Payload | None, value: Payload, connector: str) -> None:
    if key is not None and key.format.reads_records:
        raise InvalidOptionError(
            f"The format '{key.format.identifier}' (option '{opt.KEY_FORMAT.key}') decodes whole records. It can only "
            f"be the format of the value: set '{opt.VALUE_FORMAT.key}'.",
            option=opt.KEY_FORMAT.key,
        )
    if key is not None and not key.format.insert_only:
        raise InvalidOptionError(
            f"A key format should only deal with INSERT-only records. But {key.format.identifier} (option "
            f"'{opt.KEY_FORMAT.key}') has a changelog mode with updates and deletes.",
            option=opt.KEY_FORMAT.key,
        )
    if table.primary_key and value.format.insert_only:
        raise SchemaError(
            f"The {connector} table '{'.'.join(table.name)}' with '{value.format.identifier}' format doesn't support "
            "defining PRIMARY KEY constraint on the table, because it can't guarantee the semantic of primary key. "
            "Use the connector 'upsert-kafka', or remove the PRIMARY KEY.",
            table=".".join(table.name),
        )


def _check_upsert_formats(table: Table, key: Payload | None, value: Payload) -> None:
    for payload, name in ((key, "key"), (value, "value")):
        if payload is not None and payload.format.reads_records:
            raise InvalidOptionError(
                f"'upsert-kafka' connector doesn't support '{payload.format.identifier}' as {name} format, because it "
                "decodes whole records. Use the connector 'kafka'.",
                option="connector",
            )
        if payload is not None and not payload.format.insert_only:
            identifier = payload.format.identifier
            raise InvalidOptionError(
                f"'upsert-kafka' connector doesn't support '{identifier}' as {name} format, because '{identifier}' is "
                "not in insert-only mode.",
                option="connector",
            )
    if not table.primary_key:
        raise SchemaError(
            "'upsert-kafka' tables require to define a PRIMARY KEY constraint. The PRIMARY KEY specifies which "
            "columns should be read from or write to the Kafka message key. The PRIMARY KEY also defines records in "
            "the 'upsert-kafka' table should update or delete on which keys."
        )
