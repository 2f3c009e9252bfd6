"""Produce columns of records with librdkafka."""

from __future__ import annotations

import ctypes
import time
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka_sql.kafka import bindings
from kafka_sql.kafka.binary_columns import ColumnView, column_view, null_column, read_only
from kafka_sql.kafka.delivery_errors import delivery_error
from kafka_sql.kafka.headers import flatten_headers
from kafka_sql.kafka.librdkafka.client import Handle
from kafka_sql.kafka.librdkafka.produce_kernels import fill_messages, first_rejected, produce_rows

_FLUSH_MS: Final = 100
_QUEUE_FULL_MS: Final = 5  # only failures are reported, so nothing signals free space in the queue
_PURGE_ALL: Final = 3  # queued and in-flight records; after a flush there are none
_PURGED: Final = (-151, -152)  # in flight, in the queue
_NO_FAILED_TRANSACTION: Final = (-145, -172)  # the client has no transactions, or its transaction has not failed
_NO_PARTITIONS: Final = read_only(np.zeros(0, np.int32))
_FUNCTIONS: Final = tuple(
    map(
        bindings.address,
        (
            bindings.produceva,
            bindings.error_code,
            bindings.error_destroy,
            bindings.headers_new,
            bindings.header_add,
            bindings.headers_destroy,
        ),
    )
)


def _units() -> npt.NDArray[np.uint8]:
    """Return the units of a record, with what is the same for all records filled in: librdkafka copies the bytes."""
    units = np.zeros(len(bindings.UNITS), bindings.UNIT)
    units["tag"] = bindings.UNITS
    # an int32 in a union: the low half of the word (every platform of librdkafka's wheels is little-endian)
    units["first"][bindings.UNITS.index(bindings.FLAGS)] = bindings.COPY
    return units.view(np.uint8).reshape(-1)


_UNITS: Final = _units()


