"""Encode and decode the message indexes of Confluent's wire format: which of a schema's messages a payload is.

The first one is the index of the top-level message in its file, the next one that of a nested message in it, and so on.
Their count and the indexes precede the message as zigzag varints; a single 0 means the first message.
"""

from __future__ import annotations

from typing import Final

from google.protobuf.descriptor import Descriptor, FileDescriptor

FIRST_MESSAGE: Final = (0,)
MAX_SIZE: Final = 64  # bytes; real messages are nested a few dozen deep at most


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
