"""Which partition a row goes to: 'sink.partitioner'.

'default' and 'round-robin' leave it to the client, as in Flink: by the key's murmur2 hash, as Java's client has it, and
without a key to one partition after another, each for some milliseconds (sticky).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka_sql.definition import Definition
from kafka_sql.errors import InvalidOptionError, PartitionerError
from kafka_sql.options import connector as opt

Partitions = npt.NDArray[np.int32]
Choose = Callable[[pa.RecordBatch, "pa.BinaryArray | None", pa.BinaryArray, str, int], Partitions]


class Partitioner(Protocol):
    """What a class in 'sink.partitioner' = 'module:Class' has. It is made without arguments, once in each task.

    It may also have ``open(task: int)``, which is called first, with the task's number from 0.
    """

    def partition(
        self, rows: pa.RecordBatch, keys: pa.BinaryArray | None, values: pa.BinaryArray, topic: str, partitions: int
    ) -> Any:
        """The partition of each row of a batch.

        Args:
            rows: the table's columns as they are written.
            keys: the records' keys; None where the table has no key.
            values: the records' values.
            topic: the topic that all these rows go to.
            partitions: how many partitions it has.

        Returns:
            as many whole numbers, each from 0 to ``partitions`` - 1: an Arrow or numpy array, or a list.
        """


def load(definition: Definition) -> Callable[[], Partitioner] | None:
    """The class that the option names; None where the option names none.

    Raises:
        InvalidOptionError: it cannot be imported here, or is no partitioner.
    """
    name = definition.options.get(opt.PARTITIONER) or opt.DEFAULT
    if name in opt.PARTITIONERS:
        return None
    module, _, attribute = name.partition(":")
    where = f"Table '{definition.name}': option '{opt.PARTITIONER.key}' = '{name}'"
    try:
        kind = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as e:
        raise InvalidOptionError(
            f"{where}: {e}. The class must be importable on the driver and on every executor: install its package "
            "there, or send it by spark.submit.pyFiles or spark.addArtifact."
        ) from e
    if not callable(getattr(kind, "partition", None)):
        raise InvalidOptionError(
            f"{where}: the class has no method partition(rows, keys, values, topic, partitions); see "
            "kafka_sql.sink.partitioner.Partitioner."
        )
    made: Callable[[], Partitioner] = kind
    return made


def open_partitioner(definition: Definition, task: int) -> Choose | None:
    """The table's partitioner for a task; None where the client chooses.

    Args:
        task: its number, from 0 (the index of the written partition).

    Raises:
        InvalidOptionError: the class cannot be loaded.
    """
    if definition.options.get(opt.PARTITIONER) == opt.FIXED:
        return lambda rows, _, __, ___, partitions: np.full(rows.num_rows, task % partitions, np.int32)
    kind = load(definition)
    if kind is None:
        return None
    made = kind()
    start = getattr(made, "open", None)
    if start is not None:
        start(task)
    return lambda *batch: _checked(definition, made.partition(*batch), batch[0].num_rows, batch[-2], batch[-1])


def choose(
    chooser: Choose,
    count_of: Callable[[str], int],
    rows: pa.RecordBatch,
    keys: pa.BinaryArray | None,
    values: pa.BinaryArray,
    topics: pa.StringArray | str,
) -> Partitions:
    """Ask for the partitions of a batch, topic by topic.

    Args:
        count_of: how many partitions a topic has.
        topics: each row's, or that of all.

    Raises:
        PartitionerError: the answer is none.
    """
    if isinstance(topics, str):
        return chooser(rows, keys, values, topics, count_of(topics))
    chosen = np.empty(rows.num_rows, np.int32)
    for topic in pc.unique(topics).to_pylist():
        places = np.flatnonzero(np.asarray(pc.equal(topics, topic)))
        part = pa.array(places)
        own = keys.take(part) if keys is not None else None
        chosen[places] = chooser(rows.take(part), own, values.take(part), topic, count_of(topic))
    return chosen


def _checked(definition: Definition, answer: Any, rows: int, topic: str, partitions: int) -> Partitions:
    nulls = isinstance(answer, pa.Array) and answer.null_count
    found = np.asarray(answer if not nulls else [])
    name = definition.options[opt.PARTITIONER]
    where = f"Table '{definition.name}': the class of option '{opt.PARTITIONER.key}' = '{name}'"
    if nulls or found.shape != (rows,) or not np.issubdtype(found.dtype, np.integer):
        gave = "nulls" if nulls else f"{found.dtype} of shape {found.shape}"
        raise PartitionerError(
            f"{where} must give a whole number for each of the {rows} rows for topic '{topic}', and gave {gave}."
        )
    wrong = found[(found < 0) | (found >= partitions)]
    if len(wrong):
        raise PartitionerError(
            f"{where} chose partition {wrong[0]} for topic '{topic}', which has {partitions}: 0 to {partitions - 1}."
        )
    return found.astype(np.int32)
