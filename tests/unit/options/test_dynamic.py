"""Test the options of the connector 'dynamic-kafka', with the messages of Flink's DynamicKafkaTableFactory."""

from __future__ import annotations

import pytest

from kafka_sql.definition import Definition, validate_table, validate_without_columns
from kafka_sql.errors import KafkaSqlError, SchemaError
from kafka_sql.options import dynamic
from kafka_sql.table.table import Column, Table

OPTIONS = {
    "connector": "dynamic-kafka",
    "stream-ids": "stream-1;stream-2",
    "metadata-service": "single-cluster",
    "metadata-service.cluster-id": "cluster-0",
    "properties.bootstrap.servers": "h:1",
    "format": "json",
}


def define(changes: dict[str, str | None], key: tuple[str, ...] = ()) -> Definition:
    options = {k: v for k, v in {**OPTIONS, **changes}.items() if v is not None}
    return validate_table(Table(("db", "t"), (Column("id", "INT", "INT"),), options, primary_key=key))


def test_flinks_options_and_their_defaults() -> None:
    options = define({}).options
    assert options[dynamic.STREAM_IDS] == ("stream-1", "stream-2")
    assert options[dynamic.METADATA_INTERVAL] == -1
    assert options[dynamic.METADATA_FAILURES] == 1
    assert options[dynamic.ENUMERATOR_MODE] == "per_cluster"
    changed = define(
        {
            "stream-ids": None,
            "stream-pattern": "stream-.*",
            "metadata-service": "org.apache.flink.connector.kafka.dynamic.metadata.SingleClusterTopicMetadataService",
            "stream-metadata-discovery-interval-ms": "60000",
            "stream-metadata-discovery-failure-threshold": "3",
            "stream-enumerator-mode": "global",
            "scan.startup.mode": "timestamp",
            "scan.startup.timestamp-millis": "0",
        }
    ).options
    assert changed[dynamic.METADATA_SERVICE] == dynamic.SINGLE_CLUSTER
    assert changed[dynamic.METADATA_INTERVAL] == 60000
    service = define({"metadata-service": "my.module:streams", "properties.bootstrap.servers": None})
    assert service.options[dynamic.METADATA_SERVICE] == "my.module:streams"
    assert service.is_dynamic
    assert "bootstrap.servers" not in service.client_config


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"metadata-service": None}, "Missing required options are: 'metadata-service'"),
        ({"stream-pattern": "s.*"}, "Option 'stream-ids' and 'stream-pattern' shouldn't be set together."),
        ({"stream-ids": None}, "Either 'stream-ids' or 'stream-pattern' must be set."),
        ({"stream-ids": ""}, "Option 'stream-ids' cannot be empty."),
        ({"stream-ids": None, "stream-pattern": "("}, "'stream-pattern' contains an invalid regular expression"),
        (
            {"metadata-service.cluster-id": None},
            "Option 'metadata-service.cluster-id' is required for 'single-cluster' metadata service.",
        ),
        (
            {"properties.bootstrap.servers": None},
            "Option 'properties.bootstrap.servers' is required for 'single-cluster' metadata service.",
        ),
        (
            {"metadata-service": "com.example.MyService"},
            "Could not find and instantiate metadata service class 'com.example.MyService'",
        ),
        ({"metadata-service": "singel-cluster"}, "did you mean 'single-cluster'?"),
        (
            {"scan.startup.mode": "specific-offsets"},
            "Dynamic Kafka source does not support 'specific-offsets' startup mode.",
        ),
        (
            {"scan.bounded.mode": "specific-offsets"},
            "Dynamic Kafka source does not support 'specific-offsets' bounded mode.",
        ),
        (
            {"scan.startup.mode": "timestamp"},
            "'scan.startup.timestamp-millis' is required in 'timestamp' startup mode but missing.",
        ),
        ({"topic": "t"}, "Unsupported options found for 'dynamic-kafka'. Unsupported options: 'topic'"),
        ({"sink.topic.config.retention.ms": "1"}, "Unsupported options: 'sink.topic.config.retention.ms'"),
        ({"error-handling.log.target": "dead"}, "Unsupported options: 'error-handling.log.target'"),
        ({"stream-enumerator-mode": "x"}, "expected one of 'per_cluster', 'global'"),
        ({"format": None}, "Could not find required scan format 'value.format' (or 'format')"),
    ],
    ids=str,
)
def test_invalid_options_are_rejected_in_flinks_words(changes: dict[str, str | None], message: str) -> None:
    with pytest.raises(KafkaSqlError) as raised:
        define(changes)
    assert message.lower() in str(raised.value).lower()


def test_primary_keys_and_tables_without_columns_are_rejected() -> None:
    with pytest.raises(
        SchemaError, match=r"The Dynamic Kafka table 'db.t' with 'json' format doesn't support defining PRIMARY KEY"
    ):
        define({}, ("id",))
    assert define({"format": "debezium-json"}, ("id",)).is_changelog
    with pytest.raises(SchemaError, match="A table of the connector 'dynamic-kafka' has no columns"):
        validate_without_columns(Table(("t",), (), OPTIONS))
