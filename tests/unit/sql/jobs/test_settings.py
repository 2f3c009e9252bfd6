"""Test Flink's session options, and the limits of the batches that Spark passes to Python."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from kafka_sql.errors import InvalidOptionError
from kafka_sql.sql.jobs import settings
from kafka_sql.sql.jobs.start_settings import limit_batches_by_rows
from tests.unit.sql.jobs.fake_session import Session

BYTES, ROWS = "spark.sql.execution.arrow.maxBytesPerBatch", "spark.sql.execution.arrow.maxRecordsPerBatch"


def session(**settings: str) -> Any:
    return Session(**settings)


def test_the_runtime_mode_is_batch_unless_it_is_set() -> None:
    spark = session()
    assert not settings.is_streaming(spark)
    settings.write(spark, "execution.runtime-mode", "STREAMING")
    assert settings.is_streaming(spark)
    assert settings.read(spark, settings.CHECKPOINT_DIR) is None


def test_invalid_values_are_rejected_and_not_stored() -> None:
    spark = session()
    with pytest.raises(InvalidOptionError, match=r"'execution.runtime-mode'.*Did you mean 'streaming'"):
        settings.write(spark, "execution.runtime-mode", "streamin")
    with pytest.raises(InvalidOptionError, match=r"'metrics.reporter.prom.port'.* an integer of at least 0"):
        settings.write(spark, "metrics.reporter.prom.port", "-1")
    assert spark.conf.settings == {}
    settings.write(spark, "metrics.reporter.prom.port", "0")
    assert settings.read(spark, settings.METRICS_PORT) == 0
    assert settings.read(spark, settings.METRICS_HOST) == "127.0.0.1"


def test_options_of_flink_without_effect_are_stored_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "kafka_sql")
    spark = session()
    settings.write(spark, "pipeline.nam", "x")
    settings.write(spark, "spark.sql.shuffle.partitions", "2")
    assert [r.getMessage() for r in caplog.records] == [
        "SET 'pipeline.nam' has no effect here. Did you mean 'pipeline.name'?"
    ]
    assert spark.conf.settings == {"pipeline.nam": "x", "spark.sql.shuffle.partitions": "2"}


ZONE, SHUFFLE = "spark.sql.session.timeZone", "spark.sql.shuffle.partitions"


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("table.local-time-zone", "America/Los_Angeles", {ZONE: "America/Los_Angeles"}),
        ("table.local-time-zone", "UTC", {ZONE: "UTC"}),
        ("table.local-time-zone", "GMT-8", {ZONE: "-08:00"}),
        ("table.local-time-zone", "UTC+05:30", {ZONE: "+05:30"}),
        ("table.local-time-zone", "default", {}),
        ("parallelism.default", "4", {SHUFFLE: "4"}),
        ("table.exec.resource.default-parallelism", "-1", {}),
        ("state.checkpoints.dir", "/c", {"execution.checkpointing.dir": "/c"}),
        (
            "state.backend.type",
            "rocksdb",
            {
                "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state."
                "RocksDBStateStoreProvider"
            },
        ),
    ],
)
def test_options_of_flink_set_those_of_spark_until_they_are_reset(
    key: str, value: str, expected: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    spark = session()
    settings.write(spark, key, value)
    assert spark.conf.settings == {key: value, **expected}
    settings.reset(spark, key)
    assert spark.conf.settings == {}
    assert not caplog.records


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("table.local-time-zone", "PST", "an area such as 'America/Los_Angeles', or an offset such as 'GMT-08:00'"),
        ("parallelism.default", "0", "expected a positive integer"),
        ("state.backend", "forst", "expected 'hashmap' or 'rocksdb'"),
        ("state.checkpoints.dir", "", "execution.checkpointing.dir"),
    ],
)
def test_values_of_translated_options_are_checked(key: str, value: str, message: str) -> None:
    spark = session()
    with pytest.raises(InvalidOptionError, match=message):
        settings.write(spark, key, value)
    assert spark.conf.settings == {}


def test_the_reason_why_an_option_has_no_effect_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    for key in ("table.exec.mini-batch.enabled", "table.exec.state.ttl", "sql-client.execution.result-mode"):
        settings.write(session(), key, "x")
    assert [r.getMessage().partition(". ")[0] for r in caplog.records] == [
        "SET 'table.exec.mini-batch.enabled' has no effect here: Spark always aggregates the rows of a micro-batch "
        "before it updates the state",
        "SET 'table.exec.state.ttl' has no effect here: Spark keeps the state of an aggregate or a join until a "
        "watermark removes it",
        "SET 'sql-client.execution.result-mode' has no effect here: it is an option of Flink's SQL client; kafka-sql "
        "--help lists those of the shell.",
    ]


@pytest.mark.parametrize(
    ("rows", "expected"), [(None, "8192"), ("10000", "8192"), ("8192", "8192"), ("100", "100"), ("0", "8192")]
)
def test_batches_are_limited_by_rows_and_the_settings_are_restored(rows: str | None, expected: str) -> None:
    user_settings = {} if rows is None else {ROWS: rows}
    spark = session(**user_settings)
    with limit_batches_by_rows(spark), limit_batches_by_rows(spark):
        assert spark.conf.settings == {BYTES: str(2**31 - 1), ROWS: expected}
    assert spark.conf.settings == user_settings


def test_the_settings_are_restored_after_the_last_of_overlapping_inserts() -> None:
    spark = session()
    first, second = limit_batches_by_rows(spark), limit_batches_by_rows(spark)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert spark.conf.settings == {BYTES: str(2**31 - 1), ROWS: "8192"}
    second.__exit__(None, None, None)
    assert spark.conf.settings == {}


def test_a_byte_limit_of_the_user_stays() -> None:
    spark = session(**{BYTES: "1000"})
    with limit_batches_by_rows(spark):
        assert spark.conf.settings == {BYTES: "1000"}
    assert spark.conf.settings == {BYTES: "1000"}
