"""Spark's two readers of a table: a batch's and a stream's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition

from kafka_sql.definition import Definition
from kafka_sql.kafka.cluster import Cluster, Offsets, Position
from kafka_sql.kafka.split import Split
from kafka_sql.source.enumerate import snapshot, splits
from kafka_sql.source.partitions import Discovery
from kafka_sql.source.progress import batch_starts, check_progress
from kafka_sql.source.startup import start_offsets


class SplitPartition(InputPartition):
    """A split as Spark's unit of work."""

    def __init__(self, split: Split) -> None:
        """Wrap a split."""
        super().__init__(split)
        self.split = split


class BatchReader(DataSourceReader):
    """A snapshot of the table: the startup position to the end as of planning."""

    def __init__(self, definition: Definition, schema: pa.Schema) -> None:
        """Keep what a task needs; nothing is asked of the cluster yet."""
        self._definition, self._schema = definition, schema

    def partitions(self) -> Sequence[InputPartition]:
        """The splits, resolved here because Spark calls this for every query that it plans."""
        return [SplitPartition(split) for split in snapshot(self._definition)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one split."""
        return _rows(self._definition, self._schema, partition)


class StreamReader(DataSourceStreamReader):
    """The table as a stream. Offsets in Spark's checkpoint: ``{topic: {partition: next offset}}``."""

    def __init__(self, definition: Definition, schema: pa.Schema) -> None:
        """Keep what a task needs; nothing is asked of the cluster yet."""
        self._definition, self._schema = definition, schema
        self._cluster: Cluster | None = None
        self._discovery = Discovery(definition)

    def __getstate__(self) -> dict[str, object]:
        """Without the client, which belongs to this process."""
        return {**self.__dict__, "_cluster": None}

    def initialOffset(self) -> dict[str, dict[str, int]]:
        """The startup position. Spark keeps it in the checkpoint and asks only once a query."""
        return _as_json(start_offsets(self._definition, self._client(), self._positions()))

    def latestOffset(self) -> dict[str, dict[str, int]]:  # type: ignore[override]
        """The end of every partition as of now. Spark 4.1's signature, which later versions accept."""
        return _as_json(self._client().latest(self._positions()))

    def partitions(self, start: dict[str, dict[str, int]], end: dict[str, dict[str, int]]) -> Sequence[InputPartition]:
        """The splits of one micro-batch; a partition that is new since ``start`` is read from its earliest offset."""
        starts, stops = _from_json(start), _from_json(end)
        check_progress(self._definition, starts, stops)
        return [SplitPartition(s) for s in splits(batch_starts(self._definition, self._client(), starts, stops), stops)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one split."""
        return _rows(self._definition, self._schema, partition)

    def commit(self, end: dict[str, dict[str, int]]) -> None:
        """Spark's checkpoint holds the offsets; there is nothing to do."""

    def _client(self) -> Cluster:
        if self._cluster is None:
            self._cluster = Cluster(self._definition.client)
        return self._cluster

    def _positions(self) -> list[Position]:
        return self._discovery.partitions(self._client())


def _rows(definition: Definition, schema: pa.Schema, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
    from kafka_sql.source.rows import read_split  # here: it loads the compiled loops, which planning does not need

    # where there is no split at all, Spark runs one task with no partition
    return read_split(definition, schema, partition.split) if isinstance(partition, SplitPartition) else iter(())


def _as_json(offsets: Offsets) -> dict[str, dict[str, int]]:
    nested: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in offsets.items():
        nested.setdefault(topic, {})[str(partition)] = offset
    return nested


def _from_json(nested: dict[str, dict[str, int]]) -> Offsets:
    return {(t, int(p)): offset for t, partitions in nested.items() for p, offset in partitions.items()}
