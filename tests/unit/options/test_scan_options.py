"""Test the options that select the startup position, topics and partitions of a read, and their constraints."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_sql.definition import Definition, validate_table
from kafka_sql.errors import ConflictingOptionsError, InvalidOptionError, KafkaSqlError, MissingOptionError
from kafka_sql.options import connector as opt
from kafka_sql.options.positions import TimestampSpec, parse_partitions, parse_specific_offsets, parse_timestamp
from kafka_sql.table.table import Column, Table

OPTIONS = {"connector": "kafka", "properties.bootstrap.servers": "h:1", "format": "json"}


def define_table(**options: str) -> Definition:
    """Return a table with additional options, whose keys have '_' for '.' and '__' for '-'."""
    scan_options = {key.replace("__", "-").replace("_", "."): value for key, value in options.items()}
    return validate_table(Table(("t",), (Column("a", "INT", "INT"),), {**OPTIONS, **scan_options}))


def validation_error(error_type: type[KafkaSqlError], **options: str) -> str:
    with pytest.raises(error_type) as caught:
        define_table(**options)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", TimestampSpec(0)),
        ("-1", TimestampSpec(-1)),  # before 1970; not relative, because it has no unit
        (" 1767225600000 ", TimestampSpec(1_767_225_600_000)),
        ("2026-01-01", TimestampSpec(1_767_225_600_000)),
        ("2026-01-01T00:00", TimestampSpec(1_767_225_600_000)),
        ("2026-01-01 00:00:00", TimestampSpec(1_767_225_600_000)),
        ("2026-01-01T00:00:00Z", TimestampSpec(1_767_225_600_000)),
        ("2026-01-01T01:00:00+01:00", TimestampSpec(1_767_225_600_000)),
        ("2026-01-01T01:00:00+0100", TimestampSpec(1_767_225_600_000)),
        ("2025-12-31T19:00:00.5-05:00", TimestampSpec(1_767_225_600_500)),
        ("2026-01-01T00:00:00.123456789Z", TimestampSpec(1_767_225_600_123)),
        ("1969-12-31T23:59:59.999Z", TimestampSpec(-1)),
        ("-1 hour", TimestampSpec(-3_600_000, relative=True)),
        ("-30min", TimestampSpec(-1_800_000, relative=True)),
        ("- 7 d", TimestampSpec(-604_800_000, relative=True)),
        ("-500 ms", TimestampSpec(-500, relative=True)),
    ],
)
def test_valid_timestamps(text: str, expected: TimestampSpec) -> None:
    assert parse_timestamp(text) == expected
    assert expected.resolve(10_000_000) == expected.millis + (10_000_000 if expected.relative else 0)


@pytest.mark.parametrize(
    "text",
    ["", "soon", "1 hour", "-1 lightyear", "2026-13-01", "2026-01-01T25:00", "01.01.2026", "9" * 19, "-1 h 5 min"],
)
def test_invalid_timestamps(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # the message is Python's for month 13
        parse_timestamp(text)
    options = {"scan_startup_mode": "timestamp", "scan_startup_timestamp__millis": text}
    assert "'scan.startup.timestamp-millis'" in validation_error(InvalidOptionError, topic="t", **options)


def test_partitions() -> None:
    assert parse_partitions("orders:0,1;returns:3") == (("orders", 0), ("orders", 1), ("returns", 3))
    assert parse_partitions(" b : 2 , 1 ; a.b-c_d:0;b:1") == (("a.b-c_d", 0), ("b", 1), ("b", 2))
    for text in ("", "orders", "orders:", "orders:0,", "orders:-1", "orders:x", "orders:0;", "a:0:1", f"a:{2**31}"):
        with pytest.raises(ValueError, match="expected topics with partitions"):
            parse_partitions(text)


def test_specific_offsets_of_several_topics() -> None:
    text = "topic:a.b,partition:0,offset:1;topic:c,partition:0,offset:2;topic:c,partition:1,offset:-2"
    assert parse_specific_offsets(text, "o") == {("a.b", 0): 1, ("c", 0): 2, ("c", 1): -2}
    for invalid in ("topic:,partition:0,offset:1", "topic:a;partition:0,offset:1", "partition:0,offset:-4"):
        with pytest.raises(InvalidOptionError, match="should follow the format"):
            parse_specific_offsets(invalid, "o")
    with pytest.raises(InvalidOptionError, match="either all entries or none must name their topic"):
        parse_specific_offsets("topic:a,partition:0,offset:1;partition:1,offset:1", "o")


SPECIFIC_OFFSETS: dict[str, Any] = {"scan_startup_mode": "specific-offsets"}


@pytest.mark.parametrize(
    ("options", "error_type", "message"),
    [
        ({}, MissingOptionError, "Either 'topic' or 'topic-pattern' must be set."),
        (
            {"topic__pattern": "a", "scan_partitions": "a:0"},
            ConflictingOptionsError,
            "Option 'topic-pattern' and 'scan.partitions' shouldn't be set together.",
        ),
        (
            {"topic": "a", "scan_partitions": "a:0;b:1"},
            ConflictingOptionsError,
            "Topic 'b' of option 'scan.partitions' is not listed in option 'topic'.",
        ),
        (
            {"topic": "a;b", **SPECIFIC_OFFSETS, "scan_startup_specific__offsets": "partition:0,offset:1"},
            ConflictingOptionsError,
            "Currently Kafka source only supports specific offset for single topic",
        ),
        (
            {"topic": "a;b", **SPECIFIC_OFFSETS, "scan_startup_specific__offsets": "topic:ab,partition:0,offset:1"},
            ConflictingOptionsError,
            "Topic 'ab' of option",
        ),
        (
            {
                "topic__pattern": "a.*",
                **SPECIFIC_OFFSETS,
                "scan_startup_specific__offsets": "topic:ba,partition:0,offset:1",
            },
            ConflictingOptionsError,
            "Topic 'ba' of option",
        ),
        (
            {"topic": "a", "scan_startup_mode": "earliest-offset", "scan_startup_offsets__initializer": "m:f"},
            ConflictingOptionsError,
            "Option 'scan.startup.offsets-initializer' and 'scan.startup.mode' shouldn't be set together.",
        ),
        (
            {"topic": "a", "scan_startup_offsets__initializer": "m.f"},
            InvalidOptionError,
            "Invalid value 'm.f' for option 'scan.startup.offsets-initializer': expected 'module:callable'.",
        ),
        (
            {"topic": "a", "scan_startup_offsets__initializer": ""},
            InvalidOptionError,
            "Invalid value '' for option 'scan.startup.offsets-initializer': expected 'module:callable'.",
        ),
        (
            {"topic": "a", **SPECIFIC_OFFSETS, "scan_startup_specific__offsets": ""},
            InvalidOptionError,
            "Invalid properties 'scan.startup.specific-offsets' should follow the format "
            "'partition:0,offset:42;partition:1,offset:300', but is ''.",
        ),
        (
            {"topic": "a", "scan_bounded_mode": "specific-offsets", "scan_bounded_specific__offsets": ""},
            InvalidOptionError,
            "Invalid properties 'scan.bounded.specific-offsets' should follow the format "
            "'partition:0,offset:42;partition:1,offset:300', but is ''.",
        ),
        (
            {"topic__pattern": "[a[b]]"},
            InvalidOptionError,
            "Invalid value '[a[b]]' for option 'topic-pattern': a nested character class ('[') is not supported.",
        ),
        ({"topic": "a", "scan_missing__topics": "drop"}, InvalidOptionError, "expected one of 'fail', 'ignore'"),
        ({"topic": "a", "scan_fail__on__data__loss": "no"}, InvalidOptionError, "expected 'true' or 'false'"),
    ],
)
def test_invalid_options(options: dict[str, str], error_type: type[KafkaSqlError], message: str) -> None:
    assert message in validation_error(error_type, **options)


def test_topics() -> None:
    assert opt.topics(define_table(topic="a;b").options) == ("a", "b")
    assert opt.topics(define_table(scan_partitions="b:1;a:0,2").options) == ("a", "b")
    assert opt.topics(define_table(topic__pattern="a").options) is None


def test_valid_combinations() -> None:
    offsets = "topic:ab,partition:0,offset:1"
    define_table(topic__pattern="a.*", **SPECIFIC_OFFSETS, scan_startup_specific__offsets=offsets)
    define_table(topic="ab", **SPECIFIC_OFFSETS, scan_startup_specific__offsets=offsets)
    define_table(scan_partitions="ab:0", **SPECIFIC_OFFSETS, scan_startup_specific__offsets="partition:0,offset:1")
    define_table(topic="a", scan_startup_offsets__initializer="my.module:f")
    define_table(topic="a", key_format="json", key_fields="a", key_fields__prefix="")  # Flink's default


def test_defaults() -> None:
    options = define_table(topic="a").options
    assert (options[opt.DISCOVERY_INTERVAL], options[opt.MISSING_TOPICS]) == (300_000, "fail")
    assert options[opt.FAIL_ON_DATA_LOSS] is True
