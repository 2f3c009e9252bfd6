"""A stream into a table, whose driver is killed: no offset is lost, none is read twice."""

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

from tests.topics import Topics

pytestmark = [pytest.mark.integration, pytest.mark.long]
PARTITIONS, RECORDS = 2, 1500  # of each partition and life; more than a driver comes to read
PATIENCE = 600  # seconds for a driver's first batch


def newest(folder: Path, log: str) -> int:
    """The last batch in one of the checkpoint's logs; -1 where there is none."""
    return max((int(f.name) for f in (folder / "checkpoint" / log).glob("[0-9]*")), default=-1)


def start(topics: Topics, topic: str, folder: Path, *more: str) -> subprocess.Popen[bytes]:
    with (folder / "driver.out").open("wb") as out, (folder / "driver.err").open("wb") as err:
        return subprocess.Popen(
            [
                sys.executable,
                str(Path(__file__).with_name("streaming_driver.py")),
                *(topics.bootstrap, topic, str(folder), *more),
            ],
            start_new_session=True,
            env={**os.environ, "PYSPARK_PYTHON": sys.executable},
            stdout=out,
            stderr=err,
        )


def planned(folder: Path) -> Callable[[], bool]:
    """Whether a driver has written down a batch of its own and has not committed it."""
    last = newest(folder, "offsets")
    return lambda: newest(folder, "offsets") > max(last, newest(folder, "commits"))


def committed(folder: Path) -> Callable[[], bool]:
    """Whether a driver has committed a batch."""
    last = newest(folder, "commits")
    return lambda: newest(folder, "commits") > last


def killed(topics: Topics, topic: str, folder: Path, reached: Callable[[], bool], delay: float) -> None:
    """Run a driver until it is where it is to be and the delay has passed; kill it and all that it started."""
    driver = start(topics, topic, folder)
    deadline = time.monotonic() + PATIENCE
    try:
        while not reached():
            assert driver.poll() is None, (folder / "driver.err").read_text()
            assert time.monotonic() < deadline, f"the driver is not there within {PATIENCE} s"
            time.sleep(0.01)  # the file system tells nobody
        time.sleep(delay)
    finally:
        os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()


def check(topics: Topics, folder: Path, kills: int) -> None:
    topic, records = topics.create(PARTITIONS), RECORDS * kills
    for partition in range(PARTITIONS):
        topics.put(topic, *(b'{"a": %d}' % i for i in range(records)), partition=partition)
    chance, halves, began = random.Random(kills), 0, time.monotonic()
    for life in range(kills):
        # every third one in a batch that it began itself: in the first life that is the one whose start Spark forgets
        reached, delay = (planned(folder), 0.0) if life % 3 == 0 else (committed(folder), chance.uniform(0, 1.5))
        killed(topics, topic, folder, reached, delay)
        offsets, commits = newest(folder, "offsets"), newest(folder, "commits")
        halves += offsets > commits
        print(f"{time.monotonic() - began:4.0f} s: kill {life + 1}, batches planned {offsets + 1}, done {commits + 1}")
    driver = start(topics, topic, folder, "rest")
    assert driver.wait(PATIENCE) == 0, (folder / "driver.err").read_text()
    held = json.loads((folder / "driver.out").read_text().splitlines()[-1])
    assert held == [[p, records, records, 0, records - 1, records] for p in range(PARTITIONS)]
    assert newest(folder, "commits") > kills // 2
    assert halves  # a batch was done again


@pytest.mark.timeout(1800)
def test_a_driver_killed_twice(topics: Topics, tmp_path: Path) -> None:
    check(topics, tmp_path, 2)


@pytest.mark.timeout(3600)
def test_a_driver_killed_20_times(topics: Topics, tmp_path: Path) -> None:
    check(topics, tmp_path, 20)
