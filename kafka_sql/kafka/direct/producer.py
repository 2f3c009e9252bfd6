"""Columns of records into a topic, with the same calls as librdkafka's ``Producer`` has for them."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_sql.errors import BrokerError
from kafka_sql.kafka.client_cache import Kept
from kafka_sql.kafka.delivery_errors import delivery_error
from kafka_sql.kafka.direct.accumulator import OpenBatches
from kafka_sql.kafka.direct.batch import sequence_after
from kafka_sql.kafka.direct.produce_kernels import pack, partition_by_key, room
from kafka_sql.kafka.direct.producer_state import Session, open_session
from kafka_sql.kafka.direct.sender import Deliverer
from kafka_sql.kafka.librdkafka.produce_columns import column, nothing
from kafka_sql.kafka.librdkafka.produce_kernels import Column
from kafka_sql.kafka.protocol.transaction_admin import Hint

_MEMORY: Final = 1 << 25  # bytes of all open batches of a topic with many partitions
_LEAST: Final = 1 << 14  # and of each of them
_TOO_LARGE: Final = 10
_NO_PARTITION: Final = -190


class DirectProducer:
    """An open producer of one topic.

    Attributes:
        sent: rows handed over so far.
        sent_bytes: bytes of their keys and values.
        send_time: how long the last records took to be acknowledged by the last flush, in milliseconds.
    """

    def __init__(self, session: Session, topic: str, table: str | None) -> None:
        """
        Args:
            table: its name, for errors.

        Raises:
            BrokerError: the topic does not exist, may not be written to, or no broker answered in time.
        """
        self.topic = topic
        self._label = f"Table '{table}': " if table else ""
        self._session = session
        self._delivery = Deliverer(session, topic, self._label)
        config, count = session.config, len(self._delivery.leaders)
        self._count = count  # partitions that are added while this producer lives are the next one's
        self._largest = int(config["message.max.bytes"])
        size = min(int(config["batch.size"]), self._largest)
        self._batches = OpenBatches(count, min(size, max(_MEMORY // count, _LEAST)))
        self._next = random.randrange(count)
        self.sent = self.sent_bytes = 0
        self.send_time = 0.0

    @property
    def errors(self) -> int:
        """How often brokers were away or could not take a batch, most of which passed."""
        return self._delivery.errors

    @property
    def hint(self) -> Hint:
        """For whoever ends its transaction."""
        return Hint(self._session.coordinator(), self._delivery.first)

    def partitions(self, topic: str) -> int:
        """How many partitions the topic has."""
        assert topic == self.topic
        return self._count

    def produce(
        self,
        values: pa.BinaryArray,
        keys: pa.BinaryArray | None = None,
        partitions: npt.NDArray[np.int32] | None = None,
    ) -> None:
        """Put records into batches, and send those that are full; waits while much is on its way.

        Args:
            values: payloads; null makes a tombstone.
            keys: as many; None for records without a key.
            partitions: each record's, -1 or None for the choice by key, as Java's client has it; without a key one
                partition after another, a batch each.

        Raises:
            DeliveryError: a record was refused, or one before was not acknowledged; or another BrokerError of
                ``delivery``.
        """
        count = len(values)
        rows = column(values), column(keys) if keys is not None else nothing(count)
        chosen = self._chosen(count, rows[1] if keys is not None else None, partitions)
        free = chosen < 0
        some_free = bool(free.any())
        row = 0
        while True:
            if some_free:
                chosen[row:][free[row:]] = self._sticky()
            row = pack(self._batches.places, *rows, chosen, row)
            if row == count:
                break
            self._make_room(int(chosen[row]), rows, row, bool(free[row]))
        self._session.announce(self.topic, self._batches.filled())
        self.sent += count
        self.sent_bytes += sum(int(part[0][-1] - part[0][0]) for part in rows)

    def flush(self) -> None:
        """Return when every record is acknowledged.

        Raises:
            BrokerError: one was not.
        """
        began = time.monotonic()
        if filled := self._batches.filled():  # without one, nothing needs to begin
            self._send(filled)
        self._delivery.flush()
        self.send_time = (time.monotonic() - began) * 1000

    def _chosen(self, count: int, keys: Column | None, given: npt.NDArray[np.int32] | None) -> npt.NDArray[np.int32]:
        """Each row's partition, -1 for whichever."""
        total = self._count
        chosen = np.full(count, -1, np.int32) if given is None else given.astype(np.int32)
        if given is not None and count and not -1 <= chosen.min() <= chosen.max() < total:
            row = int(np.flatnonzero((chosen < -1) | (chosen >= total))[0])
            raise self._refused(_NO_PARTITION, row)
        if keys is not None:
            partition_by_key(chosen, keys, total)
        return chosen

    def _sticky(self) -> int:
        """The partition of records that may go to any: the same until its batch is full; one that has a leader."""
        for i in range(self._count):
            partition = (self._next + i) % self._count
            if self._delivery.leader(partition) is not None:
                return partition
        return self._next % self._count

    def _make_room(self, partition: int, rows: tuple[Column, Column], row: int, free: bool) -> None:
        """Send a partition's batch, which is full, if it has one, and open the next.

        Args:
            free: whether the row may go elsewhere.

        Raises:
            RecordTooLargeError: the row alone is larger than a record may be.
        """
        values, keys = ((int(part[0][row + 1] - part[0][row]) if part[2][row] else 0) for part in rows)
        if values + keys > self._largest:
            raise self._refused(_TOO_LARGE, row)
        if self._batches.places[partition].any():
            self._next = partition + 1
            where = self._sticky() if free else partition  # the row, for which there is no room here
            self._session.announce(self.topic, {*self._batches.filled(), where})
            self._send([partition])
        self._batches.begin(partition, room(keys, values))

    def _send(self, partitions: list[int]) -> None:
        session, closed = self._session, []
        session.enlist(self.topic, partitions)
        for partition in partitions:
            place = self.topic, partition
            sequence = session.sequences.get(place, 0)
            closed.append(self._batches.close(partition, session.sender(), sequence))
            session.sequences[place] = sequence_after(sequence, closed[-1].records)
        self._delivery.send(closed)

    def _refused(self, code: int, row: int) -> BrokerError:
        where = f"{self._label}topic '{self.topic}', row {self.sent + row} of the task"
        return delivery_error(code, where, "")


@contextmanager
def kept_direct_producer(config: Mapping[str, str], topic: str, table: str | None = None) -> Iterator[DirectProducer]:
    """A producer whose id and connections the process keeps.

    Args:
        config: librdkafka's, one that ``settings.writes`` takes.
        table: its name, for errors.
    """
    with _KEPT.use(config) as session:
        yield DirectProducer(session, topic, table)


_KEPT: Final = Kept(open_session)
