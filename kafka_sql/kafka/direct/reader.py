"""The plain way of reading: record batches from the leader of a partition, as columns.

What is not plain (a leader that has moved or does not answer, an offset that is gone, batches of an old layout) is left
to librdkafka, which goes on where this has ended: it has the patience, and the words for errors.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Final

import google_crc32c
import numpy as np
import numpy.typing as npt

from kafka_sql.errors import KafkaSqlError
from kafka_sql.kafka.client_cache import Kept
from kafka_sql.kafka.config.properties import SOCKET_TIMEOUT
from kafka_sql.kafka.direct import fetch_kernels as kernels
from kafka_sql.kafka.direct.batch import CHECKED, HEADER
from kafka_sql.kafka.direct.compression import decompressed
from kafka_sql.kafka.direct.eligibility import reads
from kafka_sql.kafka.librdkafka.binary_columns import binary
from kafka_sql.kafka.protocol import produce
from kafka_sql.kafka.protocol.codec import BrokenAnswer
from kafka_sql.kafka.protocol.connection import Address, Request
from kafka_sql.kafka.protocol.connection_pool import Brokers
from kafka_sql.kafka.protocol.errors import Passing
from kafka_sql.kafka.protocol.fetch import fetch, read_fetch
from kafka_sql.kafka.records import Records, Wanted
from kafka_sql.kafka.types import Split

_LOG = logging.getLogger("kafka_sql.kafka")

_SILENCE_MS: Final = 10_000  # then librdkafka tries, with patience
_AT_ONCE: Final = 4 << 20  # bytes of a response; the next one is on its way meanwhile
_WAIT_MS: Final = 10  # of a leader for records: those of a split are there already
_CHECKSUM: Final = np.arange(17, 21)  # where it stands in a batch
_NO_LEADER: Final = 5
_DECOMPRESSED: Final = 8 << 20  # bytes, about so many at once
_LARGEST: Final = 100_000_000  # bytes of a batch that is decompressed, where 'receive.message.max.bytes' says nothing


def read_plain(
    config: Mapping[str, str], split: Split, wanted: Wanted, rows: int, size: int
) -> Generator[Records, None, int]:
    """Read a split as far as that goes.

    Args:
        rows, size: of a run of records at most, the latter in bytes.

    Returns:
        the offset from which it is to be read on; at or behind the split's end where nothing is left.
    """
    position = split.start
    if wanted.headers or split.waits or not reads(config):
        return position
    silence = str(min(int(config[SOCKET_TIMEOUT]), _SILENCE_MS))
    try:
        with _KEPT.use({**config, SOCKET_TIMEOUT: silence}) as leaders:
            if split.topic in leaders.foreign:
                return position
            for records, reached in _runs(leaders, split, wanted, rows, size):
                position = reached
                if records is not None:
                    yield records
    except (OSError, EOFError, Passing, KafkaSqlError) as e:
        _LOG.debug("%s: librdkafka reads on: %s", split.at(position), e)
    return position


@dataclass
class _Leaders:
    """Connections to leaders.

    Attributes:
        known: each topic's.
        foreign: topics that have batches that are not read here.
        pending: how many answers are on their way.
    """

    config: Mapping[str, str] = field(repr=False)
    brokers: Brokers
    known: dict[str, list[Address | None]] = field(default_factory=dict)
    foreign: set[str] = field(default_factory=set)
    pending: int = 0

    def rested(self) -> bool:
        """Whether no answer is on its way."""
        return not self.pending

    def renew(self) -> None:
        """Leaders that have moved say so."""

    def of(self, split: Split) -> Address:
        """Of a partition.

        Raises:
            Passing: it has none now.
        """
        if split.topic not in self.known:
            code, leaders = produce.read_describe(self.brokers.any().ask(produce.describe(split.topic)))
            if code:
                raise Passing(code)
            self.known[split.topic] = leaders
        leaders = self.known[split.topic]
        leader = leaders[split.partition] if split.partition < len(leaders) else None
        if leader is None:
            raise Passing(_NO_LEADER)
        return leader


def _made(config: Mapping[str, str], stack: ExitStack) -> _Leaders:
    leaders = _Leaders(config, Brokers(config))
    stack.callback(leaders.brokers.close)
    return leaders


_KEPT: Final = Kept(_made)


def _runs(
    leaders: _Leaders, split: Split, wanted: Wanted, rows: int, size: int
) -> Iterator[tuple[Records | None, int]]:
    """Runs of records, each with the offset from which the next is read.

    Raises:
        OSError: a connection, or an answer, is broken.
        Passing: there is no leader, or it answers with an error.
    """
    config, position = leaders.config, split.start
    committed, checked = config["isolation.level"] == "read_committed", config["check.crcs"] == "true"
    most = min(int(config["max.partition.fetch.bytes"]), int(config.get("fetch.max.bytes", _AT_ONCE)), _AT_ONCE, size)
    largest = int(config.get("receive.message.max.bytes", _LARGEST))
    connection = leaders.brokers.at(leaders.of(split))

    def ask(offset: int) -> tuple[Request, int]:
        request = fetch(split.topic, split.partition, offset, most, wait=_WAIT_MS, committed=committed)
        leaders.pending += 1
        return request, connection.send(request)

    asked = ask(position)
    while True:
        found = read_fetch(connection.receive(*asked), split.partition)
        leaders.pending -= 1
        if found.code:
            raise Passing(found.code)
        content = _Content(found.records)
        if content.following <= position:  # no batch, or none that is understood here
            break
        if more := content.plain and content.following < split.stop:
            asked = ask(content.following)
        if checked:
            content.check()
        for columns, reached in content.located(position, split.stop, found.aborted, largest):
            for start, end in _cuts(columns, rows, size):
                yield _records(columns[:, start:end], wanted), int(columns[kernels.OFFSET, end - 1]) + 1
            position = reached
            yield None, position
        if not more:
            break
    if not content.plain:
        leaders.foreign.add(split.topic)


class _Content:
    """Fetched batches.

    Attributes:
        following: the offset after the last whole one; -1 where there is none.
        plain: whether there is nothing else.
    """

    def __init__(self, records: memoryview) -> None:
        self._bytes = np.frombuffer(records, np.uint8)
        self._bytes.setflags(write=False)
        start = self._bytes.ctypes.data
        places = np.empty((len(records) // HEADER, 4), np.int64)
        count, what = kernels.batches(start, start + len(records), places)
        self._places = places[:count]
        self.plain = what == kernels.DONE
        self.following = kernels.after(int(places[count - 1, kernels.AT])) if count else -1

    def check(self) -> None:
        """Compare the batches with their checksums.

        Raises:
            BrokenAnswer: one is damaged.
        """
        starts = self._places[:, kernels.AT] - self._bytes.ctypes.data
        stored = self._bytes[starts[:, np.newaxis] + _CHECKSUM].view(">u4")[:, 0]
        ends = starts + self._places[:, kernels.SIZE]
        # a batch may have a single record
        for start, end, checksum in zip((starts + CHECKED).tolist(), ends.tolist(), stored.tolist(), strict=True):
            if google_crc32c.value(self._bytes[start:end]) != checksum:
                raise BrokenAnswer("the checksum of a record batch is wrong")

    def located(
        self, start: int, stop: int, aborted: list[tuple[int, int]], most: int
    ) -> Iterator[tuple[npt.NDArray[np.int64], int]]:
        """The records from an offset to another as columns of addresses, and the offset after them, part by part.

        Args:
            most: bytes of a batch that is decompressed.

        Raises:
            BrokenAnswer: a batch is damaged.
        """
        ended = np.array(aborted, np.int64).reshape(-1, 2)
        states, position = np.zeros(len(ended), np.uint8), start
        for part in self._parts(most):
            columns = np.empty((kernels.COLUMNS, part[:, kernels.RECORDS].sum()), np.int64)
            count, position, what = kernels.locate(part, len(part), position, stop, ended, states, columns)
            if what != kernels.DONE:
                raise BrokenAnswer("a record batch is damaged")
            yield columns[:, :count], position

    def _parts(self, most: int) -> Iterator[npt.NDArray[np.int64]]:
        """Runs of batches of which not much is compressed; it is decompressed for as long as its run is looked at."""
        start, size, kept = 0, 0, list[npt.NDArray[np.uint8]]()
        for i in np.flatnonzero(self._places[:, kernels.CODEC]).tolist():
            kept.append(self._decompressed(i, most))
            size += len(kept[-1])
            if size > _DECOMPRESSED:
                yield self._places[start : i + 1]
                start, size = i + 1, 0
                kept.clear()
        yield self._places[start:]

    def _decompressed(self, i: int, most: int) -> npt.NDArray[np.uint8]:
        """A batch's header and what was compressed behind it, in memory of its own, which is its place then."""
        address, size, records, codec = self._places[i].tolist()
        at = address - self._bytes.ctypes.data
        content = decompressed(codec, self._bytes.data[at + HEADER : at + size], most)
        if records > len(content) // kernels.LEAST:
            raise BrokenAnswer("a record batch is damaged")
        whole = np.concatenate((self._bytes[at : at + HEADER], np.frombuffer(content, np.uint8)))
        self._places[i, : kernels.RECORDS] = whole.ctypes.data, len(whole)
        return whole


def _cuts(columns: npt.NDArray[np.int64], rows: int, size: int) -> Iterator[tuple[int, int]]:
    """Runs of so many rows and bytes; a single record is always one."""
    ends = np.cumsum(np.maximum(columns[kernels.KEY_SIZE], 0) + np.maximum(columns[kernels.VALUE_SIZE], 0))
    start, before = 0, 0
    while start < len(ends):
        end = min(max(int(np.searchsorted(ends, before + size, "right")), start + 1), start + rows)
        end = min(end, len(ends))
        yield start, end
        start, before = end, int(ends[end - 1])


def _records(columns: npt.NDArray[np.int64], wanted: Wanted) -> Records:
    return Records(
        binary(columns[kernels.VALUE], columns[kernels.VALUE_SIZE]),
        columns[kernels.OFFSET],
        binary(columns[kernels.KEY], columns[kernels.KEY_SIZE]) if wanted.keys else None,
        columns[kernels.TIME] if wanted.timestamps else None,
        columns[kernels.TIME_TYPE].astype(np.int32) if wanted.timestamps else None,
        None,
        columns[kernels.LEADER_EPOCH].astype(np.int32) if wanted.leader_epochs else None,
    )
