"""Read and commit a consumer group's offsets without joining the group."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Collection, Mapping
from concurrent.futures import Future
from typing import Final

import confluent_kafka
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from kafka_sql.errors import BrokerError
from kafka_sql.kafka.admin.client import Admin, translate_error
from kafka_sql.kafka.error_codes import is_retriable
from kafka_sql.kafka.librdkafka.connection_failures import UNREACHABLE
from kafka_sql.kafka.protocol.codec import ApiKey
from kafka_sql.kafka.protocol.retries import Retries
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
    admin.call(
        ApiKey.DESCRIBE_GROUPS,
        lambda api, seconds: api.describe_consumer_groups([group], request_timeout=seconds)[group].result(),
    )
    requested = [confluent_kafka.TopicPartition(t, p) for t, p in partitions]

    # not by list_consumer_group_offsets: while the coordinator moves or loads, it ends the process with a segmentation
    # fault (https://github.com/confluentinc/librdkafka/issues/5040); a consumer repeats the request
    def request(api: AdminClient, _: float) -> list[confluent_kafka.TopicPartition]:
        with admin.open_consumer(group) as consumer:
            return list(consumer.committed(requested, timeout=admin.request_timeout))

    response = admin.call(ApiKey.OFFSET_FETCH, request)
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
    return _Commit(admin, ConsumerGroupTopicPartitions(resolve(group, _OPTION), partitions)).result


class _Commit:
    """A commit that is repeated until its coordinator responds.

    Attributes:
        result: as returned by ``commit``.
    """

    def __init__(self, admin: Admin, request: ConsumerGroupTopicPartitions) -> None:
        """Send the request."""
        self.result: Future[None] = Future()
        # the client's callback must not keep the client alive, which cannot be closed in its own thread
        self._admin, self._request = weakref.ref(admin), request
        self._servers, self._mask = admin.servers, admin.mask
        limit = admin.api_limit
        name = f"{ApiKey.OFFSET_COMMIT.title} for group '{request.group_id}'"
        self._retries = Retries(name, admin.servers, lambda: limit)
        with admin.translate_errors():
            self._send(admin)

    def _send(self, admin: Admin) -> None:
        futures = admin.api.alter_consumer_group_offsets([self._request], request_timeout=admin.request_timeout)
        futures[self._request.group_id].add_done_callback(self._on_response)

    def _on_response(self, response: Future[ConsumerGroupTopicPartitions]) -> None:
        try:
            failed = [tp for tp in response.result().topic_partitions or [] if tp.error is not None]
        except KafkaException as e:
            error: KafkaError = e.args[0]
            error_type, advice = translate_error(error)
            failure = error_type(f"{self._servers}: {self._mask(str(error.str()))}.{advice}", servers=self._servers)
            self._retry_or_fail([error], failure)
            return
        if failed:
            errors = ", ".join(f"{tp.topic}[{tp.partition}]: {tp.error}" for tp in failed)
            self._retry_or_fail([tp.error for tp in failed if tp.error], BrokerError(f"{self._servers}: {errors}."))
        else:
            self.result.set_result(None)

    def _retry_or_fail(self, errors: Collection[KafkaError], failure: BrokerError) -> None:
        is_final = not all(
            error.code() in UNREACHABLE or is_retriable(error.code(), ApiKey.OFFSET_COMMIT) for error in errors
        )
        if is_final or self._retries.remaining() <= 0:
            self.result.set_exception(failure)
        else:
            threading.Thread(target=self._send_again, args=(failure,), name="kafka_sql-commit", daemon=True).start()

    def _send_again(self, failure: BrokerError) -> None:
        try:
            self._retries.pause(failure.message)
            admin = self._admin()
            if admin is None:
                raise failure
            self._send(admin)
        except (BrokerError, KafkaException) as e:
            self.result.set_exception(e if isinstance(e, BrokerError) else failure)
