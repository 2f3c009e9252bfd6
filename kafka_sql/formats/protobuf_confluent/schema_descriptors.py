"""Compile schemas of a registry to descriptors, and find messages in them, by name or by message indexes.

The first index is that of the top-level message in its file, the next one that of a nested message in it, and so on. In
Confluent's wire format, their count and the indexes precede the message as zigzag varints; a single 0 means the first
message.
"""

from __future__ import annotations

import base64
from functools import lru_cache
from typing import Final

from google.protobuf.descriptor import Descriptor, FileDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message import DecodeError

from kafka_sql.formats.confluent.schemas import RegisteredSchema
from kafka_sql.formats.protobuf import descriptors
from kafka_sql.formats.protobuf.protoc import run_protoc

_MAIN: Final = "kafka_sql_schema.proto"
FIRST_MESSAGE: Final = (0,)
MAX_SIZE: Final = 64  # bytes of indexes; real messages are nested a few dozen deep at most


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


def find_message(file: FileDescriptor, indexes: tuple[int, ...]) -> Descriptor:
    """Return the message with these indexes.

    Raises:
        ValueError: the file has no such message.
    """
    messages = list(file.message_types_by_name.values())
    message = None
    for index in indexes:
        if not 0 <= index < len(messages):
            raise ValueError(f"has no message with the indexes {list(indexes)}")
        message = messages[index]
        messages = list(message.nested_types)
    if message is None:
        raise ValueError("has no message")
    return message


def indexes_of(message: Descriptor) -> tuple[int, ...]:
    """Return the indexes of a message."""
    enclosing = message.containing_type
    if enclosing is not None:
        return (*indexes_of(enclosing), [m.full_name for m in enclosing.nested_types].index(message.full_name))
    return (list(message.file.message_types_by_name).index(message.name),)


def encode_indexes(message: Descriptor) -> bytes:
    """Return the encoded indexes of a message."""
    indexes = indexes_of(message)
    return b"\0" if indexes == FIRST_MESSAGE else b"".join(map(_encode_zigzag, (len(indexes), *indexes)))


def decode_indexes(payload: bytes) -> tuple[tuple[int, ...], int]:
    """Return the indexes at the start of a payload, and how many bytes they take; no indexes if they are malformed."""
    numbers: list[int] = []
    position = bits = shift = 0
    while position < len(payload) and shift < 70 and (not numbers or len(numbers) <= numbers[0]):
        bits |= (payload[position] & 0x7F) << shift
        shift += 7
        position += 1
        if payload[position - 1] < 0x80:
            numbers.append((bits >> 1) ^ -(bits & 1))
            bits = shift = 0
    is_complete = numbers and numbers[0] >= 0 and len(numbers) == numbers[0] + 1
    return (tuple(numbers[1:]) or FIRST_MESSAGE if is_complete else ()), position


def _encode_zigzag(number: int) -> bytes:
    bits, encoded = number << 1, bytearray()
    while bits > 0x7F:
        encoded.append(bits & 0x7F | 0x80)
        bits >>= 7
    return bytes([*encoded, bits])
