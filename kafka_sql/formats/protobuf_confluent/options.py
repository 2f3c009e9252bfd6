"""Define the options of the protobuf-confluent format.

They are those of the registry, with the keys of avro-confluent, and those of protobuf.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from kafka_sql.formats.confluent.options import declare_registry_options
from kafka_sql.formats.protobuf import options as protobuf
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
    "The full name of the message to write, whose fields are also the columns of a table without columns. By default "
    "the first message of the schema.",
)
IGNORE_PARSE_ERRORS: Final = replace(protobuf.IGNORE_PARSE_ERRORS, key=f"{NAME}.ignore-parse-errors")
READ_DEFAULT_VALUES: Final = replace(protobuf.READ_DEFAULT_VALUES, key=f"{NAME}.read-default-values")
WRITE_NULL_STRING_LITERAL: Final = replace(protobuf.WRITE_NULL_STRING_LITERAL, key=f"{NAME}.write-null-string-literal")

PROTOBUF_CONFLUENT_OPTIONS: Final[tuple[Option[Any], ...]] = (
    *REGISTRY.all,
    MESSAGE,
    IGNORE_PARSE_ERRORS,
    READ_DEFAULT_VALUES,
    WRITE_NULL_STRING_LITERAL,
)
