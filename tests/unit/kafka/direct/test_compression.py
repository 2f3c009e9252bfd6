"""Compression of record batches: every codec is read back, and LZ4 frames have only what the Java client reads."""

from __future__ import annotations

import gzip
import os
import struct
import subprocess
import sys
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.errors import InvalidOptionError
from kafka_sql.kafka.direct.compression import CODECS, Compression, compress, compression_settings, decompress
from kafka_sql.kafka.protocol.codec import MalformedResponse

NAMES = ["gzip", "snappy", "lz4", "zstd"]
BLOCK = 1 << 16
JSON = b"".join(b'{"id":%d,"name":"n%d"}' % (i, i * 7919 % 1000) for i in range(50_000))
# around the size of an LZ4 block; what does not compress is stored
RECORDS = [b"", b"a", *(JSON[: size + BLOCK] for size in (-1, 0, 1, 900_000)), os.urandom(3 * BLOCK), JSON[:90_000] * 2]


def settings(name: str, level: int = -1) -> Compression:
    return compression_settings({"compression.type": name, "compression.level": str(level)})


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("records", RECORDS, ids=lambda records: str(len(records)))
def test_round_trip(name: str, records: bytes) -> None:
    compressed = compress(settings(name), memoryview(records))
    assert decompress(CODECS.index(name), memoryview(compressed), len(records)) == records
    if records:
        with pytest.raises(MalformedResponse):
            decompress(CODECS.index(name), memoryview(compressed), len(records) - 1)


@given(st.sampled_from(NAMES), st.lists(st.binary(max_size=300), max_size=20), st.integers(1, 400))
def test_round_trip_of_any_bytes(name: str, parts: list[bytes], repeated: int) -> None:
    records = b"".join(parts) * repeated
    compressed = compress(settings(name), memoryview(records))
    assert decompress(CODECS.index(name), memoryview(compressed), len(records)) == records


def snappy_java_frame(blocks: list[bytes]) -> bytes:
    parts = [struct.pack(">i", len(block)) + block for block in blocks]
    return b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1) + b"".join(parts)


def test_the_blocks_of_a_snappy_frame_are_limited_together() -> None:
    block = pa.Codec("snappy").compress(bytes(1_000), asbytes=True)
    frame = snappy_java_frame([block] * 10)
    assert decompress(CODECS.index("snappy"), memoryview(frame), 10_000) == bytes(10_000)
    with pytest.raises(MalformedResponse, match="a decompressed record batch has more than 9999 bytes"):
        decompress(CODECS.index("snappy"), memoryview(frame), 9_999)


