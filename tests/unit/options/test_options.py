"""Test the parsing and validation of options."""

from __future__ import annotations

import pytest

from kafka_sql.definition import Definition, validate_table
from kafka_sql.errors import (
    ConflictingOptionsError,
    InvalidOptionError,
    KafkaSqlError,
    MissingOptionError,
    UnknownOptionError,
    UnsupportedOptionError,
)
from kafka_sql.options import connector as opt
from kafka_sql.options.option import parse_duration, parse_memory_size
from kafka_sql.table.table import Column, Table

OPTIONS = {
    "connector": "kafka",
    "topic": "orders",
    "properties.bootstrap.servers": "localhost:9092",
    "format": "json",
}


def define_table(**changes: str | None) -> Definition:
    options = {**OPTIONS, **{k: v for k, v in changes.items() if v is not None}}
    for key, value in changes.items():
        if value is None:
            del options[key]
    return validate_table(Table(("orders",), (Column("a", "INT", "INT"),), options))


def validation_error(error: type[KafkaSqlError], **changes: str | None) -> str:
    with pytest.raises(error) as caught:
        define_table(**changes)
    return str(caught.value)


def test_values_and_defaults() -> None:
    options = define_table(topic="a; b", **{"scan.startup.mode": "Earliest-Offset"}).options
    assert options[opt.TOPIC] == ("a", "b")
    assert options[opt.STARTUP_MODE] == "earliest-offset"
    assert options[opt.DELIVERY_GUARANTEE] == "at-least-once"
    assert options.get(opt.GROUP_ID) is None
    assert define_table().options[opt.STARTUP_MODE] == "group-offsets"  # Flink's default


def test_repr_shows_no_values() -> None:
    assert "localhost" not in repr(define_table())


def test_unknown_options_suggest_the_nearest() -> None:
    message = validation_error(UnknownOptionError, **{"scan.startup.mod": "earliest-offset"})
    assert message.startswith(
        "[UNKNOWN_OPTION] Unsupported options found for 'kafka'. Unsupported options: 'scan.startup.mod'"
    )
    assert message.endswith("(did you mean 'scan.startup.mode'?).")


def test_an_unknown_option_without_its_prefix_is_suggested() -> None:
    message = validation_error(UnknownOptionError, **{"group.id": "g"})
    assert message.endswith("Unsupported options: 'group.id' (did you mean 'properties.group.id'?).")


def test_unknown_options_without_a_similar_one_list_those_to_choose_from() -> None:
    message = validation_error(UnknownOptionError, **{"json.frobnicated-values": "1", "scan.startup.mod": "x"})
    _, _, listed = message.partition(". Supported options: ")
    assert listed.startswith("'json.decode.json-parser.enabled', 'json.encode.decimal-as-plain-number', ")
    assert "'scan." not in listed
    message = validation_error(UnknownOptionError, frobnicate="1")
    assert ". Supported options: 'client.id.prefix', 'commit.offsets.on.checkpoint', " in message
    assert "'properties.*'" in message


def test_options_of_other_formats_are_unknown() -> None:
    assert "'raw.charset'" in validation_error(UnknownOptionError, **{"raw.charset": "UTF-8"})
    assert "'value.json.ignore-parse-errors'" in validation_error(
        UnknownOptionError, **{"value.json.ignore-parse-errors": "true"}
    )


def test_missing_options_are_named() -> None:
    message = validation_error(MissingOptionError, **{"properties.bootstrap.servers": None})
    assert "Missing required options are: 'properties.bootstrap.servers'" in message
    assert "misspelled" not in message
    changes = {"properties.bootstrap.servers": None, "properties.bootstrap.server": "h:1"}
    assert "Is 'properties.bootstrap.server' misspelled?" in validation_error(MissingOptionError, **changes)


def test_a_missing_format_names_both_keys() -> None:
    message = validation_error(MissingOptionError, format=None)
    assert "Could not find required scan format 'value.format' (or 'format')" in message


def test_missing_connector() -> None:
    message = validation_error(MissingOptionError, connector=None, conector="kafka")
    assert "do not contain an option key 'connector'" in message
    assert "'conector'" in message


def test_unknown_connectors_are_named() -> None:
    message = validation_error(InvalidOptionError, connector="kafak")
    assert "Could not find any connector for identifier 'kafak'" in message
    assert "Did you mean 'kafka'?" in message


def test_conflicting_formats() -> None:
    assert "'format' and 'value.format' shouldn't be set together" in validation_error(
        ConflictingOptionsError, **{"value.format": "json"}
    )


