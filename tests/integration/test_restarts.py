"""A stream into a table, whose driver is killed: no offset is lost, none is read twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.integration.streaming_driver import DECLARATION
from tests.support import Topics

pytestmark = pytest.mark.integration
PARTITIONS, RECORDS = 2, 1500  # of each partition and life; more than a driver comes to read
PATIENCE = 600  # seconds for a driver's first batch


def batches(folder: Path) -> int:
    """How many batches the commit log has."""
    log = folder / "checkpoint" / "commits"
    return max((int(f.name) + 1 for f in log.glob("[0-9]*")), default=0)


def killed(topics: Topics, topic: str, folder: Path, delay: float) -> None:
    """Run a driver until it has committed a batch and the delay has passed; kill it and all that it started."""
    before = batches(folder)
    driver = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("streaming_driver.py")), topics.bootstrap, topic, str(folder)],
        start_new_session=True,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + PATIENCE
    try:
        while batches(folder) == before:
            assert driver.poll() is None, "the driver has ended by itself"
            assert time.monotonic() < deadline, f"the driver has committed no batch within {PATIENCE} s"
            time.sleep(0.01)  # the file system tells nobody
        time.sleep(delay)
        print(f"killed after {batches(folder) - before} batches")
    finally:
        os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()


def check(spark: Any, sql: Any, topics: Topics, folder: Path, kills: int) -> None:
    topic = topics.create(PARTITIONS)
    records = RECORDS * kills
    for partition in range(PARTITIONS):
        topics.put(topic, *(b'{"a": %d}' % i for i in range(records)), partition=partition)
    chance = random.Random(kills)
    for _ in range(kills):
        killed(topics, topic, folder, chance.uniform(0, 1.5))
    sql(DECLARATION.format(broker=topics.bootstrap, topic=topic, limit=PARTITIONS * records))
    writer = spark.readStream.table("src").writeStream.format("parquet").option("path", f"{folder}/out")
    query = writer.option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True).start()
    query.awaitTermination()
    read = Counter((r.partition, r.offset) for r in spark.read.parquet(f"{folder}/out").collect())
    assert read == Counter({(p, o): 1 for p in range(PARTITIONS) for o in range(records)})
    assert batches(folder) > kills


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_driver_killed_twice(spark: Any, sql: Any, topics: Topics, tmp_path: Path) -> None:
    check(spark, sql, topics, tmp_path, 2)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_a_driver_killed_20_times(spark: Any, sql: Any, topics: Topics, tmp_path: Path) -> None:
    check(spark, sql, topics, tmp_path, 20)
