"""Columns of records into topics; returns when the brokers have acknowledged them."""

from __future__ import annotations

import ctypes
import time
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka_sql.kafka.delivery_errors import delivery_error
from kafka_sql.kafka.librdkafka import bindings
from kafka_sql.kafka.librdkafka.client import Handle
from kafka_sql.kafka.librdkafka.produce_columns import column, frozen, header_columns, nothing
from kafka_sql.kafka.librdkafka.produce_kernels import Column, fill_messages, first_refused, produce_rows

_FLUSH_MS: Final = 100
_FULL_MS: Final = 5  # no report tells of room in the queue, as acknowledged records have none
_PURGE_ALL: Final = 3  # what is queued and what is in flight; after a flush there is nothing
_PURGED: Final = (-151, -152)  # in flight, in the queue
_NO_CAUSE: Final = (-145, -172)  # the client has no transactions, or its transaction has not failed
_NO_PARTITIONS: Final = frozen(np.zeros(0, np.int32))
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
    """The units of a record with all that is the same for each: copy the bytes."""
    units = np.zeros(len(bindings.UNITS), bindings.UNIT)
    units["tag"] = bindings.UNITS
    # an int32 in a union: the low half of the word (every platform of librdkafka's wheels is little-endian)
    units["first"][bindings.UNITS.index(bindings.FLAGS)] = bindings.COPY
    return units.view(np.uint8).reshape(-1)


_UNITS: Final = _units()


