"""Headers of record batches, checked with a decoder of the documented layout."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.kafka.direct.batch_layout import HEADER
from kafka_sql.kafka.direct.writes.batch import Batch, ProducerIdAndEpoch, next_sequence, small_batch
from tests.unit.kafka.direct.batch_decoder import decode_batch

PAYLOADS = st.one_of(st.none(), st.binary(max_size=200))


def content(batch: Batch) -> bytes:
    assert batch.size == len(batch.head) + len(batch.body)
    return batch.head + batch.body


@given(st.dictionaries(st.text(max_size=100), PAYLOADS, min_size=1, max_size=100))
def test_small_batch(by_key: dict[str, bytes | None]) -> None:
    batch = small_batch("t", 2, by_key)
    batch.write_header(ProducerIdAndEpoch(1, 2, "t"), 5)
    header, records = decode_batch(content(batch))
    assert (batch.topic, batch.partition, batch.sequence) == ("t", 2, 5)
    assert (header["producer"], header["epoch"], header["sequence"]) == (1, 2, 5)
    assert (header["count"], header["attributes"]) == (len(by_key), 0x10)
    assert [(record.key, record.value) for record in records] == [(k.encode(), v) for k, v in by_key.items()]
    assert {record.timestamp for record in records} == {header["first_time"]} == {header["last_time"]}


@pytest.mark.parametrize(("transactional_id", "codec", "attributes"), [(None, 0, 0), ("t", 0, 0x10), ("t", 3, 0x13)])
def test_attributes(transactional_id: str | None, codec: int, attributes: int) -> None:
    batch = Batch("t", 0, 7, np.zeros(HEADER + 9, np.uint8), codec, first_timestamp=11, max_timestamp=22)
    batch.write_header(ProducerIdAndEpoch(1, 2, transactional_id), 2**31 - 1)
    fields = struct.unpack_from(">hiqqqhii", content(batch), 21)
    assert fields == (attributes, 6, 11, 22, 1, 2, 2**31 - 1, 7)


def test_a_batch_can_be_numbered_again() -> None:
    batch = small_batch("t", 0, {"k": b"v"})
    for producer, sequence in ((ProducerIdAndEpoch(1, 2), 7), (ProducerIdAndEpoch(1, 3), 0)):
        batch.write_header(producer, sequence)
        header, records = decode_batch(content(batch))
        assert (header["producer"], header["epoch"], header["sequence"]) == (producer.id, producer.epoch, sequence)
        assert [record.value for record in records] == [b"v"]


def test_sequence_numbers_wrap_around() -> None:
    assert next_sequence(2**31 - 3, 2) == 2**31 - 1
    assert next_sequence(2**31 - 1, 3) == 2