def test_value_format_options_have_a_prefix() -> None:
    table = define_table(format=None, **{"value.format": "json", "value.json.ignore-parse-errors": "true"})
    assert table.value.format.identifier == "json"
    (ignore,) = (o for o in table.value.format.options if o.key == "json.ignore-parse-errors")
    assert table.value.options[ignore] is True


def test_invalid_values_list_the_allowed_ones() -> None:
    message = validation_error(InvalidOptionError, **{"scan.startup.mode": "earlies-offset"})
    assert "Invalid value 'earlies-offset' for option 'scan.startup.mode'" in message
    assert "'earliest-offset', 'latest-offset', 'group-offsets'" in message
    assert "Did you mean 'earliest-offset'?" in message


def test_empty_topic() -> None:
    assert "option 'topic'" in validation_error(InvalidOptionError, topic="a;;b")


def test_unknown_formats_suggest_the_nearest() -> None:
    message = validation_error(InvalidOptionError, format="jsn")
    assert "'jsn'" in message
    assert "Did you mean 'json'?" in message


@pytest.mark.parametrize(
    ("text", "expected"),
    [("500", 500), ("500 ms", 500), ("10s", 10_000), ("5 MIN", 300_000), ("2 h", 7_200_000), ("1 day", 86_400_000)],
)
def test_durations(text: str, expected: int) -> None:
    assert parse_duration(text) == expected


@pytest.mark.parametrize("text", ["", "s", "-1 s", "1.5 s", "10 lightyears"])
def test_invalid_durations(text: str) -> None:
    with pytest.raises(ValueError, match="expected a duration"):
        parse_duration(text)


def test_keys_of_the_datastream_api() -> None:
    for prefix in ("", "properties."):
        table = define_table(
            **{
                f"{prefix}client.id.prefix": "shop",
                f"{prefix}register.consumer.metrics": "false",
                f"{prefix}commit.offsets.on.checkpoint": "false",
                f"{prefix}partition.discovery.interval.ms": "-1",
            }
        )
        assert table.options[opt.CLIENT_ID_PREFIX] == "shop"
        assert table.options[opt.REGISTER_METRICS] is False
        assert table.options[opt.COMMIT_OFFSETS] is False
        assert table.options[opt.DISCOVERY_INTERVAL] == 0
        assert not {k for k in table.client_config if "prefix" in k or "discovery" in k or "checkpoint" in k}
    assert define_table(**{"partition.discovery.interval.ms": "10000"}).options[opt.DISCOVERY_INTERVAL] == 10_000
    message = validation_error(
        ConflictingOptionsError,
        **{"partition.discovery.interval.ms": "1", "scan.topic-partition-discovery.interval": "2 s"},
    )
    assert (
        "'scan.topic-partition-discovery.interval' and 'partition.discovery.interval.ms' are keys of the same option"
        in message
    )


def test_properties_that_flink_overrides_are_overridden_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("WARNING"):
        table = define_table(
            **{
                "scan.startup.mode": "earliest-offset",
                "properties.auto.offset.reset": "latest",
                "properties.enable.auto.commit": "true",
                "properties.key.deserializer": "a.b.C",
            }
        )
    assert "key.deserializer" not in table.client_config
    assert "enable.auto.commit" not in table.client_config
    for message in (
        "'properties.key.deserializer' has no effect: it is overridden, as in Flink",
        "'properties.enable.auto.commit' has no effect: it is overridden",
        "'properties.auto.offset.reset' is overridden: queries start at 'earliest-offset'",
    ):
        assert message in caplog.text
    caplog.clear()
    define_table(**{"properties.auto.offset.reset": "latest"})  # applies to group-offsets
    assert not caplog.text


def test_options_that_spark_does_not_support_are_rejected() -> None:
    message = validation_error(UnsupportedOptionError, **{"scan.watermark.emit.strategy": "on-event"})
    assert message.startswith("[UNSUPPORTED_OPTION] Option 'scan.watermark.emit.strategy' = 'on-event'")
    assert "' is not supported on Spark: Spark " in message


