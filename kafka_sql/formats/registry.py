"""Look up formats by identifier."""

from __future__ import annotations

import copyreg
from collections import UserDict
from importlib import import_module
from typing import Any, Final, cast

from kafka_sql.errors import InvalidOptionError
from kafka_sql.formats.format import Format
from kafka_sql.options.secrets import mask_user_info
from kafka_sql.suggestions import did_you_mean


class _LazyFormats(UserDict[str, Any]):
    """Imports a format at its first use: a worker that reads JSON does not load Avro or the schema registry client."""

    def __getitem__(self, identifier: str) -> Format:
        entry = super().__getitem__(identifier)
        if isinstance(entry, str):
            module, name = entry.split(":")
            self[identifier] = entry = getattr(import_module(f"kafka_sql.formats.{module}"), name)
        return cast(Format, entry)


FORMATS: Final = _LazyFormats(
    {
        "avro": "avro:AVRO",
        "avro-confluent": "avro_confluent:AVRO_CONFLUENT",
        "csv": "csv:CSV",
        "json": "json:JSON",
        "json-confluent": "json_confluent:JSON_CONFLUENT",
        "protobuf": "protobuf:PROTOBUF",
        "protobuf-confluent": "protobuf_confluent:PROTOBUF_CONFLUENT",
        "raw": "raw:RAW",
        "debezium-json": "cdc.json_dialects:DEBEZIUM_JSON",
        "debezium-avro-confluent": "cdc.debezium_avro:DEBEZIUM_AVRO_CONFLUENT",
        "canal-json": "cdc.json_dialects:CANAL_JSON",
        "maxwell-json": "cdc.json_dialects:MAXWELL_JSON",
        "ogg-json": "cdc.json_dialects:OGG_JSON",
    }
)


def _reduce(format: Format) -> str | tuple[Any, ...]:
    """Pickle a format of this package by its identifier, others by value.

    Spark pickles tables in each micro-batch. The parsers of a format's options are local functions, which cloudpickle
    copies: they would be three quarters of a table's bytes and time.
    """
    if FORMATS.data.get(format.identifier) is format:
        return _built_in_format, (format.identifier,)
    return object.__reduce_ex__(format, 2)


def _built_in_format(identifier: str) -> Format:
    return FORMATS[identifier]


copyreg.pickle(Format, _reduce)


def find_format(identifier: str, option: str) -> Format:
    """Return the format with an identifier, or the custom format that ``module:Class`` or an entry point names.

    Raises:
        InvalidOptionError: with the available identifiers and the most similar one; or the custom format is invalid.
    """
    if identifier not in FORMATS:
        from kafka_sql.formats.custom import find_custom_format

        custom = find_custom_format(identifier, option, FORMATS)
        if custom is not None:
            return custom
        available = ", ".join(f"'{name}'" for name in sorted(FORMATS))
        raise InvalidOptionError(
            f"Could not find any format for identifier '{mask_user_info(identifier)}' (option '{option}'). "
            f"Available format identifiers are: {available}, names of the entry point group 'kafka_sql.formats', and "
            "'module:Class' of a custom format." + did_you_mean(identifier, FORMATS),
            option=option,
        )
    return FORMATS[identifier]
