"""INSERT as a continuous query: from topic to topic, across restarts, with event time."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from kafka_sql.errors import CheckpointError, MissingOptionError, StatementError
from tests.topics import Topics

pytestmark = pytest.mark.integration
START = datetime(2026, 3, 2, 8, tzinfo=timezone.utc)


def millis(seconds: int) -> int:
    return int((START + timedelta(seconds=seconds)).timestamp() * 1000)


def job(spark: Any, result: Any) -> Any:
    (row,) = result.collect()
    (name,) = result.columns
    assert name == "job id"
    return spark.streams.get(row[0])


def numbers(topics: Topics, topic: str, expected: int) -> list[int]:
    return sorted(json.loads(m.value() or b"")["a"] for m in topics.consume(topic, expected))


def test_copies_existing_and_new_records(spark: Any, streaming: Any, topics: Topics) -> None:
    source, target = topics.create(2), topics.create()
    streaming(f"CREATE TABLE src (a INT) {topics.with_options(source)}")
    streaming(f"CREATE TABLE tgt (a INT) {topics.with_options(target)}")
    topics.produce(source, b'{"a": 1}')
    streaming("SET 'pipeline.name' = 'copy'")
    query = job(spark, streaming("INSERT INTO tgt SELECT a * 10 FROM src"))
    assert query.name == "copy"
    query.processAllAvailable()
    topics.produce(source, b'{"a": 2}', partition=1)
    query.processAllAvailable()
    query.stop()
    assert numbers(topics, target, 2) == [10, 20]


def test_resumes_where_it_stopped(spark: Any, streaming: Any, topics: Topics, tmp_path: Path) -> None:
    source, target = topics.create(), topics.create()
    streaming(f"CREATE TABLE src (a INT) {topics.with_options(source)}")
    streaming(f"CREATE TABLE tgt (a INT) {topics.with_options(target)}")
    for value in (1, 2, 3):
        topics.produce(source, b'{"a": %d}' % value)
        query = job(spark, streaming("INSERT INTO tgt SELECT a FROM src"))
        query.processAllAvailable()
        query.stop()
    assert numbers(topics, target, 3) == [1, 2, 3]
    assert (tmp_path / "insert-into_default.tgt" / "offsets").is_dir()


@pytest.mark.long
def test_a_new_partition_is_read_from_its_start(spark: Any, streaming: Any, topics: Topics) -> None:
    source, target = topics.create(), topics.create()
    latest = {"scan.startup.mode": "latest-offset", "scan.topic-partition-discovery.interval": "1 ms"}
    streaming(f"CREATE TABLE src (a INT) {topics.with_options(source, **latest)}")
    streaming(f"CREATE TABLE tgt (a INT) {topics.with_options(target)}")
    topics.produce(source, b'{"a": 1}')
    query = job(spark, streaming("INSERT INTO tgt SELECT a FROM src"))
    query.processAllAvailable()
    topics.add_partitions(source, 2)
    topics.produce(source, b'{"a": 2}', partition=1)
    topics.produce(source, b'{"a": 3}')
    query.processAllAvailable()
    query.stop()
    assert numbers(topics, target, 2) == [2, 3]


def test_windows_close_when_the_watermark_passes(spark: Any, streaming: Any, topics: Topics) -> None:
    source, target = topics.create(), topics.create()
    streaming(
        f"""CREATE TABLE src (country STRING, price DECIMAL(10, 2), ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp',
        WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) {topics.with_options(source)}"""
    )
    streaming(
        "CREATE TABLE tgt (start TIMESTAMP_LTZ(3), country STRING, n BIGINT, sum DECIMAL(20, 2)) "
        + topics.with_options(target)
    )
    for second, country, price in [
        (1, "DE", "1.10"),
        (9, "DE", "2.20"),
        (3, "FR", "5.00"),
        (11, "DE", "7.00"),
        (15, "FR", "1.00"),
    ]:
        topics.produce(source, json.dumps({"country": country, "price": price}).encode(), timestamp=millis(second))
    query = job(
        spark,
        streaming(
            """INSERT INTO tgt SELECT window.start, country, count(*), sum(price) FROM src
            GROUP BY window(ts, '10 seconds'), country"""
        ),
    )
    query.processAllAvailable()  # the watermark is at second 10, which closes only the first window
    query.stop()
    rows = [json.loads(m.value() or b"") for m in topics.consume(target, 2)]
    assert sorted(rows, key=lambda f: f["country"]) == [
        {"start": "2026-03-02 08:00:00Z", "country": "DE", "n": 2, "sum": 3.3},
        {"start": "2026-03-02 08:00:00Z", "country": "FR", "n": 1, "sum": 5.0},
    ]


@pytest.mark.long
def test_watermark_on_a_timestamp_without_time_zone(spark: Any, streaming: Any, topics: Topics) -> None:
    source, target = topics.create(), topics.create()
    watermark = "WATERMARK FOR ts AS ts - INTERVAL '5' SECOND"
    streaming(f"CREATE TABLE src (ts TIMESTAMP(3), {watermark}) {topics.with_options(source)}")
    streaming(f"CREATE TABLE computed (t STRING, ts AS TO_TIMESTAMP(t), {watermark}) {topics.with_options(source)}")
    streaming(f"CREATE TABLE tgt (w TIMESTAMP(3), n BIGINT) {topics.with_options(target)}")
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        # in New York, 02:30 does not exist on that day
        for batch in (["01:59:58", "02:30:01.5", "02:30:12"], ["02:20:00", "02:30:08", "02:31:00"]):
            for time in batch:  # 02:20 is late
                topics.produce(source, json.dumps({"ts": f"2021-03-14 {time}"}).encode())
            insert = "INSERT INTO tgt SELECT window.start, count(*) FROM src GROUP BY window(ts, '10 seconds')"
            query = job(spark, streaming(insert))
            query.processAllAvailable()
            query.stop()
        assert sorted(m.value() or b"" for m in topics.consume(target, 3)) == [
            b'{"w":"2021-03-14 01:59:50","n":1}',
            b'{"w":"2021-03-14 02:30:00","n":2}',
            b'{"w":"2021-03-14 02:30:10","n":1}',
        ]
        for table in ("src", "computed"):
            field = streaming(f"SELECT ts FROM {table}").schema["ts"]
            assert (field.dataType.typeName(), field.metadata) == ("timestamp_ntz", {"spark.watermarkDelayMs": 5000})
        assert streaming("SHOW TABLES LIKE 'src%'").collect() == streaming("SHOW TABLES LIKE 'src'").collect()
        streaming("SET 'execution.runtime-mode' = 'batch'")
        first = streaming("SELECT ts, CAST(ts AS STRING), window(ts, '10 seconds').start FROM src ORDER BY ts").first()
        start = datetime(2021, 3, 14, 1, 59, 50)
        assert tuple(first) == (start + timedelta(seconds=8), "2021-03-14 01:59:58", start)
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)


def test_stream_keyword_starts_a_query_in_batch_mode(spark: Any, sql: Any, topics: Topics, tmp_path: Path) -> None:
    source, target = topics.create(), topics.create()
    sql(f"CREATE TABLE src (a INT, b AS a + 1) {topics.with_options(source)}")
    sql(f"CREATE TABLE tgt (a INT) {topics.with_options(target)}")
    sql(f"SET 'execution.checkpointing.dir' = '{tmp_path}'")
    topics.produce(source, b'{"a": 1}')
    query = job(spark, sql("INSERT INTO tgt SELECT x.b FROM STREAM src AS x"))
    query.processAllAvailable()
    query.stop()
    assert numbers(topics, target, 1) == [2]


def test_select_is_a_stream_in_streaming_mode(spark: Any, streaming: Any, topics: Topics) -> None:
    source = topics.create()
    streaming(f"CREATE TABLE src (a INT, b AS a + 1) {topics.with_options(source)}")
    assert streaming("SELECT * FROM src").isStreaming
    assert streaming("WITH x AS (SELECT b FROM src) SELECT x.b FROM x").columns == ["b"]
    streaming("SET 'execution.runtime-mode' = 'batch'")
    assert not streaming("SELECT * FROM src").isStreaming


def test_read_stream_table_has_computed_columns(spark: Any, sql: Any, topics: Topics, tmp_path: Path) -> None:
    source = topics.create()
    sql(f"CREATE TABLE src (a INT, b AS a + 1) {topics.with_options(source)}")
    topics.produce(source, b'{"a": 1}')
    frame = spark.readStream.table("src")
    query = frame.writeStream.format("memory").queryName("seen").option("checkpointLocation", str(tmp_path)).start()
    query.processAllAvailable()
    query.stop()
    assert spark.table("seen").collect() == [(1, 2)]


def test_insert_values_is_a_batch_in_streaming_mode(streaming: Any, topics: Topics) -> None:
    target = topics.create()
    streaming(f"CREATE TABLE tgt (a INT) {topics.with_options(target)}")
    assert streaming("INSERT INTO tgt VALUES (1)").collect() == []
    assert numbers(topics, target, 1) == [1]


def test_a_missing_checkpoint_folder_is_an_error_with_an_example(sql: Any, topics: Topics) -> None:
    source = topics.create()
    sql(f"CREATE TABLE src (a INT) {topics.with_options(source)}")
    sql("SET 'execution.runtime-mode' = 'streaming'")
    with pytest.raises(MissingOptionError, match=r"SET 'execution.checkpointing.dir' = "):
        sql("INSERT INTO src SELECT a FROM src")


def test_number_of_columns_is_checked_before_the_start(spark: Any, streaming: Any, topics: Topics) -> None:
    source = topics.create()
    streaming(f"CREATE TABLE src (a INT, b INT) {topics.with_options(source)}")
    with pytest.raises(StatementError, match=r"the query has 1 columns \(a\), the table takes 2 \(a, b\)"):
        streaming("INSERT INTO src SELECT a FROM src")
    assert spark.streams.active == []


@pytest.mark.long
def test_types_and_nulls_are_checked_as_in_a_batch(spark: Any, streaming: Any, topics: Topics) -> None:
    source, target = topics.create(), topics.create()
    streaming(f"CREATE TABLE src (a INT, b STRING) {topics.with_options(source)}")
    streaming(f"CREATE TABLE tgt (a BIGINT NOT NULL, n INT) {topics.with_options(target)}")
    with pytest.raises(StatementError, match=r"column 'n' is int, but the query returns string\. CAST it"):
        streaming("INSERT INTO tgt SELECT a, b FROM src")
    topics.produce(source, b'{"a": null}')
    query = job(spark, streaming("INSERT INTO tgt SELECT a, NULL FROM src"))
    with pytest.raises(Exception, match=r"column 'a' is declared NOT NULL, but a row has NULL"):
        query.processAllAvailable()
    topics.consume(target, 0)


@pytest.mark.long
def test_a_dataframe_with_other_columns_is_rejected(spark: Any, sql: Any, topics: Topics, tmp_path: Path) -> None:
    source, target = topics.create(), topics.create()
    sql(f"CREATE TABLE src (a INT, b STRING) {topics.with_options(source)}")
    sql(f"CREATE TABLE tgt (a INT) {topics.with_options(target)}")
    topics.produce(source, b'{"a": 1, "b": "x"}')
    for columns, message in [
        (["b AS a"], "column 'a' is int, but the query writes string"),
        (["a", "b AS aa"], "column 'aa' not found"),
    ]:
        frame = spark.readStream.table("src").selectExpr(*columns)
        writer = frame.writeStream.option("checkpointLocation", str(tmp_path / columns[-1]))
        with pytest.raises(Exception, match=message):
            writer.toTable("tgt").processAllAvailable()
    topics.consume(target, 0)


@pytest.mark.long
def test_a_recreated_topic_is_an_error(spark: Any, streaming: Any, topics: Topics) -> None:
    source, target = topics.create(), topics.create()
    streaming(f"CREATE TABLE src (a INT) {topics.with_options(source)}")
    streaming(f"CREATE TABLE tgt (a INT) {topics.with_options(target)}")
    topics.produce(source, b'{"a": 1}', b'{"a": 2}')
    query = job(spark, streaming("INSERT INTO tgt SELECT a FROM src"))
    query.processAllAvailable()
    query.stop()
    topics.admin.delete_topics([source])[source].result(30)
    topics.create_named(source)
    topics.produce(source, b'{"a": 3}')
    query = job(spark, streaming("INSERT INTO tgt SELECT a FROM src"))
    # PySpark 4.1 plans the last batch again, and then the topic's id differs
    reason = r"(the partition ends at 1|the topic has another id)\. The topic was deleted or recreated"
    with pytest.raises(Exception, match=rf"{source}\[0\]@2: .*{reason}"):
        query.processAllAvailable()
    assert numbers(topics, target, 2) == [1, 2]


def test_the_checkpoint_of_another_query_is_rejected(spark: Any, streaming: Any, topics: Topics) -> None:
    one, two, target = topics.create(), topics.create(), topics.create()
    for name, topic in [("one", one), ("two", two), ("tgt", target)]:
        streaming(f"CREATE TABLE {name} (a INT) {topics.with_options(topic)}")
    topics.produce(one, b'{"a": 1}')
    topics.produce(two, b'{"a": 2}')
    query = job(spark, streaming("INSERT INTO tgt SELECT a FROM one"))
    query.processAllAvailable()
    query.stop()
    message = rf"cannot resume from .*a source changed from .*'{one}'.* to .*'{two}'.*SET another 'pipeline.name'"
    with pytest.raises(CheckpointError, match=message):
        streaming("INSERT INTO tgt SELECT a FROM two")
    streaming("SET 'pipeline.name' = 'insert-into_default.tgt'")  # which was the default
    with pytest.raises(CheckpointError, match=message):
        streaming("INSERT INTO tgt SELECT a FROM two")
    topics.produce(one, b'{"a": 2}', b'{"a": 3}')
    query = job(spark, streaming("INSERT INTO tgt SELECT a * 10 FROM one WHERE a > 2"))
    with pytest.raises(StatementError, match=rf"job '{query.id}' is running under the name 'insert-into_default.tgt'"):
        streaming("INSERT INTO tgt SELECT a FROM two")
    query.processAllAvailable()
    query.stop()
    assert numbers(topics, target, 2) == [1, 30]


@pytest.mark.long
def test_checkpoint_interval_is_the_trigger(spark: Any, streaming: Any, topics: Topics) -> None:
    source, target = topics.create(), topics.create()
    streaming(f"CREATE TABLE src (a INT) {topics.with_options(source)}")
    streaming(f"CREATE TABLE tgt (a INT) {topics.with_options(target)}")
    streaming("SET 'execution.checkpointing.interval' = '100 ms'")
    topics.produce(source, b'{"a": 1}')
    query = job(spark, streaming("INSERT INTO tgt SELECT a FROM src"))
    query.processAllAvailable()
    query.stop()
    assert numbers(topics, target, 1) == [1]


def test_settings_are_checked_and_reset(sql: Any, spark: Any) -> None:
    from kafka_sql.errors import InvalidOptionError

    assert sql("SET 'execution.runtime-mode' = 'streaming'").collect() == [("execution.runtime-mode", "streaming")]
    with pytest.raises(
        InvalidOptionError, match=r"'steaming' for option 'execution.runtime-mode'.*Did you mean 'streaming'"
    ):
        sql("SET 'execution.runtime-mode' = 'steaming'")
    assert spark.conf.get("execution.runtime-mode") == "streaming"
    sql("RESET 'execution.runtime-mode'")
    assert spark.conf.get("execution.runtime-mode", "batch") == "batch"
    sql("SET 'spark.sql.shuffle.partitions' = '3'")
    assert spark.conf.get("spark.sql.shuffle.partitions") == "3"
    sql("SET spark.sql.shuffle.partitions=2")
