"""docs/from-spark-kafka.md covers all options of Spark's own Kafka source."""

from __future__ import annotations

import re

import pytest

from kafka_sql.options.connector import KAFKA_OPTIONS
from tests.documents import ROOT

PAGE = (ROOT / "docs/from-spark-kafka.md").read_text()
# from Spark's Kafka integration guide
SPARK = [
    *("assign", "subscribe", "subscribePattern", "kafka.bootstrap.servers", "startingTimestamp", "startingOffsets"),
    *("startingOffsetsByTimestamp", "startingOffsetsByTimestampStrategy", "endingTimestamp", "endingOffsets"),
    *("endingOffsetsByTimestamp", "failOnDataLoss", "kafkaConsumer.pollTimeoutMs", "fetchOffset.numRetries"),
    *("fetchOffset.retryIntervalMs", "maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay"),
    *("minPartitions", "maxRecordsPerPartition", "groupIdPrefix", "kafka.group.id", "includeHeaders", "topic"),
    "spark.kafka.consumer.cache.capacity",
    "spark.kafka.consumer.fetchedData.cache.timeout",
    "spark.kafka.producer.cache.timeout",
    "spark.kafka.producer.cache.evictorThreadRunInterval",
    "spark.sql.streaming.kafka.useDeprecatedOffsetFetching",
    "spark.security.credentials.kafka.enabled",
    "kafka.partitioner.class",
    *("kafka.key.deserializer", "kafka.value.deserializer", "kafka.key.serializer", "kafka.value.serializer"),
    *("kafka.auto.offset.reset", "kafka.enable.auto.commit", "kafka.interceptor.classes"),
    *("avgOffsetsBehindLatest", "maxOffsetsBehindLatest", "minOffsetsBehindLatest", "estimatedTotalBytesBehindLatest"),
]


@pytest.mark.parametrize("option", SPARK)
def test_each_option_is_on_the_page(option: str) -> None:
    assert f"`{option}`" in PAGE


def test_the_replacements_are_options() -> None:
    known = {option.key for option in KAFKA_OPTIONS}
    named = set(re.findall(r"`((?:scan|sink)\.[\w.-]+)`", PAGE))
    assert named
    assert named <= known
