"""Test the constraints of Flink's two table factories, with Flink's messages."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from kafka_sql.definition import Definition, validate_table
from kafka_sql.errors import (
    ConflictingOptionsError,
    InvalidOptionError,
    KafkaSqlError,
    MissingOptionError,
    SchemaError,
    UnknownOptionError,
)
from kafka_sql.formats.json import JSON
from kafka_sql.formats.registry import FORMATS
from kafka_sql.kafka.admin.topics import TopicSettings
from kafka_sql.options import Options
from kafka_sql.options import connector as opt
from kafka_sql.options.option import Option
from kafka_sql.options.positions import parse_specific_offsets
from kafka_sql.sink.topics import topic_settings
from kafka_sql.table.table import Column, Table

KAFKA = {"connector": "kafka", "topic": "t", "properties.bootstrap.servers": "h:1", "format": "json"}
UPSERT = {
    "connector": "upsert-kafka",
    "topic": "t",
    "properties.bootstrap.servers": "h:1",
    "key.format": "json",
    "value.format": "json",
}
COLUMNS = (
    Column("k_a", "INT", "INT"),
    Column("k_b", "INT", "INT"),
    Column("v", "INT", "INT"),
    Column("offset", "BIGINT", "BIGINT", metadata="offset", virtual=True),
)


def define_table(base: dict[str, str], changes: dict[str, str | None], key: tuple[str, ...] = ()) -> Definition:
    options = {k: v for k, v in {**base, **changes}.items() if v is not None}
    return validate_table(Table(("db", "t"), COLUMNS, options, primary_key=key))


def validation_error(
    error: type[KafkaSqlError], base: dict[str, str], changes: dict[str, str | None], *key: str
) -> str:
    with pytest.raises(error) as caught:
        define_table(base, changes, key)
    assert type(caught.value) is error
    return str(caught.value)


SPECIFIC_OFFSETS = {"scan.startup.mode": "specific-offsets"}
BOUNDED = {"scan.bounded.mode": "specific-offsets"}
EXACTLY_ONCE = "exactly-once"


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        (
            {"topic-pattern": "t.*"},
            ConflictingOptionsError,
            "Option 'topic' and 'topic-pattern' shouldn't be set together.",
        ),
        ({"topic": None}, MissingOptionError, "Either 'topic' or 'topic-pattern' must be set."),
        (
            {"topic": None, "topic-pattern": "("},
            InvalidOptionError,
            "option 'topic-pattern': invalid regular expression",
        ),
        (
            {"scan.startup.mode": "timestamp"},
            MissingOptionError,
            "'scan.startup.timestamp-millis' is required in 'timestamp' startup mode but missing.",
        ),
        (
            SPECIFIC_OFFSETS,
            MissingOptionError,
            "'scan.startup.specific-offsets' is required in 'specific-offsets' startup mode but missing.",
        ),
        (
            {**SPECIFIC_OFFSETS, "scan.startup.specific-offsets": "partition:0,offset:1", "topic": "a;b"},
            ConflictingOptionsError,
            "Currently Kafka source only supports specific offset for single topic",
        ),
        (
            {**SPECIFIC_OFFSETS, "scan.startup.specific-offsets": "0:1"},
            InvalidOptionError,
            "Invalid properties 'scan.startup.specific-offsets' should follow the format "
            "'partition:0,offset:42;partition:1,offset:300', but is '0:1'.",
        ),
        (
            {"scan.bounded.mode": "timestamp"},
            MissingOptionError,
            "'scan.bounded.timestamp-millis' is required in 'timestamp' bounded mode but missing.",
        ),
        (
            BOUNDED,
            MissingOptionError,
            "'scan.bounded.specific-offsets' is required in 'specific-offsets' bounded mode but missing.",
        ),
        (
            {**BOUNDED, "scan.bounded.specific-offsets": "partition:0,offset:1", "topic": "a;b"},
            ConflictingOptionsError,
            "Currently Kafka source only supports specific offset for single topic",
        ),
        (
            {"sink.partitioner": "round-robin", "key.format": "json", "key.fields": "v"},
            ConflictingOptionsError,
            "Currently 'round-robin' partitioner only works when option 'key.fields' is not specified.",
        ),
        (
            {"sink.partitioner": "robin"},
            InvalidOptionError,
            "Invalid value 'robin' for option 'sink.partitioner': expected 'default', 'fixed', 'round-robin' or a "
            "Python class as 'package.module:Class' (Java classes are not supported).",
        ),
        (
            {"sink.partitioner": "round_robin"},
            InvalidOptionError,
            "Did you mean 'round-robin'?",
        ),
        (
            {"sink.partitioner": ""},
            InvalidOptionError,
            "Invalid value '' for option 'sink.partitioner': expected 'default', 'fixed', 'round-robin' or a",
        ),
        ({"sink.partitioner": "com.example.MyPartitioner"}, InvalidOptionError, "Java classes are not supported"),
        (
            {"sink.delivery-guarantee": EXACTLY_ONCE},
            MissingOptionError,
            "sink.transactional-id-prefix must be specified when using DeliveryGuarantee.EXACTLY_ONCE",
        ),
        (
            {"key.fields": "v"},
            MissingOptionError,
            "The option 'key.fields' can only be declared if a key format is defined using 'key.format'.",
        ),
        (
            {"key.format": "json"},
            MissingOptionError,
            "A key format 'key.format' requires the declaration of one or more of key fields using 'key.fields'.",
        ),
        (
            {"key.format": "json", "key.fields": "ka"},
            InvalidOptionError,
            "Could not find the field 'ka' in the table schema for usage in the key format. A key field must be a "
            "regular, physical column. The following columns can be selected in the 'key.fields' option: "
            "[k_a, k_b, v]. Did you mean 'k_a'?",
        ),
        (
            {"key.format": "json", "key.fields": "offset"},
            InvalidOptionError,
            "Could not find the field 'offset' in the table schema for usage in the key format.",
        ),
        (
            {
                "key.format": "json",
                "key.fields": "k_a;v",
                "key.fields-prefix": "k_",
                "value.fields-include": "EXCEPT_KEY",
            },
            InvalidOptionError,
            "All fields in 'key.fields' must be prefixed with 'k_' when option 'key.fields-prefix' is set but field "
            "'v' is not prefixed.",
        ),
        (
            {"key.format": "json", "key.fields": "k_a", "key.fields-prefix": "k_"},
            ConflictingOptionsError,
            "A key prefix is not allowed when option 'value.fields-include' is set to 'ALL'. Set it to 'EXCEPT_KEY' "
            "instead to avoid field overlaps.",
        ),
        ({"key.format": "jsn", "key.fields": "v"}, InvalidOptionError, "(option 'key.format')"),
        ({"sink.buffer-flush.max-rows": "1"}, UnknownOptionError, "Unsupported options found for 'kafka'."),
        (
            {"csv.field-delimiter": ";"},
            UnknownOptionError,
            "'csv.field-delimiter' (it belongs to the format 'csv', which is not a format of the table).",
        ),
        (
            {"format": None, "value.format": "json", "value.csv.ignore-parse-errors": "true"},
            UnknownOptionError,
            "(it belongs to the format 'csv', which is not a format of the table; did you mean "
            "'value.json.ignore-parse-errors'?).",
        ),
        (
            {"connector": None, "connector.type": "kafka"},
            MissingOptionError,
            "do not contain an option key 'connector'. 'connector.type' is of an old version of Flink. Write "
            "'connector' = 'kafka', and",
        ),
        ({"key.json.ignore-parse-errors": "true"}, UnknownOptionError, "'key.json.ignore-parse-errors'"),
        ({"scan.startup.timestamp-millis": "soon"}, InvalidOptionError, "expected milliseconds since"),
        ({"sink.parallelism": "0"}, InvalidOptionError, "expected an integer of at least 1"),
        (
            {"key.format": "json", "key.fields": "v", "key.json.ignore-parse-errors": "maybe"},
            InvalidOptionError,
            "Invalid value 'maybe' for option 'key.json.ignore-parse-errors'",
        ),
    ],
)
def test_kafka_constraints(changes: dict[str, str | None], error: type[KafkaSqlError], message: str) -> None:
    assert message in validation_error(error, KAFKA, changes)


def test_a_primary_key_needs_a_changelog_format() -> None:
    assert (
        "The Kafka table 'db.t' with 'json' format doesn't support defining PRIMARY KEY constraint on the table, "
        "because it can't guarantee the semantic of primary key."
    ) in validation_error(SchemaError, KAFKA, {}, "v")


@pytest.fixture
def changes_format(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register a changelog format 'changes'."""
    monkeypatch.setitem(FORMATS, "changes", replace(JSON, identifier="changes", options=(), insert_only=False))


