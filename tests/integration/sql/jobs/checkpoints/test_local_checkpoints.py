"""Checkpoints on a local disk: written without other processes, and exchangeable with those that Hadoop writes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from kafka_sql.sql.jobs.start_settings import write_directly

pytestmark = pytest.mark.integration

MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
OURS = "io.github.kafkasql.streaming.LocalCheckpointFileManager"
HADOOP = "org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager"


def manager(spark: SparkSession, folder: Path) -> Any:
    """Return the manager that a query would use that starts now."""
    jvm: Any = spark.sparkContext._jvm
    configuration = spark._jsparkSession.sessionState().newHadoopConf()
    checkpointing = jvm.org.apache.spark.sql.execution.streaming.checkpointing
    return checkpointing.CheckpointFileManager.create(path(spark, folder), configuration)


def path(spark: SparkSession, file: Path) -> Any:
    """Return Hadoop's path of a file."""
    return spark.sparkContext._jvm.org.apache.hadoop.fs.Path(f"file:{file}")  # type: ignore[union-attr]


def manager_class(spark: SparkSession, folder: Path) -> str:
    """Return the name of the manager's class."""
    return str(manager(spark, folder).getClass().getName())


def write(spark: SparkSession, file: Path, text: str, overwrite: bool) -> None:
    """Write a file of a checkpoint."""
    stream = manager(spark, file.parent).createAtomic(path(spark, file), overwrite)
    stream.write(bytearray(text.encode()))
    stream.close()


def run_batches(spark: SparkSession, checkpoint: Path, last: int) -> list[int]:
    """Run a query until a micro-batch has ended, and return the ids of the micro-batches that it ran."""
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 2).load()
    with write_directly(spark, str(checkpoint)):
        query: StreamingQuery = rows.writeStream.format("noop").option("checkpointLocation", str(checkpoint)).start()
    while not (progress := query.recentProgress) or progress[-1].batchId < last:
        assert query.isActive, query.exception()
        time.sleep(0.02)
    query.stop()
    return [p.batchId for p in progress]


def test_a_query_continues_from_a_checkpoint_that_the_other_manager_has_written(
    spark: SparkSession, tmp_path: Path
) -> None:
    spark.conf.set(MANAGER, HADOOP)
    try:
        assert run_batches(spark, tmp_path, 1)[0] == 0
    finally:
        spark.conf.unset(MANAGER)
    done = max(int(file.name) for file in (tmp_path / "commits").iterdir() if file.name.isdigit())
    assert run_batches(spark, tmp_path, done + 2)[0] == done + 1
    done = max(int(file.name) for file in (tmp_path / "commits").iterdir() if file.name.isdigit())
    spark.conf.set(MANAGER, HADOOP)
    try:
        assert run_batches(spark, tmp_path, done + 1)[0] == done + 1
    finally:
        spark.conf.unset(MANAGER)


def test_only_the_start_of_a_query_uses_the_manager(spark: SparkSession, tmp_path: Path) -> None:
    with write_directly(spark, str(tmp_path)):
        assert manager_class(spark, tmp_path) == OURS
    assert manager_class(spark, tmp_path) == HADOOP
    assert spark.conf.get(MANAGER, None) is None


def test_what_the_user_set_and_other_file_systems_stay(spark: SparkSession, tmp_path: Path) -> None:
    with write_directly(spark, "hdfs://localhost:1/checkpoints"):
        assert spark.conf.get(MANAGER, None) is None
    spark.conf.set(MANAGER, HADOOP)
    try:
        with write_directly(spark, str(tmp_path)):
            assert spark.conf.get(MANAGER) == HADOOP
        assert spark.conf.get(MANAGER) == HADOOP
    finally:
        spark.conf.unset(MANAGER)


def test_files_appear_complete_and_only_once(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "offsets"
    write(spark, file, "by Hadoop", overwrite=True)
    (tmp_path / ".offsets.crc").write_bytes(b"a checksum of the old content")
    with write_directly(spark, str(tmp_path)):
        with pytest.raises(Py4JJavaError, match="FileAlreadyExistsException"):
            write(spark, file, "second", overwrite=False)
        assert file.read_text() == "by Hadoop"
        stream = manager(spark, tmp_path).createAtomic(path(spark, file), True)
        stream.write(bytearray(b"third"))
        assert file.read_text() == "by Hadoop"
        stream.close()
    read = manager(spark, tmp_path).open(path(spark, file))  # by Hadoop, which compares checksums
    assert bytes(read.readAllBytes()) == b"third"
    read.close()
    assert [f.name for f in tmp_path.iterdir() if f.suffix != ".tmp"] == ["offsets"]  # Spark keeps a rejected file