def test_options_of_watermarks_are_accepted(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "kafka_sql.options")
    table = define_table(
        **{
            "scan.watermark.idle-timeout": "10 s",
            "scan.watermark.emit.strategy": "on-periodic",
            "scan.watermark.alignment.group": "g",
            "scan.watermark.alignment.max-drift": "1 min",
            "scan.watermark.alignment.update-interval": "2 s",
        }
    )
    assert (table.options[opt.WATERMARK_IDLE], table.options[opt.WATERMARK_DRIFT]) == (10_000, 60_000)
    assert table.options[opt.WATERMARK_ALIGNMENT] is True
    for key, reason in {
        "idle-timeout": "a partition without unread records never delays Spark's watermark",
        "alignment.group": "the partitions of each table are aligned, and the watermark of a query follows its slowest",
        "alignment.update-interval": "partitions are aligned in each micro-batch",
    }.items():
        assert f"option 'scan.watermark.{key}' has no effect: {reason}" in caplog.text
    assert (
        "option 'scan.watermark.alignment.max-drift' has no effect without a WATERMARK and "
        "'scan.max-offsets-per-trigger' or 'scan.max-bytes-per-trigger'" in caplog.text
    )


def test_batch_limits() -> None:
    table = define_table(**{"scan.max-bytes-per-trigger": "64 mb", "scan.max-offsets-per-trigger": "10"})
    assert (table.options[opt.MAX_BYTES], table.options[opt.MAX_OFFSETS]) == (64 << 20, 10)
    assert "must not be greater than 'scan.max-offsets-per-trigger' (1)" in validation_error(
        ConflictingOptionsError, **{"scan.min-offsets-per-trigger": "2", "scan.max-offsets-per-trigger": "1"}
    )
    assert "expected a size such as '500 kb'" in validation_error(
        InvalidOptionError, **{"scan.max-bytes-per-trigger": "-1"}
    )


@pytest.mark.parametrize(
    ("text", "bytes"), [("1024", 1024), ("1 kb", 1024), ("32MB", 32 << 20), ("2 g", 2 << 30), ("3 bytes", 3)]
)
def test_sizes(text: str, bytes: int) -> None:
    assert parse_memory_size(text) == bytes


@pytest.mark.parametrize("text", ["", "0", "1.5 mb", "mb", "1 xb", "１ mb"])
def test_invalid_sizes(text: str) -> None:
    with pytest.raises(ValueError, match="expected a size"):
        parse_memory_size(text)


@pytest.mark.parametrize(
    ("key", "largest"),
    [
        ("scan.parallelism", (1 << 31) - 1),
        ("sink.parallelism", (1 << 31) - 1),
        ("scan.batch.max-rows", (1 << 31) - 1),
        ("scan.max-offsets-per-trigger", (1 << 63) - 1),
        ("scan.min-offsets-per-trigger", (1 << 63) - 1),
    ],
)
def test_integers_are_limited_as_in_java(key: str, largest: int) -> None:
    (option,) = (o for o in opt.KAFKA_OPTIONS if o.key == key)
    assert define_table(**{key: str(largest)}).options[option] == largest
    assert define_table(**{key: " +1 "}).options[option] == 1
    for invalid in (str(largest + 1), "0", "-1", "1.5", "x", ""):
        message = validation_error(InvalidOptionError, **{key: invalid})
        assert f"Invalid value '{invalid}' for option '{key}': expected an integer of at least 1" in message


def test_the_longest_duration_and_the_largest_size_fit_javas_long() -> None:
    assert parse_duration(f"{(1 << 63) - 1}") == (1 << 63) - 1
    assert parse_memory_size(f"{(1 << 23) - 1} tb") == ((1 << 23) - 1) << 40
    with pytest.raises(ValueError, match="expected a duration"):
        parse_duration(f"{1 << 63}")
    with pytest.raises(ValueError, match="expected a size"):
        parse_memory_size(f"{1 << 23} tb")


@pytest.mark.parametrize("source", ["env:", ":NAME", "NAME", ":", ""])
def test_a_rack_source_has_two_parts(source: str) -> None:
    assert "expected 'env:NAME', 'file:/path' or 'module:callable'" in validation_error(
        InvalidOptionError, **{"scan.rack-id": source}
    )


@pytest.mark.parametrize("rows", ["-2147483648", "-1", "0"])
def test_a_maximum_of_buffered_rows_below_one_is_accepted_as_in_flink(rows: str) -> None:
    assert opt.FLUSH_ROWS.parse(rows) == int(rows)


@pytest.mark.parametrize(
    ("connector", "alternative"),
    [
        ("filesystem", "In Spark: CREATE TABLE t (...) USING parquet LOCATION"),
        ("delta", "In Spark: CREATE TABLE t (...) USING delta"),
        ("mysql-cdc", "'format' = 'debezium-json'"),
    ],
)
def test_the_error_of_another_connector_names_sparks_way(connector: str, alternative: str) -> None:
    assert alternative in validation_error(InvalidOptionError, connector=connector)