@pytest.mark.usefixtures("changes_format")
def test_changelog_formats() -> None:
    assert define_table(KAFKA, {"format": "changes"}, ("v",)).value.format.identifier == "changes"
    assert "A key format should only deal with INSERT-only records. But changes" in validation_error(
        InvalidOptionError, KAFKA, {"key.format": "changes", "key.fields": "v"}
    )
    for part in ("key", "value"):
        assert (
            f"'upsert-kafka' connector doesn't support 'changes' as {part} format, because 'changes' is not in "
            "insert-only mode."
        ) in validation_error(InvalidOptionError, UPSERT, {f"{part}.format": "changes"}, "v")


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"key.format": None}, MissingOptionError, "Missing required options are: 'key.format'"),
        (
            {"key.format": None, "key.formt": "json"},
            MissingOptionError,
            "The format's options need the prefix 'key.'. Is 'key.formt' misspelled?",
        ),
        ({"value.format": None}, MissingOptionError, "Could not find required scan format 'value.format'."),
        ({"format": "json"}, UnknownOptionError, "Unsupported options found for 'upsert-kafka'."),
        ({"key.fields": "v"}, UnknownOptionError, "Unsupported options found for 'upsert-kafka'."),
        (
            {"scan.startup.mode": "earliest-offset"},
            UnknownOptionError,
            "Unsupported options: 'scan.startup.mode' ('upsert-kafka' always reads from the earliest offset; "
            "remove the option).",
        ),
        ({"topic": None}, MissingOptionError, "Either 'topic' or 'topic-pattern' must be set."),
        (
            {"scan.bounded.mode": "timestamp"},
            MissingOptionError,
            "'scan.bounded.timestamp-millis' is required in 'timestamp' bounded mode but missing.",
        ),
        (
            {"sink.buffer-flush.max-rows": "10"},
            ConflictingOptionsError,
            "'sink.buffer-flush.max-rows' and 'sink.buffer-flush.interval' must be set to be greater than zero "
            "together to enable sink buffer flushing.",
        ),
        (
            {"sink.buffer-flush.interval": "1 s"},
            ConflictingOptionsError,
            "must be set to be greater than zero together",
        ),
        (
            {"sink.delivery-guarantee": EXACTLY_ONCE},
            MissingOptionError,
            "sink.transactional-id-prefix must be specified when using DeliveryGuarantee.EXACTLY_ONCE",
        ),
        (
            {"key.fields-prefix": "k_"},
            ConflictingOptionsError,
            "A key prefix is not allowed when option 'value.fields-include' is set to 'ALL'.",
        ),
        (
            {"key.fields-prefix": "x_", "value.fields-include": "EXCEPT_KEY"},
            InvalidOptionError,
            "All fields in 'key.fields' must be prefixed with 'x_'",
        ),
    ],
)
def test_upsert_kafka_constraints(changes: dict[str, str | None], error: type[KafkaSqlError], message: str) -> None:
    assert message in validation_error(error, UPSERT, changes, "k_a")


