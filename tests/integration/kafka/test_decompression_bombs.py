"""Batches that decompress to more than 'receive.message.max.bytes': the error names their partition and offset."""

from __future__ import annotations

import struct

import google_crc32c
import pytest

from kafka_sql.errors import FetchError
from kafka_sql.kafka.direct.batch_layout import HEADER
from kafka_sql.kafka.direct.compression import CODECS, Compression, compress
from kafka_sql.kafka.fetch import read_records
from kafka_sql.kafka.protocol.connection import Connection
from kafka_sql.kafka.protocol.produce import produce, read_produce
from kafka_sql.kafka.split import Split
from tests.topics import Topics
from tests.unit.kafka.direct.record_batches import RecordBatch

pytestmark = pytest.mark.integration

LIMIT = 2_000_000


def compressed_batch(codec: str, size: int) -> bytes:
    """Return a batch with one record of zeros. The broker, too, reads it without storing it decompressed."""
    batch = bytearray(RecordBatch(0, [(0, 0, None, bytes(size))], 0).encode())
    batch[HEADER:] = compress(Compression(CODECS.index(codec), 1), memoryview(bytes(batch[HEADER:])))
    batch[22] |= CODECS.index(codec)
    batch[8:12] = struct.pack(">i", len(batch) - 12)
    batch[17:21] = struct.pack(">I", google_crc32c.value(bytes(batch[21:])))
    return bytes(batch)


def send(topics: Topics, topic: str, batch: bytes) -> None:
    host, port = topics.bootstrap.rsplit(":", 1)
    connection = Connection((host, int(port)), topics.client())
    request, tails = produce(connection, None, [(topic, 0, len(batch))], -1, 10_000)
    response = connection.receive(request, connection.send(request, [batch, *tails]))
    connection.close()
    assert read_produce(response)[topic, 0].code == 0


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_a_bomb_is_reported_with_its_position(topics: Topics, codec: str) -> None:
    topic = topics.create()
    topics.produce(topic, b"a", b"b")
    for size in (LIMIT // 2, 10 * LIMIT):
        send(topics, topic, compressed_batch(codec, size))
    config = topics.client(receive_message_max_bytes=str(LIMIT), fetch_max_bytes="1048576")
    for client in ("auto", "direct"):
        records = read_records(config, Split(topic, 0, 0, 4), client=client)
        assert next(records).values.to_pylist()[:2] == [b"a", b"b"]
        with pytest.raises(FetchError, match=rf"{topic}\[0\]@3: a decompressed record batch has more than {LIMIT} by"):
            list(records)


def test_a_bomb_read_with_librdkafka(topics: Topics) -> None:
    """librdkafka limits zstd only. Other codecs expand as far as their formats allow: gzip to 1000 times the size."""
    config = topics.client(receive_message_max_bytes=str(LIMIT), fetch_max_bytes="1048576")
    for codec in ("gzip", "zstd"):
        topic = topics.create()
        send(topics, topic, compressed_batch(codec, 10 * LIMIT))
        records = read_records(config, Split(topic, 0, 0, 1), client="librdkafka")
        if codec == "gzip":
            assert [len(value) for value in next(records).values.to_pylist()] == [10 * LIMIT]
        else:
            with pytest.raises(FetchError, match=rf"{topic}\[0\]@0: "):
                list(records)
