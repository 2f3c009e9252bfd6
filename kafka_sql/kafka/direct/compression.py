"""Compressed records as they were before.

A batch's records are compressed as one, by a codec of https://kafka.apache.org/documentation/#recordbatch. Snappy has
blocks with their lengths, as its Java library frames them, or is one block.
"""

from __future__ import annotations

import struct
import zlib
from typing import Final

import pyarrow as pa

from kafka_sql.kafka.protocol.codec import MalformedResponse

CODECS: Final = (None, "gzip", "snappy", "lz4", "zstd")
_GZIP_FRAME: Final = 31  # zlib's number for it
_JAVA: Final = b"\x82SNAPPY\0"
_JAVA_HEADER: Final = 16  # bytes: that, and two versions


def decompress(codec: int, content: memoryview, most: int) -> bytes:
    """The content of a batch behind its header.

    Args:
        codec: its number in a batch's attributes.
        most: bytes that are believed.

    Raises:
        MalformedResponse: it is damaged, or larger.
    """
    name = CODECS[codec]
    try:
        if name == "gzip":
            found = zlib.decompressobj(_GZIP_FRAME).decompress(content, most + 1)
        elif name == "snappy":
            found = b"".join(_block(block, most) for block in _blocks(content))
        else:
            found = pa.CompressedInputStream(pa.BufferReader(pa.py_buffer(content)), name).read(most + 1)
    except (OSError, EOFError, zlib.error, struct.error, pa.ArrowException) as e:
        raise MalformedResponse(f"a record batch cannot be decompressed ({name}): {e}") from None
    if len(found) > most:
        raise MalformedResponse(f"a record batch has more than {most} bytes when it is decompressed")
    return found


def _blocks(content: memoryview) -> list[memoryview]:
    if bytes(content[: len(_JAVA)]) != _JAVA:
        return [content]
    found, at = [], _JAVA_HEADER
    while at < len(content):
        (size,) = struct.unpack_from(">i", content, at)
        if not 0 < size <= len(content) - at - 4:
            raise EOFError("a block's length is wrong")
        found.append(content[at + 4 : at + 4 + size])
        at += 4 + size
    return found


def _block(block: memoryview, most: int) -> bytes:
    """Snappy's own format: it begins with the length, in seven bits a byte."""
    size = 0
    for i, byte in enumerate(block[:5]):
        size |= (byte & 0x7F) << (7 * i)
        if byte < 0x80:
            break
    if size > most:
        raise EOFError("a block's length is wrong")
    found: bytes = pa.Codec("snappy").decompress(pa.py_buffer(block), size, asbytes=True)
    return found
