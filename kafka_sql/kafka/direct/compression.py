"""Decompress record batches.

The records of a batch are compressed together, with a codec of https://kafka.apache.org/documentation/#recordbatch.
Snappy data is either a single block, or blocks with their lengths as framed by snappy-java.
"""

from __future__ import annotations

import struct
import zlib
from typing import Final

import pyarrow as pa

from kafka_sql.kafka.protocol.codec import MalformedResponse

CODECS: Final = (None, "gzip", "snappy", "lz4", "zstd")
_GZIP_WBITS: Final = 31  # selects the gzip format in zlib
_JAVA_MAGIC: Final = b"\x82SNAPPY\0"
_JAVA_HEADER: Final = 16  # bytes: the magic and two versions


def decompress(codec: int, content: memoryview, max_size: int) -> bytes:
    """Return the decompressed records of a batch.

    Args:
        codec: the codec in the batch's attributes.
        content: the batch without its header.
        max_size: maximum bytes of the result.

    Raises:
        MalformedResponse: the content is damaged, or the result is larger.
    """
    name = CODECS[codec]
    try:
        if name == "gzip":
            records = zlib.decompressobj(_GZIP_WBITS).decompress(content, max_size + 1)
        elif name == "snappy":
            records = b"".join(_decompress_block(block, max_size) for block in _blocks(content))
        else:
            records = pa.CompressedInputStream(pa.BufferReader(pa.py_buffer(content)), name).read(max_size + 1)
    except (OSError, EOFError, zlib.error, struct.error, pa.ArrowException) as e:
        raise MalformedResponse(f"a record batch cannot be decompressed ({name}): {e}") from None
    if len(records) > max_size:
        raise MalformedResponse(f"a decompressed record batch has more than {max_size} bytes")
    return records


def _blocks(content: memoryview) -> list[memoryview]:
    if bytes(content[: len(_JAVA_MAGIC)]) != _JAVA_MAGIC:
        return [content]
    blocks, at = [], _JAVA_HEADER
    while at < len(content):
        (size,) = struct.unpack_from(">i", content, at)
        if not 0 < size <= len(content) - at - 4:
            raise EOFError("the length of a block is invalid")
        blocks.append(content[at + 4 : at + 4 + size])
        at += 4 + size
    return blocks


def _decompress_block(block: memoryview, max_size: int) -> bytes:
    """Decompress a Snappy block. It begins with its decompressed length as a varint."""
    size = 0
    for i, byte in enumerate(block[:5]):
        size |= (byte & 0x7F) << (7 * i)
        if byte < 0x80:
            break
    if size > max_size:
        raise EOFError("the length of a block is invalid")
    decompressed: bytes = pa.Codec("snappy").decompress(pa.py_buffer(block), size, asbytes=True)
    return decompressed
