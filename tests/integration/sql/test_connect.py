"""Flink's statements over Spark Connect, in separate processes: a process has one type of session."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyspark
import pytest

from kafka_sql.embedded.loopback import HOST, free_ports
from kafka_sql.runtime.worker_main import installed_command
from tests.planted_secrets import find_leaks, planted_secrets
from tests.topics import Topics
from tests.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]  # starts a server

SPARK = Path(pyspark.__file__).parent
TOKEN = "SPARK_CONNECT_AUTHENTICATE_TOKEN"


@dataclass(frozen=True)
class Server:
    """A Spark Connect server.

    Attributes:
        url: its URL for clients.
        environment: environment variables of a client.
        folder: its log, event log and warehouse.
    """

    url: str
    environment: dict[str, str]
    folder: Path


def start_command(*options: str) -> list[str | Path]:
    """Return the command that starts a server. The packages of PySpark 4.1 lack the script."""
    script = SPARK / "sbin/start-connect-server.sh"
    if script.exists():
        return [script, "--wait", *options]
    server_class = "org.apache.spark.sql.connect.service.SparkConnectServer"
    return [SPARK / "bin/spark-submit", "--class", server_class, *options, "spark-internal"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Start a server as the documentation says."""
    folder = tmp_path_factory.mktemp("connect")
    (folder / "events").mkdir()
    (port,) = free_ports(1)
    environment = {
        **os.environ,
        "PYSPARK_PYTHON": str(installed_command()),
        "PYTHONPATH": str(Path(__file__).parents[3]),
        "SPARK_HOME": str(SPARK),
        "SPARK_LOG_DIR": str(folder),
        "SPARK_PID_DIR": str(folder),
        TOKEN: "secret-of-the-server",
    }
    settings = {
        "spark.connect.grpc.binding.address": "localhost",
        "spark.connect.grpc.binding.port": port,
        "spark.sql.warehouse.dir": folder / "warehouse",
        "spark.sql.shuffle.partitions": 2,
        "spark.ui.port": 0,
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": folder / "events",
        "spark.eventLog.compress": "false",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # starts faster
    }
    conf = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            start_command("--master", "local[2]", *conf),
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
    try:
        wait_until(lambda: is_listening(port) or process.poll() is not None, "the server listens")
        assert process.poll() is None, (folder / "log").read_text()[-5000:]
        yield Server(f"sc://localhost:{port}", environment, folder)
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)


def is_listening(port: int) -> bool:
    """Return whether a process listens on a port of this machine."""
    with socket.socket() as client:
        return client.connect_ex((HOST, port)) == 0


@pytest.mark.parametrize("extent", ["sample", pytest.param("all", marks=pytest.mark.long)])
def test_statements_over_connect(server: Server, topics: Topics, tmp_path: Path, extent: str) -> None:
    run_module("tests.connect_statements", server, topics, tmp_path, extent)


@pytest.mark.long
def test_clients_of_a_server_do_not_see_each_others_tables(server: Server, topics: Topics, tmp_path: Path) -> None:
    run_module("tests.connect_isolation", server, topics, tmp_path)


@pytest.mark.long
def test_functions_of_the_session_and_lineage(server: Server, topics: Topics, tmp_path: Path) -> None:
    run_module("tests.connect_functions", server, topics, tmp_path)


@pytest.mark.long
def test_the_shell_prints_rows_over_connect(server: Server, topics: Topics, tmp_path: Path) -> None:
    topic = topics.create()
    topics.produce(topic, b"a\tb")
    (tmp_path / "a.sql").write_text(f"""
        SELECT 1 AS a, X'4100' AS a, 'a\\tb\\n', 'NULL', NULL, X'FF41', 'e\\\\f', 1.0e10D, struct(1 AS x, 'a\\tb' AS y);
        CREATE TABLE timed (raw STRING, t TIMESTAMP(3) METADATA FROM 'timestamp' VIRTUAL)
          {topics.with_options(topic, format="raw")};
        SELECT raw, t > TIMESTAMP'2020-01-01' FROM timed;
        SELECT CAST(X'FF41' AS STRING), CAST(X'FF41' AS STRING) COLLATE UTF8_LCASE;
        SET spark.sql.binaryOutputStyle = HEX;
        SELECT X'FF41', array(X'FF41');
        EXPLAIN SELECT 1;""")
    done = subprocess.run(
        [sys.executable, "-m", "kafka_sql.cli", "--remote", server.url, "-f", "a.sql"],
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
        cwd=tmp_path,
        env={**server.environment, "HOME": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr[-5000:]
    lines = done.stdout.splitlines()
    values = ["1", r"A\x00", r"a\tb\n", r"\NULL", "NULL", r"\xffA", r"e\\f", "1.0E10", '{"x":1,"y":"a\\tb"}']
    assert lines[0] == "\t".join(values)
    assert lines[1] == "a\\tb\ttrue"
    assert lines[2] == r"\xffA" + "\t" + r"\xffA"
    assert lines[4:6] == ["FF41\t[FF41]", "== Physical Plan =="]
    assert re.findall(r"Fetched (\d+) row", done.stderr) == ["1"] * 6


def run_module(module: str, server: Server, topics: Topics, folder: Path, *arguments: str) -> None:
    """Run a module that uses the server and two topics, and check that secrets appear nowhere."""
    secrets = [s for s in planted_secrets() if s.name == s.key and s.key.startswith("properties.")]
    # the modules set one of them
    secrets = [s for s in secrets if not s.is_rejected and s.key != "properties.ssl.key.password"]
    planted = {secret.key: secret.value for secret in secrets}
    options = [topics.with_options(topics.create(), **planted) for _ in range(2)]
    done = subprocess.run(
        [sys.executable, "-m", module, server.url, str(folder / "checkpoints"), *options, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
        cwd=folder,
        env=server.environment,
    )
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["passed"]), done.stderr[-5000:]
    (folder / "output").write_text(done.stdout + done.stderr)
    (ui_port,) = re.findall(r"service 'SparkUI' on port (\d+)", (server.folder / "log").read_text())
    for path in ("SQL", "jobs", "environment", "connect", "StreamingQuery"):
        (folder / path).write_bytes(urllib.request.urlopen(f"http://{HOST}:{ui_port}/{path}/").read())
    assert "SparkListenerSQLExecutionStart" in "".join(p.read_text() for p in server.folder.rglob("events_*"))
    assert find_leaks(folder, secrets) + find_leaks(server.folder, secrets) == []
