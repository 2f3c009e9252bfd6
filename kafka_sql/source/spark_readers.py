"""Spark's two readers of a table: a batch's and a stream's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition

from kafka_sql.definition import Definition
from kafka_sql.kafka.types import Split
from kafka_sql.options import connector as opt
from kafka_sql.runtime.gc_freeze import freeze_modules
from kafka_sql.runtime.quick_ack import QuickAckMixin
from kafka_sql.source.client_config import task_client_config
from kafka_sql.source.enumerator.plan import plan_batch
from kafka_sql.source.enumerator.task_planning import Task, plan_tasks
from kafka_sql.source.stream.micro_batch import MicroBatchStream
from kafka_sql.source.stream.read_limits import (
    SupportsTriggerAvailableNow,
    check_admission_options,
    default_limit,
    is_limited,
)
from kafka_sql.source.stream.stream_offset import from_json, to_json

if TYPE_CHECKING:
    from pyspark.sql.streaming.datasource import ReadLimit

Json = dict[str, Any]


class TaskPartition(InputPartition):
    """The splits of one task as Spark's unit of work."""

    def __init__(self, splits: Task) -> None:
        """Wrap them."""
        super().__init__(splits)
        self.splits = splits


class BatchReader(QuickAckMixin, DataSourceReader):
    """A snapshot of the table: the startup position to the end as of planning."""

    def __init__(self, definition: Definition, schema: pa.Schema) -> None:
        """Keep what a task needs; nothing is asked of the cluster yet."""
        self._definition, self._schema = definition, schema

    def partitions(self) -> Sequence[InputPartition]:
        """The splits, resolved here because Spark calls this for every query that it plans."""
        return _planned(self._definition, plan_batch(self._definition))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task; of a table of changes that has a key, what they leave."""
        from kafka_sql.source.reader import (
            split_reader,  # here: it loads the compiled loops, which planning does not need
        )

        read = split_reader.read_latest_rows if self._definition.reads_latest_per_key else split_reader.read_split
        for split, config in _splits(self._definition, partition):
            yield from read(self._definition, self._schema, split, config)
        freeze_modules()


class StreamReader(QuickAckMixin, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The table as a stream. What Spark keeps of it in its checkpoint: ``source/stream/stream_offset.py``.

    One process has the reader of a query as long as the query runs; its tasks have copies.
    """

    def __init__(self, definition: Definition, schema: pa.Schema) -> None:
        """Keep what a task needs; nothing is asked of the cluster yet.

        Raises:
            UnsupportedOptionError: an option of admission control, and Spark has none.
        """
        check_admission_options(definition)
        self._definition, self._schema = definition, schema
        self._stream = MicroBatchStream(definition)

    def __getstate__(self) -> Json:
        """Without what belongs to the query's own process."""
        return {"_definition": self._definition, "_schema": self._schema}

    def initialOffset(self) -> Json:
        """The startup position."""
        return to_json(self._stream.initial_offset())

    def getDefaultReadLimit(self) -> ReadLimit:
        """What the options admit."""
        return default_limit(self._stream.limits)

    def prepareForTriggerAvailableNow(self) -> None:
        """Take the ends as of now for the ends of the query."""
        self._stream.prepare_available_now()

    def latestOffset(self, start: Json | None = None, limit: ReadLimit | None = None) -> Json:
        """Where the next micro-batch ends; ``start`` itself where there is nothing to read. PySpark 4.1 gives no
        arguments.
        """
        if start is None or limit is None:
            return to_json(self._stream.latest_offset_unlimited())
        progress = from_json(start)
        end = self._stream.latest_offset(progress, is_limited(limit))
        return start if end == progress else to_json(end)

    def reportLatestOffset(self) -> Json | None:
        """The ends of the partitions and the state of the commits, for the query's progress."""
        return self._stream.report()

    def partitions(self, start: Json, end: Json) -> Sequence[InputPartition]:
        """The tasks of one micro-batch."""
        return _planned(self._definition, self._stream.plan_splits(from_json(start), from_json(end)))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task."""
        from kafka_sql.source.reader.split_reader import read_split  # here, as above

        for split, config in _splits(self._definition, partition):
            yield from read_split(self._definition, self._schema, split, config)
        freeze_modules()

    def commit(self, end: Json) -> None:
        """Spark's checkpoint holds the offsets; Kafka is told them, too."""
        self._stream.commit(from_json(end))

    def stop(self) -> None:
        """Wait for a commit that is on its way."""
        self._stream.stop()


def _planned(definition: Definition, splits: Sequence[Split]) -> list[InputPartition]:
    parallelism = definition.options.get(opt.SCAN_PARALLELISM)
    # the latest row of a key is looked for in the whole partition
    return [
        TaskPartition(task) for task in plan_tasks(splits, parallelism, can_cut=not definition.reads_latest_per_key)
    ]


def _splits(definition: Definition, partition: InputPartition | None) -> Iterator[tuple[Split, Mapping[str, str]]]:
    """The splits of a task, and how its client is configured."""
    if isinstance(partition, TaskPartition):  # where there is no split at all, Spark runs one task with no partition
        context = TaskContext.get()
        config = task_client_config(definition, context.partitionId() if context is not None else 0)
        for split in partition.splits:
            yield split, config
