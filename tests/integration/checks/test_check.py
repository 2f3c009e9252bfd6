"""Test ``kafka_sql.check`` and ``kafka-sql check``: one line per check, without reading or writing records."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka.admin import AclOperation, ResourceType

import kafka_sql
from kafka_sql.checks.finding import Finding
from kafka_sql.checks.table import check_table
from kafka_sql.definition import Definition, validate_table
from kafka_sql.embedded import EmbeddedRegistry
from kafka_sql.errors import TableNotFoundError
from kafka_sql.table.table import Column, Table
from tests.registry_helpers import register
from tests.secured_broker import SecuredBroker
from tests.topics import Topics

pytestmark = pytest.mark.integration
SCHEMA = pa.schema([("id", pa.int64())])


def define_table(properties: dict[str, str], topic: str, **options: str) -> Definition:
    all_options = {
        "connector": "kafka",
        "topic": topic,
        "format": "json",
        "scan.startup.mode": "earliest-offset",
        **{f"properties.{key}": value for key, value in properties.items()},
        **{key.replace("__", "-").replace("_", "."): value for key, value in options.items()},
    }
    return validate_table(Table(("t",), (Column("id", "BIGINT", "BIGINT"),), all_options))


def findings_by_subject(definition: Definition) -> dict[str, Finding]:
    findings = list(check_table(definition, SCHEMA))
    assert len({f.subject for f in findings}) == len(findings)
    return {f.subject: f for f in findings}


def failures(definition: Definition) -> dict[str, str]:
    return {subject: f.message for subject, f in findings_by_subject(definition).items() if f.ok is False}


def names(topics: Topics) -> set[str]:
    """Return all topics except the internal ones that brokers create when a coordinator is looked up."""
    return {name for name in topics.admin.list_topics(timeout=30).topics if not name.startswith("__")}


EXACTLY_ONCE = {"sink_delivery__guarantee": "exactly-once", "sink_transactional__id__prefix": "shop"}


def test_all_checks_succeed(topics: Topics) -> None:
    topic = topics.create(2)
    topics.produce(topic, b'{"id": 1}')
    before = names(topics)
    one = define_table({"bootstrap.servers": topics.bootstrap, "group.id": "checked"}, topic, **EXACTLY_ONCE)
    messages = {subject: (f.ok, f.message) for subject, f in findings_by_subject(one).items()}
    age = messages.pop("clock")
    assert age[0] is True
    assert age[1].startswith("the newest record is ")
    assert messages.pop("exactly-once")[0] is True
    real_time = messages.pop("real-time mode")
    assert real_time[0] is True
    assert real_time[1].startswith("can be read; cannot be written: ")
    assert messages == {
        "settings": (True, "secret references can be resolved, and key and trust stores can be read"),
        "scan.client": (True, "direct, because the direct client supports the table's settings"),
        "sink.client": (True, "direct, because the direct client supports the table's settings"),
        f"reachable {topics.bootstrap}": (True, "connected"),
        "authentication": (True, "the brokers responded (PLAINTEXT)"),
        f"topic '{topic}'": (True, "2 partitions, replication factor 1"),
        f"read '{topic}'": (True, "allowed"),
        f"write '{topic}'": (True, "allowed"),
        "group": (True, "allowed to commit and read offsets"),
        "transactional id of tasks": (True, "allowed to write as 'shop-t-check'"),
        "transactional id of the driver": (True, "allowed to write as 'shop-driver-check'"),
    }
    topics.consume(topic, 1, partitions=2)  # no record was written
    assert names(topics) == before  # and no topic created


def test_missing_acls(secured: SecuredBroker) -> None:
    topic = secured.topics.create_named("checked")
    secured.allow("user", ResourceType.TOPIC, topic, AclOperation.DESCRIBE)
    properties = {**secured.properties("SASL", "PLAIN"), "group.id": "locked"}
    errors = failures(define_table(properties, topic, **EXACTLY_ONCE))
    assert errors.keys() == {
        "read 'checked'", "write 'checked'", "group", "transactional id of tasks", "transactional id of the driver",
    }  # fmt: skip
    assert "Grant READ on the topic" in errors["read 'checked'"]
    assert "Grant WRITE on the topic" in errors["write 'checked'"]
    assert "properties.group.id" in errors["group"]
    assert "needs WRITE and DESCRIBE on the transactional ids" in errors["transactional id of tasks"]
    secured.allow("user", ResourceType.TOPIC, topic, AclOperation.READ)
    secured.allow("user", ResourceType.GROUP, "locked", AclOperation.READ)
    secured.allow("user", ResourceType.TRANSACTIONAL_ID, "shop*", AclOperation.WRITE, AclOperation.DESCRIBE)
    assert failures(define_table(properties, topic, **EXACTLY_ONCE)).keys() == {"write 'checked'"}


@pytest.mark.long
def test_failed_authentication(secured: SecuredBroker) -> None:
    properties = {
        **secured.properties("SASL", "PLAIN"),
        "sasl.jaas.config": secured.jaas("PLAIN", password="planted-4711"),
    }
    errors = failures(define_table(properties, "checked"))
    assert list(errors) == ["authentication"]
    assert "Check 'properties.sasl.jaas.config'" in errors["authentication"]
    assert "planted-4711" not in errors["authentication"]


def test_missing_brokers_topics_and_files(topics: Topics, tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        dead = f"127.0.0.1:{unused.getsockname()[1]}"
    errors = failures(define_table({"bootstrap.servers": dead}, "t"))
    assert "refused" in errors[f"reachable {dead}"]
    assert list(errors) == [f"reachable {dead}"]
    both = findings_by_subject(define_table({"bootstrap.servers": f"{dead},{topics.bootstrap}"}, topics.create()))
    assert both[f"reachable {dead}"].ok is False
    assert both["authentication"].ok
    assert both["clock"].ok is None  # there is no record
    errors = failures(define_table({"bootstrap.servers": topics.bootstrap}, "no-such-topic"))
    assert "Topic 'no-such-topic' does not exist" in errors["topic"]
    store = {"bootstrap.servers": dead, "ssl.truststore.location": str(tmp_path / "none")}
    assert "cannot be read on this machine" in failures(define_table(store, "t"))["settings"]


def test_a_slow_clock(topics: Topics) -> None:
    topic = topics.create()
    # brokers reject timestamps of more than an hour
    topics.produce(topic, b'{"id": 1}', timestamp=int(time.time() + 3000) * 1000)
    assert (
        "ahead of this machine's clock"
        in failures(define_table({"bootstrap.servers": topics.bootstrap}, topic))["clock"]
    )


def test_schema_registry(topics: Topics, registry: EmbeddedRegistry) -> None:
    topic, subject = topics.create(), f"check-{uuid.uuid4().hex}"
    servers = {"bootstrap.servers": topics.bootstrap}
    options = {"format": "avro-confluent", "avro__confluent_url": registry.url, "avro__confluent_subject": subject}
    read, write = "schema of the value, to read", "schema of the value, to write"
    fresh = findings_by_subject(define_table(servers, topic, **options))
    assert fresh["registry of the value"].ok
    assert f"subject '{subject}' has no schema yet" in fresh[read].message
    assert "the first row registers" in fresh[write].message
    # no schema was registered
    assert findings_by_subject(define_table(servers, topic, **options))[write].message == fresh[write].message
    fields = [{"name": "id", "type": ["null", "long"], "default": None}]
    register(registry, subject, {"type": "record", "name": "record", "namespace": "org.apache.flink.avro.generated",
                                 "fields": fields})  # fmt: skip
    known = findings_by_subject(define_table(servers, topic, **options))
    assert (known[read].ok, known[write].ok) == (True, True)
    other = f"{subject}-other"
    register(registry, other, json.dumps({"type": "record", "name": "record", "fields": [
        {"name": "id", "type": {"type": "array", "items": "string"}}]}))  # fmt: skip
    errors = failures(define_table(servers, topic, **{**options, "avro__confluent_subject": other}))
    assert "cannot be read as the table's columns" in errors[read]
    nowhere = {**options, "avro__confluent_url": "http://127.0.0.1:1"}
    assert "refused" in failures(define_table(servers, topic, **nowhere))["registry of the value"]


def test_check_in_a_session(sql: Any, spark: Any, topics: Topics) -> None:
    topic = topics.create()
    sql(f"CREATE TABLE checked_orders (id BIGINT, twice AS id * 2) {topics.with_options(topic)}")
    report = kafka_sql.check(spark, "checked_orders")
    assert report.ok
    assert (
        f"ok      default.checked_orders  topic '{topic}': 1 partitions, replication factor 1"
        in repr(report).splitlines()
    )
    with pytest.raises(
        TableNotFoundError,
        match=r"Kafka table 'checked_order' not found in this session.*Did you mean 'default.checked_orders'",
    ):
        kafka_sql.check(spark, "checked_order")
    assert {finding.table for finding in kafka_sql.check(spark)} >= {"default.checked_orders"}


@pytest.mark.long  # a separate Spark application
def test_check_command(topics: Topics, tmp_path: Path) -> None:
    topic = topics.create()
    file = tmp_path / "tables.sql"
    file.write_text(
        f"CREATE TABLE good (id BIGINT) {topics.with_options(topic)};\n"
        f"CREATE TABLE bad (id BIGINT) {topics.with_options(topic + 'x')};\n"
    )
    command = [sys.executable, "-m", "kafka_sql.cli", "check", "good", "bad", "-f", str(file),
               "--conf", f"spark.sql.warehouse.dir={tmp_path}", "--conf", "spark.ui.enabled=false"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=280)
    lines = done.stdout.splitlines()
    assert f"ok      default.good  read '{topic}': allowed" in lines
    assert any(
        line.startswith(f"FAILED  default.bad  topic: [TOPIC_NOT_FOUND] Topic '{topic}x' does not") for line in lines
    )
    assert done.returncode == 1, done.stderr


def test_finding_format() -> None:
    line = Finding("t", "clock", None, "no record with a timestamp")
    assert str(line) == "-       t  clock: no record with a timestamp"
    assert str(replace(line, ok=True)) == "ok      t  clock: no record with a timestamp"
