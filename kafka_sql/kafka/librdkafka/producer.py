"""Produce columns of records with librdkafka."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise, repeat
from typing import Any, Final

import confluent_kafka
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from confluent_kafka import KafkaError, KafkaException

from kafka_sql.errors import RecordRejectedError
from kafka_sql.kafka.client_cache import CachedClient
from kafka_sql.kafka.columns import flatten_headers
from kafka_sql.kafka.delivery_errors import delivery_error
from kafka_sql.kafka.librdkafka.client import ClientErrors
from kafka_sql.kafka.librdkafka.connection_failures import UNREACHABLE
from kafka_sql.kafka.protocol.codec import ApiKey
from kafka_sql.kafka.protocol.retries import Retries, TimeLimit

_METADATA_SECONDS: Final = 2.0  # for one response: the next request may go to another broker
_FLUSH_SECONDS: Final = 0.1
_QUEUE_FULL_SECONDS: Final = 0.1  # at most: a delivery report ends the wait
_FATAL_SECONDS: Final = 1.0  # in which the cause of a fatal error arrives
_PURGED: Final = (KafkaError._PURGE_INFLIGHT, KafkaError._PURGE_QUEUE)
# the client has no transactions, or its transaction has not failed
_NO_FAILED_TRANSACTION: Final = (KafkaError._NOT_CONFIGURED, KafkaError._STATE)

Header = tuple[str, "bytes | None"]


@dataclass
class ProducerClient(CachedClient):
    """confluent-kafka's producer, and what it has reported.

    Nothing else refers to confluent-kafka's producer: its own ``close`` waits for all records, without a limit.

    Attributes:
        failures: error code, topic and partition of each record that was not acknowledged. A record that was rejected
            before it was assigned to a partition has none.
    """

    producer: confluent_kafka.Producer
    errors: ClientErrors
    failures: list[tuple[int, str, int | None]]

    def poll(self, seconds: float) -> None:
        """Handle what the client has reported; wait for it if there is nothing."""
        self._call(self.producer.poll, seconds)

    def flush(self, seconds: float) -> bool:
        """Wait for the acknowledgment of all records; return whether none is missing."""
        return self._call(self.producer.flush, seconds) == 0

    def purge(self) -> None:
        """Drop queued records."""
        self.producer.purge()
        self.poll(0)

    def close(self) -> None:
        """Close the client at once; a transaction stays open on the brokers."""
        del self.producer

    def is_reusable(self) -> bool:
        """Whether it can serve another use: it has lost no record and waits for none."""
        self.poll(0)
        return not self.failures and not len(self.producer) and self.errors.fatal is None

    def on_reuse(self) -> None:
        """Forget the errors of the previous use."""
        self.errors.clear()

    def fatal_error(self) -> KafkaError | None:
        """Return the error that ended the client; None if it has not ended."""
        deadline = time.monotonic() + _FATAL_SECONDS
        while self.errors.fatal is None and time.monotonic() < deadline:
            self.poll(_FLUSH_SECONDS)
        return self.errors.fatal

    def _call(self, method: Callable[[float], int], seconds: float) -> int:
        """Call a method that runs callbacks; confluent-kafka raises fatal errors there instead of reporting them."""
        while True:
            try:
                return method(seconds)
            except UnicodeDecodeError:  # a log line with a broker's message that is not UTF-8; the line is lost
                continue
            except KafkaException as e:
                self.errors.record(e.args[0])
                return -1


@dataclass
class Producer:
    """An open producer; see ``producer_clients``."""

    topic: str | None  # the topic of records that do not name one
    _label: str
    _limit: TimeLimit
    _client: ProducerClient
    _partitions: dict[str, int] = field(default_factory=dict)
    sent: int = 0  # rows queued so far
    sent_bytes: int = 0  # bytes of their keys and values
    send_time: float = 0  # milliseconds that the last flush waited for acknowledgements

    @property
    def errors(self) -> int:
        """How many broker errors the client reported. It recovers from most of them by itself."""
        return self._client.errors.count

    def produce(
        self,
        values: pa.BinaryArray,
        keys: pa.BinaryArray | None = None,
        timestamps: npt.NDArray[np.int64] | None = None,
        headers: pa.ListArray | pa.MapArray | None = None,
        topics: pa.StringArray | None = None,
        partitions: npt.NDArray[np.int32] | None = None,
    ) -> None:
        """Queue records. Waits while the queue is full, so memory stays bounded.

        Args:
            values, keys, timestamps, headers, topics: as in ``DirectProducer.produce``.
            partitions: each record's partition; -1 or None for the client's choice: by key, or sticky without a key.

        Raises:
            DeliveryError: a record was rejected, or one queued before was not acknowledged; or another BrokerError
                of ``delivery_errors``.
        """
        count = len(values)
        if not count:
            return
        row_topics = repeat(self.topic, count) if topics is None else topics.to_pylist()
        rows = zip(
            row_topics,
            values.to_pylist(),
            repeat(None, count) if keys is None else keys.to_pylist(),
            repeat(-1, count) if partitions is None else partitions.tolist(),
            repeat(0, count) if timestamps is None else np.maximum(timestamps, 0).tolist(),
            repeat(None, count) if headers is None else self._header_lists(headers),
            strict=True,
        )
        for row, (topic, value, key, partition, timestamp, row_headers) in enumerate(rows):
            while True:
                try:
                    self._client.producer.produce(
                        topic, value, key, partition, timestamp=timestamp, headers=row_headers
                    )
                    break
                except BufferError:  # the queue is full
                    self._poll(_QUEUE_FULL_SECONDS)
                except ValueError:  # a NUL
                    self._raise_rejected(KafkaError.TOPIC_EXCEPTION, topic, row)
                except KafkaException as e:
                    self._raise_rejected(e.args[0].code(), topic, row)
        self._poll(0)
        self.sent += count
        self.sent_bytes += sum(_size(column) for column in (values, keys) if column is not None)

    def _header_lists(self, column: pa.ListArray | pa.MapArray) -> list[list[Header] | None]:
        """Return the headers of each row; None for a row without headers. Headers without a name are omitted."""
        lists, names, values = flatten_headers(column, len(column))
        names = names.cast(pa.string())
        if pc.any(pc.match_substring(names, "\0")).as_py():
            raise RecordRejectedError(
                f"{self._label}the name of a header has a NUL character, which librdkafka's Python client does not "
                "support. Write another name."
            )
        start, end = int(lists[0]), int(lists[-1])
        names, contents = names[start:end].to_pylist(), values[start:end].to_pylist()
        headers = list(zip(names, contents, strict=True))
        bounds = (lists - start).tolist()
        return [
            [header for header in headers[first:last] if header[0] is not None] or None
            for first, last in pairwise(bounds)
        ]

    def _raise_rejected(self, code: int, topic: str | None, row: int) -> None:
        """Raise the error for a row that was rejected, or for one before it that was not acknowledged."""
        self._poll(0)
        code, reason = self._root_cause(code)
        where = f"{self._label}topic '{topic}', row {self.sent + row} of the task"
        raise delivery_error(code, where, f"Client: {self._client.errors.causes()}.", reason, topic=topic)

    def partition_count(self, topic: str) -> int:
        """Return the number of partitions of a topic; requested from the cluster once.

        Raises:
            BrokerError: the topic does not exist, the user may not see it, or no broker responded in time.
        """
        if topic not in self._partitions:
            self._partitions[topic] = self._request_partition_count(topic)
        return self._partitions[topic]

    def _request_partition_count(self, topic: str) -> int:
        retries = Retries(ApiKey.METADATA.title, "", lambda: self._limit)
        while True:
            try:
                metadata = self._client.producer.list_topics(topic, _METADATA_SECONDS).topics[topic]
                error = metadata.error
            except KafkaException as e:
                error = e.args[0]
            if error is None:
                return len(metadata.partitions)
            self._poll(0)
            if error.code() not in UNREACHABLE or retries.remaining() <= 0:
                details = f"Client: {self._client.errors.causes()}."
                if error.code() in UNREACHABLE:
                    details += f" 'properties.{self._limit.option}' sets how long to retry."
                raise delivery_error(error.code(), f"{self._label}topic '{topic}'", details, topic=topic)
            retries.pause(str(error))

    def close(self) -> None:
        """Drop queued records; the client stays open."""
        self._client.purge()

    def flush(self) -> None:
        """Wait until every record queued so far is acknowledged.

        Raises:
            BrokerError: a record was not acknowledged.
        """
        started = time.monotonic()
        # ends: every record succeeds or fails within delivery.timeout.ms
        while not self._client.flush(_FLUSH_SECONDS):
            self._raise_on_failure()
        self._raise_on_failure()
        self.send_time = (time.monotonic() - started) * 1000

    def _poll(self, seconds: float) -> None:
        self._client.poll(seconds)
        self._raise_on_failure()

    def _raise_on_failure(self) -> None:
        self._client.errors.raise_if_rejected()
        if self._client.failures:
            code, topic, partition = self._client.failures[0]
            code, reason = self._root_cause(code)
            details = (
                f"Records not acknowledged so far: {len(self._client.failures)}. The rows of this task do not count as "
                f"written. Client: {self._client.errors.causes()}."
            )
            where = f"{self._label}topic '{topic}'" if partition is None else f"{self._label}{topic}[{partition}]"
            raise delivery_error(code, where, details, reason, topic=topic, partition=partition)

    def _root_cause(self, code: int) -> tuple[int, str | None]:
        """Return the error that ended the client or its transaction, with its message; ``code`` if neither failed."""
        fatal = self._client.fatal_error() if code == KafkaError._FATAL else self._client.errors.fatal
        if fatal is not None:
            return fatal.code(), fatal.str()
        if code in _PURGED:
            # a failed transaction purges its records; an attempt to begin another one returns the cause
            try:
                self._client.producer.begin_transaction()
            except KafkaException as e:
                cause = e.args[0]
                if cause.code() not in _NO_FAILED_TRANSACTION:
                    return cause.code(), cause.str()
        return code, None


def _size(column: pa.BinaryArray) -> int:
    size: Any = pc.sum(pc.binary_length(column)).as_py()
    return size or 0
