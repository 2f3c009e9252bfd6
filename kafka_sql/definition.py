"""A table whose options have been checked: what a source and a sink are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka_sql.errors import ConflictingOptionsError, InvalidOptionError, MissingOptionError, did_you_mean, nearest
from kafka_sql.formats.format import Format
from kafka_sql.formats.registry import find
from kafka_sql.kafka.properties import to_librdkafka
from kafka_sql.options import Options
from kafka_sql.options import connector as opt
from kafka_sql.options.check import format_keys, refuse_unknown
from kafka_sql.table import Table


@dataclass(frozen=True)
class Definition:
    """One table, ready to be read and written.

    Attributes:
        table: the declaration.
        options: the connector's options, typed.
        value_format: the format of the record's value.
        value_options: that format's options, typed, under the format's own keys.
        client: librdkafka's configuration. May hold secrets.
    """

    table: Table
    options: Options
    value_format: Format
    value_options: Options
    client: Mapping[str, str] = field(repr=False)

    @property
    def name(self) -> str:
        """The table's name as users write it."""
        return ".".join(self.table.name)


def define(table: Table) -> Definition:
    """Check a table's options in the order of Flink's factory: connector, format, unknown keys, values, properties.

    Raises:
        OptionError: the first thing that is wrong, naming the option.
    """
    given = table.options
    connector = _connector(given)
    key, prefix = _format_key(given)
    value_format = find(given[key], key)
    format_options = {prefix + o.key for o in value_format.options}
    refuse_unknown(connector, given, {o.key for o in opt.KAFKA_OPTIONS} | format_options)
    options = Options(opt.KAFKA_OPTIONS, given)
    value_options = Options(value_format.options, format_keys(given, prefix, value_format.identifier))
    properties = {
        k.removeprefix(opt.PROPERTIES_PREFIX): v for k, v in given.items() if k.startswith(opt.PROPERTIES_PREFIX)
    }
    return Definition(table, options, value_format, value_options, to_librdkafka(properties))


def _connector(given: Mapping[str, str]) -> str:
    name = given.get(opt.CONNECTOR.key)
    if name is None:
        near = nearest(opt.CONNECTOR.key, given)
        hint = f" Did you mean it by '{near}'?" if near else ""
        raise MissingOptionError(f"Table options do not contain an option key 'connector'.{hint}")
    if name not in opt.CONNECTOR.allowed:
        raise InvalidOptionError(
            f"Could not find any connector for identifier '{name}' (option 'connector'). Available: "
            + ", ".join(f"'{c}'" for c in opt.CONNECTOR.allowed)
            + "."
            + did_you_mean(name, opt.CONNECTOR.allowed)
        )
    return name


def _format_key(given: Mapping[str, str]) -> tuple[str, str]:
    """The key under which the value's format stands, and the prefix of its options."""
    short, long = opt.FORMAT.key, opt.VALUE_FORMAT.key
    if short in given and long in given:
        raise ConflictingOptionsError(f"Options '{short}' and '{long}' shouldn't be set together; keep one of them.")
    if long in given:
        return long, "value."
    if short in given:
        return short, ""
    raise MissingOptionError(
        "One or more required options are missing. Missing required options are: "
        f"'{short}' (or '{long}'). {opt.FORMAT.doc}"
    )
