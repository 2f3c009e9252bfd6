"""Compress and decompress record batches.

The records of a batch are compressed together, with a codec of https://kafka.apache.org/documentation/#recordbatch.
Snappy data is either a single block, as librdkafka writes it, or blocks with their lengths as framed by snappy-java.
LZ4 data is a frame of blocks that can be decompressed independently: the Java client supports no others.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from typing import Final, NamedTuple

import pyarrow as pa

from kafka_sql.errors import InvalidOptionError
from kafka_sql.kafka.protocol.codec import MalformedResponse

CODECS: Final = (None, "gzip", "snappy", "lz4", "zstd")
_GZIP_WBITS: Final = 31  # selects the gzip format in zlib
# defaults of the Java client and librdkafka; -1 selects zlib's default
_DEFAULT_LEVELS: Final = {"gzip": -1, "lz4": 1, "zstd": 3}
_MAX_LEVELS: Final = {"gzip": 9, "lz4": 12, "zstd": 22}
_LZ4_BLOCK_SIZE: Final = 1 << 16  # bytes, as in the Java client and librdkafka
# magic number; version 1 with independent blocks; blocks of 64 KB; checksum of the two bytes before it
_LZ4_HEADER: Final = b"\x04\x22\x4d\x18\x60\x40\x82"
_LZ4_UNCOMPRESSED_FLAG: Final = 1 << 31  # in the length of a block
_SNAPPY_JAVA_MAGIC: Final = b"\x82SNAPPY\0"
_SNAPPY_JAVA_HEADER_SIZE: Final = 16  # the magic number and two versions


class Compression(NamedTuple):
    """How a producer compresses batches."""

    codec: int  # the number of the codec; 0 for none
    level: int  # the codec's compression level; Snappy has none


def compression_settings(config: Mapping[str, str]) -> Compression:
    """Return the compression in a producer's configuration.

    Raises:
        InvalidOptionError: the codec is unknown, or the level is not a number.
    """
    names = [value for key, value in config.items() if key in ("compression.type", "compression.codec")]
    name, level = (names[-1].strip().lower() if names else "none"), config.get("compression.level", "-1")
    if name == "none":
        return Compression(0, 0)
    if name not in CODECS:
        raise InvalidOptionError(
            "Invalid value for option 'properties.compression.type'. Expected none, gzip, snappy, lz4 or zstd.",
            option="properties.compression.type",
        )
    try:
        number = int(level)
    except ValueError:
        raise InvalidOptionError(
            "Invalid value for option 'properties.compression.level'. Expected an integer.",
            option="properties.compression.level",
        ) from None
    if number == -1:
        number = _DEFAULT_LEVELS.get(name, 0)
    return Compression(CODECS.index(name), min(number, _MAX_LEVELS.get(name, 0)))


def compress(compression: Compression, records: memoryview) -> bytes:
    """Return the compressed records of a batch. Does not hold the GIL while it compresses.

    Args:
        compression: with a codec other than 0.
        records: the batch without its header.
    """
    name = CODECS[compression.codec]
    if name == "gzip":
        stream = zlib.compressobj(compression.level, zlib.DEFLATED, _GZIP_WBITS)
        return stream.compress(records) + stream.flush()
    if name == "lz4":
        return _lz4_frame(records, compression.level)
    codec = pa.Codec(name, compression.level) if name == "zstd" else pa.Codec(name)
    compressed: bytes = codec.compress(records, asbytes=True)
    return compressed


def _lz4_frame(records: memoryview, level: int) -> bytes:
    # pyarrow's own codec for frames writes blocks that depend on each other
    codec = pa.Codec("lz4_raw", level)
    parts: list[bytes | memoryview] = [_LZ4_HEADER]
    for start in range(0, len(records), _LZ4_BLOCK_SIZE):
        block = records[start : start + _LZ4_BLOCK_SIZE]
        compressed = codec.compress(block, asbytes=True)
        if len(compressed) < len(block):
            parts += [struct.pack("<I", len(compressed)), compressed]
        else:
            parts += [struct.pack("<I", len(block) | _LZ4_UNCOMPRESSED_FLAG), block]
    return b"".join([*parts, bytes(4)])


def decompress(codec: int, content: memoryview, max_size: int) -> bytes:
    """Return the decompressed records of a batch.

    Args:
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
            records = _decompress_snappy(content, max_size)
        else:
            records = pa.CompressedInputStream(pa.BufferReader(pa.py_buffer(content)), name).read(max_size + 1)
    except MalformedResponse:  # a subclass of OSError
        raise
    except (OSError, EOFError, zlib.error, struct.error, pa.ArrowException) as e:
        raise MalformedResponse(f"a record batch cannot be decompressed ({name}): {e}") from None
    if len(records) > max_size:
        raise _too_large(max_size)
    return records


def _too_large(max_size: int) -> MalformedResponse:
    return MalformedResponse(
        f"a decompressed record batch has more than {max_size} bytes, the value of "
        "'properties.receive.message.max.bytes'"
    )


def _decompress_snappy(content: memoryview, max_size: int) -> bytes:
    sized_blocks = [(_decompressed_size(block), block) for block in _snappy_blocks(content)]
    if sum(size for size, _ in sized_blocks) > max_size:
        raise _too_large(max_size)
    codec = pa.Codec("snappy")
    return b"".join(codec.decompress(pa.py_buffer(block), size, asbytes=True) for size, block in sized_blocks)


def _snappy_blocks(content: memoryview) -> list[memoryview]:
    if bytes(content[: len(_SNAPPY_JAVA_MAGIC)]) != _SNAPPY_JAVA_MAGIC:
        return [content]
    blocks, offset = [], _SNAPPY_JAVA_HEADER_SIZE
    while offset < len(content):
        (size,) = struct.unpack_from(">i", content, offset)
        if not 0 < size <= len(content) - offset - 4:
            raise EOFError("the length of a block is invalid")
        blocks.append(content[offset + 4 : offset + 4 + size])
        offset += 4 + size
    return blocks


def _decompressed_size(block: memoryview) -> int:
    """Return the decompressed size of a Snappy block, a varint at its start."""
    size = 0
    for i, byte in enumerate(block[:5]):
        size |= (byte & 0x7F) << (7 * i)
        if byte < 0x80:
            break
    return size
