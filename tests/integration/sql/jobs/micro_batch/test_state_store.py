"""The state store and the number of partitions of continuous queries, also of checkpoints that have others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.topics import Topics

pytestmark = pytest.mark.integration
PARTITIONS = "spark.sql.shuffle.partitions"
STORE = "spark.sql.streaming.stateStore.providerClass"
HDFS = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


@pytest.fixture
def partitions_not_set(spark: Any) -> Iterator[None]:
    """Remove the number of partitions that the tests set."""
    number = spark.conf.get(PARTITIONS)
    spark.conf.unset(PARTITIONS)
    yield
    spark.conf.set(PARTITIONS, number)


def run(spark: Any, result: Any) -> None:
    query = spark.streams.get(result.collect()[0][0])
    query.processAllAvailable()
    query.stop()


def settings_of_last_batch(folder: Path) -> tuple[str, str]:
    """Return the partitions and the state store of the last micro-batch of a checkpoint."""
    last = max((folder / "insert-into_default.tgt" / "offsets").glob("[0-9]*"), key=lambda file: int(file.name))
    conf = json.loads(last.read_text().splitlines()[1])["conf"]
    return conf[PARTITIONS], conf[STORE]


@pytest.mark.usefixtures("partitions_not_set")
@pytest.mark.parametrize("first", [{}, pytest.param({STORE: HDFS, PARTITIONS: "3"}, marks=pytest.mark.long)])
def test_a_query_has_rocksdb_and_as_many_partitions_as_cores(
    spark: Any, streaming: Any, topics: Topics, tmp_path: Path, first: dict[str, str]
) -> None:
    source, target = topics.create(), topics.create()
    streaming(f"CREATE TABLE src (k INT) {topics.with_options(source)}")
    key = "PRIMARY KEY (k) NOT ENFORCED"
    streaming(f"CREATE TABLE tgt (k INT, n BIGINT, {key}) {topics.with_upsert_options(target)}")
    insert = "INSERT INTO tgt SELECT k, count(*) FROM src GROUP BY k"
    topics.produce(source, b'{"k": 1}', b'{"k": 2}')
    for name, value in first.items():
        spark.conf.set(name, value)
    run(spark, streaming(insert))
    for name in first:
        spark.conf.unset(name)
    topics.produce(source, b'{"k": 1}')
    run(spark, streaming(insert))
    cores = str(spark.sparkContext.defaultParallelism)
    assert settings_of_last_batch(tmp_path) == (first.get(PARTITIONS, cores), first.get(STORE, ROCKSDB))
    streaming("SET 'execution.runtime-mode' = 'batch'")
    assert sorted(map(tuple, streaming("SELECT * FROM tgt").collect())) == [(1, 2), (2, 1)]
    assert spark.conf.get(STORE) != ROCKSDB
