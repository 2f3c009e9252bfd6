"""The options of protobuf-confluent: those of the registry under the keys of avro-confluent, and protobuf's own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from kafka_sql.formats.confluent.options import declare_registry_options
from kafka_sql.formats.protobuf.options import IGNORE_PARSE_ERRORS, READ_DEFAULT_VALUES, WRITE_NULL_STRING_LITERAL
from kafka_sql.options import Option, string

NAME: Final = "protobuf-confluent"
REGISTRY: Final = declare_registry_options(
    NAME,
    "PROTOBUF",
    "The text of a .proto file, which is registered when the table is written to. By default it is derived from the "
    "columns.",
)
MESSAGE: Final = string(
    f"{NAME}.message-class-name",
    "The full name of the message that is written, and whose columns a table without columns takes. By default it is "
    "the first of the schema.",
)
IGNORE: Final = replace(IGNORE_PARSE_ERRORS, key=f"{NAME}.ignore-parse-errors")
DEFAULTS: Final = replace(READ_DEFAULT_VALUES, key=f"{NAME}.read-default-values")
LITERAL: Final = replace(WRITE_NULL_STRING_LITERAL, key=f"{NAME}.write-null-string-literal")

PROTOBUF_CONFLUENT_OPTIONS: Final[tuple[Option[Any], ...]] = (*REGISTRY.all, MESSAGE, IGNORE, DEFAULTS, LITERAL)
