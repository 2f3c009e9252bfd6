"""Read a split as columns, from record batches fetched from the partition's leader.

Whatever is not supported (an error code or a missing leader, a deleted offset, an old message format) ends the read
early. librdkafka then continues from there: it implements retries and error reporting.
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
from kafka_sql.kafka.binary_columns import copy_binary
from kafka_sql.kafka.client_cache import ClientCache
from kafka_sql.kafka.config.properties import SOCKET_TIMEOUT
from kafka_sql.kafka.direct import fetch_kernels as kernels
from kafka_sql.kafka.direct.batch import CHECKED, HEADER
from kafka_sql.kafka.direct.compression import decompress
from kafka_sql.kafka.direct.eligibility import can_read
from kafka_sql.kafka.error_codes import ErrorCode
from kafka_sql.kafka.protocol.codec import MalformedResponse
from kafka_sql.kafka.protocol.connection import Address, Request
from kafka_sql.kafka.protocol.connection_pool import ConnectionPool
from kafka_sql.kafka.protocol.errors import RetriableError
from kafka_sql.kafka.protocol.fetch import fetch, read_fetch
from kafka_sql.kafka.protocol.metadata import TopicMetadata
from kafka_sql.kafka.records import RecordFields, Records
from kafka_sql.kafka.types import Split

_LOG = logging.getLogger("kafka_sql.kafka")

_TIMEOUT_MS: Final = 10_000  # then librdkafka takes over, with its longer timeouts
_MAX_RESPONSE: Final = 4 << 20  # bytes of records per response; the next response arrives while one is decoded
_WAIT_MS: Final = 10  # for the first record; those of a split exist already
_CHECKSUM: Final = np.arange(17, 21)  # its bytes in a batch
_MAX_DECOMPRESSED: Final = 8 << 20  # bytes held at once, plus one batch
_MAX_BATCH: Final = 100_000_000  # bytes of a decompressed batch, by default


def read_columnar(
    config: Mapping[str, str], split: Split, fields: RecordFields, max_rows: int, max_bytes: int
) -> Generator[Records, None, int]:
    """Read a split as far as it is supported.

    Args:
        max_rows, max_bytes: the maximum size of a batch of records.

    Returns:
        the offset of the first record that was not read; at least ``split.stop`` if all were.
    """
    position = split.start
    if fields.headers or split.end_may_not_exist or not can_read(config):
        return position
    timeout = str(min(int(config[SOCKET_TIMEOUT]), _TIMEOUT_MS))
    try:
        with _CACHE.lease({**config, SOCKET_TIMEOUT: timeout}) as leaders:
            if split.topic in leaders.unsupported:
                return position
            for records, reached in _read(leaders, split, fields, max_rows, max_bytes):
                position = reached
                if records is not None:
                    yield records
    except (OSError, EOFError, RetriableError, KafkaSqlError) as e:
        _LOG.debug("%s: continuing with librdkafka: %s", split.describe_offset(position), e)
    return position


@dataclass
class _Leaders:
    """Cached leaders and connections to them.

    Attributes:
        topics: the metadata of topics that were read.
        unsupported: topics that contain batches in an unsupported format.
        pending: number of responses that are on their way.
    """

    config: Mapping[str, str] = field(repr=False)
    connections: ConnectionPool
    topics: dict[str, TopicMetadata] = field(default_factory=dict)
    unsupported: set[str] = field(default_factory=set)
    pending: int = 0

    def is_reusable(self) -> bool:
        """Return whether no response is on its way."""
        return not self.pending

    def on_reuse(self) -> None:
        """Do nothing: a broker that no longer leads a partition returns an error."""

    def leader(self, split: Split) -> Address:
        """Return the leader of the split's partition.

        Raises:
            RetriableError: it has no leader at the moment, or the broker returned an error code.
        """
        if split.topic not in self.topics:
            topic = self.connections.topic_metadata(split.topic)
            if topic.code != ErrorCode.NONE:
                raise RetriableError(topic.code)
            self.topics[split.topic] = topic
        return self.topics[split.topic].require_leader(split.partition)


def _open_leaders(config: Mapping[str, str], stack: ExitStack) -> _Leaders:
    leaders = _Leaders(config, ConnectionPool(config))
    stack.callback(leaders.connections.close)
    return leaders


_CACHE: Final = ClientCache(_open_leaders)


def _read(
    leaders: _Leaders, split: Split, fields: RecordFields, max_rows: int, max_bytes: int
) -> Iterator[tuple[Records | None, int]]:
    """Yield batches of records, each with the offset of the next record.

    Raises:
        OSError: a connection broke, or a response is malformed.
        RetriableError: there is no leader, or it returned an error code.
    """
    config, position = leaders.config, split.start
    committed, check_crcs = config["isolation.level"] == "read_committed", config["check.crcs"] == "true"
    max_response = min(
        int(config["max.partition.fetch.bytes"]),
        int(config.get("fetch.max.bytes", _MAX_RESPONSE)),
        _MAX_RESPONSE,
        max_bytes,
    )
    max_batch = int(config.get("receive.message.max.bytes", _MAX_BATCH))
    connection = leaders.connections.connect_to(leaders.leader(split))

    def send_fetch(offset: int) -> tuple[Request, int]:
        request = fetch(split.topic, split.partition, offset, max_response, wait_ms=_WAIT_MS, committed=committed)
        leaders.pending += 1
        return request, connection.send(request)

    sent = send_fetch(position)
    while True:
        result = read_fetch(connection.receive(*sent), split.partition)
        leaders.pending -= 1
        if result.code != ErrorCode.NONE:
            raise RetriableError(result.code)
        batches = FetchedBatches(result.records)
        if batches.next_offset <= position:  # no batch, or none in a supported format
            break
        if has_more := batches.is_supported and batches.next_offset < split.stop:
            sent = send_fetch(batches.next_offset)
        if check_crcs:
            batches.check()
        for columns, reached in batches.locate(position, split.stop, result.aborted, max_batch):
            for start, end in split_runs(columns, max_rows, max_bytes):
                yield to_records(columns[:, start:end], fields), int(columns[kernels.OFFSET, end - 1]) + 1
            position = reached
            yield None, position
        if not has_more:
            break
    if not batches.is_supported:
        leaders.unsupported.add(split.topic)


class FetchedBatches:
    """The record batches of one response.

    Attributes:
        next_offset: the offset after the last complete batch; -1 without one.
        is_supported: whether all batches have a supported format; those after the first other one are ignored.
    """

    def __init__(self, records: memoryview) -> None:
        """Find the batches.

        Args:
            records: as in ``FetchResult.records``.
        """
        self._bytes = np.frombuffer(records, np.uint8)
        self._bytes.setflags(write=False)
        start = self._bytes.ctypes.data
        batches = np.empty((len(records) // HEADER, 4), np.int64)
        count, status = kernels.find_batches(start, start + len(records), batches)
        self._batches = batches[:count]
        self.is_supported = status == kernels.DONE
        self.next_offset = kernels.next_offset(int(batches[count - 1, kernels.AT])) if count else -1

    def check(self) -> None:
        """Verify the checksums of the batches.

        Raises:
            MalformedResponse: a checksum is wrong.
        """
        starts = self._batches[:, kernels.AT] - self._bytes.ctypes.data
        stored = self._bytes[starts[:, np.newaxis] + _CHECKSUM].view(">u4")[:, 0]
        ends = starts + self._batches[:, kernels.SIZE]
        # Python lists: a batch may contain a single record, so this loop is hot
        for start, end, checksum in zip((starts + CHECKED).tolist(), ends.tolist(), stored.tolist(), strict=True):
            if google_crc32c.value(self._bytes[start:end]) != checksum:
                raise MalformedResponse("the checksum of a record batch is wrong")

    def locate(
        self, start: int, stop: int, aborted: list[tuple[int, int]], max_batch: int
    ) -> Iterator[tuple[npt.NDArray[np.int64], int]]:
        """Yield the records from offset ``start`` to ``stop`` in parts: columns of addresses, and the next offset.

        The addresses are valid until the next part is requested.

        Args:
            aborted: as in ``FetchResult.aborted``.
            max_batch: maximum bytes of a decompressed batch.

        Raises:
            MalformedResponse: a batch is damaged.
        """
        transactions = np.array(aborted, np.int64).reshape(-1, 2)
        states, position = np.zeros(len(transactions), np.uint8), start
        for part in self._parts(max_batch):
            columns = np.empty((kernels.COLUMNS, part[:, kernels.RECORDS].sum()), np.int64)
            count, position, status = kernels.locate_records(
                part, len(part), position, stop, transactions, states, columns
            )
            if status != kernels.DONE:
                raise MalformedResponse("a record batch is damaged")
            yield columns[:, :count], position

    def _parts(self, max_batch: int) -> Iterator[npt.NDArray[np.int64]]:
        """Yield runs of batches, with compressed ones decompressed until the next run is requested."""
        start, size, buffers = 0, 0, list[npt.NDArray[np.uint8]]()
        for i in np.flatnonzero(self._batches[:, kernels.CODEC]).tolist():
            buffers.append(self._decompress(i, max_batch))
            size += len(buffers[-1])
            if size > _MAX_DECOMPRESSED:
                yield self._batches[start : i + 1]
                start, size = i + 1, 0
                buffers.clear()
        yield self._batches[start:]

    def _decompress(self, i: int, max_batch: int) -> npt.NDArray[np.uint8]:
        """Copy a batch with its records decompressed, and make the copy the i-th batch."""
        address, size, records, codec = self._batches[i].tolist()
        at = address - self._bytes.ctypes.data
        content = decompress(codec, self._bytes.data[at + HEADER : at + size], max_batch)
        if records > len(content) // kernels.MIN_RECORD:
            raise MalformedResponse("a record batch is damaged")
        batch = np.concatenate((self._bytes[at : at + HEADER], np.frombuffer(content, np.uint8)))
        self._batches[i, : kernels.RECORDS] = batch.ctypes.data, len(batch)
        return batch


def split_runs(columns: npt.NDArray[np.int64], max_rows: int, max_bytes: int) -> Iterator[tuple[int, int]]:
    """Yield start and end of runs of at most so many rows and bytes. A single larger record is a run."""
    ends = np.cumsum(np.maximum(columns[kernels.KEY_SIZE], 0) + np.maximum(columns[kernels.VALUE_SIZE], 0))
    start, before = 0, 0
    while start < len(ends):
        end = min(max(int(np.searchsorted(ends, before + max_bytes, "right")), start + 1), start + max_rows)
        end = min(end, len(ends))
        yield start, end
        start, before = end, int(ends[end - 1])


def to_records(columns: npt.NDArray[np.int64], fields: RecordFields) -> Records:
    """Copy the records at columns of addresses (see ``fetch_kernels.locate_records``)."""
    return Records(
        copy_binary(columns[kernels.VALUE], columns[kernels.VALUE_SIZE]),
        columns[kernels.OFFSET],
        copy_binary(columns[kernels.KEY], columns[kernels.KEY_SIZE]) if fields.keys else None,
        columns[kernels.TIME] if fields.timestamps else None,
        columns[kernels.TIME_TYPE].astype(np.int32) if fields.timestamps else None,
        None,
        columns[kernels.LEADER_EPOCH].astype(np.int32) if fields.leader_epochs else None,
    )
