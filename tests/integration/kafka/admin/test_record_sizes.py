"""The estimated size of the next records of partitions."""

from __future__ import annotations

import time

import pytest

from kafka_sql.kafka.admin.record_sizes import bytes_per_offset
from kafka_sql.kafka.config.properties import to_librdkafka
from tests.topics import Topics

pytestmark = pytest.mark.integration


def test_averages_from_an_offset(topics: Topics) -> None:
    config = to_librdkafka({"bootstrap.servers": topics.bootstrap})
    topic = topics.create(4)
    topics.produce(topic, b"x" * 50_000, *[b"x" * 100] * 500, partition=0)
    topics.produce(topic, b"12345678", key=b"ab", partition=1)
    topics.produce(topic, None, b"1234", partition=2)
    started = time.monotonic()
    sizes = bytes_per_offset(config, {(topic, 0): 1, (topic, 1): 0, (topic, 2): 0, (topic, 3): 0})
    assert sizes == {(topic, 0): 100, (topic, 1): 10, (topic, 2): 2}
    assert time.monotonic() - started < 4  # the consumer reports the ends, so there is no wait


@pytest.mark.long
def test_a_missing_topic_has_no_sizes(topics: Topics) -> None:
    config = to_librdkafka({"bootstrap.servers": topics.bootstrap, "topic.metadata.propagation.max.ms": "0"})
    assert bytes_per_offset(config, {("no-such-topic", 0): 0}) == {}
