"""Define topic partitions and their offsets, and the names of internal topics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

TopicPartition: TypeAlias = tuple[str, int]
Offsets: TypeAlias = dict[TopicPartition, int]

DECISION_LOG_TOPIC: Final = "__kafka_sql_transactions"  # see decision_log.py
# topics that patterns do not match: Kafka's own (Topic.isInternal, which Flink's topic listing excludes), and that of
# this package
INTERNAL_TOPICS: Final = ("__consumer_offsets", "__transaction_state", "__share_group_state", DECISION_LOG_TOPIC)


def group_by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Return the numbers of the partitions of each topic."""
    topics: dict[str, list[int]] = {}
    for topic, number in partitions:
        topics.setdefault(topic, []).append(number)
    return topics
