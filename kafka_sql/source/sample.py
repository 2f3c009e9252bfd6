"""Read a sample of a table's records, from which its columns are inferred."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Final

from kafka_sql.definition import Definition
from kafka_sql.kafka.admin.cluster import cached_cluster
from kafka_sql.kafka.fetch import read_records
from kafka_sql.kafka.records import BatchSize, RecordFields, Records
from kafka_sql.kafka.split import Split
from kafka_sql.options import connector as opt
from kafka_sql.source.enumerator.partitions import list_partitions
from kafka_sql.source.enumerator.starting_offsets import effective_startup_mode

MAX_RECORDS: Final = 1_000
_MAX_PARTITIONS: Final = 100  # without the empty ones
_MAX_BYTES: Final = 16 << 20
_SECONDS: Final = 10.0  # after which no other partition is read


@dataclass
class Sample:
    """Records of a table.

    Attributes:
        positions: ``topic[partition]@offset`` of each record.
        keys, values: their payloads, None for a record without one.
    """

    positions: list[str] = field(default_factory=list)
    keys: list[bytes | None] = field(default_factory=list)
    values: list[bytes | None] = field(default_factory=list)

    def add(self, split: Split, records: Records) -> int:
        """Append records of a split; return the size of their payloads in bytes."""
        assert records.keys is not None
        self.positions += [split.describe_offset(offset) for offset in records.offsets.tolist()]
        self.keys += records.keys.to_pylist()
        self.values += records.values.to_pylist()
        return int(records.keys.nbytes + records.values.nbytes)


def read_sample(definition: Definition) -> Sample:
    """Read the newest records of all partitions, in equal shares; if the table starts at 'earliest-offset', half of
    them are the oldest ones.

    If the newest offsets have no records, because they are markers of transactions or were compacted, the oldest
    records are read.

    Raises:
        BrokerError: the cluster, a topic or the records are unavailable.
    """
    with cached_cluster(definition.client_config) as cluster:
        partitions = list_partitions(definition, cluster)
        starts, stops = cluster.earliest(partitions), cluster.latest(partitions)
    ranges = [Split(*p, starts[p], stops[p]) for p in partitions if starts[p] < stops[p]][:_MAX_PARTITIONS]
    from_earliest = effective_startup_mode(definition) == opt.EARLIEST
    count = max(1, MAX_RECORDS // max(1, len(ranges) * (1 + from_earliest)))
    newest = [Split(s.topic, s.partition, max(s.start, s.stop - count), s.stop) for s in ranges]
    sample = Sample()
    if from_earliest:
        _read(definition, ranges, count, sample)
    _read(definition, newest, count, sample)
    if not sample.positions:
        _read(definition, ranges, count, sample)
    return sample


def _read(definition: Definition, splits: list[Split], count: int, sample: Sample) -> None:
    """Add the first records of each split to the sample, until the limits of time or size are reached."""
    deadline, size = time.monotonic() + _SECONDS, 0
    for split in splits:
        for records in _first_records(definition, split, count):
            size += sample.add(split, records)
        if sample.positions and (size > _MAX_BYTES or time.monotonic() > deadline):
            return


def _first_records(definition: Definition, split: Split, count: int) -> Iterator[Records]:
    remaining = count
    batches = read_records(
        definition.client_config,
        split,
        RecordFields(keys=True),
        BatchSize(count, _MAX_BYTES),
        lambda *_: None,  # records that were deleted in the meantime are not needed
        definition.options[opt.SCAN_CLIENT],
    )
    with closing(batches):  # type: ignore[type-var]
        for records in batches:
            yield records
            remaining -= len(records.offsets)
            if remaining <= 0:
                return
