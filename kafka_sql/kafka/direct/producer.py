"""Write columns of records to a topic, with the interface of ``kafka_sql.kafka.librdkafka.producer.Producer``."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from confluent_kafka import KafkaError

from kafka_sql.errors import BrokerError
from kafka_sql.kafka.binary_columns import ColumnView, column_view, null_column
from kafka_sql.kafka.client_cache import ClientCache
from kafka_sql.kafka.delivery_errors import delivery_error
from kafka_sql.kafka.direct.accumulator import RecordAccumulator
from kafka_sql.kafka.direct.batch import next_sequence
from kafka_sql.kafka.direct.produce_kernels import max_record_size, pack, partition_by_key
from kafka_sql.kafka.direct.producer_state import ProducerState, open_producer_state
from kafka_sql.kafka.direct.sender import Sender
from kafka_sql.kafka.error_codes import ErrorCode
from kafka_sql.kafka.protocol.transaction_admin import TransactionHint

_MAX_MEMORY: Final = 1 << 25  # bytes of all open batches of a topic with many partitions
_MIN_BATCH: Final = 1 << 14  # bytes


class DirectProducer:
    """An open producer of one topic.

    Attributes:
        sent: rows accepted so far.
        sent_bytes: bytes of their keys and values.
        send_time: milliseconds that the last flush waited for acknowledgements.
    """

    def __init__(self, state: ProducerState, topic: str, table: str | None) -> None:
        """Request the topic's partitions.

        Args:
            table: the table's name, for error messages.

        Raises:
            BrokerError: the topic does not exist, the user may not write to it, or no broker responded in time.
        """
        self.topic = topic
        self._label = f"Table '{table}': " if table else ""
        self._state = state
        self._sender = Sender(state, topic, self._label)
        config, count = state.config, len(self._sender.metadata.leaders)
        self._partition_count = count  # the next producer sees partitions that are added later
        self._max_record = int(config["message.max.bytes"])
        size = min(int(config["batch.size"]), self._max_record)
        self._accumulator = RecordAccumulator(count, min(size, max(_MAX_MEMORY // count, _MIN_BATCH)))
        self._next_sticky = random.randrange(count)
        self.sent = self.sent_bytes = 0
        self.send_time = 0.0

    @property
    def errors(self) -> int:
        """How often a broker was unreachable or returned a retriable error; most retries succeed."""
        return self._sender.errors

    @property
    def hint(self) -> TransactionHint:
        """Facts about the transaction for the client that ends it."""
        return TransactionHint(self._state.coordinator(), self._sender.first_record)

    def partition_count(self, topic: str) -> int:
        """Return the number of the topic's partitions."""
        assert topic == self.topic
        return self._partition_count

    def produce(
        self,
        values: pa.BinaryArray,
        keys: pa.BinaryArray | None = None,
        partitions: npt.NDArray[np.int32] | None = None,
    ) -> None:
        """Append records to batches and send full batches. Waits while the maximum number of requests is in flight.

        Args:
            values: payloads; null for a tombstone.
            keys: one per value; None for records without keys.
            partitions: one per value; -1 or None to choose by key as the Java client does. Records without a key go to
                one partition until its batch is full, then to another.

        Raises:
            DeliveryError: a record was rejected, or an earlier one was not acknowledged; or another error of
                ``delivery_errors``.
        """
        count = len(values)
        rows = column_view(values), column_view(keys) if keys is not None else null_column(count)
        chosen = self._choose_partitions(count, rows[1] if keys is not None else None, partitions)
        is_free = chosen < 0
        any_free = bool(is_free.any())
        row = 0
        while True:
            if any_free:
                chosen[row:][is_free[row:]] = self._sticky_partition()
            row = pack(self._accumulator.cursors, *rows, chosen, row)
            if row == count:
                break
            self._open_batch(int(chosen[row]), rows, row, bool(is_free[row]))
        self._state.add_partitions_async(self.topic, self._accumulator.partitions_with_records())
        self.sent += count
        self.sent_bytes += sum(int(part[0][-1] - part[0][0]) for part in rows)

    def flush(self) -> None:
        """Return when every record is acknowledged.

        Raises:
            BrokerError: a record was rejected or not acknowledged in time.
        """
        began = time.monotonic()
        if partitions := self._accumulator.partitions_with_records():  # without records, no transaction begins
            self._send(partitions)
        self._sender.flush()
        self.send_time = (time.monotonic() - began) * 1000

    def _choose_partitions(
        self, count: int, keys: ColumnView | None, partitions: npt.NDArray[np.int32] | None
    ) -> npt.NDArray[np.int32]:
        """Return the partition of each row; -1 for any."""
        total = self._partition_count
        chosen = np.full(count, -1, np.int32) if partitions is None else partitions.astype(np.int32)
        if partitions is not None and count and not -1 <= chosen.min() <= chosen.max() < total:
            row = int(np.flatnonzero((chosen < -1) | (chosen >= total))[0])
            raise self._row_error(KafkaError._UNKNOWN_PARTITION, row)
        if keys is not None:
            partition_by_key(chosen, keys, total)
        return chosen

    def _sticky_partition(self) -> int:
        """Return the partition for records that may go to any: one with a leader, the same until its batch is full."""
        for i in range(self._partition_count):
            partition = (self._next_sticky + i) % self._partition_count
            if self._sender.metadata.leader(partition) is not None:
                return partition
        return self._next_sticky % self._partition_count

    def _open_batch(self, partition: int, rows: tuple[ColumnView, ColumnView], row: int, is_free: bool) -> None:
        """Send the partition's batch, which has no space for the row, and open the next one.

        Args:
            is_free: whether the row may go to any partition.

        Raises:
            RecordTooLargeError: the row exceeds the maximum size of a record.
        """
        values, keys = ((int(part[0][row + 1] - part[0][row]) if part[2][row] else 0) for part in rows)
        if values + keys > self._max_record:
            raise self._row_error(ErrorCode.MESSAGE_TOO_LARGE, row)
        if self._accumulator.cursors[partition].any():
            self._next_sticky = partition + 1
            next_partition = self._sticky_partition() if is_free else partition  # of this row
            self._state.add_partitions_async(self.topic, {*self._accumulator.partitions_with_records(), next_partition})
            self._send([partition])
        self._accumulator.open(partition, max_record_size(keys, values))

    def _send(self, partitions: list[int]) -> None:
        state, batches = self._state, []
        state.add_partitions(self.topic, partitions)
        for partition in partitions:
            sequence = state.sequences.get((self.topic, partition), 0)
            batches.append(self._accumulator.close(partition, state.producer_id_and_epoch(), sequence))
            state.sequences[self.topic, partition] = next_sequence(sequence, batches[-1].records)
        self._sender.send(batches)

    def _row_error(self, code: int, row: int) -> BrokerError:
        where = f"{self._label}topic '{self.topic}', row {self.sent + row} of the task"
        return delivery_error(code, where, "")


@contextmanager
def cached_direct_producer(config: Mapping[str, str], topic: str, table: str | None = None) -> Iterator[DirectProducer]:
    """Yield a producer whose id and connections are cached per process.

    Args:
        config: librdkafka's configuration, for which ``eligibility.can_write`` is true.
        table: the table's name, for error messages.
    """
    with _CACHE.lease(config) as state:
        yield DirectProducer(state, topic, table)


_CACHE: Final = ClientCache(open_producer_state)
