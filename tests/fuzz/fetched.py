"""Fuzz record batches of hostile or broken brokers: damaged, truncated or compressed, with correct checksums."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable

import google_crc32c
import pyarrow as pa

from kafka_sql.errors import KafkaSqlError
from kafka_sql.kafka.direct.batch_layout import HEADER
from kafka_sql.kafka.direct.compression import CODECS
from kafka_sql.kafka.direct.reads import reader
from kafka_sql.kafka.direct.reads.fetched_batches import FetchedBatches, to_records
from kafka_sql.kafka.direct.reads.reader import read_columnar
from kafka_sql.kafka.fetch_errors import raise_data_loss
from kafka_sql.kafka.protocol import codec
from kafka_sql.kafka.protocol.codec import ApiKey, MalformedResponse, Reader
from kafka_sql.kafka.protocol.fetch import read_fetch
from kafka_sql.kafka.records import BatchSize, RecordFields
from kafka_sql.kafka.split import Split
from tests.fuzz.broker import CONFIG, hostile_broker, mutated_body, recorded_responses
from tests.unit.kafka.direct.record_batches import RecordBatch

_SPLIT_FRACTION = 0.03  # fraction of inputs that read whole splits; each takes as long as many responses
_VERSIONS = (4, 12)
_STOP = 20
_MAX_BYTES = 100_000
_TRANSACTIONAL = 0x10
_FIELDS = RecordFields(keys=True, timestamps=True, headers=True, leader_epochs=True)


def make_reads() -> Callable[[random.Random], str]:
    """Return a target that parses a fetch response, or reads a split from a hostile broker."""
    bodies = recorded_responses()

    def feed(rng: random.Random) -> str:
        if rng.random() > _SPLIT_FRACTION:
            return _response(rng)
        latest = [_fetched(rng, rng.randrange(_STOP), _VERSIONS[-1]) for _ in range(3)]
        all_bodies = {**bodies, f"{ApiKey.FETCH}.{_VERSIONS[-1]}": latest}
        isolation = {"isolation.level": rng.choice(("read_committed", "read_uncommitted"))}
        with hostile_broker(rng, all_bodies, rng.choice((0.5, 0.9))):
            return _split({**CONFIG, **isolation})

    return feed


def _response(rng: random.Random) -> str:
    version = rng.choice(_VERSIONS)
    body = _fetched(rng, rng.randrange(_STOP), version)
    body = mutated_body(rng, [body]) if rng.random() < 0.2 else body
    try:
        response = read_fetch(Reader(body, version, codec.is_flexible(ApiKey.FETCH, version)), 0)
        content = FetchedBatches(response.records)
        if content.find_wrong_checksum(_STOP) is not None:
            return "malformed"
        rows = 0
        for columns, _ in content.locate(0, _STOP, response.aborted, _MAX_BYTES, _FIELDS):
            records = to_records(columns, _FIELDS)
            assert ((records.offsets >= 0) & (records.offsets < _STOP)).all()
            assert records.values.nbytes <= 5 * _MAX_BYTES
            rows += len(records.values)
    except MalformedResponse:
        return "malformed"
    return "records" if rows else "empty"


def _split(config: dict[str, str]) -> str:
    split, size, rows = Split("t", 0, 0, _STOP), BatchSize(5, 1_000), 0
    reading = read_columnar(config, split, _FIELDS, size, raise_data_loss)
    while True:
        try:
            records = next(reading)
        except KafkaSqlError:
            return "error after records" if rows else "error"
        except StopIteration as e:
            reader._CACHE.close()
            reader._unsupported.clear()
            return "split" if e.value >= _STOP else "partial split" if rows else "no records"
        rows += len(records.values)
        assert records.keys is not None
        assert len(records.keys) == len(records.offsets) == len(records.values) <= 5
        assert ((records.offsets >= 0) & (records.offsets < _STOP)).all()


def _fetched(rng: random.Random, offset: int, version: int) -> bytes:
    """Return the body of a fetch response."""
    records = b""
    for _ in range(rng.randint(0, 3)):
        count = rng.randint(1, 4)
        rows = [(i, 0, b"k" * rng.randint(0, 3), rng.choice((None, b"", b"value"))) for i in range(count)]
        headers = [[(b"h", rng.choice((None, b"", b"1")))] * rng.randint(0, 2) for _ in rows]
        attributes = rng.choice((0, _TRANSACTIONAL))
        batch = bytearray(RecordBatch(offset, rows, count - 1, attributes, producer=1, headers=headers).encode())
        offset += count
        if rng.random() < 0.3:
            _compress(rng, batch)
        if rng.random() < 0.3:
            start = rng.randrange(21, len(batch))
            batch[start:] = mutated_body(rng, [bytes(batch[start:])])[: len(batch) - start].ljust(
                len(batch) - start, b"\x80"
            )
        batch[17:21] = google_crc32c.value(bytes(batch[21:])).to_bytes(4, "big")
        records += batch
    aborted = [(1, rng.randrange(_STOP)) for _ in range(rng.randint(0, 2))]
    flexible = codec.is_flexible(ApiKey.FETCH, version)
    tags = codec.tags(flexible)
    result = codec.pack("ihqq", 0, 0, _STOP, _STOP) + (codec.pack("q", 0) if version >= 5 else b"")
    result += codec.array((codec.pack("qq", *pair) + tags for pair in aborted), flexible)
    result += (codec.pack("i", -1) if version >= 11 else b"") + codec.data(records, flexible) + tags
    topics = codec.array([codec.string("t", flexible) + codec.array([result], flexible) + tags], flexible)
    return codec.pack("i", 0) + (codec.pack("hi", 0, 0) if version >= 7 else b"") + topics + tags


def _compress(rng: random.Random, batch: bytearray) -> None:
    number = rng.randrange(1, len(CODECS))
    name, content = CODECS[number], bytes(batch[HEADER:])
    if name == "gzip":
        compressed = gzip.compress(content, 1)
    elif name == "snappy":
        compressed = pa.Codec(name).compress(content, asbytes=True)
    else:
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, name) as stream:
            stream.write(content)
        compressed = sink.getvalue().to_pybytes()
    batch[HEADER:] = compressed
    batch[22] |= number
    batch[8:12] = (len(batch) - 12).to_bytes(4, "big")
