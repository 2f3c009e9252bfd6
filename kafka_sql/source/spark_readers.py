"""Implement Spark's batch and streaming readers (Python data source API) for a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition

from kafka_sql.definition import Definition
from kafka_sql.kafka.split import SourceCluster, Split
from kafka_sql.options import connector as opt
from kafka_sql.runtime.error_trailer import raises_attributes
from kafka_sql.runtime.task import is_in_micro_batch, start_task
from kafka_sql.runtime.workers import QuickAckMixin, freeze_modules
from kafka_sql.source.client_config import task_client_config
from kafka_sql.source.enumerator.splits import Task, plan_batch, plan_tasks
from kafka_sql.source.stream.event_times import event_time_order
from kafka_sql.source.stream.micro_batch import MicroBatchStream
from kafka_sql.source.stream.rate_limits import (
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
    """The splits of one Spark task.

    Attributes:
        is_in_first_batch: whether they belong to the first micro-batch since a streaming query started.
    """

    def __init__(self, splits: Task, is_in_first_batch: bool = False) -> None:
        super().__init__(splits)
        self.splits, self.is_in_first_batch = splits, is_in_first_batch


@raises_attributes
class BatchReader(QuickAckMixin, DataSourceReader):
    """A batch read: from the startup position to the bounded end, or to the end at planning time."""

    def __init__(self, definition: Definition, schema: pa.Schema, time_zone: str | None = None) -> None:
        self._definition, self._schema, self._time_zone = definition, schema, time_zone

    def partitions(self) -> Sequence[InputPartition]:
        """Plan the tasks. Offsets are resolved here because Spark calls this once per query."""
        return _input_partitions(self._definition, plan_batch(self._definition))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the rows of one task; for a changelog, those that remain after its changes."""
        # lazy: loads the compiled kernels, which planning does not need
        from kafka_sql.source.reader.dead_letters import batch_dead_letter_topic
        from kafka_sql.source.reader.split_reader import SplitReader

        start_task(self._time_zone)
        dead_letter_topic = batch_dead_letter_topic(self._definition)
        for split, config in _splits_with_config(self._definition, partition):
            reader = SplitReader(self._definition, self._schema, config, dead_letter_topic)
            if self._is_static_side():
                yield from reader.read_cached(split)
            else:
                yield from reader.read_remaining(split) if self._definition.reads_content else reader.read(split)
        freeze_modules()

    def _is_static_side(self) -> bool:
        """Return whether a micro-batch of a stream reads the table, and splits are whole partitions."""
        if not is_in_micro_batch():
            return False
        return self._definition.reads_content or self._definition.options.get(opt.SCAN_PARALLELISM) is None


@raises_attributes
class StreamReader(QuickAckMixin, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A streaming read. ``source/stream/stream_offset.py`` describes what Spark stores in its checkpoint.

    The query's driver-side process keeps one instance for the query's lifetime; tasks get copies.
    """

    def __init__(self, definition: Definition, schema: pa.Schema, time_zone: str | None = None) -> None:
        """Store what tasks need. Does not connect to the cluster.

        Raises:
            UnsupportedOptionError: an admission control option, which this version of Spark does not support.
        """
        check_admission_options(definition)
        self._definition, self._schema, self._time_zone = definition, schema, time_zone
        self._stream = MicroBatchStream(definition, event_time_order(definition, schema))
        self._first_end: Json | None = None  # of the first micro-batch since the query started

    def __getstate__(self) -> Json:
        """Exclude the state that belongs to the query's driver-side process."""
        return {"_definition": self._definition, "_schema": self._schema, "_time_zone": self._time_zone}

    def initialOffset(self) -> Json:
        return to_json(self._stream.initial_offset())

    def getDefaultReadLimit(self) -> ReadLimit:
        return default_limit(self._stream.limits)

    def prepareForTriggerAvailableNow(self) -> None:
        """Fix the current end offsets as the end of the query."""
        self._stream.prepare_available_now()

    def latestOffset(self, start: Json | None = None, limit: ReadLimit | None = None) -> Json:
        """Return where the next micro-batch ends; ``start`` if there is nothing to read.

        PySpark 4.1 passes no arguments.
        """
        if start is None or limit is None:
            return to_json(self._stream.latest_offset_unlimited())
        offset = from_json(start)
        end = self._stream.latest_offset(offset, is_limited(limit))
        return start if end == offset else to_json(end)

    def reportLatestOffset(self) -> Json | None:
        """Return the partitions' end offsets and the state of offset commits, for the query's progress."""
        return self._stream.report()

    def partitions(self, start: Json, end: Json) -> Sequence[InputPartition]:
        splits = self._stream.plan_splits(from_json(start), from_json(end))
        if self._first_end is None:
            self._first_end = end
        return _input_partitions(self._definition, splits, is_first_batch=end == self._first_end)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from kafka_sql.source.reader.dead_letters import stream_dead_letter_topic  # lazy, as above
        from kafka_sql.source.reader.split_reader import SplitReader

        start_task(self._time_zone)
        is_first_batch = isinstance(partition, TaskPartition) and partition.is_in_first_batch
        dead_letter_topic = stream_dead_letter_topic(self._definition, is_first_batch)
        for split, config in _splits_with_config(self._definition, partition):
            yield from SplitReader(self._definition, self._schema, config, dead_letter_topic).read(split)
        freeze_modules()

    def commit(self, end: Json) -> None:
        """Commit the offsets to Kafka, for monitoring. Recovery uses Spark's checkpoint."""
        self._stream.commit(from_json(end))

    def stop(self) -> None:
        self._stream.stop()


def _input_partitions(
    definition: Definition, splits: Sequence[Split], is_first_batch: bool = False
) -> list[InputPartition]:
    parallelism = definition.options.get(opt.SCAN_PARALLELISM)
    tasks = plan_tasks(splits, parallelism, can_cut=not definition.applies_changes)
    return [TaskPartition(task, is_first_batch) for task in tasks]


def _splits_with_config(
    definition: Definition, partition: InputPartition | None
) -> Iterator[tuple[Split, Mapping[str, str]]]:
    if isinstance(partition, TaskPartition):  # without splits, Spark runs one task and passes None
        context = TaskContext.get()
        task = context.partitionId() if context is not None else 0
        configs: dict[SourceCluster | None, Mapping[str, str]] = {}
        for split in partition.splits:
            if split.cluster not in configs:
                configs[split.cluster] = task_client_config(definition, task, split.cluster)
            yield split, configs[split.cluster]
