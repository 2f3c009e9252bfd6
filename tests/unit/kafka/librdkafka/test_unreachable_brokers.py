"""Producers whose brokers do not respond: rejected rows, and closing without waiting."""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow as pa
import pytest

from kafka_sql.errors import DeliveryError, RecordRejectedError
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.librdkafka.producer_clients import open_producer

CONFIG = to_librdkafka({"bootstrap.servers": "127.0.0.1:1"})


def thread_ids() -> set[str]:
    return {task.name for task in Path("/proc/self/task").iterdir()}


@pytest.mark.parametrize("is_failed", [False, True])
def test_closing_drops_the_records_and_the_client(is_failed: bool) -> None:
    threads, started = thread_ids(), time.monotonic()  # those of other tests may end meanwhile
    error: Exception | None = None
    try:
        with open_producer(CONFIG, "t") as producer:
            producer.produce(pa.array([b"x"] * 1000, pa.binary()))
            assert thread_ids() - threads
            if is_failed:
                raise KeyError("the task")
    except KeyError as e:
        error = e
    assert not thread_ids() - threads  # although the error refers to the frames of the block
    assert (error is not None) == is_failed
    assert time.monotonic() - started < 30  # delivery.timeout.ms is two minutes


def test_header_name_with_a_nul() -> None:
    headers = pa.MapArray.from_arrays([0, 1], ["a\0b"], pa.array([b"1"], pa.binary()))
    with (
        open_producer(CONFIG, "t", "T") as producer,
        pytest.raises(RecordRejectedError, match=r"Table 'T': the name of a header has a NUL character"),
    ):
        producer.produce(pa.array([b"x"], pa.binary()), headers=headers)


def test_topic_with_a_nul() -> None:
    with (
        open_producer(CONFIG, None, "T") as producer,
        pytest.raises(DeliveryError, match=r"Table 'T': topic 'a\0b', row 1"),
    ):
        producer.produce(pa.array([b"x", b"y"], pa.binary()), topics=pa.array(["a", "a\0b"]))
