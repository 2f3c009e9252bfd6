"""Test the readers that Spark calls, with logs in memory instead of a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark import cloudpickle

from kafka_sql.definition import validate_table
from kafka_sql.kafka.records import Records
from kafka_sql.kafka.split import Split
from kafka_sql.runtime import task as task_module
from kafka_sql.runtime.continuous_task import is_continuous_task, set_continuous_task
from kafka_sql.source.reader import split_reader
from kafka_sql.source.reader.split_reader import SplitReader
from kafka_sql.source.spark_readers import BatchReader, StreamReader, TaskPartition
from kafka_sql.source.stream import rate_limits
from kafka_sql.table.table import Column, Table
from tests.unit.source.fake_cluster import FakeCluster, Log, define, use_cluster

SCHEMA = pa.schema([("v", pa.binary())])
A, B = ("t", 0), ("t", 1)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    fake = FakeCluster({A: Log(0, 4), B: Log(0, 2)})
    use_cluster(monkeypatch, fake)
    return fake


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Mapping[str, str], Split]]:
    """The client configuration and the split of each read, whose records are the offsets."""
    requests: list[tuple[Mapping[str, str], Split]] = []

    def read_records(config: Mapping[str, str], split: Split, *arguments: Any) -> Iterator[Records]:
        requests.append((config, split))
        count_client = arguments[-1]
        count_client("direct")
        offsets = np.arange(split.start, split.stop)
        yield Records(pa.array([b"%d" % o for o in offsets], pa.binary()), offsets)

    monkeypatch.setattr(split_reader, "read_records", read_records)
    return requests


def values(batches: Iterator[pa.RecordBatch]) -> list[bytes]:
    return [value for batch in batches for value in batch["v"].to_pylist()]


def test_a_batch_reads_each_partition_in_a_task(cluster: FakeCluster, requests: list[Any]) -> None:
    reader = BatchReader(define(properties_group_id="g"), SCHEMA)
    tasks = reader.partitions()
    assert [values(reader.read(task)) for task in tasks] == [[b"0", b"1", b"2", b"3"], [b"0", b"1"]]
    assert {config["client.id"] for config, _ in requests} == {"g-0"}  # outside of a task


def test_parallelism_splits_partitions(cluster: FakeCluster, requests: list[Any]) -> None:
    reader = BatchReader(define(scan_parallelism="3"), SCHEMA)
    assert [values(reader.read(task)) for task in reader.partitions()] == [[b"0", b"1"], [b"2", b"3"], [b"0", b"1"]]


def test_parallelism_does_not_split_partitions_whose_changes_are_applied(cluster: FakeCluster) -> None:
    id, kind = Column("id", "INT", "INT"), Column("kind", "STRING", "STRING", metadata="row-kind")
    hidden = Column("__row_kind", "STRING", "STRING", metadata="row-kind")
    for columns, count in (((id, hidden), 2), ((id, kind), 3)):  # with the column kind, each change is a row
        table = define(columns, format="debezium-json", scan_parallelism="3")
        assert len(BatchReader(table, SCHEMA).partitions()) == count


def test_a_split_is_read_with_the_configuration_of_the_table_or_the_task(requests: list[Any]) -> None:
    table = define()
    list(SplitReader(table, SCHEMA).read(Split("t", 0, 0, 1)))
    list(SplitReader(table, SCHEMA, {"client.id": "task"}).read(Split("t", 0, 0, 1)))
    assert [config for config, _ in requests] == [table.client_config, {"client.id": "task"}]


@pytest.mark.parametrize("connector", ["upsert-kafka", "kafka"])
def test_tables_with_a_row_per_key_read_the_latest_rows_of_a_whole_partition(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch, connector: str
) -> None:
    if connector == "upsert-kafka":
        formats = {"key.format": "json", "value.format": "json"}
        payloads = [b'{"k": "a", "n": 1}', b'{"k": "b", "n": 2}', None, b'{"k": "a", "n": 4}']
        keys = pa.array([b'{"k": "a"}', b'{"k": "b"}', b'{"k": "b"}', b'{"k": "a"}'], pa.binary())
    else:
        formats = {"format": "debezium-json", "scan.startup.mode": "earliest-offset"}
        payloads = [
            b'{"op": "c", "after": {"k": "a", "n": 1}}',
            b'{"op": "c", "after": {"k": "b", "n": 2}}',
            b'{"op": "d", "before": {"k": "b", "n": 2}}',
            b'{"op": "u", "before": {"k": "a", "n": 1}, "after": {"k": "a", "n": 4}}',
        ]
        keys = None

    def read_records(*arguments: Any) -> Iterator[Records]:
        count_client = arguments[-1]
        count_client("direct")
        yield Records(pa.array(payloads, pa.binary()), np.arange(4), keys)

    monkeypatch.setattr(split_reader, "read_records", read_records)
    del cluster.logs[B]
    options = {"connector": connector, "topic": "t", "properties.bootstrap.servers": "h:1", "scan.parallelism": "3"}
    columns = (Column("k", "STRING", "STRING", nullable=False), Column("n", "INT", "INT"))
    table = validate_table(Table(("t",), columns, {**options, **formats}, primary_key=("k",)))
    schema = pa.schema([pa.field("k", pa.string(), nullable=False), ("n", pa.int32())])
    reader = BatchReader(table, schema)
    (task,) = reader.partitions()
    assert [row for batch in reader.read(task) for row in batch.to_pylist()] == [{"k": "a", "n": 4}]


def test_spark_reads_nothing_if_there_are_no_splits(requests: list[Any]) -> None:
    assert list(BatchReader(define(), SCHEMA).read(None)) == []  # type: ignore[arg-type]
    assert requests == []


def test_tasks_of_micro_batches_are_continuous(
    cluster: FakeCluster, requests: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    properties = {"streaming.sql.batchId": "7"}
    context = SimpleNamespace(getLocalProperty=properties.get)
    monkeypatch.setattr(task_module, "TaskContext", SimpleNamespace(get=lambda: context))
    batch, stream = BatchReader(define(properties_group_id="g"), SCHEMA), StreamReader(define(), SCHEMA)
    assert not is_continuous_task()
    for reader in (stream, batch):  # a batch read of a static side
        assert list(reader.read(TaskPartition([]))) == []
        assert is_continuous_task()
        set_continuous_task(False)
    properties.clear()
    set_continuous_task(True)  # of the task before, in the same worker
    assert list(batch.read(TaskPartition([]))) == []
    assert not is_continuous_task()


def test_a_stream_in_micro_batches(cluster: FakeCluster, requests: list[Any]) -> None:
    reader = StreamReader(define(properties_group_id="g"), SCHEMA)
    start = reader.initialOffset()
    assert start == {"version": 1, "offsets": {}, "starts": {"t": {"0": 0, "1": 0}}}
    end = reader.latestOffset(start, reader.getDefaultReadLimit()) if rate_limits.AVAILABLE else reader.latestOffset()
    assert end["offsets"] == {"t": {"0": 4, "1": 2}}
    in_task = cloudpickle.loads(cloudpickle.dumps(reader))
    assert [values(in_task.read(task)) for task in reader.partitions(start, end)] == [
        [b"0", b"1", b"2", b"3"],
        [b"0", b"1"],
    ]
    reader.commit(end)
    reader.stop()
    assert cluster.commits == [("g", {A: 4, B: 2})]
    report = reader.reportLatestOffset()
    assert report is not None
    assert report["offsets"] == {"t": {"0": 4, "1": 2}}
    if rate_limits.AVAILABLE:
        assert reader.latestOffset(end, reader.getDefaultReadLimit()) is end


def test_available_now_ends_where_the_topic_ended_at_its_start(cluster: FakeCluster) -> None:
    if not rate_limits.AVAILABLE:
        pytest.skip("PySpark 4.2 or later")
    reader = StreamReader(define(), SCHEMA)
    reader.prepareForTriggerAvailableNow()
    cluster.logs[A].end = 9
    end = reader.latestOffset(reader.initialOffset(), reader.getDefaultReadLimit())
    assert end["offsets"] == {"t": {"0": 4, "1": 2}}


def test_the_tasks_of_the_first_batch_since_the_start_are_marked(cluster: FakeCluster) -> None:
    reader = StreamReader(define(), SCHEMA)
    ends = [{"version": 1, "offsets": {"t": {"0": n, "1": 0}}} for n in (1, 2)]
    start = reader.initialOffset()

    def marks(start: Any, end: Any) -> list[bool]:
        tasks = reader.partitions(start, end)
        assert all(isinstance(task, TaskPartition) for task in tasks)
        return [task.is_in_first_batch for task in tasks]  # type: ignore[attr-defined]

    assert marks(start, ends[0]) == [True]
    assert marks(start, ends[0]) == [True]  # planned again
    assert marks(ends[0], ends[1]) == [False]


def test_a_task_has_its_splits() -> None:
    task = TaskPartition((Split("t", 0, 0, 1),))
    assert task.splits == (Split("t", 0, 0, 1),)
