"""Spark's speculation: a task hangs, a copy on another host wins, and each row is written once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pyspark
import pytest

from kafka_sql.embedded.loopback import free_ports
from kafka_sql.sink.exactly_once.admin import list_transactions
from tests.integration.sink.exactly_once.speculation_driver import ROWS, TASKS
from tests.topics import Topics

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.timeout(1200)]
HOME = Path(pyspark.__file__).parent
ENVIRONMENT = {
    **os.environ,
    "SPARK_HOME": str(HOME),
    "PYSPARK_PYTHON": sys.executable,
    "SPARK_LOCAL_IP": "127.0.0.1",
    "SPARK_DAEMON_MEMORY": "256m",
}


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    """Yield a cluster with two hosts, because Spark never runs two copies of a task on the same host."""
    (port,) = free_ports(1)
    address = f"spark://127.0.0.1:{port}"
    deploy, web = "org.apache.spark.deploy", ("--webui-port", "0")
    commands = [[f"{deploy}.master.Master", "--host", "127.0.0.1", "--port", str(port), *web]]
    for host in ("127.0.0.1", "127.0.0.2"):
        size = ("--cores", "2", "--memory", "1g", "--work-dir", str(tmp_path / host))
        commands.append([f"{deploy}.worker.Worker", "--host", host, *size, *web, address])
    with ExitStack() as stack:
        output = stack.enter_context((tmp_path / "cluster.log").open("w"))
        for command in commands:
            process = subprocess.Popen(
                [str(HOME / "bin/spark-class"), *command],
                env=ENVIRONMENT,
                cwd=tmp_path,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            stack.callback(process.wait)
            stack.callback(process.kill)
        yield address


def test_a_speculative_task_wins_over_a_hanging_one(master: str, topics: Topics, tmp_path: Path) -> None:
    topic, attempts = topics.create(3), tmp_path / "attempts"
    attempts.mkdir()
    program = str(Path(__file__).with_name("speculation_driver.py"))
    command = [sys.executable, program, master, topics.bootstrap, topic, "speculation", str(attempts)]
    with (
        (tmp_path / "driver.log").open("w") as errors,
        subprocess.Popen(
            command, env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as driver,
    ):
        assert driver.stdout is not None
        try:
            assert driver.stdout.readline() == "written\n", (tmp_path / "driver.log").read_text()[-3000:]
            # the running driver has aborted the transaction of the lost attempt, so readers do not wait for its timeout
            assert list_transactions({"bootstrap.servers": topics.bootstrap}, "speculation") == []
        finally:
            driver.kill()
    started = {tuple(map(int, path.name.split("-")[:2])) for path in attempts.iterdir()}
    assert {(partition, 0) for partition in range(TASKS)} | {(0, 1)} <= started
    records = topics.consume(topic, ROWS, 3, **{"isolation.level": "read_committed"})
    assert sorted(json.loads(m.value() or b"")["a"] for m in records) == list(range(ROWS))
