"""The offsets that a consumer group has committed, without joining it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from concurrent.futures import Future

import confluent_kafka
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException

from kafka_sql.errors import BrokerError
from kafka_sql.kafka.admin.client import Admin, kind_of
from kafka_sql.kafka.types import Offsets, TopicPartition
from kafka_sql.options.secret_references import resolve

_OPTION = "properties.group.id"


def committed(admin: Admin, group: str, positions: Collection[TopicPartition]) -> Offsets:
    """The offsets of a group, which may be a reference; a partition without one is absent.

    Raises:
        BrokerError: the coordinator refuses or does not answer.
    """
    group = resolve(group, _OPTION)
    request = ConsumerGroupTopicPartitions(group, [confluent_kafka.TopicPartition(t, p) for t, p in positions])
    answer = admin.ask(
        lambda api, seconds: api.list_consumer_group_offsets([request], request_timeout=seconds)[group].result()
    )
    return {(tp.topic, tp.partition): tp.offset for tp in answer.topic_partitions if tp.offset >= 0}


def commit(admin: Admin, group: str, offsets: Mapping[TopicPartition, int]) -> Future[None]:
    """Commit offsets; does not wait.

    Returns:
        done when the coordinator has answered; fails with BrokerError.
    """
    places = [confluent_kafka.TopicPartition(t, p, offset) for (t, p), offset in offsets.items()]
    request = ConsumerGroupTopicPartitions(resolve(group, _OPTION), places)
    answer: Future[None] = Future()
    servers, shown = admin.servers, admin.shown
    with admin.named():
        asked = admin.api.alter_consumer_group_offsets([request], request_timeout=admin.request)

    def take(done: Future[ConsumerGroupTopicPartitions]) -> None:
        try:
            wrong = [tp for tp in done.result().topic_partitions or [] if tp.error is not None]
        except KafkaException as e:
            kind, advice = kind_of(e.args[0])
            answer.set_exception(kind(f"{servers}: {shown(str(e.args[0].str()))}.{advice}"))
            return
        if wrong:
            places = ", ".join(f"{tp.topic}[{tp.partition}]: {tp.error}" for tp in wrong)
            answer.set_exception(BrokerError(f"{servers}: {places}."))
        else:
            answer.set_result(None)

    asked[request.group_id].add_done_callback(take)
    return answer
