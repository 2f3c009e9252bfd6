"""kill -9, many times: each row is there once, for a reader that reads along and for one that comes at the end."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from kafka_sql.embedded import EmbeddedKafka
from tests.kills import oracle
from tests.support import Topics

pytestmark = pytest.mark.integration


def campaign(*arguments: str, wait: float) -> dict[str, Any]:
    """In a process of its own, as it forks."""
    command = [sys.executable, "-m", "tests.kills", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=wait)
    assert done.returncode == 0, done.stdout + done.stderr[-5000:]
    found: dict[str, Any] = json.loads(done.stdout)
    assert oracle.right(found["concurrent"])
    assert oracle.right(found["final"])
    return found


@pytest.mark.parametrize("naming", ["INCREMENTING", "POOLING"])
def test_a_sample_of_kills(topics: Topics, naming: str) -> None:
    found = campaign("--kills", "10", "--naming", naming, "--bootstrap", topics.bootstrap, wait=280)
    assert sum(found["kills"].values()) == 10
    assert found["final"]["produced"] >= 10 * 40


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(("naming", "kills"), [("INCREMENTING", 200), ("POOLING", 50)])
def test_many_kills_of_drivers_and_brokers(naming: str, kills: int) -> None:
    found = campaign("--kills", str(kills), "--seed", "2", "--naming", naming, wait=7000)
    assert sum(found["kills"].values()) >= kills
    assert found["kills"]["broker"] >= kills // 10


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_brokers_of_a_cluster_are_killed_coordinators_among_them() -> None:
    found = campaign("--kills", "60", "--seed", "3", "--nodes", "3", wait=3500)
    assert found["kills"]["broker"] == 6


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(("master", "lives"), [("local[2,8]", 12), ("local-cluster[2,1,1024]", 6)])
def test_spark_with_its_driver_and_its_workers_killed(tmp_path: Path, master: str, lives: int) -> None:
    """Drivers in each life; in every second one, what works for it, while it works: workers, or executors with them."""
    processes = workers if master.startswith("local[") else executors
    with EmbeddedKafka() as kafka:
        topics, chance = Topics(kafka.bootstrap_servers), random.Random(1)
        source, target = topics.create(3), topics.create(3)
        sent = killed = 0
        for life in range(lives):
            with running(kafka.bootstrap_servers, source, target, tmp_path, master) as (python, java):
                sent = send(topics, source, sent)
                await_rows(topics, target, sent)
                for _ in range(3 if life % 2 else 0):
                    sent = send(topics, source, sent)
                    time.sleep(chance.uniform(0, 0.5))  # into a batch, at any place of it
                    killed += kill(processes(java))
                    await_rows(topics, target, sent)
                send_until = time.monotonic() + chance.uniform(0, 3)
                while time.monotonic() < send_until:
                    sent = send(topics, source, sent)
                kill([java, python])
        with running(kafka.bootstrap_servers, source, target, tmp_path, master):
            found = oracle.read(kafka.bootstrap_servers, target, 3, sent, 400, None)
    verdict = found.verdict(sent)
    assert oracle.right(verdict), verdict
    assert killed >= lives


@contextlib.contextmanager
def running(bootstrap: str, source: str, target: str, folder: Path, master: str) -> Any:
    """Process ids of the query's Python and Java, which are killed at the end."""
    command = [sys.executable, "-m", "tests.kills.spark_query", bootstrap, source, target, "spark-kills"]
    command += [str(folder / "checkpoints"), master]
    with (
        (folder / "driver.err").open("ab") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        assert process.stdout is not None
        python, java = map(int, process.stdout.readline().split())
        try:
            yield python, java
        finally:
            kill([java, python])


def send(topics: Topics, topic: str, start: int) -> int:
    """100 more numbers; the next one."""
    producer = Producer({"bootstrap.servers": topics.bootstrap, "log_level": 0})
    for a in range(start, start + 100):
        producer.produce(topic, json.dumps({"a": a, "k": a % 3}).encode(), partition=a % 3)
    assert producer.flush(60) == 0
    return start + 100


def await_rows(topics: Topics, topic: str, count: int) -> None:
    found = oracle.read(topics.bootstrap, topic, 3, count, 400, None)
    assert len(found.numbers) >= count, "no progress"


def kill(processes: list[int]) -> int:
    """How many of them there were."""
    gone = 0
    for one in processes:
        try:
            os.kill(one, signal.SIGKILL)
        except ProcessLookupError:
            gone += 1
    return len(processes) - gone


def workers(java: int) -> list[int]:
    """The Python processes that work at tasks; the death of one that plans or commits ends the query."""
    return [
        worker
        for daemon in children(java)
        if command_of(daemon).endswith(b"pyspark.worker\0")
        for worker in children(daemon)
    ]


def executors(java: int) -> list[int]:
    """The Javas of a local cluster."""
    return [one for one in children(java) if b"CoarseGrainedExecutorBackend" in command_of(one)]


def children(process: int) -> list[int]:
    with contextlib.suppress(FileNotFoundError):
        return [
            int(word) for path in Path(f"/proc/{process}/task").glob("*/children") for word in path.read_text().split()
        ]
    return []


def command_of(process: int) -> bytes:
    with contextlib.suppress(FileNotFoundError):
        return Path(f"/proc/{process}/cmdline").read_bytes()
    return b""
