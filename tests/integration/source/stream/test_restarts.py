"""Test that a stream whose driver is killed repeatedly loses no offset and repeats none."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.spark_versions import needs_limits
from tests.topics import Topics

pytestmark = [pytest.mark.integration, pytest.mark.long, needs_limits]
PARTITIONS, RECORDS = 2, 1500  # per partition and run; more than a driver can read
TIMEOUT = 600  # seconds until a driver's first batch


def last_batch(folder: Path, log: str) -> int:
    """Return the last batch in one of the checkpoint's logs; -1 if it is empty."""
    return max((int(f.name) for f in (folder / "checkpoint" / log).glob("[0-9]*")), default=-1)


def start(topics: Topics, topic: str, folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    with (folder / "driver.out").open("wb") as out, (folder / "driver.err").open("wb") as err:
        return subprocess.Popen(
            [
                sys.executable,
                str(Path(__file__).with_name("streaming_driver.py")),
                *(topics.bootstrap, topic, str(folder), *arguments),
            ],
            start_new_session=True,
            env={**os.environ, "PYSPARK_PYTHON": sys.executable},
            stdout=out,
            stderr=err,
        )


def planned_batch_predicate(folder: Path) -> Callable[[], bool]:
    """Return a predicate: since this call, the driver has planned a new batch and not committed it yet."""
    last = last_batch(folder, "offsets")
    return lambda: last_batch(folder, "offsets") > max(last, last_batch(folder, "commits"))


def committed_batch_predicate(folder: Path) -> Callable[[], bool]:
    """Return a predicate: since this call, the driver has committed a new batch."""
    last = last_batch(folder, "commits")
    return lambda: last_batch(folder, "commits") > last


def run_and_kill(topics: Topics, topic: str, folder: Path, is_reached: Callable[[], bool], delay: float) -> None:
    """Run a driver until the predicate holds and the delay has passed; then kill its process group."""
    driver = start(topics, topic, folder)
    deadline = time.monotonic() + TIMEOUT
    try:
        while not is_reached():
            assert driver.poll() is None, (folder / "driver.err").read_text()
            assert time.monotonic() < deadline, f"the driver planned or committed no batch within {TIMEOUT} s"
            time.sleep(0.01)  # polling, because the file system does not notify
        time.sleep(delay)
    finally:
        os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()


def check_restarts(topics: Topics, folder: Path, kills: int) -> None:
    topic, records = topics.create(PARTITIONS), RECORDS * kills
    for partition in range(PARTITIONS):
        topics.produce(topic, *(b'{"a": %d}' % i for i in range(records)), partition=partition)
    rng, uncommitted_batches, started = random.Random(kills), 0, time.monotonic()
    for attempt in range(kills):
        # every third run is killed in an uncommitted batch. That includes the first, whose start Spark does not store
        if attempt % 3 == 0:
            is_reached, delay = planned_batch_predicate(folder), 0.0
        else:
            is_reached, delay = committed_batch_predicate(folder), rng.uniform(0, 1.5)
        run_and_kill(topics, topic, folder, is_reached, delay)
        offsets, commits = last_batch(folder, "offsets"), last_batch(folder, "commits")
        uncommitted_batches += offsets > commits
        print(
            f"{time.monotonic() - started:4.0f} s: kill {attempt + 1}, planned {offsets + 1}, committed {commits + 1}"
        )
    driver = start(topics, topic, folder, "finish")
    assert driver.wait(TIMEOUT) == 0, (folder / "driver.err").read_text()
    summary = json.loads((folder / "driver.out").read_text().splitlines()[-1])
    assert summary == [[p, records, records, 0, records - 1, records] for p in range(PARTITIONS)]
    assert last_batch(folder, "commits") > kills // 2
    assert uncommitted_batches  # which the next driver repeated


@pytest.mark.timeout(1800)
def test_a_driver_killed_twice(topics: Topics, tmp_path: Path) -> None:
    check_restarts(topics, tmp_path, 2)


@pytest.mark.timeout(3600)
def test_a_driver_killed_20_times(topics: Topics, tmp_path: Path) -> None:
    check_restarts(topics, tmp_path, 20)
