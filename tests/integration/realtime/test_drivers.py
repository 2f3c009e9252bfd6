"""Real-time mode in a separate driver: killed and restarted, and with secrets that Spark must not show."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka.admin import AclOperation, ResourceType
from pyspark import __version__ as spark_version

from kafka_sql.embedded import EmbeddedKafka, EmbeddedRegistry
from tests.kills import spark
from tests.registry_helpers import encode_avro, register
from tests.secured_broker import PASSWORD, SecuredBroker
from tests.topics import Topics
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(spark_version < "4.3", reason="real-time mode needs PySpark 4.3"),
]

SECRET_FILE = "secret-of-a-file"


COPY = "INSERT INTO tgt SELECT a FROM src WHERE a >= 0"


def statements(folder: Path, source: str, target: str, insert: str = COPY) -> list[str]:
    """Return statements that read a topic and write another.

    Args:
        source: the WITH clause of src.
        target: the rest of the table tgt, after its first column.
    """
    settings = {"runtime-mode": "streaming", "latency-mode": "real-time", "checkpointing.interval": "2 s"}
    settings["checkpointing.dir"] = str(folder / "checkpoints")
    return [
        f"CREATE TABLE src (a INT) {source}",
        f"CREATE TABLE tgt (a INT{target}",
        *(f"SET 'execution.{key}' = '{value}'" for key, value in settings.items()),
        "SET 'parallelism.default' = '1'",
        insert,
    ]


@contextmanager
def running_driver(folder: Path, lines: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run statements in a driver; it is killed at the end, with its JVM."""
    (folder / "statements.json").write_text(json.dumps(lines))
    (folder / "started").unlink(missing_ok=True)
    command = [sys.executable, "-m", "tests.real_time_driver", str(folder)]
    with (
        (folder / "driver.err").open("ab") as errors,
        subprocess.Popen(command, stdout=errors, stderr=errors) as process,
    ):
        try:
            wait_until(lambda: (folder / "started").exists() or process.poll() is not None, "the query has started")
            spark.assert_running(process.pid, folder)
            yield process
        finally:
            spark.kill([*spark.children(process.pid), process.pid])


def rows(servers: str, topic: str) -> list[int]:
    """Return the numbers in a topic."""
    return [row["a"] for row in spark.committed_rows(servers, topic)]


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("format_", ["json", "avro-confluent"])
def test_nothing_is_lost_when_drivers_and_brokers_are_killed(
    tmp_path: Path, registry: EmbeddedRegistry, format_: str
) -> None:
    sent = 0
    schema = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}
    options = {"format": format_} | ({} if format_ == "json" else {"avro-confluent.url": registry.url})
    schema_id = 0 if format_ == "json" else register(registry, "killed", schema)
    with EmbeddedKafka() as kafka:
        servers = kafka.bootstrap_servers
        topics = Topics(servers)
        source, target = topics.create(spark.KEYS), topics.create(spark.KEYS)

        def send(count: int) -> None:
            nonlocal sent
            for partition in range(spark.KEYS):
                values = [{"a": a} for a in range(sent + partition, sent + count, spark.KEYS)]
                texts = [json.dumps(value).encode() for value in values]
                payloads = [encode_avro(schema_id, schema, value) for value in values] if schema_id else texts
                topics.produce(source, *payloads, partition=partition)
            sent += count

        lines = statements(tmp_path, topics.with_options(source, **options), f") {topics.with_options(target)}")
        for round_ in range(4):
            with running_driver(tmp_path, lines):
                for delay in (0.3, 0.9, 1.7):
                    send(100)
                    time.sleep(delay)
                if round_ % 2:
                    kafka.nodes[0].kill()
                    kafka.nodes[0].restart()
                    send(100)
                    wait_until(lambda: sent - 1 in rows(servers, target), "rows after the broker's restart")
            send(50)  # while no driver runs; the killed one may have repeated rows in any batch
        with running_driver(tmp_path, lines):
            wait_until(lambda: set(rows(servers, target)) == set(range(sent)), "all rows")
        assert len(rows(servers, target)) < 4 * sent


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_counts_are_exact_when_drivers_are_killed(tmp_path: Path) -> None:
    """Spark stores the counts and the offsets of a batch together: a repeated batch counts no record twice."""
    groups, sent = 7, 0
    with EmbeddedKafka() as kafka:
        topics = Topics(kafka.bootstrap_servers)
        source, target = topics.create(2), topics.create(spark.KEYS)
        insert = f"INSERT INTO tgt SELECT a % {groups}, COUNT(*) FROM src GROUP BY a % {groups}"
        options = topics.with_upsert_options(target)
        rest = f", n BIGINT, PRIMARY KEY (a) NOT ENFORCED) {options}"
        lines = statements(tmp_path, topics.with_options(source), rest, insert)

        def counts() -> dict[int, int]:
            return {row["a"]: row["n"] for row in spark.committed_rows(kafka.bootstrap_servers, target)}

        for delay in (2.9, 4.2, 6.1, 3.5):  # the batches last two seconds
            with running_driver(tmp_path, lines):
                for _ in range(4):
                    for partition in range(2):
                        numbers = range(sent + partition, sent + 140, 2)
                        topics.produce(source, *(f'{{"a": {a}}}'.encode() for a in numbers), partition=partition)
                    sent += 140
                    time.sleep(delay / 4)
        with running_driver(tmp_path, lines):
            wait_until(lambda: counts() == dict.fromkeys(range(groups), sent // groups), "the counts")


@pytest.mark.long
@pytest.mark.timeout(600)
def test_spark_shows_no_secret(secured: SecuredBroker, tmp_path: Path) -> None:
    source, target = (f"realtime-secrets-{name}-{os.getpid()}" for name in ("source", "target"))
    for topic in (source, target):
        secured.topics.create_named(topic)
    secured.allow("user", ResourceType.TOPIC, "realtime-secrets*", AclOperation.READ, AclOperation.WRITE)
    properties = secured.properties("BOTH", "SCRAM-SHA-512") | {"ssl.key.password": SECRET_FILE}
    lines = statements(tmp_path, secured.table(properties, source), f") {secured.table(properties, target)}")
    secured.topics.produce(source, *(f'{{"a": {a}}}'.encode() for a in (1, -1, 2)))
    try:
        with running_driver(tmp_path, lines) as driver:
            assert [m.value() for m in secured.topics.consume(target, 2)] == [b'{"a":1}', b'{"a":2}']
            (tmp_path / "statements.json").unlink()
            (tmp_path / "stop").touch()
            wait_until(lambda: driver.poll() is not None, "the driver has ended")
    finally:
        secured.revoke_all("user")
    contents = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    pages, events = (tmp_path / "pages").read_bytes(), b"".join(c for p, c in contents.items() if "events" in p.parts)
    assert b"kafka" in pages
    assert b"SparkListenerSQLExecutionStart" in events
    variants = [PASSWORD.encode(), json.dumps(PASSWORD).encode()[1:-1], SECRET_FILE.encode(), b"pass,word"]
    assert [path for path, content in contents.items() if any(variant in content for variant in variants)] == []