def bomb(name: str, size: int) -> bytes:
    """Return compressed zeros."""
    if name == "lz4":  # pyarrow's frames, because the writer's own needs seconds for many blocks
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, name) as stream:
            stream.write(bytes(size))
        return bytes(sink.getvalue())
    if name == "snappy":
        return snappy_java_frame([pa.Codec("snappy").compress(bytes(1 << 20), asbytes=True)] * (size >> 20))
    return compress(settings(name, 1), memoryview(bytes(size)))


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="reads the size of the process from /proc")
def test_bombs_are_decompressed_up_to_the_limit(tmp_path: Path) -> None:
    """256 MB do not fit into the memory of the process, but are refused before that."""
    for name in NAMES:
        (tmp_path / name).write_bytes(bomb(name, 256 << 20))
    program = f"""if True:
        import resource
        from pathlib import Path
        from kafka_sql.kafka.direct.compression import CODECS, decompress
        from kafka_sql.kafka.protocol.codec import MalformedResponse
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (128 << 20),) * 2)
        for name in {NAMES}:
            try:
                decompress(CODECS.index(name), memoryview(Path(name).read_bytes()), 1_000_000)
            except MalformedResponse as e:
                print(e)
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    expected = "a decompressed record batch has more than 1000000 bytes, the value of"
    assert [line[: len(expected)] for line in done.stdout.splitlines()] == [expected] * 4, done.stderr


def test_content_is_in_the_codecs_own_format() -> None:
    content = {name: compress(settings(name), memoryview(JSON)) for name in NAMES}
    assert gzip.decompress(content["gzip"]) == JSON
    assert zstandard.ZstdDecompressor().decompress(content["zstd"]) == JSON
    assert pa.Codec("snappy").decompress(content["snappy"], len(JSON), asbytes=True) == JSON  # one block
    assert read_lz4_frame(content["lz4"]) == JSON


@given(st.lists(st.binary(max_size=300), max_size=20), st.integers(1, 400), st.integers(0, 12))
def test_blocks_of_an_lz4_frame_are_independent(parts: list[bytes], repeated: int, level: int) -> None:
    records = b"".join(parts) * repeated
    assert read_lz4_frame(compress(settings("lz4", level), memoryview(records))) == records


def read_lz4_frame(frame: bytes) -> bytes:
    """Decompress the blocks one by one, as the Java client does."""
    magic, flags, block_size, checksum = struct.unpack_from("<IBBB", frame)
    # version 1, independent blocks, no checksums, no content size; up to 64 KB; the second byte of XXH32 of both
    assert (magic, flags, block_size, checksum) == (0x184D2204, 0b01100000, 4 << 4, 0x82)
    content, at = b"", 7
    while size := struct.unpack_from("<I", frame, at)[0]:
        is_stored, size = size >> 31, size & 0x7FFFFFFF
        block = frame[at + 4 : at + 4 + size]
        records = block if is_stored else read_lz4_block(block)
        assert 0 < len(records) <= BLOCK
        assert size <= len(records)
        content, at = content + records, at + 4 + size
    assert at + 4 == len(frame)
    return content


def read_lz4_block(block: bytes) -> bytes:
    def read_length(length: int, at: int) -> tuple[int, int]:
        if length < 15:
            return length, at
        while True:
            length, at = length + block[at], at + 1
            if block[at - 1] < 255:
                return length, at

    content, at = bytearray(), 0
    while True:
        token = block[at]
        literals, at = read_length(token >> 4, at + 1)
        content += block[at : at + literals]
        at += literals
        if at == len(block):
            return bytes(content)
        distance, at = block[at] | block[at + 1] << 8, at + 2
        size, at = read_length(token & 15, at)
        assert 0 < distance <= len(content)  # nothing of another block
        for _ in range(size + 4):
            content.append(content[-distance])


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, Compression(0, 0)),
        ({"compression.type": "none", "compression.level": "5"}, Compression(0, 0)),
        ({"compression.type": "gzip"}, Compression(1, -1)),
        ({"compression.codec": "snappy", "compression.level": "5"}, Compression(2, 0)),
        ({"compression.codec": "LZ4"}, Compression(3, 1)),
        ({"compression.type": "zstd", "compression.level": "-1"}, Compression(4, 3)),
        ({"compression.type": "zstd", "compression.level": "12"}, Compression(4, 12)),
        ({"compression.type": "gzip", "compression.level": "12"}, Compression(1, 9)),
        ({"compression.codec": "gzip", "compression.type": "lz4"}, Compression(3, 1)),  # the last one, as in librdkafka
    ],
)
def test_settings(config: dict[str, str], expected: Compression) -> None:
    assert compression_settings(config) == expected


def test_a_higher_level_compresses_more() -> None:
    random = Random(7)
    words = [random.randbytes(random.randrange(3, 12)) for _ in range(500)]
    text = b" ".join(random.choices(words, k=50_000))
    for name, low, high in (("gzip", 1, 9), ("lz4", 1, 12), ("zstd", 1, 12)):
        sizes = [len(compress(settings(name, level), memoryview(text))) for level in (low, high)]
        assert sizes[0] > sizes[1]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"compression.type": "brotli"}, r"'properties.compression.type'. Expected none, gzip, snappy, lz4 or zstd"),
        ({"compression.type": "lz4", "compression.level": "x"}, r"'properties.compression.level'. Expected an integer"),
    ],
)
def test_invalid_settings(config: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidOptionError, match=message):
        compression_settings(config)