def test_upsert_kafka_needs_a_primary_key() -> None:
    assert (
        "'upsert-kafka' tables require to define a PRIMARY KEY constraint. The PRIMARY KEY specifies which"
        in validation_error(SchemaError, UPSERT, {})
    )


def test_defaults_can_be_set_explicitly() -> None:
    options: dict[str, str | None] = {
        "scan.bounded.mode": "unbounded",
        "sink.partitioner": "default",
        "sink.delivery-guarantee": "none",
        "scan.watermark.emit.strategy": "on-periodic",
        "sink.transaction-naming-strategy": "pooling",
    }
    assert define_table(KAFKA, options).options[opt.TRANSACTION_NAMING] == "POOLING"


def test_deprecated_keys_work_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        table = define_table(KAFKA, {"sink.semantic": "at-least-once"})
    assert table.options[opt.DELIVERY_GUARANTEE] == "at-least-once"
    assert "option 'sink.semantic' is deprecated: use 'sink.delivery-guarantee'" in caplog.text
    assert "Invalid value 'x' for option 'sink.semantic'" in validation_error(
        InvalidOptionError, KAFKA, {"sink.semantic": "x"}
    )
    both: dict[str, str | None] = {"sink.semantic": "none", "sink.delivery-guarantee": "at-least-once"}
    assert "Options 'sink.delivery-guarantee' and 'sink.semantic' are keys of the same option" in validation_error(
        ConflictingOptionsError, KAFKA, both
    )