@dataclass
class Producer:
    """An open producer. Made by ``producers``.

    Attributes:
        topic: where records without a topic of their own go.
        sent: rows handed over so far.
        sent_bytes: bytes of their keys and values.
        send_time: how long the last records took to be acknowledged by the last flush, in milliseconds.
    """

    topic: str | None
    _label: str
    _patience: float  # seconds
    _handle: Handle
    _failures: list[tuple[int, str]]  # code and place of each record that was not acknowledged
    _topics: dict[str, int] = field(default_factory=dict)  # rd_kafka_topic_t* by name
    _partitions: dict[str, int] = field(default_factory=dict)
    sent: int = 0
    sent_bytes: int = 0
    send_time: float = 0

    @property
    def errors(self) -> int:
        """How often the client reported an error of its brokers, most of which it mends by itself."""
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
        """Queue records; waits while the queue is full, so memory stays bounded.

        Args:
            values: payloads; null makes a tombstone.
            keys: as many; None for records without a key.
            timestamps: int64 milliseconds since 1970, 0 for now.
            headers: lists of structs or maps of a name and a value, both texts or binary; null is none.
            topics: each record's topic, none of them null; None for the producer's own.
            partitions: each record's partition, -1 or None for the client's choice: by key, or sticky without one.

        Raises:
            DeliveryError: a record was refused, or one queued before was not acknowledged; or another BrokerError
                of ``delivery``.
        """
        count = len(values)
        if not count:
            return
        chosen = frozen(partitions) if partitions is not None else _NO_PARTITIONS
        rows = column(values), column(keys) if keys is not None else nothing(count)
        if timestamps is None and headers is None and topics is None:
            self._produce_batch(count, rows, chosen)
        else:
            self._produce_each(count, rows, chosen, timestamps, headers, topics)
        self.sent += count
        self.sent_bytes += sum(int(part[0][-1] - part[0][0]) for part in rows)

    def _produce_batch(self, count: int, rows: tuple[Column, Column], partitions: npt.NDArray[np.int32]) -> None:
        """All rows by one call, which knows neither headers nor timestamps."""
        assert self.topic is not None
        messages = np.empty(count * bindings.MESSAGE.itemsize, np.uint8)
        fill_messages(messages, *rows, partitions)
        topic = self.handle_of(self.topic)
        flags = bindings.COPY | (bindings.OWN_PARTITIONS if len(partitions) else 0)
        row, code = 0, 0
        while True:
            at = messages.ctypes.data + row * bindings.MESSAGE.itemsize
            bindings.produce_batch(topic, bindings.ANY_PARTITION, flags, at, count - row)
            row = first_refused(messages, row, count)
            if row == count:
                break
            # after a full queue all further rows are refused, so nothing overtakes
            code = int(messages.view(bindings.MESSAGE)["err"][row])
            self._wait_or_raise(code, self.topic, row)
        self._poll(0)

    def _produce_each(
        self,
        count: int,
        rows: tuple[Column, Column],
        partitions: npt.NDArray[np.int32],
        timestamps: npt.NDArray[np.int64] | None,
        headers: pa.ListArray | pa.MapArray | None,
        topics: pa.StringArray | None,
    ) -> None:
        # names and values stay here: the loop gets no more than their addresses
        lists, names, contents = header_columns(headers, count)
        times = timestamps if timestamps is not None else np.zeros(count, np.int64)
        columns = (
            frozen(self._targets(topics, count)),
            partitions,
            *rows,
            frozen(times),
            (frozen(lists), column(names), column(contents)),
        )
        calls = np.array([self._handle.pointer, *_FUNCTIONS], np.int64)
        row = 0
        while row < count:
            row, code = produce_rows(calls, _UNITS, row, count, *columns)
            if code:
                self._wait_or_raise(code, self.topic if topics is None else topics[row].as_py(), row)
        self._poll(0)

    def _wait_or_raise(self, code: int, topic: str | None, row: int) -> None:
        """Wait for room where the queue is full.

        Raises:
            BrokerError: the row was refused for another reason, or one before it was not acknowledged.
        """
        self._poll(_FULL_MS)
        if code != bindings.QUEUE_FULL:
            code, words = self._cause(code)
            where = f"{self._label}topic '{topic}', row {self.sent + row} of the task"
            raise delivery_error(code, where, f"Client: {self._handle.causes()}.", words)

    def _targets(self, topics: pa.StringArray | None, count: int) -> npt.NDArray[np.int64]:
        """Each row's topic as librdkafka's handle."""
        if topics is None:
            assert self.topic is not None
            return np.full(count, self.handle_of(self.topic), np.int64)
        names = pc.dictionary_encode(topics)
        handles = np.array([self.handle_of(name) for name in names.dictionary.to_pylist()], np.int64)
        targets: npt.NDArray[np.int64] = handles[np.asarray(names.indices)]
        return targets

    def handle_of(self, name: str) -> int:
        """A topic as librdkafka's ``rd_kafka_topic_t*``, until the producer is closed."""
        if name not in self._topics:
            self._topics[name] = bindings.topic_new(self._handle.pointer, name.encode(), None)
        return self._topics[name]

    def partitions(self, topic: str) -> int:
        """How many partitions a topic has; asked of the cluster once.

        Raises:
            BrokerError: it does not exist, may not be seen, or no broker answered in time.
        """
        if topic not in self._partitions:
            answer = ctypes.c_void_p()
            wait = int(self._patience * 1000)
            code = bindings.cluster_metadata(self._handle.pointer, 0, self.handle_of(topic), ctypes.byref(answer), wait)
            count = 0
            if not code:
                found = ctypes.cast(answer, ctypes.POINTER(bindings.Metadata)).contents.topics[0]
                code, count = found.err, found.partition_count
                bindings.cluster_metadata_destroy(answer)
            if code:
                self._poll(0)
                raise delivery_error(code, f"{self._label}topic '{topic}'", f"Client: {self._handle.causes()}.")
            self._partitions[topic] = count
        return self._partitions[topic]

    def close(self) -> None:
        """Drop what is still queued, and what is the producer's own of its client."""
        bindings.purge(self._handle.pointer, _PURGE_ALL)
        for handle in self._topics.values():
            bindings.topic_destroy(handle)

    def flush(self) -> None:
        """Return when every record queued so far is acknowledged.

        Raises:
            BrokerError: one was not.
        """
        began = time.monotonic()
        # an idempotent producer ends every record within delivery.timeout.ms, so this ends too
        while bindings.flush(self._handle.pointer, _FLUSH_MS) == bindings.TIMED_OUT:
            self._check()
        self._check()
        self.send_time = (time.monotonic() - began) * 1000

    def _poll(self, milliseconds: int) -> None:
        bindings.poll(self._handle.pointer, milliseconds)
        self._check()

    def _check(self) -> None:
        self._handle.check()
        if self._failures:
            code, place = self._failures[0]
            code, words = self._cause(code)
            more = (
                f"Records not acknowledged so far: {len(self._failures)}. The rows of this task do not count as "
                f"written. Client: {self._handle.causes()}."
            )
            raise delivery_error(code, f"{self._label}{place}", more, words)

    def _cause(self, code: int) -> tuple[int, str | None]:
        """The code and the words of the error that ended the whole client or its transaction, if it is one of those."""
        words = ctypes.create_string_buffer(512)
        fatal = bindings.fatal_error(self._handle.pointer, words, len(words))
        if fatal:
            return fatal, words.value.decode(errors="replace")
        if code in _PURGED and (error := bindings.begin_transaction(self._handle.pointer)):
            # a transaction that has failed drops its records, and tells why when one more is to begin
            found, said = bindings.error_code(error), bindings.error_string(error).decode(errors="replace")
            bindings.error_destroy(error)
            if found not in _NO_CAUSE:
                return found, said
        return code, None
