"""The options of the protobuf format: Flink's keys (flink-protobuf, PbFormatOptions), and where descriptors are."""

from __future__ import annotations

from typing import Any, Final

from kafka_sql.options import Option, boolean, string

MESSAGE: Final = string(
    "protobuf.message-class-name",
    "The message's full name, as its .proto file says it: package and name. No generated class is needed.",
    required=True,
)
DESCRIPTOR: Final = string(
    "protobuf.descriptor-file",
    "The compiled descriptor file with the message: what protoc --include_imports --descriptor_set_out=FILE writes. "
    "The driver and the executors read it.",
    required=True,
)
IGNORE_PARSE_ERRORS: Final = boolean(
    "protobuf.ignore-parse-errors",
    "Whether to leave out records that are no such message, instead of failing.",
    default="false",
)
READ_DEFAULT_VALUES: Final = boolean(
    "protobuf.read-default-values",
    "Whether a field that is absent is read as its default value. By default it is null, except for proto3's fields "
    "without presence, of which protobuf does not tell a default value from an absent one.",
    default="false",
)
WRITE_NULL_STRING_LITERAL: Final = Option(
    "protobuf.write-null-string-literal",
    str,
    "String",
    "What a null text in an ARRAY or MAP is written as, because protobuf has no null there.",
    default="",
)

PROTOBUF_OPTIONS: Final[tuple[Option[Any], ...]] = (
    MESSAGE,
    DESCRIPTOR,
    IGNORE_PARSE_ERRORS,
    READ_DEFAULT_VALUES,
    WRITE_NULL_STRING_LITERAL,
)