def test_key_and_value_columns() -> None:
    key_options: dict[str, str | None] = {"key.format": "json", "key.fields": "k_b;k_a"}
    both = define_table(KAFKA, key_options)
    assert both.key is not None
    assert (both.key.columns, both.key.fields) == (("k_b", "k_a"), ("k_b", "k_a"))
    assert both.value.columns == ("k_a", "k_b", "v")
    without_key = define_table(KAFKA, {**key_options, "key.fields-prefix": "k_", "value.fields-include": "except_key"})
    assert without_key.key is not None
    assert (without_key.key.columns, without_key.key.fields) == (("k_b", "k_a"), ("b", "a"))
    assert (without_key.value.columns, without_key.value.fields) == (("v",), ("v",))
    assert define_table(KAFKA, {}).key is None
    assert define_table(KAFKA, {"value.fields-include": "EXCEPT_KEY"}).value.columns == ("k_a", "k_b", "v")


def test_errors_do_not_quote_secrets() -> None:
    def parse(text: str) -> str:
        raise ValueError(f"invalid value {text}")

    secret = Option("x.password", parse, "String", "")
    with pytest.raises(InvalidOptionError) as caught:
        Options((secret,), {"x.password": "hunter2"}, "value.")
    assert str(caught.value) == "[INVALID_OPTION] Invalid value for option 'value.x.password'."
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("partition:0,offset:42", {0: 42}),
        ("partition:0,offset:42;partition:1,offset:300", {0: 42, 1: 300}),
        ("partition:0,offset:42;", {0: 42}),
        ("partition:0,offset:1;partition:0,offset:2", {0: 2}),
    ],
)
def test_specific_offsets(text: str, expected: dict[int, int]) -> None:
    assert parse_specific_offsets(text, "o") == {(None, partition): offset for partition, offset in expected.items()}


@pytest.mark.parametrize(
    "text",
    [
        "",
        ";",
        "partition:0",
        "offset:1,partition:0",
        "partition:x,offset:1",
        "partition:0,offset:1,x:2",
        "partition: 0,offset:1",
    ],
)
def test_invalid_specific_offsets(text: str) -> None:
    with pytest.raises(InvalidOptionError, match="Invalid properties 'o' should follow the format"):
        parse_specific_offsets(text, "o")


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            {"sink.topic.partitions": "2"},
            "Option 'sink.topic.partitions' requires 'sink.topic.create' = 'true'",
        ),
        (
            {"sink.topic.replication-factor": "1", "sink.topic.create": "false"},
            "'sink.topic.replication-factor' requires",
        ),
        ({"sink.topic.config.retention.ms": "1"}, "Option 'sink.topic.config.retention.ms' requires"),
        (
            {"topic": None, "topic-pattern": "t.*", "sink.topic.create": "true"},
            "Option 'sink.topic.create' = 'true' requires 'topic'",
        ),
    ],
)
def test_topic_configurations_require_topic_creation(overrides: dict[str, str | None], message: str) -> None:
    assert message in validation_error(ConflictingOptionsError, KAFKA, overrides)


def test_topic_configurations() -> None:
    definition = define_table(
        KAFKA,
        {
            "sink.topic.create": "true",
            "sink.topic.partitions": "3",
            "sink.topic.replication-factor": "2",
            "sink.topic.config.retention.ms": "1000",
        },
    )
    assert topic_settings(definition) == TopicSettings(3, 2, {"retention.ms": "1000"})
    assert topic_settings(define_table(KAFKA, {"sink.topic.create": "true"})) == TopicSettings(None, None, {})


@pytest.mark.parametrize(
    "key",
    ["scan.startup.mode", "sink.partitioner", "scan.startup.offsets-initializer", "value.json.ignore-parse-errors"],
)
def test_user_info_in_invalid_values_is_not_shown(key: str) -> None:
    message = validation_error(
        InvalidOptionError, KAFKA, {"format": None, "value.format": "json", key: "http://u:hunter2@h"}
    )
    assert message.startswith("[INVALID_OPTION] Invalid value")
    assert f"for option '{key}': expected" in message
    assert "hunter2" not in message
