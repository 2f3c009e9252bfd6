"""A table whose options have been checked: what a source and a sink are made from."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kafka_sql.errors import (
    ConflictingOptionsError,
    InvalidOptionError,
    MissingOptionError,
    SchemaError,
    did_you_mean,
    nearest,
)
from kafka_sql.formats.format import InferredSchema
from kafka_sql.formats.payload import Payload, parse_payload
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.record_metadata import ERROR
from kafka_sql.options import Options
from kafka_sql.options import connector as opt
from kafka_sql.options.key_value_projection import check_key_fields, project_key, project_value
from kafka_sql.options.unknown_options import reject_unknown_options
from kafka_sql.options.unsupported import reject_unsupported_options
from kafka_sql.options.validation import check_kafka_options, check_topic_config, check_upsert_options
from kafka_sql.table.declaration import Table

_LOG = logging.getLogger("kafka_sql.options")
_CONNECTORS = {opt.KAFKA: opt.KAFKA_OPTIONS, opt.UPSERT_KAFKA: opt.UPSERT_OPTIONS}


@dataclass(frozen=True)
class Definition:
    """One table, ready to be read and written.

    Attributes:
        table: the declaration.
        options: the connector's options, typed.
        value: the record's value: its format and its columns.
        key: the record's key; None where the table has none.
        client: librdkafka's configuration. May hold secrets, or references to them.
        listener: where a task tells of records that it cannot read; None where nobody listens.
    """

    table: Table
    options: Options
    value: Payload
    key: Payload | None
    client: Mapping[str, str] = field(repr=False)
    accumulator_id: int | None = None

    @property
    def name(self) -> str:
        """The table's name as users write it."""
        return ".".join(self.table.name)

    @property
    def is_upsert(self) -> bool:
        """Whether a record replaces the one before it of the same key, and a tombstone deletes it."""
        return self.options[opt.CONNECTOR] == opt.UPSERT_KAFKA

    @property
    def is_changelog(self) -> bool:
        """Whether a record's value tells what happened to a row, instead of being one."""
        return not self.value.format.insert_only

    @property
    def has_error_column(self) -> bool:
        """Whether a record that cannot be read is a row that says why."""
        return any(column.metadata == ERROR for column in self.table.stored_columns)

    @property
    def reads_latest_per_key(self) -> bool:
        """Whether a batch read gives the latest row of each key."""
        return self.is_upsert or (self.is_changelog and bool(self.table.primary_key))


def validate_table(table: Table) -> Definition:
    """Check a table's options in the order of Flink's factories: formats, missing and ill-typed options, unknown ones,
    the rules between them, the columns of key and value, Kafka's properties.

    Raises:
        OptionError: the first thing that is wrong, naming the option.
        SchemaError: the PRIMARY KEY is not what the connector takes.
    """
    given = table.options
    connector = _connector(given)
    known = _CONNECTORS[connector]
    key = parse_payload(opt.KEY_FORMAT.key, "key.", given) if opt.KEY_FORMAT.key in given else None
    value = parse_payload(*_value_format(given, connector), given)
    options = Options(known, given)
    formats = [p for p in (key, value) if p is not None]
    reject_unknown_options(
        connector, given, {k for o in known for k in o.keys} | {k for p in formats for k in p.option_keys}
    )
    physical = [c.name for c in table.physical_columns]
    if connector == opt.KAFKA:
        check_kafka_options(options)
        _check_kafka_formats(table, key, value)
        fields: Sequence[str] = project_key(options, physical)
    else:
        check_upsert_options(options)
        _check_upsert_formats(table, key, value)
        fields = check_key_fields(options, table.primary_key, physical)
    check_topic_config(options, given)
    values = project_value(options, physical, fields)
    reject_unsupported_options(options)
    ours = {k for o in known for k in o.aliases}  # of the connector, although Flink lets them stand among Kafka's
    properties = {
        k.removeprefix(opt.PROPERTIES_PREFIX): v
        for k, v in given.items()
        if k.startswith(opt.PROPERTIES_PREFIX) and k not in ours
    }
    _warn_overridden(options, properties)
    topics = options.get(opt.TOPIC) or ()
    declared = {c.name: c.declared + ("" if c.nullable else " NOT NULL") for c in table.physical_columns}
    definition = Definition(
        table,
        options,
        value.with_columns(values, topics, declared=declared),
        key and key.with_columns(fields, topics, options.get(opt.KEY_FIELDS_PREFIX) or "", declared),
        to_librdkafka(properties),
    )
    _check_error_columns(definition)
    return definition


def _check_error_columns(definition: Definition) -> None:
    """A record that cannot be read has no key of which it could be the latest row."""
    names = [column.name for column in definition.table.stored_columns if column.metadata == ERROR]
    if names and definition.reads_latest_per_key:
        raise SchemaError(
            f"Column '{names[0]}' (METADATA FROM '{ERROR}') of table '{definition.name}': the table is the latest row "
            f"of each key, and a record that cannot be read has none. Leave the column out and set "
            f"'{opt.ERROR_HANDLING.key}', or read the topic by another table without a PRIMARY KEY."
        )


