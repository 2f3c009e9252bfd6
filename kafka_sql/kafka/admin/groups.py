"""Read and commit a consumer group's offsets without joining the group."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from concurrent.futures import Future
from typing import Final

import confluent_kafka
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException

from kafka_sql.errors import BrokerError
from kafka_sql.kafka.admin.client import Admin, translate_error
from kafka_sql.kafka.types import Offsets, TopicPartition
from kafka_sql.options.secret_references import resolve

_OPTION: Final = "properties.group.id"


def committed(admin: Admin, group: str, partitions: Collection[TopicPartition]) -> Offsets:
    """Return the committed offsets of a group; a partition without one is absent.

    Args:
        group: its id, or a reference to it.

    Raises:
        BrokerError: the coordinator returns an error or does not respond.
    """
    group = resolve(group, _OPTION)
    # waits for the coordinator and raises its error; a consumer would only time out
    admin.call_coordinator(
        lambda api, seconds: api.describe_consumer_groups([group], request_timeout=seconds)[group].result()
    )
    # not by list_consumer_group_offsets: while the coordinator moves or loads, it ends the process with a segmentation
    # fault (https://github.com/confluentinc/librdkafka/issues/5040); a consumer repeats the request
    with admin.translate_errors(), admin.open_consumer(group) as consumer:
        response = consumer.committed(
            [confluent_kafka.TopicPartition(t, p) for t, p in partitions], timeout=admin.timeout
        )
    for tp in response:
        if tp.error is not None:
            error_type, advice = translate_error(tp.error)
            raise error_type(f"{admin.servers}: {tp.topic}[{tp.partition}]: {tp.error.str()}.{advice}")
    return {(tp.topic, tp.partition): tp.offset for tp in response if tp.offset >= 0}


def commit(admin: Admin, group: str, offsets: Mapping[TopicPartition, int]) -> Future[None]:
    """Commit offsets without waiting.

    Args:
        group: its id, or a reference to it.

    Returns:
        done when the coordinator has responded; fails with BrokerError.
    """
    partitions = [confluent_kafka.TopicPartition(t, p, offset) for (t, p), offset in offsets.items()]
    request = ConsumerGroupTopicPartitions(resolve(group, _OPTION), partitions)
    result: Future[None] = Future()
    servers, mask = admin.servers, admin.mask  # the callback must not keep the client alive
    with admin.translate_errors():
        futures = admin.api.alter_consumer_group_offsets([request], request_timeout=admin.request_timeout)

    def on_response(response: Future[ConsumerGroupTopicPartitions]) -> None:
        try:
            failed = [tp for tp in response.result().topic_partitions or [] if tp.error is not None]
        except KafkaException as e:
            error_type, advice = translate_error(e.args[0])
            result.set_exception(error_type(f"{servers}: {mask(str(e.args[0].str()))}.{advice}"))
            return
        if failed:
            errors = ", ".join(f"{tp.topic}[{tp.partition}]: {tp.error}" for tp in failed)
            result.set_exception(BrokerError(f"{servers}: {errors}.", servers=servers))
        else:
            result.set_result(None)

    futures[request.group_id].add_done_callback(on_response)
    return result
