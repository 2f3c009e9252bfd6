"""Choose the partition of each row ('sink.partitioner').

'default' and 'round-robin' leave the choice to the client, as in Flink: by the murmur2 hash of the key, as in the Java
client. Records without a key go to one partition until a batch is full, then to the next one; librdkafka changes
the partition after a few milliseconds instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_sql.definition import Definition
from kafka_sql.errors import InvalidOptionError, PartitionerError
from kafka_sql.options import connector as opt
from kafka_sql.options.allow_lists import import_callable
from kafka_sql.runtime import arrow_compute as pc

Partitions = npt.NDArray[np.int32]
_IMPORT_ADVICE: Final = (
    " The class must be importable on the driver and on every executor: install its package there, or distribute it "
    "with spark.submit.pyFiles or spark.addArtifact."
)
PartitionFunction = Callable[[pa.RecordBatch, "pa.BinaryArray | None", pa.BinaryArray, str, int], Partitions]


class Partitioner(Protocol):
    """Interface of a class in 'sink.partitioner' = 'module:Class'. It is instantiated without arguments in each task.

    If it also has a method ``open(task: int)``, that is called first, with the index of the task, from 0.
    """

    def partition(
        self, rows: pa.RecordBatch, keys: pa.BinaryArray | None, values: pa.BinaryArray, topic: str, partitions: int
    ) -> Any:
        """Return the partition of each row of a batch.

        Args:
            rows: the table's columns as they are written.
            keys: the records' keys; None if the table has no key.
            values: the records' values.
            topic: the topic of all these rows.
            partitions: number of partitions of the topic.

        Returns:
            one integer per row, from 0 to ``partitions`` - 1: an Arrow array, a numpy array or a list.
        """


def load_partitioner(definition: Definition) -> Callable[[], Partitioner] | None:
    """Import the class in 'sink.partitioner'; None for the built-in partitioners.

    Raises:
        InvalidOptionError: the class cannot be imported here, is not allowed, or has no method ``partition``.
    """
    name = definition.options.get(opt.PARTITIONER) or opt.DEFAULT
    if name in opt.PARTITIONERS:
        return None
    table = f"Table '{definition.name}': "
    try:
        partitioner: Callable[[], Partitioner] = import_callable(opt.PARTITIONER.key, name, "here", _IMPORT_ADVICE)
    except InvalidOptionError as e:
        raise e.with_prefix(table) from e.__cause__
    if not callable(getattr(partitioner, "partition", None)):
        raise InvalidOptionError(
            f"{table}option '{opt.PARTITIONER.key}' = '{name}': the class has no method partition(rows, keys, values, "
            "topic, partitions); see kafka_sql.sink.partitioner.Partitioner.",
            option=opt.PARTITIONER.key,
            table=definition.name,
        )
    return partitioner


def open_partitioner(definition: Definition, task: int) -> PartitionFunction | None:
    """Return the table's partitioner for a task; None if the client chooses the partitions.

    Args:
        task: index of the task, from 0 (the index of the written Spark partition).

    Raises:
        InvalidOptionError: the class cannot be imported.
    """
    if definition.options.get(opt.PARTITIONER) == opt.FIXED:
        return lambda rows, _, __, ___, partitions: np.full(rows.num_rows, task % partitions, np.int32)
    partitioner_class = load_partitioner(definition)
    if partitioner_class is None:
        return None
    partitioner = partitioner_class()
    open_ = getattr(partitioner, "open", None)
    if open_ is not None:
        open_(task)

    def choose(
        rows: pa.RecordBatch, keys: pa.BinaryArray | None, values: pa.BinaryArray, topic: str, partitions: int
    ) -> Partitions:
        result = partitioner.partition(rows, keys, values, topic, partitions)
        return _check_partitions(definition, result, rows.num_rows, topic, partitions)

    return choose


def choose_partitions(
    partition: PartitionFunction,
    partition_count: Callable[[str], int],
    rows: pa.RecordBatch,
    keys: pa.BinaryArray | None,
    values: pa.BinaryArray,
    topics: pa.StringArray | str,
) -> Partitions:
    """Return the partition of each row of a batch. Calls the partitioner once per topic.

    Args:
        topics: the topic of each row, or of all rows.

    Raises:
        PartitionerError: the partitioner returned invalid partitions.
    """
    if isinstance(topics, str):
        return partition(rows, keys, values, topics, partition_count(topics))
    row_partitions = np.empty(rows.num_rows, np.int32)
    for topic in pc.unique(topics).to_pylist():
        indices = pa.array(np.flatnonzero(np.asarray(pc.equal(topics, topic))))
        topic_keys = keys.take(indices) if keys is not None else None
        row_partitions[indices.to_numpy()] = partition(
            rows.take(indices), topic_keys, values.take(indices), topic, partition_count(topic)
        )
    return row_partitions


def _check_partitions(definition: Definition, result: Any, rows: int, topic: str, partitions: int) -> Partitions:
    """Return what a partitioner returned as an array, or raise PartitionerError."""
    has_nulls = isinstance(result, pa.Array) and result.null_count > 0
    row_partitions = np.asarray([] if has_nulls else result)
    name = definition.options[opt.PARTITIONER]
    where = f"Table '{definition.name}': the class in option '{opt.PARTITIONER.key}' = '{name}'"
    if has_nulls or row_partitions.shape != (rows,) or not np.issubdtype(row_partitions.dtype, np.integer):
        actual = "nulls" if has_nulls else f"{row_partitions.dtype} of shape {row_partitions.shape}"
        raise PartitionerError(
            f"{where} must return one integer for each of the {rows} rows for topic '{topic}', but returned {actual}.",
            topic=topic,
        )
    out_of_range = row_partitions[(row_partitions < 0) | (row_partitions >= partitions)]
    if len(out_of_range):
        raise PartitionerError(
            f"{where} returned partition {out_of_range[0]} for topic '{topic}'. Expected 0 to {partitions - 1}.",
            topic=topic,
        )
    return row_partitions.astype(np.int32)