def _warn_overridden(options: Options, properties: Mapping[str, str]) -> None:
    """Warn of what Flink's connector overrides, too."""
    mode = options.get(opt.STARTUP_MODE)
    if "auto.offset.reset" in properties and mode not in (opt.GROUP, opt.SPECIFIC):
        _LOG.warning(
            "option 'properties.auto.offset.reset' is overridden: a query starts at '%s' (option '%s'), and a position "
            "that is gone is never replaced by another one silently",
            mode or opt.EARLIEST,
            opt.STARTUP_MODE.key,
        )


def infer_columns(given: Mapping[str, str]) -> InferredSchema | None:
    """The columns that the formats of a table without columns know: the key's first, then the value's.

    The key's columns are 'key.fields' where the options do not say it, and where the value has them not, it is taken to
    have EXCEPT_KEY.

    Returns:
        None where the value's format knows none.

    Raises:
        OptionError: an option is in error.
        SchemaRegistryError, SchemaError: the format cannot tell.
    """
    connector = _connector(given)
    topics = [topic.strip() for topic in given.get(opt.TOPIC.key, "").split(";") if topic.strip()]
    value = parse_payload(*_value_format(given, connector), given).with_columns((), topics)
    if value.format.infer_schema is None:
        return None
    found = value.format.infer_schema(value.options)
    options = {value.prefix + key: text for key, text in found.options.items()}
    columns = dict(found.columns)
    if opt.KEY_FORMAT.key in given:
        key = parse_payload(opt.KEY_FORMAT.key, "key.", given).with_columns((), topics)
        if key.format.infer_schema is not None:
            prefix = given.get(opt.KEY_FIELDS_PREFIX.key, "")
            keys = key.format.infer_schema(key.options)
            named = {prefix + name: kind for name, kind in keys.columns}
            options |= {"key." + k: text for k, text in keys.options.items()}
            if connector == opt.KAFKA:
                options[opt.KEY_FIELDS.key] = ";".join(named)
            if not named.keys() <= columns.keys():
                options[opt.VALUE_FIELDS_INCLUDE.key] = opt.EXCEPT_KEY
            columns = {**named, **{name: kind for name, kind in columns.items() if name not in named}}
    return InferredSchema(tuple(columns.items()), options)


def _connector(given: Mapping[str, str]) -> str:
    name = given.get(opt.CONNECTOR.key)
    if name is None:
        near = nearest(opt.CONNECTOR.key, given)
        hint = f" Did you mean it by '{near}'?" if near else ""
        raise MissingOptionError(f"Table options do not contain an option key 'connector'.{hint}")
    if name not in _CONNECTORS:
        raise InvalidOptionError(
            f"Could not find any connector for identifier '{name}' (option 'connector'). Available: "
            + ", ".join(f"'{c}'" for c in _CONNECTORS)
            + "."
            + did_you_mean(name, _CONNECTORS)
        )
    return name


def _value_format(given: Mapping[str, str], connector: str) -> tuple[str, str]:
    """The key under which the value's format stands, and the prefix of its options."""
    short, long = opt.FORMAT.key, opt.VALUE_FORMAT.key
    if connector == opt.KAFKA and short in given:
        if long in given:
            raise ConflictingOptionsError(
                f"Options '{short}' and '{long}' shouldn't be set together; keep one of them."
            )
        return short, ""
    if long in given:
        return long, "value."
    also = f" (or '{short}')" if connector == opt.KAFKA else ""
    raise MissingOptionError(f"Could not find required scan format '{long}'{also}. {opt.FORMAT.doc}")


def _check_kafka_formats(table: Table, key: Payload | None, value: Payload) -> None:
    if key is not None and not key.format.insert_only:
        raise InvalidOptionError(
            f"A key format should only deal with INSERT-only records. But {key.format.identifier} (option "
            f"'{opt.KEY_FORMAT.key}') has a changelog mode of changes."
        )
    if table.primary_key and value.format.insert_only:
        raise SchemaError(
            f"The Kafka table '{'.'.join(table.name)}' with '{value.format.identifier}' format doesn't support "
            "defining PRIMARY KEY constraint on the table, because it can't guarantee the semantic of primary key. "
            "Use the connector 'upsert-kafka', or leave PRIMARY KEY out."
        )


def _check_upsert_formats(table: Table, key: Payload | None, value: Payload) -> None:
    for part, name in ((key, "key"), (value, "value")):
        if part is not None and not part.format.insert_only:
            identifier = part.format.identifier
            raise InvalidOptionError(
                f"'upsert-kafka' connector doesn't support '{identifier}' as {name} format, because '{identifier}' is "
                "not in insert-only mode."
            )
    if not table.primary_key:
        raise SchemaError(
            "'upsert-kafka' tables require to define a PRIMARY KEY constraint. The PRIMARY KEY specifies which "
            "columns should be read from or write to the Kafka message key. The PRIMARY KEY also defines records in "
            "the 'upsert-kafka' table should update or delete on which keys."
        )
