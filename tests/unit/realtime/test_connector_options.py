"""Test the translation of a table's options to Spark's Kafka connector, and what is rejected."""

from __future__ import annotations

import json

import pytest

from kafka_sql.definition import Definition, validate_table
from kafka_sql.errors import KafkaSqlError, UnsupportedOptionError
from kafka_sql.realtime.checks import check_handler_class, check_sink, check_source
from kafka_sql.realtime.connector import reader_options, writer_options
from kafka_sql.table.table import Column, Table
from tests.certificates import create_authority

A = Column("a", "INT", "INT")


def define(*columns: Column, **options: str) -> Definition:
    required = {
        "connector": "kafka",
        "properties.bootstrap.servers": "host:9092",
        "format": "json",
        **({} if "topic-pattern" in options or "scan.partitions" in options else {"topic": "orders"}),
    }
    return validate_table(Table(("t",), columns or (A,), {**required, **options}))


def test_topics_and_start_offsets() -> None:
    options = reader_options(define(topic="a;b"), {("b", 0): 7, ("a", 1): 5, ("a", 0): 0})
    assert options == {
        "kafka.bootstrap.servers": "host:9092",
        "subscribe": "a,b",
        "startingOffsets": '{"a": {"0": 0, "1": 5}, "b": {"0": 7}}',
        "failOnDataLoss": "true",
    }
    assert reader_options(define(**{"topic-pattern": "o.*"}), None)["subscribePattern"] == (
        "(?!__kafka_sql_transactions$)(?:o.*)"
    )
    assigned = reader_options(define(**{"scan.partitions": "a:1,0;b:2", "scan.fail-on-data-loss": "false"}), None)
    assert json.loads(assigned["assign"]) == {"a": [0, 1], "b": [2]}
    assert (assigned["startingOffsets"], assigned["failOnDataLoss"]) == ("earliest", "false")


def test_properties_keep_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_SQL_ALLOWED_VARIABLES", "PASSWORD")
    monkeypatch.setenv("PASSWORD", "secret")
    jaas = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p";'
    options = {
        "properties.security.protocol": "SASL_SSL",
        "properties.sasl.mechanism": "PLAIN",
        "properties.sasl.jaas.config": jaas,
        "properties.group.id": "g",
        "properties.auto.offset.reset": "earliest",
        "properties.linger.ms": "5",
        "properties.partition.discovery.interval.ms": "1000",
    }
    assert writer_options(define(**options)) == {
        "kafka.bootstrap.servers": "host:9092",
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.jaas.config": jaas,
        "kafka.linger.ms": "5",
        "topic": "orders",
    }


def test_quotes_copied_from_a_java_string() -> None:
    jaas = r"org.apache.kafka.common.security.plain.PlainLoginModule required username=\"u\" password=\"p\";"
    written = writer_options(define(**{"properties.sasl.mechanism": "PLAIN", "properties.sasl.jaas.config": jaas}))
    assert written["kafka.sasl.jaas.config"] == jaas.replace("\\", "")


def test_stores_in_properties_are_of_the_type_pem() -> None:
    options = reader_options(define(**{"properties.ssl.truststore.certificates": create_authority("root").pem}), None)
    assert options["kafka.ssl.truststore.type"] == "PEM"
    assert "kafka.ssl.keystore.type" not in options


def test_properties_of_librdkafka_are_rejected() -> None:
    with pytest.raises(UnsupportedOptionError, match=r"'properties.queued.min.messages' .* not a property of Java's"):
        reader_options(define(**{"properties.queued.min.messages": "5"}), None)


def test_handler_classes_must_exist() -> None:
    key = "sasl.login.callback.handler.class"
    check_handler_class(define(), key, "a.B", True)
    with pytest.raises(UnsupportedOptionError, match=r"Spark has no class a.B. Add its jar"):
        check_handler_class(define(), key, "a.B", False)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"scan.bounded.mode": "latest-offset"}, "'scan.bounded.mode' = 'latest-offset'"),
        ({"scan.missing-topics": "ignore"}, "'scan.missing-topics' = 'ignore'"),
        ({"scan.client": "librdkafka"}, "'scan.client' = 'librdkafka'"),
        ({"scan.topic-partition-discovery.interval": "0"}, "looks for new partitions in every batch"),
        ({"scan.max-offsets-per-trigger": "5"}, "'scan.max-offsets-per-trigger' = '5'"),
        ({"scan.parallelism": "1"}, "'scan.parallelism' = '1'"),
        ({"error-handling.mode": "log", "error-handling.log.target": "dead"}, "'error-handling.log.target' = 'dead'"),
        ({"format": "avro", "avro.encoding": "json"}, "'avro.encoding' = 'json'"),
        ({"key.format": "raw", "key.fields": "a", "key.raw.charset": "GBK"}, "'key.raw.charset' = 'GBK'"),
    ],
)
def test_sources_are_rejected_by_option(options: dict[str, str], expected: str) -> None:
    check_source(define())
    with pytest.raises(KafkaSqlError, match="real-time mode") as raised:
        check_source(define(**options))
    assert expected in str(raised.value)


