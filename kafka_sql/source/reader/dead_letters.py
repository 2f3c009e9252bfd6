"""Write undecodable records unchanged to a dead letter topic, with headers that describe the error.

Header names follow Kafka Connect's dead letter queues (KIP-298). A streaming query writes dead letters. A batch read
skips undecodable records, because a repeated query would write the same dead letters again; it writes them only if its
statement sets the topic.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark import TaskContext

from kafka_sql.definition import Definition
from kafka_sql.errors import BrokerError, DecodeError
from kafka_sql.kafka.admin.cluster import cached_cluster
from kafka_sql.kafka.fetch import read_records
from kafka_sql.kafka.produce import open_producer
from kafka_sql.kafka.record_metadata import HEADER_LIST
from kafka_sql.kafka.records import RecordFields, Records
from kafka_sql.kafka.split import Split
from kafka_sql.options import connector as opt
from kafka_sql.runtime.task import query_id
from kafka_sql.source.table_log import warn

HEADER_PREFIX: Final = "__kafka_sql.errors."
_MAX_SECONDS_AHEAD: Final = 1_800
_MAX_SEARCHED: Final = 100_000  # offsets per partition of a dead letter topic, from its end


@dataclass
class DeadLetterWriter:
    """Writes the undecodable records of one split."""

    _definition: Definition
    _split: Split
    topic: DeadLetterTopic
    _written: list[int] = field(default_factory=list)  # offsets whose dead letters the query has written before
    _searched_since: float = math.inf  # timestamp

    def write(self, records: Records, errors: Sequence[DecodeError]) -> None:
        """Write records and wait for the acknowledgments, so that none is lost if the task ends.

        Those that the query has written before are not written again.

        Args:
            records: with keys, timestamps and headers.

        Raises:
            BrokerError: a record could not be written.
        """
        assert records.timestamps is not None
        if self.topic.is_repeat:
            is_searchable = (_written_timestamps(records.timestamps) >= 0).all()
            self._search(int(records.timestamps.min()) if is_searchable else -1)
            unwritten = np.flatnonzero(~np.isin(records.offsets, self._written))
            records, errors = records.take(unwritten), [errors[i] for i in unwritten.tolist()]
        if errors:
            self._produce(records, errors)

    def _produce(self, records: Records, errors: Sequence[DecodeError]) -> None:
        assert records.timestamps is not None
        assert records.headers is not None
        headers = [
            [*record_headers, *_error_headers(error, self.topic, self._split, int(offset), int(timestamp))]
            for record_headers, error, offset, timestamp in zip(
                records.headers.to_pylist(), errors, records.offsets, records.timestamps, strict=True
            )
        ]
        definition = self._definition
        client = definition.options[opt.SINK_CLIENT]
        with open_producer(client, definition.client_config, self.topic.name, definition.name) as producer:
            timestamps = _written_timestamps(records.timestamps)
            producer.produce(records.values, records.keys, timestamps, pa.array(headers, HEADER_LIST))
            producer.flush()

    def _search(self, since: int) -> None:
        """Find the dead letters that the query has written, unless an earlier search covers the time.

        If the topic cannot be read, that is logged: a dead letter that is written twice is better than none.

        Args:
            since: oldest timestamp of the records, in milliseconds; -1 if a dead letter has another one.
        """
        if since >= self._searched_since:
            return
        self._searched_since = since
        origin = {"query.id": self.topic.query or "", "topic": self._split.topic, "partition": self._split.partition}
        expected = {HEADER_PREFIX + name: str(value).encode() for name, value in origin.items()}
        self._written = []
        try:
            for letters in _read_tail(self._definition, self.topic.name, since):
                for headers in letters.headers.to_pylist() if letters.headers is not None else ():
                    values = {header["key"]: header["value"] for header in headers}  # of several, the last is ours
                    if expected.items() <= values.items():
                        self._written.append(int(values[HEADER_PREFIX + "offset"]))
        except BrokerError as e:
            reason = f"topic '{self.topic.name}' cannot be read: {e}"
            warn(
                self._definition.name,
                "dead letters that this query may have written are written again, because %s",
                reason,
            )


def _written_timestamps(timestamps: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the timestamps of dead letters: those of their records, or -1 for the time of writing.

    Brokers reject timestamps that are an hour ahead (``message.timestamp.after.max.ms``), which the record's topic may
    accept, and producers those before 1970.
    """
    latest = int((time.time() + _MAX_SECONDS_AHEAD) * 1000)
    return np.where((timestamps < 0) | (timestamps > latest), -1, timestamps)


def _read_tail(definition: Definition, topic: str, since: int) -> Iterator[Records]:
    """Read the end of a dead letter topic, at most ``_MAX_SEARCHED`` offsets of each partition.

    Args:
        since: as in ``_search``. A dead letter has the timestamp of its record, so what precedes the first one of
            that time is not read.
    """
    with cached_cluster(definition.client_config) as cluster:
        partitions = cluster.partitions((topic,))
        ends = cluster.latest(partitions)
        if since >= 0:
            starts = {**ends, **cluster.offsets_for_times(dict.fromkeys(partitions, since))}
        else:
            starts = cluster.earliest(partitions)
    for partition, end in ends.items():
        split = Split(*partition, max(starts[partition], end - _MAX_SEARCHED), end)
        yield from read_records(
            definition.client_config,
            split,
            RecordFields(headers=True),
            on_data_loss=lambda split, offset, available: None,  # what was deleted cannot be searched
            client=definition.options[opt.SCAN_CLIENT],
        )


def _error_headers(
    error: DecodeError, topic: DeadLetterTopic, split: Split, offset: int, timestamp: int
) -> list[dict[str, object]]:
    headers = {
        "query.id": topic.query,
        "topic": split.topic,
        "partition": str(split.partition),
        "offset": str(offset),
        "timestamp": str(timestamp),
        "exception.class.name": type(error).__name__,
        "exception.message": str(error),
        "field": error.field,
    }
    return [{"key": HEADER_PREFIX + k, "value": v.encode()} for k, v in headers.items() if v is not None]


@dataclass(frozen=True)
class DeadLetterTopic:
    """The topic to which a task writes the undecodable records that it reads."""

    name: str
    query: str | None = None  # id of the streaming query; None for a batch read
    # whether the query may have read the same records before, so that the topic may have their dead letters
    is_repeat: bool = False


def batch_dead_letter_topic(definition: Definition) -> DeadLetterTopic | None:
    """Return where a batch read writes dead letters: nowhere, unless its statement sets the topic."""
    name = definition.options.get(opt.ERROR_TARGET)
    is_set_by_statement = opt.ERROR_TARGET.key in definition.statement_options
    return DeadLetterTopic(name) if name is not None and is_set_by_statement else None


def stream_dead_letter_topic(definition: Definition, is_first_batch: bool) -> DeadLetterTopic | None:
    """Return where this task of a streaming query writes dead letters; None if the table has no dead letter topic.

    Args:
        is_first_batch: whether this is the first micro-batch since the query started. The query may have read it
            before it was restarted.
    """
    name = definition.options.get(opt.ERROR_TARGET)
    if name is None:
        return None
    context = TaskContext.get()
    is_retry = context is not None and context.attemptNumber() > 0
    query = query_id()
    return DeadLetterTopic(name, query, is_repeat=query is not None and (is_first_batch or is_retry))
