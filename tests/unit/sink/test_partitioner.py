"""Partitioners: 'fixed', and user-defined classes."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kafka_sql.definition import Definition, validate_table
from kafka_sql.errors import InvalidOptionError, PartitionerError
from kafka_sql.sink.partitioner import choose_partitions, load_partitioner, open_partitioner
from kafka_sql.table.table import Column, Table

ROWS = pa.RecordBatch.from_pydict({"a": [1, 2, 3]})
KEYS = pa.array([b"k1", b"k2", b"k3"])
VALUES = pa.array([b"v1", b"v2", b"v3"])


def table(partitioner: str) -> Definition:
    options = {
        "connector": "kafka",
        "topic": "t",
        "properties.bootstrap.servers": "h:1",
        "format": "json",
        "sink.partitioner": partitioner,
    }
    return validate_table(Table(("t",), (Column("a", "INT", "INT"),), options))


class RecordingPartitioner:
    """Records the calls of its methods."""

    calls: list[Any]
    result: Any = (0, 1, 2)

    def __init__(self) -> None:
        self.calls = []

    def open(self, task: int) -> None:
        self.calls.append(task)

    def partition(self, rows: Any, keys: Any, values: Any, topic: str, partitions: int) -> Any:
        self.calls.append((rows["a"].to_pylist(), keys, values.to_pylist(), topic, partitions))
        return self.result[: rows.num_rows]


@pytest.fixture
def user_module(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    module: Any = types.ModuleType("user_module")
    module.RecordingPartitioner = RecordingPartitioner
    module.number = 7
    monkeypatch.setitem(sys.modules, "user_module", module)
    return module


@pytest.mark.parametrize("name", ["default", "round-robin"])
def test_the_client_chooses_with_default_and_round_robin(name: str) -> None:
    assert open_partitioner(table(name), 3) is None


@pytest.mark.parametrize(("task", "partition"), [(0, 0), (3, 3), (4, 0), (9, 1)])
def test_fixed_uses_the_task_index_modulo_the_partition_count(task: int, partition: int) -> None:
    partition_function = open_partitioner(table("fixed"), task)
    assert partition_function is not None
    assert (
        choose_partitions(partition_function, {"t": 4}.__getitem__, ROWS, KEYS, VALUES, "t").tolist() == [partition] * 3
    )


def test_a_class_is_called_once_per_batch_and_topic(user_module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    instances: list[RecordingPartitioner] = []

    def create_partitioner() -> RecordingPartitioner:
        instances.append(RecordingPartitioner())
        return instances[-1]

    monkeypatch.setattr(
        user_module,
        "RecordingPartitioner",
        type("Partitioner", (RecordingPartitioner,), {"__new__": lambda cls: create_partitioner()}),
    )
    partition_function = open_partitioner(table("user_module:RecordingPartitioner"), 5)
    assert partition_function is not None
    counts = {"x": 3, "y": 2}.__getitem__
    assert choose_partitions(partition_function, counts, ROWS, None, VALUES, pa.array(["x", "y", "x"])).tolist() == [
        0,
        0,
        1,
    ]
    assert instances[0].calls == [5, ([1, 3], None, [b"v1", b"v3"], "x", 3), ([2], None, [b"v2"], "y", 2)]


@pytest.mark.parametrize("result", [[0, 1, 2], (0, 1, 2), pa.array([0, 1, 2]), np.array([0, 1, 2], np.uint8)])
def test_any_array_or_list_is_accepted(user_module: Any, monkeypatch: pytest.MonkeyPatch, result: Any) -> None:
    monkeypatch.setattr(RecordingPartitioner, "result", result)
    partition_function = open_partitioner(table("user_module:RecordingPartitioner"), 0)
    assert partition_function is not None
    partitions = choose_partitions(partition_function, {"t": 3}.__getitem__, ROWS, KEYS, VALUES, "t")
    assert (partitions.tolist(), partitions.dtype) == ([0, 1, 2], np.dtype(np.int32))


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ([0, 1], "must return one integer for each of the 3 rows for topic 't', but returned int64 of shape (2,)"),
        ([0.0, 1.0, 2.0], "but returned float64 of shape (3,)"),
        (pa.array([0, None, 1]), "but returned nulls"),
        ([0, 3, 1], "returned partition 3 for topic 't'. Expected 0 to 2."),
        ([0, -1, 1], "returned partition -1 for topic 't'"),
    ],
)
def test_invalid_partitions_are_rejected(
    user_module: Any, monkeypatch: pytest.MonkeyPatch, result: Any, message: str
) -> None:
    monkeypatch.setattr(RecordingPartitioner, "result", result)
    partition_function = open_partitioner(table("user_module:RecordingPartitioner"), 0)
    assert partition_function is not None
    with pytest.raises(PartitionerError) as e:
        choose_partitions(partition_function, {"t": 3}.__getitem__, ROWS, KEYS, VALUES, "t")
    assert message in str(e.value)
    assert "'sink.partitioner' = 'user_module:RecordingPartitioner'" in str(e.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing_module:P", "(No module named 'missing_module'). The class must be importable on the driver and"),
        ("user_module:Missing", "module 'user_module' has no callable 'Missing'"),
        ("user_module:number", "module 'user_module' has no callable 'number'"),
        ("builtins:dict", "the class has no method partition(rows, keys, values, topic, partitions)"),
    ],
)
def test_an_invalid_class_is_rejected(user_module: Any, name: str, message: str) -> None:
    with pytest.raises(InvalidOptionError) as e:
        load_partitioner(table(name))
    assert message in str(e.value)