@dataclass
class Producer:
    """An open producer; see ``producer_clients``.

    Attributes:
        topic: the topic of records that do not name one.
        sent: rows queued so far.
        sent_bytes: bytes of their keys and values.
        send_time: milliseconds that the last flush waited for acknowledgements.
    """

    topic: str | None
    _label: str
    _connect_timeout: float  # seconds
    _handle: Handle
    _failures: list[tuple[int, str]]  # error code and topic partition of each record that was not acknowledged
    _topics: dict[str, int] = field(default_factory=dict)  # rd_kafka_topic_t* by name
    _partitions: dict[str, int] = field(default_factory=dict)
    sent: int = 0
    sent_bytes: int = 0
    send_time: float = 0

    @property
    def errors(self) -> int:
        """How many broker errors the client reported. It recovers from most of them by itself."""
        return self._handle.error_count

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
            values: payloads; null for a tombstone.
            keys: one per value; None for records without keys.
            timestamps: int64 milliseconds since 1970, 0 for now.
            headers: lists of structs, or maps, of a name and a value, both strings or binary; null for no headers.
            topics: each record's topic, without nulls; None for the producer's topic.
            partitions: each record's partition; -1 or None for the client's choice: by key, or sticky without a key.

        Raises:
            DeliveryError: a record was rejected, or one queued before was not acknowledged; or another BrokerError
                of ``delivery_errors``.
        """
        count = len(values)
        if not count:
            return
        row_partitions = read_only(partitions) if partitions is not None else _NO_PARTITIONS
        rows = column_view(values), column_view(keys) if keys is not None else null_column(count)
        if timestamps is None and headers is None and topics is None:
            self._produce_batch(count, rows, row_partitions)
        else:
            self._produce_each(count, rows, row_partitions, timestamps, headers, topics)
        self.sent += count
        self.sent_bytes += sum(int(part[0][-1] - part[0][0]) for part in rows)

    def _produce_batch(
        self, count: int, rows: tuple[ColumnView, ColumnView], partitions: npt.NDArray[np.int32]
    ) -> None:
        """Queue all rows with one call, which supports neither headers nor timestamps."""
        assert self.topic is not None
        messages = np.empty(count * bindings.MESSAGE.itemsize, np.uint8)
        fill_messages(messages, *rows, partitions)
        topic = self.topic_handle(self.topic)
        flags = bindings.COPY | (bindings.OWN_PARTITIONS if len(partitions) else 0)
        row, code = 0, 0
        while True:
            address = messages.ctypes.data + row * bindings.MESSAGE.itemsize
            bindings.produce_batch(topic, bindings.ANY_PARTITION, flags, address, count - row)
            row = first_rejected(messages, row, count)
            if row == count:
                break
            # once the queue is full, all further rows are rejected, so the order is kept
            code = int(messages.view(bindings.MESSAGE)["err"][row])
            self._wait_or_raise(code, self.topic, row)
        self._poll(0)

    def _produce_each(
        self,
        count: int,
        rows: tuple[ColumnView, ColumnView],
        partitions: npt.NDArray[np.int32],
        timestamps: npt.NDArray[np.int64] | None,
        headers: pa.ListArray | pa.MapArray | None,
        topics: pa.StringArray | None,
    ) -> None:
        # these references keep the buffers alive: the loop only gets their addresses
        lists, names, contents = flatten_headers(headers, count)
        times = timestamps if timestamps is not None else np.zeros(count, np.int64)
        columns = (
            read_only(self._topic_handles(topics, count)),
            partitions,
            *rows,
            read_only(times),
            (read_only(lists), column_view(names), column_view(contents)),
        )
        calls = np.array([self._handle.pointer, *_FUNCTIONS], np.int64)
        row = 0
        while row < count:
            row, code = produce_rows(calls, _UNITS, row, count, *columns)
            if code:
                self._wait_or_raise(code, self.topic if topics is None else topics[row].as_py(), row)
        self._poll(0)

    def _wait_or_raise(self, code: int, topic: str | None, row: int) -> None:
        """Wait for free space if the queue is full.

        Raises:
            BrokerError: the row was rejected for another reason, or one before it was not acknowledged.
        """
        self._poll(_QUEUE_FULL_MS)
        if code != bindings.QUEUE_FULL:
            code, reason = self._root_cause(code)
            where = f"{self._label}topic '{topic}', row {self.sent + row} of the task"
            raise delivery_error(code, where, f"Client: {self._handle.causes()}.", reason)

    def _topic_handles(self, topics: pa.StringArray | None, count: int) -> npt.NDArray[np.int64]:
        """Return each row's topic handle."""
        if topics is None:
            assert self.topic is not None
            return np.full(count, self.topic_handle(self.topic), np.int64)
        names = pc.dictionary_encode(topics)
        handles = np.array([self.topic_handle(name) for name in names.dictionary.to_pylist()], np.int64)
        per_row: npt.NDArray[np.int64] = handles[np.asarray(names.indices)]
        return per_row

    def topic_handle(self, name: str) -> int:
        """Return a topic's ``rd_kafka_topic_t*``, valid until the producer is closed."""
        if name not in self._topics:
            self._topics[name] = bindings.topic_new(self._handle.pointer, name.encode(), None)
        return self._topics[name]

    def partition_count(self, topic: str) -> int:
        """Return the number of partitions of a topic; requested from the cluster once.

        Raises:
            BrokerError: the topic does not exist, the user may not see it, or no broker responded in time.
        """
        if topic not in self._partitions:
            response = ctypes.c_void_p()
            milliseconds = int(self._connect_timeout * 1000)
            code = bindings.cluster_metadata(
                self._handle.pointer, 0, self.topic_handle(topic), ctypes.byref(response), milliseconds
            )
            count = 0
            if not code:
                metadata = ctypes.cast(response, ctypes.POINTER(bindings.Metadata)).contents.topics[0]
                code, count = metadata.err, metadata.partition_count
                bindings.cluster_metadata_destroy(response)
            if code:
                self._poll(0)
                raise delivery_error(code, f"{self._label}topic '{topic}'", f"Client: {self._handle.causes()}.")
            self._partitions[topic] = count
        return self._partitions[topic]

    def close(self) -> None:
        """Drop queued records and release the topic handles; the client stays open."""
        bindings.purge(self._handle.pointer, _PURGE_ALL)
        for handle in self._topics.values():
            bindings.topic_destroy(handle)

    def flush(self) -> None:
        """Wait until every record queued so far is acknowledged.

        Raises:
            BrokerError: a record was not acknowledged.
        """
        started = time.monotonic()
        # ends: every record succeeds or fails within delivery.timeout.ms
        while bindings.flush(self._handle.pointer, _FLUSH_MS) == bindings.TIMED_OUT:
            self._raise_on_failure()
        self._raise_on_failure()
        self.send_time = (time.monotonic() - started) * 1000

    def _poll(self, milliseconds: int) -> None:
        bindings.poll(self._handle.pointer, milliseconds)
        self._raise_on_failure()

    def _raise_on_failure(self) -> None:
        self._handle.raise_if_rejected()
        if self._failures:
            code, where = self._failures[0]
            code, reason = self._root_cause(code)
            details = (
                f"Records not acknowledged so far: {len(self._failures)}. The rows of this task do not count as "
                f"written. Client: {self._handle.causes()}."
            )
            raise delivery_error(code, f"{self._label}{where}", details, reason)

    def _root_cause(self, code: int) -> tuple[int, str | None]:
        """Return the error that ended the client or its transaction, with its message; ``code`` if neither failed."""
        message = ctypes.create_string_buffer(512)
        fatal = bindings.fatal_error(self._handle.pointer, message, len(message))
        if fatal:
            return fatal, message.value.decode(errors="replace")
        if code in _PURGED and (error := bindings.begin_transaction(self._handle.pointer)):
            # a failed transaction purges its records; an attempt to begin another one returns the cause
            cause, reason = bindings.error_code(error), bindings.error_string(error).decode(errors="replace")
            bindings.error_destroy(error)
            if cause not in _NO_FAILED_TRANSACTION:
                return cause, reason
        return code, None
