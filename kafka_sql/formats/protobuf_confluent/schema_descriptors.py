"""Compile schemas of a registry to descriptors."""

from __future__ import annotations

import base64
from functools import lru_cache
from typing import Final

from google.protobuf.descriptor import Descriptor, FileDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message import DecodeError

from kafka_sql.formats.confluent.registry_schema import RegisteredSchema
from kafka_sql.formats.protobuf import descriptors
from kafka_sql.formats.protobuf.protoc import run_protoc
from kafka_sql.formats.protobuf_confluent.message_indexes import FIRST_MESSAGE, find_message

_MAIN: Final = "kafka_sql_schema.proto"


@lru_cache(maxsize=256)
def compile_schema(text: str, references: tuple[tuple[str, str], ...] = ()) -> FileDescriptor:
    """Return the file of a schema.

    Args:
        references: import names and contents of the files that it imports.

    Raises:
        ValueError: the schema is invalid.
    """
    imported = [_parse_descriptor(name, referenced_text) for name, referenced_text in references]
    main = _parse_descriptor(_MAIN, text)
    if main is not None and all(file is not None for file in imported):
        files = [file for file in (*imported, main) if file is not None]
    else:
        try:
            files = run_protoc((*references, (_MAIN, text)), _MAIN)
        except ValueError as e:
            raise ValueError(str(e).replace(_MAIN, "line")) from None
    return descriptors.build_pool(files).FindFileByName(_MAIN)


def select_message(registered: RegisteredSchema, name: str | None) -> Descriptor:
    """Return the message ``name`` of a schema, or its first.

    Raises:
        ValueError: the schema has no such message.
    """
    file = compile_schema(registered.text, registered.references)
    if name is None:
        return find_message(file, FIRST_MESSAGE)
    messages = _messages_by_name(list(file.message_types_by_name.values()))
    if name not in messages:
        raise ValueError(f"has no message '{name}'; it has: {', '.join(messages)}")
    return messages[name]


def _parse_descriptor(name: str, text: str) -> FileDescriptorProto | None:
    """Return a file whose registered text is its descriptor in base64, as Confluent's Python client registers it."""
    try:
        file = FileDescriptorProto.FromString(base64.b64decode(text, validate=True))
    except (ValueError, DecodeError):
        return None
    file.name = name
    return file


def _messages_by_name(messages: list[Descriptor]) -> dict[str, Descriptor]:
    """Return messages and those nested in them, by full name."""
    by_name = {}
    for message in messages:
        by_name[message.full_name] = message
        by_name |= _messages_by_name(list(message.nested_types))
    return by_name
