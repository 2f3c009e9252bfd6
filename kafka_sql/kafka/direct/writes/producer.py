"""Write columns of records to topics, with the interface of ``kafka_sql.kafka.librdkafka.producer.Producer``."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from confluent_kafka import KafkaError

from kafka_sql.errors import BrokerError
from kafka_sql.kafka.client_cache import ClientCache
from kafka_sql.kafka.columns import ColumnView
from kafka_sql.kafka.delivery_errors import delivery_error
from kafka_sql.kafka.direct.compression import compression_settings
from kafka_sql.kafka.direct.writes.accumulator import RecordAccumulator
from kafka_sql.kafka.direct.writes.produced_rows import (
    PartitionAssignment,
    ProducedColumns,
    ProducerTopic,
    UnknownPartitionError,
    assign_partitions,
    produced_columns,
)
from kafka_sql.kafka.direct.writes.producer_state import ProducerState, open_producer_state
from kafka_sql.kafka.direct.writes.sender import Sender
from kafka_sql.kafka.error_codes import ErrorCode
from kafka_sql.kafka.protocol.transaction_admin import TransactionHint

_MIN_INTERVAL: Final = 0.01  # seconds
_MAX_OPEN_BATCHES: Final = 1 << 25  # bytes of all open batches, at most half of the producer's buffer


class DirectProducer:
    """An open producer.

    A thread sends batches that are open for ``linger.ms``, and handles responses, while the task computes rows.

    Attributes:
        topic: the topic of records that do not name one.
        sent: rows accepted so far.
        sent_bytes: bytes of their keys and values.
        send_time: milliseconds that the last flush waited for acknowledgements.
    """

    def __init__(self, state: ProducerState, topic: str | None, table: str | None) -> None:
        """Request the topic's partitions.

        Args:
            topic: None if each record names its topic.
        """
        self.topic = topic
        self._label = f"Table '{table}': " if table else ""
        self._state = state
        self._sender = Sender(state, self._label)
        config = state.config
        self._max_record = int(config["message.max.bytes"])
        self._accumulator = RecordAccumulator(
            min(int(config["batch.size"]), self._max_record),
            min(_MAX_OPEN_BATCHES, int(config["queue.buffering.max.kbytes"]) * 1024 // 2),
            compression_settings(config),
        )
        self._linger = float(config["linger.ms"]) / 1000
        self._topics = dict[str, ProducerTopic]()
        self._lock, self._closed = threading.Lock(), threading.Event()
        self._thread: threading.Thread | None = None
        self._failure: Exception | None = None
        self.sent = self.sent_bytes = 0
        self.send_time = 0.0
        if topic is not None:
            self._open_topic(topic)

    @property
    def errors(self) -> int:
        """How often a broker was unreachable or returned a retriable error; most retries succeed."""
        return self._sender.errors

    @property
    def hint(self) -> TransactionHint:
        """Facts about the transaction for the client that ends it."""
        transaction = self._state.transaction
        return TransactionHint(transaction.coordinator() if transaction else None, self._sender.first_record)

    def partition_count(self, topic: str) -> int:
        """Return the number of a topic's partitions.

        Raises:
            BrokerError: the topic does not exist, the user may not write to it, or no broker responded in time.
        """
        with self._lock:
            return self._open_topic(topic).partitions

    def produce(
        self,
        values: pa.BinaryArray,
        keys: pa.BinaryArray | None = None,
        timestamps: npt.NDArray[np.int64] | None = None,
        headers: pa.ListArray | pa.MapArray | None = None,
        topics: pa.StringArray | None = None,
        partitions: npt.NDArray[np.int32] | None = None,
    ) -> None:
        """Append records to batches and send full batches. Waits while too many bytes are not acknowledged.

        Args:
            values: payloads; null for a tombstone.
            keys: one per value; None for records without keys.
            timestamps: int64 milliseconds since 1970; negative or None for now.
            headers: lists of structs, or maps, of a name and a value, both strings or binary; null for no headers.
            topics: each record's topic, without nulls; None for the producer's topic.
            partitions: one per value; -1 or None to choose by key as the Java client does. Records without a key go to
                one partition until its batch is full, then to another.

        Raises:
            DeliveryError: a record was rejected, or an earlier one was not acknowledged; or another error of
                ``delivery_errors``.
        """
        count = len(values)
        if not count:
            return
        with self._lock:
            self._raise_failure()
            columns = produced_columns(values, keys, timestamps, headers)
            assignment = self._assign(columns.keys, topics, partitions)
            row = 0
            while (row := columns.append(self._accumulator.cursors, assignment.indices, row)) < count:
                self._make_space(columns, assignment, row)
            self._announce()
            self._send_lingering()
            self.sent += count
            self.sent_bytes += columns.payload_bytes
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="kafka_sql-sender", daemon=True)
            self._thread.start()

    def flush(self) -> None:
        """Send all open batches, and wait until every record is acknowledged.

        Raises:
            BrokerError: a record was rejected or not acknowledged in time.
        """
        began = time.monotonic()
        with self._lock:
            self._raise_failure()
            self._send(self._accumulator.indices_with_records())
            self._sender.flush()
        self.send_time = (time.monotonic() - began) * 1000

    def close(self) -> None:
        """Stop the thread. Records that are not acknowledged are dropped."""
        self._closed.set()
        if self._thread is not None:
            self._thread.join()
        self._sender.close()

    def _run(self) -> None:
        while self._failure is None and not self._closed.wait(max(self._linger, _MIN_INTERVAL)):
            with self._lock:
                if self._closed.is_set():
                    return
                try:
                    self._send_lingering()
                    self._sender.poll()
                except Exception as e:  # noqa: BLE001  # the next call raises it
                    self._failure = e

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _announce(self) -> None:
        """Announce the open batches to the transaction's coordinator, which responds while rows are computed."""
        if self._state.transaction is not None:
            for topic, partitions in self._accumulator.open_partitions().items():
                self._state.transaction.add_partitions_async(topic, partitions)

    def _send_lingering(self) -> None:
        self._send(self._accumulator.indices_created_before(time.monotonic() - self._linger))

    def _open_topic(self, name: str) -> ProducerTopic:
        """Return a topic. Partitions that are added after the first call are used by the next producer."""
        if name not in self._topics:
            count = self._sender.partition_count(name)
            first_index = self._accumulator.add_topic(name, count)
            self._topics[name] = ProducerTopic(name, count, first_index, partial(self._has_leader, name))
        return self._topics[name]

    def _has_leader(self, topic: str, partition: int) -> bool:
        return self._sender.leader(topic, partition) is not None

    def _assign(
        self, keys: ColumnView, topics: pa.StringArray | None, partitions: npt.NDArray[np.int32] | None
    ) -> PartitionAssignment:
        topic_indices = None
        if topics is None:
            assert self.topic is not None
            row_topics = [self._open_topic(self.topic)]
        else:
            encoded = pc.dictionary_encode(topics)
            row_topics, topic_indices = list(map(self._open_topic, encoded.dictionary.to_pylist())), encoded.indices
        try:
            return assign_partitions(
                row_topics, None if topic_indices is None else np.asarray(topic_indices), keys, partitions
            )
        except UnknownPartitionError as e:
            raise self._row_error(KafkaError._UNKNOWN_PARTITION, e.topic.name, e.row) from None

    def _make_space(self, columns: ProducedColumns, assignment: PartitionAssignment, row: int) -> None:
        topic = assignment.topic_of(row)
        payload, record_size = columns.record_sizes(row)
        if payload > self._max_record:
            raise self._row_error(ErrorCode.MESSAGE_TOO_LARGE, topic.name, row)
        index = int(assignment.indices[row])
        if not self._accumulator.reserve(index, record_size):
            if assignment.is_free[row]:
                topic.advance_sticky()
                assignment.assign_free_rows(topic, row)
            self._announce()
            self._send([index])
        elif self._accumulator.is_full():
            self._send(self._accumulator.indices_with_records())

    def _send(self, indices: list[int]) -> None:
        """Close and send open batches. Without any, no transaction begins."""
        if indices:
            self._sender.send([self._accumulator.close(index) for index in indices])

    def _row_error(self, code: int, topic: str, row: int) -> BrokerError:
        where = f"{self._label}topic '{topic}', row {self.sent + row} of the task"
        return delivery_error(code, where, "", topic=topic)


@contextmanager
def cached_direct_producer(
    config: Mapping[str, str], topic: str | None = None, table: str | None = None
) -> Iterator[DirectProducer]:
    """Yield a producer whose id and connections are cached per process.

    Args:
        config: librdkafka's configuration, for which ``eligibility.find_write_obstacle`` returns None.
    """
    with _CACHE.lease(config) as state, closing(DirectProducer(state, topic, table)) as producer:
        yield producer


_CACHE: Final = ClientCache(open_producer_state)
