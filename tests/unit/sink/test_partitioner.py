"""The partition of each row: fixed, and by classes as users write them."""

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
from kafka_sql.sink.partitioner import choose, load, open_partitioner
from kafka_sql.table.declaration import Column, Table

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


class Recording:
    """Keeps what it was asked."""

    asked: list[Any]
    answer: Any = (0, 1, 2)

    def __init__(self) -> None:
        self.asked = []

    def open(self, task: int) -> None:
        self.asked.append(task)

    def partition(self, rows: Any, keys: Any, values: Any, topic: str, partitions: int) -> Any:
        self.asked.append((rows["a"].to_pylist(), keys, values.to_pylist(), topic, partitions))
        return self.answer[: rows.num_rows]


@pytest.fixture
def user_module(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    module: Any = types.ModuleType("users_own")
    module.Recording = Recording
    module.number = 7
    monkeypatch.setitem(sys.modules, "users_own", module)
    return module


@pytest.mark.parametrize("name", ["default", "round-robin"])
def test_the_client_chooses(name: str) -> None:
    assert open_partitioner(table(name), 3) is None


@pytest.mark.parametrize(("task", "partition"), [(0, 0), (3, 3), (4, 0), (9, 1)])
def test_fixed_is_the_task_modulo_the_partitions(task: int, partition: int) -> None:
    chooser = open_partitioner(table("fixed"), task)
    assert chooser is not None
    assert choose(chooser, {"t": 4}.__getitem__, ROWS, KEYS, VALUES, "t").tolist() == [partition] * 3


def test_a_class_is_asked_once_a_batch_and_topic(user_module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Recording] = []

    def make() -> Recording:
        made.append(Recording())
        return made[-1]

    monkeypatch.setattr(user_module, "Recording", type("Made", (Recording,), {"__new__": lambda cls: make()}))
    chooser = open_partitioner(table("users_own:Recording"), 5)
    assert chooser is not None
    counts = {"x": 3, "y": 2}.__getitem__
    assert choose(chooser, counts, ROWS, None, VALUES, pa.array(["x", "y", "x"])).tolist() == [0, 0, 1]
    assert made[0].asked == [5, ([1, 3], None, [b"v1", b"v3"], "x", 3), ([2], None, [b"v2"], "y", 2)]


@pytest.mark.parametrize("answer", [[0, 1, 2], (0, 1, 2), pa.array([0, 1, 2]), np.array([0, 1, 2], np.uint8)])
def test_an_answer_may_be_any_array(user_module: Any, monkeypatch: pytest.MonkeyPatch, answer: Any) -> None:
    monkeypatch.setattr(Recording, "answer", answer)
    chooser = open_partitioner(table("users_own:Recording"), 0)
    assert chooser is not None
    found = choose(chooser, {"t": 3}.__getitem__, ROWS, KEYS, VALUES, "t")
    assert (found.tolist(), found.dtype) == ([0, 1, 2], np.dtype(np.int32))


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ([0, 1], "must give a whole number for each of the 3 rows for topic 't', and gave int64 of shape (2,)"),
        ([0.0, 1.0, 2.0], "and gave float64 of shape (3,)"),
        (pa.array([0, None, 1]), "and gave nulls"),
        ([0, 3, 1], "chose partition 3 for topic 't', which has 3: 0 to 2"),
        ([0, -1, 1], "chose partition -1 for topic 't'"),
    ],
)
def test_a_wrong_answer(user_module: Any, monkeypatch: pytest.MonkeyPatch, answer: Any, words: str) -> None:
    monkeypatch.setattr(Recording, "answer", answer)
    chooser = open_partitioner(table("users_own:Recording"), 0)
    assert chooser is not None
    with pytest.raises(PartitionerError) as e:
        choose(chooser, {"t": 3}.__getitem__, ROWS, KEYS, VALUES, "t")
    assert words in str(e.value)
    assert "'sink.partitioner' = 'users_own:Recording'" in str(e.value)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nobodys_module:P", "No module named 'nobodys_module'. The class must be importable on the driver and on"),
        ("users_own:Absent", "module 'users_own' has no attribute 'Absent'"),
        ("users_own:number", "the class has no method partition(rows, keys, values, topic, partitions)"),
    ],
)
def test_a_class_that_is_none(user_module: Any, name: str, words: str) -> None:
    with pytest.raises(InvalidOptionError) as e:
        load(table(name))
    assert words in str(e.value)