def test_custom_formats_are_rejected() -> None:
    format_ = "tests.example_formats.shop_formats:Pairs"
    definition = define(Column("a", "STRING", "STRING"), format=format_)
    with pytest.raises(UnsupportedOptionError, match=r"\(option 'format'\) '.*' is not supported in real-time mode"):
        check_source(definition)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            {"sink.delivery-guarantee": "exactly-once", "sink.transactional-id-prefix": "p"},
            "Spark's Kafka sink has no transactions",
        ),
        ({"sink.partitioner": "round-robin"}, "'sink.partitioner' = 'round-robin'"),
        ({"sink.parallelism": "1"}, "'sink.parallelism' = '1'"),
        ({"sink.client": "direct"}, "'sink.client' = 'direct'"),
        ({"topic": "a;b"}, "has several topics"),
        ({"topic-pattern": "a.*"}, "has several topics"),
    ],
)
def test_sinks_are_rejected_by_option(options: dict[str, str], expected: str) -> None:
    check_sink(define())
    with pytest.raises(KafkaSqlError, match="real-time mode") as raised:
        check_sink(define(**options))
    assert expected in str(raised.value)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (Column("h", "MAP<STRING, STRING>", "MAP<STRING, STRING>", metadata="headers"), "must be MAP<STRING, BYTES>"),
        (Column("e", "INT", "INT", metadata="leader-epoch"), "cannot be read"),
        (Column("s", "INT", "INT", metadata="value.schema-id"), "cannot be read"),
        (Column("p", "BIGINT", "BIGINT", metadata="partition"), "must be INT, not BIGINT"),
        (Column("t", "TIMESTAMP", "TIMESTAMP_LTZ(0)", metadata="timestamp"), "must be TIMESTAMP_LTZ or TIMESTAMP(3)"),
    ],
)
def test_sources_are_rejected_by_metadata_column(column: Column, expected: str) -> None:
    check_source(define(A, Column("o", "BIGINT", "BIGINT", metadata="offset")))
    with pytest.raises(KafkaSqlError, match="real-time mode") as raised:
        check_source(define(A, column))
    assert expected in str(raised.value)


def test_sinks_are_rejected_by_column() -> None:
    timestamp = Column("t", "TIMESTAMP", "TIMESTAMP_LTZ(3)", metadata="timestamp")
    with pytest.raises(KafkaSqlError, match="cannot be written"):
        check_sink(define(A, timestamp))
    with pytest.raises(KafkaSqlError, match=r"must be MAP<STRING, BYTES>, not MAP<BYTES, BYTES>"):
        check_sink(define(A, Column("h", "MAP<BINARY, BINARY>", "MAP<BYTES, BYTES>", metadata="headers")))
    check_sink(define(A, Column("t", "TIMESTAMP_NTZ", "TIMESTAMP(3)")))
    with pytest.raises(KafkaSqlError, match="fewer than 6 fractional digits"):
        check_sink(define(A, Column("t", "ARRAY<TIMESTAMP_NTZ>", "ARRAY<TIMESTAMP(3)>")))


def test_headers_are_requested_if_a_column_has_them() -> None:
    headers = Column("h", "MAP<STRING, BINARY>", "MAP<STRING, BYTES> NOT NULL", metadata="headers")
    check_source(define(A, headers))
    check_sink(define(A, headers))
    assert "includeHeaders" not in reader_options(define(), None)
    assert reader_options(define(A, headers), None)["includeHeaders"] == "true"


def define_upsert(**options: str) -> Definition:
    required = {
        "connector": "upsert-kafka",
        "properties.bootstrap.servers": "h:1",
        "topic": "orders",
        "key.format": "json",
        "value.format": "json",
    }
    key = Column("a", "INT", "INT", nullable=False)
    return validate_table(Table(("t",), (key,), required | options, primary_key=("a",)))


def test_changelogs_are_rejected_but_upsert_sinks() -> None:
    with pytest.raises(KafkaSqlError, match="is a changelog, which cannot be read"):
        check_source(define_upsert())
    check_sink(define_upsert())
    with pytest.raises(KafkaSqlError, match="each change of a row is written at once"):
        check_sink(define_upsert(**{"sink.buffer-flush.max-rows": "10", "sink.buffer-flush.interval": "1 s"}))
    for check in (check_source, check_sink):
        with pytest.raises(KafkaSqlError, match="is a changelog"):
            check(define(format="ogg-json"))


@pytest.mark.parametrize("connector", ["datagen", "print", "blackhole"])
def test_other_connectors_are_rejected(connector: str) -> None:
    table = validate_table(Table(("t",), (A,), {"connector": connector}))
    for check in (check_source, check_sink):
        with pytest.raises(KafkaSqlError, match=f"the connector '{connector}' is not supported in real-time mode"):
            check(table)
