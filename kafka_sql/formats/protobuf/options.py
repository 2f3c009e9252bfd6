"""Define the options of the protobuf format: Flink's (flink-protobuf, PbFormatOptions), and the descriptor file."""

from __future__ import annotations

from typing import Any, Final

from kafka_sql.options import Option, boolean, string, string_list

MESSAGE: Final = string(
    "protobuf.message-class-name",
    "The message's full name in its .proto file, package and name, or the name of its generated Java class, which need "
    "not exist.",
    required=True,
)
DESCRIPTOR: Final = string(
    "protobuf.descriptor-file",
    "The compiled descriptor file with the message, which protoc --include_imports --descriptor_set_out=FILE writes. "
    "The driver and the executors read it. Either this option or 'protobuf.proto-file' is required.",
)
PROTO_FILE: Final = string(
    "protobuf.proto-file",
    "The .proto file with the message. The driver and the executors read and compile it.",
)
PROTO_PATH: Final = string_list(
    "protobuf.proto-path",
    "Folders in which the files that 'protobuf.proto-file' imports are looked up, separated by ';'. By default, the "
    "folder of the file.",
)
IGNORE_PARSE_ERRORS: Final = boolean(
    "protobuf.ignore-parse-errors",
    "Whether to skip records that are not a valid message of this type, instead of failing.",
    default="false",
)
READ_DEFAULT_VALUES: Final = boolean(
    "protobuf.read-default-values",
    "Whether an absent field is read as its default value. By default it is null, except for proto3 fields without "
    "presence, where protobuf does not distinguish an absent field from the default value.",
    default="false",
)
WRITE_NULL_STRING_LITERAL: Final = Option(
    "protobuf.write-null-string-literal",
    str,
    "String",
    "The string to write for a null string in an ARRAY or MAP, where protobuf has no null.",
    default="",
)

PROTOBUF_OPTIONS: Final[tuple[Option[Any], ...]] = (
    MESSAGE,
    DESCRIPTOR,
    PROTO_FILE,
    PROTO_PATH,
    IGNORE_PARSE_ERRORS,
    READ_DEFAULT_VALUES,
    WRITE_NULL_STRING_LITERAL,
)
